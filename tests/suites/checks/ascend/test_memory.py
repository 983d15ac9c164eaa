"""Rules about the memory of NPUs, from what npu-smi prints to the finding."""

from __future__ import annotations

import pytest

from suites.report import Status
from tests.probes.ascend.npu_samples import A3, COLUMNS, details, eight, idle, mapping, rows, table
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

USAGES = "npu-smi info -t usages -i 0 -c 0"


@pytest.mark.parametrize(
    ("name", "capacity", "status"),
    [
        ("910A", 31129, Status.FAIL),
        ("910A", 31130, Status.PASS),
        ("910B3", 49152, Status.FAIL),
        ("910B4", 32768, Status.PASS),
        ("910B4-1", 32768, Status.FAIL),
        ("Ascend910", 65536, Status.PASS),
        ("950", 131072, Status.PASS),
        ("950", 80000, Status.FAIL),
        ("made up", 12345, Status.PASS),
    ],
)
def test_memory_of_a_model(name: str, capacity: int, status: Status) -> None:
    facts = facts_of({"npu-smi info": table([rows(0, name=name, hbm=f"0 / {capacity}")])})
    assert statuses(ruled("ascend.hbm_short", facts)) == [status]


@pytest.mark.parametrize(
    ("capacity", "status"),
    [(31129, Status.FAIL), (61000, Status.FAIL), (49152, Status.WARN), (65536, Status.PASS), (114688, Status.PASS)],
)
def test_memory_of_an_unknown_model(capacity: int, status: Status) -> None:
    facts = facts_of({USAGES: details(HBM_Capacity__MB=capacity)})
    assert statuses(ruled("ascend.hbm_short", facts)) == [status]


def test_the_model_may_be_told_elsewhere() -> None:
    chips = mapping(COLUMNS, ("0", "0", "0", "Ascend 910B3"))
    facts = facts_of({"npu-smi info -m": chips, USAGES: details(HBM_Capacity__MB=32768)})
    (finding,) = ruled("ascend.hbm_short", facts)
    assert finding.message == "npu0 has 32768 MB of memory, less than 95 % of 65536"
    assert finding.evidence["command"] == USAGES


def test_less_than_its_siblings() -> None:
    facts = facts_of(
        {"npu-smi info": table(rows(n, name="new", hbm=f"0 / {60000 if n == 1 else 90000}") for n in range(3))}
    )
    (finding,) = ruled("ascend.hbm_short", facts)
    assert finding.subject["device"] == "npu1"


def test_a_chip_without_such_memory_says_nothing() -> None:
    assert ruled("ascend.hbm_short", facts_of({USAGES: details(HBM_Capacity__MB=0)})) == []


def test_memory_that_is_held_for_no_process() -> None:
    held = table([rows(0), rows(1, hbm="30750/ 65536")], idle(0, 1))
    (finding,) = ruled("ascend.hbm_held", facts_of({"npu-smi info": held}))
    assert (finding.status, finding.subject["device"], finding.evidence["value"]) == (Status.WARN, "npu1", 30750)


def test_memory_of_cores_that_work_is_not_held() -> None:
    at_work = rows(0, hbm="60873/ 65536").replace("| 0           0 ", "| 98          0 ")
    assert ruled("ascend.hbm_held", facts_of({"npu-smi info": table([at_work], idle(0))})) == []


def test_what_the_driver_takes_is_not_held() -> None:
    facts = facts_of({"npu-smi info": table([rows(0, hbm="3430 / 65536")], idle(0))})
    assert statuses(ruled("ascend.hbm_held", facts)) == [Status.PASS]


def test_memory_of_a_process_or_of_an_unknown_one_is_not_held() -> None:
    process = "| 0       0                 | 7             | python                   | 60000                   |"
    busy = table([rows(0, hbm="60000 / 65536"), rows(1, hbm="60000 / 65536")], [process])
    facts = facts_of({"npu-smi info": busy})
    assert statuses(ruled("ascend.hbm_held", facts)) == [Status.PASS]
    assert ruled("ascend.hbm_held", facts_of({"npu-smi info": eight(npu0=rows(0, hbm="60000 / 65536"))})) == []


def test_processes_are_told_once() -> None:
    (finding,) = ruled("ascend.npu_busy", facts_of({"npu-smi info": A3}))
    assert (finding.status, finding.message) == (Status.INFO, "processes use 1 NPUs: npu5: python3 (4711)")
    assert statuses(ruled("ascend.npu_busy", facts_of({"npu-smi info": table([rows(0)], idle(0))}))) == [Status.PASS]


@pytest.mark.parametrize(
    ("name", "capacity"),
    [
        ("910B4", 16384),
        ("910B1", 32768),
        ("910B2C", 32768),
        ("910C", 32768),
        ("910_9391", 32768),
        ("Ascend910", 32768),
        ("910ProB", 16384),
        ("910PremiumA", 16384),
        ("Ascend950PR", 65536),
    ],
)
def test_half_of_the_memory_of_each_known_model(name: str, capacity: int) -> None:
    facts = facts_of({"npu-smi info": table([rows(0, name=name, hbm=f"0 / {capacity}")])})
    assert statuses(ruled("ascend.hbm_short", facts)) == [Status.FAIL]


@pytest.mark.parametrize("size", [2048, 4096, 8192, 16384, 24576, 32768, 65536, 86016, 114688, 131072, 147456])
def test_an_unknown_chip_that_is_short_of_a_known_size(size: int) -> None:
    (finding,) = ruled("ascend.hbm_short", facts_of({USAGES: details(HBM_Capacity__MB=size * 92 // 100)}))
    assert (finding.status, finding.evidence["threshold"]) == (Status.FAIL, 0.95 * size)
    assert statuses(ruled("ascend.hbm_short", facts_of({USAGES: details(HBM_Capacity__MB=size)}))) == [Status.PASS]


def test_of_several_answers_the_least_counts() -> None:
    info = table([rows(0, name="910B3", hbm="0 / 65536")])
    memory = "npu-smi info -t memory -i 0 -c 0"
    facts = facts_of({
        "npu-smi info": info, USAGES: details(HBM_Capacity__MB=65536), memory: details(HBM_Capacity__MB=49152),
    })  # fmt: skip
    (finding,) = ruled("ascend.hbm_short", facts)
    assert (finding.evidence["command"], finding.evidence["value"]) == (memory, 49152)
    assert finding.evidence["line"].startswith("HBM Capacity(MB)")


@pytest.mark.parametrize(("used", "status"), [(6144, Status.PASS), (6145, Status.WARN)])
def test_how_much_may_be_held(used: int, status: Status) -> None:
    facts = facts_of({"npu-smi info": table([rows(0, hbm=f"{used} / 65536")], idle(0))})
    assert statuses(ruled("ascend.hbm_held", facts)) == [status]


def test_a_chip_of_which_no_use_is_told_holds_nothing() -> None:
    facts = facts_of({"npu-smi info": table([rows(0, hbm="-")], idle(0))})
    assert ruled("ascend.hbm_held", facts) == []


def test_processes_that_are_not_told_of_are_unknown() -> None:
    assert ruled("ascend.npu_busy", facts_of({"npu-smi info": eight()})) == []


def test_the_evidence_of_processes_has_all_of_them() -> None:
    (finding,) = ruled("ascend.npu_busy", facts_of({"npu-smi info": A3}))
    assert finding.evidence["command"] == "npu-smi info"
    assert [process["pid"] for process in finding.evidence["value"]["npu5"]] == [4711]
