"""Rules about the memory of NVIDIA GPUs, from what nvidia-smi prints to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.probes.nvidia.samples import NO_PROCESSES, QUERY, csv, details, gpu_details, gpu_rows, table
from tests.probes.nvidia.test_details import AMPERE, VOLTA
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

ERRORS = "ecc.errors.uncorrected.volatile.total"


def in_detail(sections: str) -> dict[str, Any]:
    return facts_of({"nvidia-smi -q": details(gpu_details(sections=sections))})


@pytest.mark.parametrize("facts", [
    facts_of({QUERY: csv(f"index, {ERRORS}", "0, 3", "1, 0", "2, [N/A]")}),
    facts_of({"nvidia-smi": table(gpu_rows(0, ecc="3"), gpu_rows(1), gpu_rows(2, ecc="Off")) + NO_PROCESSES}),
    in_detail(AMPERE), in_detail(VOLTA),
])  # fmt: skip
def test_errors_that_could_not_be_corrected(facts: dict[str, Any]) -> None:
    (finding,) = ruled("nvidia.ecc_uncorrectable", facts)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu0")


def test_corrected_errors_are_no_fault() -> None:
    facts = facts_of({QUERY: csv(f"index, {ERRORS}, ecc.errors.corrected.volatile.total", "0, 0, 118")})
    assert statuses(ruled("nvidia.ecc_uncorrectable", facts)) == [Status.PASS]


def test_cards_without_ecc_are_silent() -> None:
    assert ruled("nvidia.ecc_uncorrectable", facts_of({QUERY: csv(f"index, {ERRORS}, pstate", "0, [N/A], P0")})) == []


def test_errors_that_came_since() -> None:
    before = facts_of({QUERY: csv(f"index, {ERRORS}", "0, 1", "1, 5")})
    now = facts_of({QUERY: csv(f"index, {ERRORS}", "0, 1", "1, 7", "2, 9")})
    (finding,) = ruled("nvidia.errors_grew", now, earlier=before)
    assert (finding.status, finding.subject["device"], finding.evidence["threshold"]) == (Status.FAIL, "gpu1", 5)
    assert statuses(ruled("nvidia.errors_grew", before, earlier=before)) == [Status.PASS]


def with_ecc(*modes: str, name: str = "Q") -> dict[str, Any]:
    return facts_of(
        {QUERY: csv("index, name, ecc.mode.current", *(f"{n}, {name}, {mode}" for n, mode in enumerate(modes)))}
    )


def test_the_one_gpu_without_ecc() -> None:
    (finding,) = fleet("nvidia.ecc_differs", a=with_ecc("Enabled", "Disabled", "Enabled"))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "a", "device": "gpu1"})
    assert statuses(fleet("nvidia.ecc_differs", a=with_ecc("Disabled", "Disabled"))) == [Status.PASS]
    other_model = with_ecc("Disabled", "Disabled", name="R")
    assert statuses(fleet("nvidia.ecc_differs", a=with_ecc("Enabled", "Enabled"), b=other_model)) == [Status.PASS]


def retired(single: int, double: int, pending: str = "No") -> dict[str, Any]:
    return in_detail(f"""\
    Retired Pages
        Single Bit ECC                    : {single}
        Double Bit ECC                    : {double}
        Pending Page Blacklist            : {pending}
""")


@pytest.mark.parametrize(("single", "double", "status"), [
    (0, 0, Status.PASS), (6, 2, Status.PASS), (11, 0, Status.WARN), (0, 59, Status.WARN), (60, 5, Status.FAIL),
])  # fmt: skip
def test_pages_that_were_retired(single: int, double: int, status: Status) -> None:
    assert statuses(ruled("nvidia.pages_retired", retired(single, double))) == [status]


def test_pages_that_wait_for_it() -> None:
    assert statuses(ruled("nvidia.retirement_pending", retired(1, 0, "Yes"))) == [Status.FAIL]
    assert statuses(ruled("nvidia.retirement_pending", retired(1, 0))) == [Status.PASS]
    assert ruled("nvidia.retirement_pending", retired(1, 0, "N/A")) == []


REMAPPED = "gpu_bus_id, remapped_rows.pending, remapped_rows.failure, remapped_rows.uncorrectable"


def remapped(*cells: str) -> dict[str, Any]:
    return facts_of({"nvidia-smi --query-remapped-rows=x --format=csv": csv(REMAPPED, *cells)})


@pytest.mark.parametrize(("rule", "row"), [
    ("nvidia.remap_pending", "Yes, No, 1"), ("nvidia.remap_failed", "No, Yes, 1"),
])  # fmt: skip
def test_rows_that_are_remapped(rule: str, row: str) -> None:
    facts = remapped("00000000:19:00.0, No, No, 2", f"00000000:3B:00.0, {row}")
    (finding,) = ruled(rule, facts)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu1")
    assert statuses(ruled(rule, remapped("00000000:19:00.0, 0, 0, 2"))) == [Status.PASS]


def with_memory(*sizes: int) -> dict[str, Any]:
    return facts_of({QUERY: csv("index, memory.total [MiB]", *(f"{n}, {size} MiB" for n, size in enumerate(sizes)))})


def test_memory_that_is_missing() -> None:
    (finding,) = fleet("nvidia.memory_short", a=with_memory(81559, 81559), b=with_memory(81559, 65000))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "b", "device": "gpu1"})
    assert statuses(fleet("nvidia.memory_short", a=with_memory(81559, 81559), b=with_memory(81920, 81559))) == [
        Status.PASS
    ]
    assert fleet("nvidia.memory_short", a=with_memory(81559, 40960)) == []


def test_too_many_errors_in_caches() -> None:
    assert statuses(ruled("nvidia.sram_threshold", in_detail(AMPERE))) == [Status.FAIL]
    well = AMPERE.replace("Exceeded       : Yes", "Exceeded       : No")
    assert statuses(ruled("nvidia.sram_threshold", in_detail(well))) == [Status.PASS]


AGED = """\
    ECC Errors
        Aggregate
            Double Bit
                Total                     : {0}
    Retired Pages
        Single Bit ECC                    : 0
        Double Bit ECC                    : {1}
    Remapped Rows
        Uncorrectable Error               : {2}
