"""Rules about AMD GPUs, from what the tools print to the finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from suites.report import Finding, Status
from tests.probes.amd import samples
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of


def metric(option: str, *gpus: Mapping[str, object]) -> dict[str, Any]:
    return facts_of({f"amd-smi metric --{option}": samples.blocks(option.upper(), *gpus)})


def named(findings: list[Finding]) -> list[tuple[Status, str | None]]:
    return [(finding.status, finding.subject.get("device")) for finding in findings]


@pytest.mark.parametrize("limit", ["PROCHOT", "SOCKET_THERMAL", "VR_THERMAL", "HBM_THERMAL"])
def test_a_gpu_that_is_too_hot(limit: str) -> None:
    cool = {f"{limit}_VIOLATION_ACTIVE": "NOT ACTIVE"}
    (finding,) = ruled("amd.throttled", metric("throttle", cool, {f"{limit}_VIOLATION_ACTIVE": "ACTIVE"}))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "gpu1")
    assert finding.evidence["line"] == f"{limit}_VIOLATION_ACTIVE: ACTIVE"
    assert statuses(ruled("amd.throttled", metric("throttle", cool))) == [Status.PASS]


def test_the_power_cap_is_only_mentioned() -> None:
    assert statuses(ruled("amd.throttled", metric("throttle", {"PPT_VIOLATION_STATUS": "TRUE"}))) == [Status.INFO]


def test_throttling_that_a_model_does_not_tell_is_not_judged() -> None:
    assert ruled("amd.throttled", metric("throttle", {"PPT_VIOLATION_ACTIVE": "N/A"})) == []


@pytest.mark.parametrize(("width", "expected"), [(16, (Status.PASS, None)), (8, (Status.FAIL, "gpu0"))])
def test_lanes_against_what_the_gpu_could_have(width: int, expected: tuple[Status, str | None]) -> None:
    facts = facts_of({
        "amd-smi metric --pcie": samples.blocks("PCIE", {"WIDTH": width}),
        "amd-smi static --bus": samples.blocks("BUS", {"MAX_PCIE_WIDTH": 16}),
    })  # fmt: skip
    assert named(ruled("amd.pcie_width", facts)) == [expected]


def test_lanes_from_sysfs() -> None:
    card = "/sys/class/drm/card0/device"
    files = {
        f"{card}/vendor": "0x1002", f"{card}/uevent": "PCI_SLOT_NAME=0000:0a:00.0", f"{card}/current_link_width": "4",
        f"{card}/max_link_width": "16",
    }  # fmt: skip
    (finding,) = ruled("amd.pcie_width", facts_of(files=files))
    assert finding.evidence == {
        "command": card, "value": 4, "line": "current_link_width: 4", "threshold": 16, "source": "the GPU",
    }  # fmt: skip


def test_lanes_against_other_gpus() -> None:
    (finding,) = ruled("amd.pcie_width_differs", metric("pcie", *[{"WIDTH": width} for width in (16, 16, 8)]))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "gpu2")


def test_memory_errors_that_could_not_be_corrected() -> None:
    found = ruled("amd.ecc_uncorrectable", metric("ecc", *[{"TOTAL_UNCORRECTABLE_COUNT": count} for count in (0, 2)]))
    assert named(found) == [(Status.FAIL, "gpu1")]
    assert statuses(ruled("amd.ecc_uncorrectable", metric("ecc", {"TOTAL_UNCORRECTABLE_COUNT": 0}))) == [Status.PASS]


def test_memory_errors_that_are_not_told_are_unknown() -> None:
    (finding,) = ruled("amd.ecc_uncorrectable", metric("ecc", {"TOTAL_UNCORRECTABLE_COUNT": "N/A"}))
    assert (finding.status, finding.message) == (Status.SKIP, "gpu0: `amd-smi metric --ecc` does not tell it")


@pytest.mark.parametrize(
    ("part", "status"),
    [("PENDING", Status.FAIL), ("UN_RES", Status.FAIL), ("RETIRED", Status.INFO), (None, Status.PASS)],
)
def test_bad_pages(part: str | None, status: Status) -> None:
    page = "\n        PAGE_ADDRESS: 0x1000\n        PAGE_SIZE: 4096\n        STATUS: X"
    parts = ("RETIRED", "PENDING", "UN_RES")
    text = "".join(f"    {name}:{page if name == part else ' No bad pages found.'}\n" for name in parts)
    assert statuses(ruled("amd.bad_pages", facts_of({"amd-smi bad-pages": "GPU: 0\n" + text}))) == [status]


@pytest.mark.parametrize(
    ("rule", "option", "counter"),
    [
        ("amd.ecc_correctable_grew", "ecc", "TOTAL_CORRECTABLE_COUNT"),
        ("amd.pcie_replays_grew", "pcie", "REPLAY_COUNT"),
        ("amd.throttled_since", "throttle", "SOCKET_THERMAL_ACCUMULATED"),
    ],
)
def test_what_grew_between_two_looks(rule: str, option: str, counter: str) -> None:
    before, after = (metric(option, {counter: 9}, {counter: more}) for more in (3, 5))
    (finding,) = ruled(rule, after, earlier=before)
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "gpu1")
    assert finding.message.endswith("by 2")
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (5, 3)
    assert statuses(ruled(rule, before, earlier=before)) == [Status.PASS]
    assert statuses(ruled(rule, before, earlier=after)) == [Status.SKIP, Status.PASS]


def test_hosts_with_as_many_gpus() -> None:
    eight, seven = (facts_of({"amd-smi list": samples.listed(*samples.BUSES[:count])}) for count in (8, 7))
    (finding,) = fleet("amd.device_count", a=eight, b=eight, c=seven)
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "c"})
    assert statuses(fleet("amd.device_count", a=eight, b=eight)) == [Status.PASS]
    none = facts_of(files={"/dev/null": ""})
    assert fleet("amd.device_count", a=none, b=none) == []


def on_pcie(*buses: str) -> dict[str, str]:
    return {
        f"/sys/bus/pci/devices/{bus}/{name}": value
        for bus in buses
        for name, value in (("vendor", "0x1002"), ("class", "0x120000"))
    }


def test_a_gpu_that_the_driver_gave_up() -> None:
    files = on_pcie("0000:0a:00.0", "0000:1b:00.0")
    facts = facts_of({"amd-smi list": samples.listed("0000:0a:00.0")}, files)
    assert named(ruled("amd.device_missing", facts)) == [(Status.FAIL, "0000:1b:00.0")]


def test_a_container_may_have_been_given_some_gpus() -> None:
    files = on_pcie("0000:0a:00.0", "0000:1b:00.0")
    facts = facts_of({"amd-smi list": samples.listed("0000:0a:00.0")}, files)
    found = ruled("amd.device_missing", {**facts, "cgroup": {"container": "docker"}})
    assert statuses(found) == [Status.SKIP, Status.PASS]


def test_errors_that_nobody_has_read_yet() -> None:
    found = ruled("amd.ecc_uncorrectable", metric("ecc", {"TOTAL_UNCORRECTABLE_COUNT": 0, "TOTAL_DEFERRED_COUNT": 4}))
    assert named(found) == [(Status.WARN, "gpu0")]


def test_no_drivers_as_newer_tools_say_it() -> None:
    facts = facts_of({"amd-smi list": "ERROR:root:Drivers not loaded (amdgpu, quux drivers not found in modules)\n"})
    assert statuses(ruled("amd.driver", facts)) == [Status.FAIL]


def test_no_driver() -> None:
    commands = {"rocm-smi --showtopo": samples.NO_DRIVER}
    (finding,) = ruled("amd.driver", facts_of(commands))
    assert (finding.status, finding.evidence["line"]) == (Status.FAIL, samples.NO_DRIVER.strip())
    assert ruled("amd.driver", facts_of(commands, {"/sys/bus/pci/devices/0000:00:00.0/class": "0x060000"})) == []


def test_one_release_on_all_hosts() -> None:
    new, old = (facts_of({"amd-smi version": samples.VERSION.replace("9.9.1", rocm)}) for rocm in ("9.9.1", "8.0.0"))
    (finding,) = fleet("amd.versions_differ", a=new, b=new, c=old)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "c"})
    assert finding.message == "the version of ROCm is 8.0.0, and 9.9.1 on 2 of 3"


def test_one_driver_for_all_gpus() -> None:
    driver = samples.blocks("DRIVER", {"VERSION": "1.1"}, {"VERSION": "1.1"}, {"VERSION": "1.2"})
    assert named(fleet("amd.versions_differ", a=facts_of({"amd-smi static --driver": driver}))) == [
        (Status.WARN, "gpu2")
    ]


def test_repeated_packets_against_peers() -> None:
    facts = metric("pcie", *[{"REPLAY_COUNT": count} for count in (0, 3, 88000, 0)])
    assert named(fleet("amd.pcie_replays_stand_out", a=facts)) == [(Status.WARN, "gpu2")]
    few = metric("pcie", *[{"REPLAY_COUNT": count} for count in (0, 3, 900, 0)])
    assert statuses(fleet("amd.pcie_replays_stand_out", a=few)) == [Status.PASS]


def test_heat_in_the_table_of_rocm_smi() -> None:
    head = "Device  Node  IDs              Temp        Power\n              (DID,     GUID)  (Junction)  (Socket)\n"
    temperatures = enumerate((38.0, 112.0))
    rows = "".join(f"{n}       2     0x1234,   11     {heat}°C      140.0W    NPS1\n" for n, heat in temperatures)
    assert named(ruled("amd.hot", facts_of({"rocm-smi": head + rows}))) == [(Status.WARN, "gpu1")]
    assert statuses(ruled("amd.driver", facts_of({"rocm-smi": samples.NO_DRIVER}))) == [Status.FAIL]


def test_hosts_of_another_maker_have_no_number_of_amd_gpus() -> None:
    none = facts_of({"amd-smi list": "ERROR: no devices\n"})
    none["accelerators"]["amd"] |= {"devices": [], "on_pcie": []}
    some = facts_of({})
    some["accelerators"]["amd"]["devices"] = [{"id": 0, "bus": None}, {"id": 1, "bus": None}]
    assert fleet("amd.device_count", a=none, b=none, c=some) == []
    lost = facts_of({})
    lost["accelerators"]["amd"] |= {"devices": [], "on_pcie": ["0000:0a:00.0", "0000:1b:00.0"]}
    (finding,) = fleet("amd.device_count", a=some, b=some, c=lost)
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "c"})
