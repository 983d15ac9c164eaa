"""Rules about the links between AMD GPUs, from what the tools print to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.probes.amd import samples
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

RULES = ("amd.access_disabled", "amd.xgmi_lost", "amd.no_xgmi", "amd.link_weaker", "amd.links_differ")


def by_amd_smi(count: int, cell: Any, **how: Any) -> dict[str, Any]:
    return facts_of({"amd-smi topology": samples.amd_smi(count, cell, **how)})


def by_rocm_smi(count: int, cell: Any) -> dict[str, Any]:
    return facts_of({"rocm-smi --showtopo": samples.rocm_smi(count, cell)})


@pytest.mark.parametrize("facts", [by_amd_smi(8, samples.links(8)), by_rocm_smi(8, samples.two_hives)])
def test_one_hive_and_two_of_one_size_are_as_they_should_be(facts: dict[str, Any]) -> None:
    found = [finding for rule in RULES for finding in ruled(rule, facts)]
    assert set(statuses(found)) == {Status.PASS}


def test_a_pair_without_access_is_named() -> None:
    (finding,) = ruled("amd.access_disabled", by_amd_smi(2, samples.links(2, p01=samples.PCIE), no_access=[(1, 0)]))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu0-gpu1")
    assert finding.message == "gpu0 (0000:0a:00.0) and gpu1 (0000:1b:00.0) have no access to each other"


def test_a_pair_of_a_hive_that_lost_xgmi_is_named_with_its_row() -> None:
    (finding,) = ruled("amd.xgmi_lost", by_amd_smi(4, samples.links(4, p13=samples.PCIE)))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu1-gpu3")
    assert finding.evidence["line"].split() == ["0000:1b:00.0", "XGMI", "SELF", "XGMI", "PCIE"]


def test_a_gpu_that_is_outside_the_hive_is_named() -> None:
    alone = {f"p{number}3": samples.PCIE for number in range(3)}
    (finding,) = ruled("amd.xgmi_lost", by_rocm_smi(4, samples.links(4, **alone)))
    assert finding.subject["device"] == "gpu3"
    assert finding.message == "XGMI joins 3 GPUs of this host, and gpu3 with none of them"


def test_two_hives_of_a_model_that_is_always_one_are_a_fault() -> None:
    commands = {
        "amd-smi topology": samples.amd_smi(8, samples.two_hives),
        "amd-smi static --asic": samples.blocks("ASIC", *[{"MARKET_NAME": "AMD Instinct MI300X"}] * 8),
    }
    assert statuses(ruled("amd.xgmi_lost", facts_of(commands))) == [Status.FAIL] * 16


@pytest.mark.parametrize(("hops", "status"), [(3, Status.WARN), (2, Status.INFO)])
def test_two_gpus_without_xgmi(hops: int, status: Status) -> None:
    (finding,) = ruled("amd.no_xgmi", by_rocm_smi(2, samples.links(2, p01=("PCIE", 52, hops))))
    assert (finding.status, finding.subject["device"]) == (status, "gpu0-gpu1")


def test_many_gpus_without_xgmi_are_only_mentioned() -> None:
    assert statuses(ruled("amd.no_xgmi", by_rocm_smi(4, lambda one, other: samples.PCIE))) == [Status.INFO]


def test_the_farthest_pair_without_xgmi_is_shown() -> None:
    cell = samples.links(3, p01=("PCIE", 40, 2), p02=samples.PCIE, p12=("PCIE", 40, 2))
    (finding,) = ruled("amd.no_xgmi", by_rocm_smi(3, cell))
    assert (finding.subject["device"], finding.evidence["hops"]) == ("gpu0-gpu2", 3)


def test_of_two_directions_the_weaker_counts() -> None:
    def cell(one: int, other: int) -> samples.Cell:
        return samples.PCIE if (one, other) == (1, 0) else samples.XGMI

    (finding,) = ruled("amd.xgmi_lost", by_amd_smi(3, cell))
    assert finding.subject["device"] == "gpu0-gpu1"
    assert (finding.evidence["weight"], finding.evidence["hops"]) == (72, 3)


@pytest.mark.parametrize("weaker", [("XGMI", 30, 1), ("XGMI", 15, 2)])
def test_one_weaker_link_among_equal_ones(weaker: samples.Cell) -> None:
    (finding,) = ruled("amd.link_weaker", by_amd_smi(4, samples.links(4, p02=weaker)))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "gpu0-gpu2")


def test_links_that_differ_by_design_are_not_compared() -> None:
    ring = samples.links(4, p02=("XGMI", 30, 2), p13=("XGMI", 30, 2))
    assert ruled("amd.link_weaker", by_amd_smi(4, ring)) == []


def test_a_host_that_has_pcie_where_another_has_xgmi() -> None:
    good, bad = by_rocm_smi(2, samples.links(2)), by_rocm_smi(2, samples.links(2, p01=samples.PCIE))
    (finding,) = fleet("amd.links_differ", a=good, b=bad)
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "b", "device": "gpu0-gpu1"})
    assert statuses(fleet("amd.links_differ", a=good, b=good)) == [Status.PASS]


def test_hosts_with_other_numbers_of_gpus_are_not_compared() -> None:
    few, many = by_rocm_smi(2, lambda one, other: samples.PCIE), by_rocm_smi(4, samples.links(4))
    assert statuses(fleet("amd.links_differ", a=few, b=many)) == []


def test_what_no_tool_tells_is_not_judged() -> None:
    assert [finding for rule in RULES for finding in ruled(rule, facts_of({"amd-smi list": "x"}))] == []
