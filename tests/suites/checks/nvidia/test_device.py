"""Rules about each NVIDIA GPU, from what nvidia-smi prints to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.probes.nvidia.samples import NO_PROCESSES, PROCESS, QUERY, csv, details, gpu_details, gpu_rows, table
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of


def asked(header: str, *rows: str) -> dict[str, Any]:
    return facts_of({QUERY: csv(header, *rows)})


@pytest.mark.parametrize(("mask", "status"), [
    ("0x0000000000000000", Status.PASS), ("0x0000000000000001", Status.PASS), ("0x0000000000000004", Status.PASS),
    ("0x0000000000000102", Status.PASS), ("0x0000000000000008", Status.WARN), ("0x0000000000000020", Status.WARN),
    ("0x0000000000000048", Status.FAIL), ("0x0000000000000088", Status.FAIL),
])  # fmt: skip
def test_reasons_for_low_clocks(mask: str, status: Status) -> None:
    (finding,) = ruled("nvidia.slowed_down", asked("index, clocks_throttle_reasons.active", f"0, {mask}"))
    assert finding.status is status


def test_reasons_as_words() -> None:
    section = "    Clocks Event Reasons\n        HW Slowdown : Active\n            HW Power Brake Slowdown : Active\n"
    (finding,) = ruled("nvidia.slowed_down", facts_of({"nvidia-smi -q": details(gpu_details(sections=section))}))
    assert (finding.status, finding.evidence["line"]) == (Status.FAIL, "HW Power Brake Slowdown : Active")
    assert "power brake" in finding.message


WIDTH = "index, name, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max"


def test_lanes_that_are_missing() -> None:
    (finding,) = fleet(
        "nvidia.pcie_width", a=asked(WIDTH, "0, Q, 4, 4, 16, 16", "1, Q, 4, 4, 4, 8", "2, Q, 1, 4, 16, 16")
    )
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "a", "device": "gpu1"})
    assert finding.evidence["threshold"] == 8


def test_fewer_lanes_than_peers() -> None:
    hosts = {name: asked("index, pcie.link.width.current", "0, 16", "1, 16") for name in "abc"}
    hosts["b"] = asked("index, pcie.link.width.current", "0, 16", "1, 8")
    (finding,) = fleet("nvidia.pcie_width", **hosts)
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "b", "device": "gpu1"})


def test_a_slot_that_has_no_more() -> None:
    facts = asked(WIDTH, "0, Q, 4, 4, 16, 16", "1, Q, 4, 4, 8, 8", "2, Q, 4, 4, 16, 16")
    assert statuses(fleet("nvidia.pcie_width", a=facts)) == [Status.WARN]
    mixed = asked(WIDTH, "0, Q, 4, 4, 16, 16", "1, small, 4, 4, 8, 8", "2, Q, 4, 4, 16, 16")
    assert statuses(fleet("nvidia.pcie_width", a=mixed)) == [Status.PASS]


def test_an_idle_gpu_may_have_a_slow_link() -> None:
    header = (
        "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max, utilization.gpu"
    )
    idle = asked(header, "0, 1, 4, 16, 16, 0 %")
    assert ruled("nvidia.pcie_generation", idle) == []
    assert statuses(fleet("nvidia.pcie_width", a=idle)) == [Status.PASS]
    (finding,) = ruled("nvidia.pcie_generation", asked(header, "0, 1, 4, 16, 16, 90 %"))
    assert finding.status is Status.INFO


@pytest.mark.parametrize(("degrees", "status"), [(84, Status.PASS), (87, Status.WARN), (95, Status.WARN)])
def test_heat(degrees: int, status: Status) -> None:
    assert statuses(ruled("nvidia.hot", asked("index, temperature.gpu", f"0, {degrees}"))) == [status]


def test_the_gpus_own_limit_counts() -> None:
    section = "    Temperature\n        GPU Current Temp : 90 C\n        GPU Slowdown Temp : 90 C\n"
    (finding,) = ruled("nvidia.hot", facts_of({"nvidia-smi -q": details(gpu_details(sections=section))}))
    assert (finding.status, finding.evidence["threshold"]) == (Status.WARN, 90)


@pytest.mark.parametrize(("mode", "status"), [
    ("Default", Status.PASS), ("Prohibited", Status.WARN), ("Exclusive_Process", Status.INFO),
])  # fmt: skip
def test_compute_modes(mode: str, status: Status) -> None:
    assert statuses(ruled("nvidia.compute_mode", asked("index, compute_mode", f"0, {mode}"))) == [status]


@pytest.mark.parametrize(("rule", "field", "good", "bad"), [
    ("nvidia.persistence_off", "persistence_mode", "Enabled", "Disabled"),
    ("nvidia.mig_on", "mig.mode.current", "Disabled", "Enabled"),
])  # fmt: skip
def test_settings_worth_a_word(rule: str, field: str, good: str, bad: str) -> None:
    (finding,) = ruled(rule, asked(f"index, {field}", f"0, {good}", f"1, {bad}", "2, [N/A]"))
    assert (finding.status, finding.subject["device"]) == (Status.INFO, "gpu1")
    assert statuses(ruled(rule, asked(f"index, {field}", f"0, {good}"))) == [Status.PASS]


def test_who_uses_the_gpus() -> None:
    (finding,) = ruled("nvidia.in_use", facts_of({"nvidia-smi": table(gpu_rows(0), gpu_rows(1)) + PROCESS}))
    assert (finding.status, finding.message) == (Status.INFO, "a process of others uses gpu1")


def test_memory_that_was_left_behind() -> None:
    facts = facts_of({"nvidia-smi": table(gpu_rows(0, used=9000), gpu_rows(1, used=600)) + NO_PROCESSES})
    (finding,) = ruled("nvidia.in_use", facts)
    assert (finding.status, finding.subject["device"]) == (Status.INFO, "gpu0")


def test_a_refusal_is_no_verdict() -> None:
    facts = facts_of({
        "nvidia-smi nvlink -s": "GPU 0: NVIDIA Q100 (UUID: x)\n", QUERY: "Insufficient Permissions\n",
    })  # fmt: skip
    for rule in ("nvidia.slowed_down", "nvidia.hot", "nvidia.compute_mode"):
        (finding,) = ruled(rule, facts)
        assert (finding.status, finding.message) == (Status.SKIP, "gpu0: Insufficient Permissions")


REFUSED = {"nvidia-smi nvlink -s": "GPU 0: NVIDIA Q100 (UUID: x)\n", QUERY: "Insufficient Permissions\n"}


def test_what_is_refused_is_neither_slow_nor_in_use() -> None:
    assert statuses(ruled("nvidia.pcie_generation", facts_of(REFUSED))) == [Status.SKIP]
    assert ruled("nvidia.in_use", facts_of(REFUSED)) == []


@pytest.mark.parametrize(("row", "found"), [
    ("0, 4, 5, 20 %", [Status.INFO]), ("0, 4, 5, 19 %", []), ("0, 5, 5, 90 %", [Status.PASS]),
    ("0, 4, [N/A], 90 %", []), ("0, 4, 5, [N/A]", []),
])  # fmt: skip
def test_the_generation_of_a_gpu_at_work(row: str, found: list[Status]) -> None:
    facts = asked("index, pcie.link.gen.current, pcie.link.gen.max, utilization.gpu", row)
    assert statuses(ruled("nvidia.pcie_generation", facts)) == found


def test_of_two_widths_neither_is_usual() -> None:
    facts = asked("index, pcie.link.width.current", "0, 16", "1, 8")
    assert statuses(fleet("nvidia.pcie_width", a=facts)) == [Status.PASS]


@pytest.mark.parametrize(("degrees", "status", "limit"), [
    (86, Status.PASS, None), (94, Status.WARN, 87), (96, Status.WARN, 95),
])  # fmt: skip
def test_limits_of_heat(degrees: int, status: Status, limit: int | None) -> None:
    (finding,) = ruled("nvidia.hot", asked("index, temperature.gpu", f"0, {degrees}"))
    assert (finding.status, finding.evidence.get("threshold")) == (status, limit)


def test_an_exclusive_mode_as_the_table_has_it() -> None:
    facts = facts_of({"nvidia-smi": table(gpu_rows(0, mode="E. Process")) + NO_PROCESSES})
    assert statuses(ruled("nvidia.compute_mode", facts)) == [Status.INFO]


@pytest.mark.parametrize(("used", "status"), [(2048, Status.PASS), (2049, Status.INFO)])
def test_how_much_memory_an_idle_gpu_may_have_in_use(used: int, status: Status) -> None:
    facts = facts_of({"nvidia-smi": table(gpu_rows(0, used=used)) + NO_PROCESSES})
    (finding,) = ruled("nvidia.in_use", facts)
    assert finding.status is status
    assert finding.evidence.get("threshold") == (None if status is Status.PASS else 2048)


def test_a_gpu_with_processes_is_told_of_once() -> None:
    gpus = table(gpu_rows(0), gpu_rows(1, used=9000))
    (finding,) = ruled("nvidia.in_use", facts_of({"nvidia-smi": gpus + PROCESS + PROCESS.replace("4711", "4712")}))
    assert (finding.message, finding.subject["device"]) == ("2 processes of others use gpu1", "gpu1")
    assert [process["pid"] for process in finding.evidence["value"]] == [4711, 4712]


@pytest.mark.parametrize(("rule", "field", "bad"), [
    ("nvidia.slowed_down", "clocks_throttle_reasons.active", "0x0000000000000048"),
    ("nvidia.hot", "temperature.gpu", "90"),
    ("nvidia.hot", "temperature.gpu", "99"),
    ("nvidia.compute_mode", "compute_mode", "Prohibited"),
    ("nvidia.compute_mode", "compute_mode", "Exclusive_Process"),
])  # fmt: skip
def test_the_gpu_and_the_line_are_named(rule: str, field: str, bad: str) -> None:
    (finding,) = ruled(rule, asked(f"index, {field}", f"3, {bad}"))
    assert finding.subject["device"] == "gpu3"
    assert finding.evidence["line"].startswith(field)


def test_what_links_are_compared_with() -> None:
    header = "index, pcie.link.gen.current, pcie.link.gen.max, utilization.gpu, pcie.link.width.current"
    facts = asked(header, "0, 5, 5, 90 %, 16", "1, 4, 5, 90 %, 8", "2, 5, 5, 90 %, 16")
    (finding,) = ruled("nvidia.pcie_generation", facts)
    assert (finding.subject["device"], finding.evidence["value"], finding.evidence["threshold"]) == ("gpu1", 4, 5)
    (finding,) = fleet("nvidia.pcie_width", a=facts)
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (8, 16)


@pytest.mark.parametrize(("own", "degrees", "found"), [
    ("", 107, [Status.WARN]), ("", 104, [Status.PASS]),
    ("        Memory Max Operating Temp : 95 C\n", 97, [Status.WARN]),
])  # fmt: skip
def test_hot_memory(own: str, degrees: int, found: list[Status]) -> None:
    section = f"    Temperature\n        Memory Current Temp : {degrees} C\n{own}"
    facts = facts_of({"nvidia-smi -q": details(gpu_details(sections=section))})
    assert statuses(ruled("nvidia.memory_hot", facts)) == found


@pytest.mark.parametrize(("watts", "found"), [(300, [Status.INFO]), (700, [Status.PASS])])
def test_a_lower_power_limit(watts: int, found: list[Status]) -> None:
    section = (
        f"    GPU Power Readings\n        Current Power Limit : {watts}.00 W\n        Default Power Limit : 700.00 W\n"
    )
    facts = facts_of({"nvidia-smi -q": details(gpu_details(sections=section))})
    assert statuses(ruled("nvidia.power_limit", facts)) == found


@pytest.mark.parametrize(("most", "found"), [(88000, [Status.WARN]), (67, [Status.PASS])])
def test_repeated_packets_against_peers(most: int, found: list[Status]) -> None:
    gpus = [
        gpu_details(f"00000000:{bus}:00.0", f"    PCI\n        Replays Since Reset : {count}\n")
        for bus, count in (("19", 0), ("2A", most), ("3B", 1), ("4C", 0))
    ]
    assert statuses(fleet("nvidia.pcie_replays_stand_out", a=facts_of({"nvidia-smi -q": details(*gpus)}))) == found