"""


@pytest.mark.parametrize(("now", "what"), [
    ((4, 3, 3), "memory errors"), ((3, 4, 3), "pages retired"), ((3, 3, 4), "rows remapped"),
])  # fmt: skip
def test_any_count_that_grew(now: tuple[int, int, int], what: str) -> None:
    (finding,) = ruled("nvidia.errors_grew", in_detail(AGED.format(*now)), earlier=in_detail(AGED.format(3, 3, 3)))
    assert what in finding.message
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (4, 3)


def test_counts_that_are_refused_now_did_not_grow() -> None:
    said = {"nvidia-smi nvlink -s": "GPU 0: NVIDIA Q100 (UUID: x)\n", QUERY: "Insufficient Permissions\n"}
    before = facts_of({QUERY: csv(f"index, {ERRORS}", "0, 1")})
    assert ruled("nvidia.errors_grew", facts_of(said), earlier=before) == []
    assert ruled("nvidia.errors_grew", before, earlier=facts_of(said)) == []


def test_pages_of_which_nobody_may_tell() -> None:
    facts = facts_of({
        "nvidia-smi nvlink -s": "GPU 0: NVIDIA Q100 (UUID: x)\n", QUERY: "Insufficient Permissions\n",
    })  # fmt: skip
    assert statuses(ruled("nvidia.pages_retired", facts)) == [Status.SKIP]


@pytest.mark.parametrize(("single", "double", "status", "limit"), [
    ("10", 0, Status.PASS, None), ("11", 0, Status.WARN, 10), ("0", 60, Status.FAIL, 60), ("N/A", 60, Status.FAIL, 60),
])  # fmt: skip
def test_limits_of_retired_pages(single: str, double: int, status: Status, limit: int | None) -> None:
    section = f"    Retired Pages\n        Single Bit ECC : {single}\n        Double Bit ECC : {double}\n"
    (finding,) = ruled("nvidia.pages_retired", in_detail(section))
    assert (finding.status, finding.evidence.get("threshold")) == (status, limit)
    assert finding.subject.get("device") == (None if limit is None else "gpu0")


def test_a_remap_that_is_pending_in_the_details() -> None:
    assert statuses(ruled("nvidia.remap_pending", in_detail(AMPERE))) == [Status.FAIL]


def test_what_counts_are_compared_with() -> None:
    (finding,) = ruled("nvidia.ecc_uncorrectable", facts_of({QUERY: csv(f"index, {ERRORS}", "0, 3")}))
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (3, 0)
    (finding,) = fleet("nvidia.memory_short", a=with_memory(81559, 81559, 65000))
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (65000, 81559)


def test_growth_is_one_finding_a_gpu() -> None:
    more = "ecc.errors.uncorrected.aggregate.total"
    before, now = (facts_of({QUERY: csv(f"index, {ERRORS}, {more}", f"0, {n}, {n}")}) for n in (1, 3))
    (finding,) = ruled("nvidia.errors_grew", now, earlier=before)
    assert finding.message.count("2 more") == 2
    assert statuses(ruled("nvidia.errors_grew", before, earlier=now)) == [Status.SKIP]


@pytest.mark.parametrize(("key", "rule"), [
    ("Channel Repair Pending", "nvidia.repair_pending"), ("TPC Repair Pending", "nvidia.repair_pending"),
    ("Unrepairable Memory", "nvidia.unrepairable"),
])  # fmt: skip
def test_repairs(key: str, rule: str) -> None:
    for said, found in (("Yes", [Status.FAIL]), ("No", [Status.PASS]), ("N/A", [])):
        section = f"    ECC Errors\n        Volatile\n            DRAM Correctable : 0\n        {key} : {said}\n"
        assert statuses(ruled(rule, in_detail(section))) == found


@pytest.mark.parametrize(("now", "then", "found"), [
    ("Enabled", "Disabled", [Status.WARN]), ("Disabled", "Enabled", [Status.INFO]),
    ("Enabled", "Enabled", [Status.PASS]), ("N/A", "N/A", []),
])  # fmt: skip
def test_ecc_that_the_next_reset_changes(now: str, then: str, found: list[Status]) -> None:
    for facts in (
        in_detail(f"    ECC Mode\n        Current : {now}\n        Pending : {then}\n"),
        facts_of({QUERY: csv("index, ecc.mode.current, ecc.mode.pending, pstate", f"0, {now}, {then}, P0")}),
    ):
        assert statuses(ruled("nvidia.ecc_pending", facts)) == found
