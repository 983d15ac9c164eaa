"""Rules about optical modules."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

MODULE = {
    "present": "present", "temperature": "40 C", "high power enable reg": "enabled",
    "Tx Power0": "1.2 mW", "Rx Power0": "1.0 mW", "Tx Power1": "1.1 mW", "Rx Power1": "0.9 mW",
    "Temp High Thres": "70 C", "TxPower High Thres": "3.5 mW", "TxPower Low Thres": "0.3 mW",
    "RxPower High Thres": "3.5 mW", "RxPower Low Thres": "0.1 mW",
    "Tx Los Flag": "0x0", "Rx Los Flag": "0x0", "Tx LoL Flag": "0x0", "Rx LoL Flag": "0x0",
    "Host SNR Lane0": "not supported", "Media SNR Lane0": "23.5 dB",
}  # fmt: skip
RULES = (
    "ascend.optics_missing", "ascend.optics_light", "ascend.optics_lane_weak", "ascend.optics_signal",
    "ascend.optics_noise", "ascend.optics_hot", "ascend.optics_low_power",
)  # fmt: skip


def module(link: str | None = None, /, **changes: str) -> dict[str, Any]:
    """A module that is well but for these changes; `_` stands for a blank."""
    said = {**MODULE, **{name.replace("_", " "): value for name, value in changes.items()}}
    return answered("optical info:\n" + "".join(f"{name:21}: {value}\n" for name, value in said.items()), link)


def answered(text: str, link: str | None = None) -> dict[str, Any]:
    commands = {"hccn_tool -i 4 -optical -g": text}
    if link:
        commands["hccn_tool -i 4 -link -g"] = f"link status: {link}\n"
    return facts_of(commands)


def test_a_module_that_is_well() -> None:
    for rule in RULES:
        assert statuses(ruled(rule, module())) == [Status.PASS]


@pytest.mark.parametrize(
    ("rule", "changes", "status", "said"),
    [
        ("ascend.optics_light", {"Rx_Power1": "0.02 mW"}, Status.FAIL, "receives 0.02 mW on lane 1"),
        ("ascend.optics_light", {"Tx_Power0": "4.1 mW"}, Status.FAIL, "sends 4.1 mW on lane 0"),
        ("ascend.optics_lane_weak", {"Rx_Power1": "0.4 mW"}, Status.WARN, "lane 1"),
        ("ascend.optics_signal", {"Rx_Los_Flag": "0xff"}, Status.FAIL, "no light is received"),
        ("ascend.optics_signal", {"Tx_LoL_Flag": "0x1"}, Status.FAIL, "no clock"),
        ("ascend.optics_noise", {"Media_SNR_Lane0": "19.0 dB"}, Status.WARN, "media lane 0"),
        ("ascend.optics_noise", {"Host_SNR_Lane0": "17.0 dB"}, Status.FAIL, "host lane 0"),
        ("ascend.optics_hot", {"temperature": "71 C"}, Status.FAIL, "71 C"),
        ("ascend.optics_low_power", {"high_power_enable_reg": "not enabled"}, Status.WARN, "low power"),
        ("ascend.optics_missing", {"present": "not present"}, Status.FAIL, "no optical module"),
    ],
)
def test_a_module_that_is_not(rule: str, changes: dict[str, str], status: Status, said: str) -> None:
    (finding,) = ruled(rule, module(**changes))
    assert (finding.status, finding.subject) == (status, {"host": "h", "device": "npu4"})
    assert said in finding.message
    assert "line" in finding.evidence


def test_decibels_are_compared_as_they_are() -> None:
    weak = {
        "Rx_Power0": "-1.0 dBm", "Rx_Power1": "-4.5 dBm", "RxPower_Low_Thres": "-9.0 dBm",
        "RxPower_High_Thres": "7.0 dBm", "Tx_Power0": "1.0 dBm", "Tx_Power1": "1.0 dBm",
    }  # fmt: skip
    (finding,) = ruled("ascend.optics_lane_weak", module(**weak))
    assert "3.5 dB less" in finding.message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"Rx_Power1": "-40.0 dBm"}, "receives 0.0001 mW on lane 1, and its limits are 0.1 to 3.5"),
        ({"Rx_Power1": "-inf dBm"}, "receives 0 mW on lane 1"),
        ({"Rx_Power1": "-40.0 dBm", "RxPower_Low_Thres": "-9.4 dBm"}, "its limits are 0.114815 to 3.5"),
        ({"Tx_Power0": "1 dBm", "Rx_Power1": "-inf dBm"}, "receives -40 dBm on lane 1, and its limits are -10 to"),
        ({"Rx_Power1": "20 uW"}, "receives 0.02 mW on lane 1"),
    ],
)
def test_powers_are_compared_in_one_unit(changes: dict[str, str], said: str) -> None:
    (finding,) = ruled("ascend.optics_light", module(**changes))
    assert said in finding.message


VOLTS = {"Vcc_Low_Thres": "3135.00 mV", "Vcc_High_Thres": "3465.00 mV"}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Vcc": "2900.00 mV", **VOLTS}, Status.WARN),
        ({"Vcc": "3.30 V", **VOLTS}, Status.PASS),
        ({"Vcc": "2900.00 mV", "Vcc_Low_Thres": "0.00 mV", "Vcc_High_Thres": "0.00 mV"}, None),
        ({"Tx_Bias0": "7.9 mA", "Tx_Bias1": "0.0000 mA"}, Status.INFO),
        ({"Tx_Bias0": "7.9 mA", "Tx_Bias1": "0.0000 mA", "Tx_Power1": "0.0001 mW"}, Status.WARN),
        ({"Tx_Bias0": "0.0000 mA", "Tx_Bias1": "0.0000 mA"}, Status.PASS),
    ],
)
def test_voltage_and_current(changes: dict[str, str], status: Status | None) -> None:
    assert statuses(ruled("ascend.optics_supply", module(**changes))) == ([status] if status else [])


def test_a_module_that_tells_no_limits_is_not_judged_by_them() -> None:
    none = {f"{way}Power_{end}_Thres": "0.0 mW" for way in ("Tx", "Rx") for end in ("High", "Low")}
    assert statuses(ruled("ascend.optics_light", module(Rx_Power1="0.02 mW", **none))) == [Status.PASS]
    assert statuses(ruled("ascend.optics_hot", module(Temp_High_Thres="0 C", temperature="75 C"))) == [Status.FAIL]
    assert statuses(ruled("ascend.optics_hot", module(Temp_High_Thres="80 C", temperature="75 C"))) == [Status.PASS]
    (finding,) = ruled("ascend.optics_lane_weak", module(Rx_Power1="0.0 mW", **none))
    assert finding.message.startswith("lane 1 of npu4's module receives")
    dark = module(Rx_Power0="0.0 mW", Rx_Power1="0.0 mW", **none)
    assert ruled("ascend.optics_lane_weak", dark) == []


def test_low_power_with_a_link_is_only_told() -> None:
    facts = module("UP", high_power_enable_reg="not enabled")
    assert statuses(ruled("ascend.optics_low_power", facts)) == [Status.INFO]


@pytest.mark.parametrize(
    ("words", "link", "status"),
    [
        ("Optical module is not present.", None, Status.FAIL),
        ("Optical module is not present.", "DOWN", Status.FAIL),
        ("Optical module is not present.", "UP", Status.INFO),
        ("Control link unreachable.", "UP", Status.FAIL),
        ("I2c is busy. Please try again.", None, Status.SKIP),
        ("The system is in optical module initializing, please try again later.", None, Status.SKIP),
        ("The command is not supported on this product.", None, Status.SKIP),
    ],
)
def test_words_instead_of_a_module(words: str, link: str | None, status: Status) -> None:
    facts = answered(words + "\n", link)
    assert statuses(ruled("ascend.optics_missing", facts)) == [status]
    assert all(ruled(rule, facts) == [] for rule in RULES[1:])


def test_a_ratio_of_nothing_was_not_measured() -> None:
    assert statuses(ruled("ascend.optics_noise", module(Host_SNR_Lane0="0.0 dB"))) == [Status.PASS]
    assert statuses(ruled("ascend.optics_noise", module(Media_SNR_Lane0="20.0 dB"))) == [Status.PASS]
    assert ruled("ascend.optics_noise", module(Media_SNR_Lane0="0.0 dB")) == []
