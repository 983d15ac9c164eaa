"""What hccn_tool says of optical modules."""

from __future__ import annotations

from probes.ascend.hccn_optics import parse_optical

MODULE = """\
optical info:
present              : present
temperature          : 41 C
high power enable reg: enabled
vendor part number   : MADE-UP-1
vendor serial number : SECRET0001
Vcc                  : 3301.50 mV
Tx Power0            : 1.2500 mW
Rx Power0            : 0.7500 mW
Rx Power10           : 0.5000 mW
Temp High Thres      : 70 C
RxPower High Thres   : 3.5000 mW
RxPower Low Thres    : 0.1400 mW
Tx Bias0             : 7.1000 mA
Tx Los Flag          : 0x0
Rx LoL Flag          : 0xF
Rx Los Flag          : not supported
Host SNR Lane0       : not supported
Media SNR Lane1      : 22.1250 dB
"""


def test_a_module() -> None:
    said = parse_optical(MODULE)
    assert said.values == {
        "present": True, "high_power": True, "part": "MADE-UP-1", "unit": "mW", "temp_high": 70.0,
        "rxpower_high": 3.5, "rxpower_low": 0.14,
    }  # fmt: skip
    assert said.momentary == {
        "temperature": 41.0, "vcc": 3301.5, "tx_power_0": 1.25, "rx_power_0": 0.75, "rx_power_10": 0.5,
        "tx_bias_0": 7.1, "tx_los": 0, "rx_lol": 15, "media_snr_lane_1": 22.125,
    }  # fmt: skip
    assert said.lines["rx_power_0"] == "Rx Power0            : 0.7500 mW"


def test_its_serial_number_stays_with_it() -> None:
    assert "SECRET" not in str(parse_optical(MODULE))


def test_one_that_is_not_there() -> None:
    said = parse_optical("optical info:\npresent              : not present\ntemperature          : NA\n")
    assert (said.values, said.momentary) == ({"present": False}, {})
