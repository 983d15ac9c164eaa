"""Rules about what NPUs count, from what npu-smi prints to the finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from suites.report import Status
from tests.probes.ascend.npu_samples import links, pairs_of
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

HEALTHY = {
    "HBM Single Bit Error Count": 0, "HBM Double Bit Error Count": 0, "HBM Double Bit Aggregate Total Err Cnt": 0,
    "HBM Single Bit Isolated Pages Count": 0, "HBM Double Bit Isolated Pages Count": 0,
    "HBM Double Bit Next-Isolated Pages Count": 0,
}  # fmt: skip


def ecc(device: int = 0, **changed: int) -> dict[str, Any]:
    told = {**HEALTHY, **{name.replace("_", " ").replace("Next ", "Next-"): count for name, count in changed.items()}}
    return facts_of({f"npu-smi info -t ecc -i {device} -c 0": pairs_of(told)})


def counted(question: str, *devices: str) -> dict[str, Any]:
    return facts_of({f"npu-smi info -t {question} -i {n} -c 0": text for n, text in enumerate(devices)})


def pcie(**counts: int) -> str:
    told = {"TX Error Count": 0, "RX Error Count": 0, "Retry Count": 0}
    return pairs_of({"NPU ID": 0, **told, **{name.replace("_", " "): count for name, count in counts.items()}})


def test_errors_of_two_bits_fail_with_their_line() -> None:
    (finding,) = ruled("ascend.ecc_double_bit", ecc(3, HBM_Double_Bit_Error_Count=1))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu3")
    assert finding.evidence["line"].startswith("HBM Double Bit Error Count")


def test_errors_of_two_bits_in_the_past_warn() -> None:
    facts = ecc(HBM_Double_Bit_Aggregate_Total_Err_Cnt=2)
    assert statuses(ruled("ascend.ecc_double_bit", facts)) == [Status.WARN]


def test_a_healthy_chip_passes() -> None:
    for rule in ("ecc_double_bit", "isolated_pages", "pages_pending"):
        assert statuses(ruled(f"ascend.{rule}", ecc())) == [Status.PASS]


def test_memory_without_ecc_is_no_verdict() -> None:
    refused = facts_of({"npu-smi info -t ecc -i 0 -c 0": "This device does not support querying ecc.\n"})
    assert statuses(ruled("ascend.ecc_double_bit", refused)) == [Status.SKIP]


@pytest.mark.parametrize(
    ("single", "double", "status"),
    [(0, 15, Status.PASS), (8, 8, Status.WARN), (0, 63, Status.WARN), (4, 64, Status.FAIL)],
)
def test_isolated_pages(single: int, double: int, status: Status) -> None:
    facts = ecc(HBM_Single_Bit_Isolated_Pages_Count=single, HBM_Double_Bit_Isolated_Pages_Count=double)
    assert statuses(ruled("ascend.isolated_pages", facts)) == [status]


def test_isolated_pages_have_the_limit_they_reached() -> None:
    (finding,) = ruled("ascend.isolated_pages", ecc(HBM_Double_Bit_Isolated_Pages_Count=70))
    assert (finding.evidence["threshold"], finding.evidence["pages"]) == (64, 70)


def test_the_evidence_is_the_counter_with_most_pages() -> None:
    facts = ecc(HBM_Single_Bit_Isolated_Pages_Count=4, HBM_Double_Bit_Isolated_Pages_Count=64)
    (finding,) = ruled("ascend.isolated_pages", facts)
    assert (finding.evidence["value"], finding.evidence["pages"]) == (64, 68)


def test_pages_that_wait_for_a_start() -> None:
    facts = ecc(HBM_Double_Bit_Next_Isolated_Pages_Count=2)
    assert statuses(ruled("ascend.pages_pending", facts)) == [Status.WARN]
    assert statuses(ruled("ascend.isolated_pages", facts)) == [Status.PASS]


GROWTH: Mapping[str, tuple[str, str, str]] = {
    "ascend.ecc_growing": (
        "ecc", pairs_of({"HBM Single Bit Error Count": 5}), pairs_of({"HBM Single Bit Error Count": 29})
    ),
    "ascend.pcie_errors_growing": ("pcie-err", pcie(RX_Error_Count=991), pcie(RX_Error_Count=999)),
    "ascend.hccs_errors_growing": ("hccs", links([4, 4]), links([4, 4], retry=[0, 1])),
    "ascend.sio_errors_growing": ("sio-info", pairs_of({"TX Error Count": 0}), pairs_of({"TX Error Count": 1})),
}  # fmt: skip


@pytest.mark.parametrize("rule", GROWTH)
def test_what_grew_since_the_earlier_look_warns(rule: str) -> None:
    question, before, after = GROWTH[rule]
    (finding,) = ruled(rule, counted(question, after), earlier=counted(question, before))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "npu0")
    assert finding.evidence["earlier"] < finding.evidence["value"]


@pytest.mark.parametrize("rule", GROWTH)
def test_what_did_not_grow_passes_and_what_was_set_back_is_unknown(rule: str) -> None:
    question, before, after = GROWTH[rule]
    assert statuses(ruled(rule, counted(question, after), earlier=counted(question, after))) == [Status.PASS]
    (unknown, *rest) = ruled(rule, counted(question, before), earlier=counted(question, after))
    assert (unknown.status, set(statuses(rest))) in [(Status.SKIP, set()), (Status.SKIP, {Status.PASS})]
    assert "reset" in unknown.message


@pytest.mark.parametrize("rule", GROWTH)
def test_without_an_earlier_look_nothing_is_said(rule: str) -> None:
    question, _, after = GROWTH[rule]
    assert ruled(rule, counted(question, after)) == []
    assert ruled(rule, counted(question, after), earlier=facts_of({})) == []


def test_growing_errors_name_the_link_and_its_first_bad_lane() -> None:
    before, after = counted("hccs", links([4, 4])), counted("hccs", links([4, 4], "NOK", error=[0, 9]))
    (finding,) = ruled("ascend.hccs_errors_growing", after, earlier=before)
    assert finding.message == "npu0: error count of HCCS link 1 grew by 9 to 9"
    assert finding.evidence["first_error_lane"] == 4


def test_counts_since_the_start_are_told_and_no_fault() -> None:
    (finding,) = ruled("ascend.errors_since_start", counted("pcie-err", pcie(RX_Error_Count=991, Retry_Count=415)))
    assert finding.status is Status.INFO
    assert "rx error count is 991" in finding.message
    assert statuses(ruled("ascend.errors_since_start", counted("pcie-err", pcie()))) == [Status.PASS]


def test_a_link_that_counted_more_than_its_peers() -> None:
    found = fleet("ascend.errors_stand_out", a=counted("hccs", links([4] * 7, error=[0, 0, 0, 0, 412, 0, 0])))
    assert [finding.message for finding in found] == ["npu0: error count of HCCS link 4 is 412, and of its peers 0"]


def test_a_device_on_another_host_that_counted_more_than_its_peers() -> None:
    usual = counted("pcie-err", pcie(Retry_Count=40), pcie(Retry_Count=44), pcie(Retry_Count=41))
    odd = counted("pcie-err", pcie(Retry_Count=42), pcie(Retry_Count=400))
    (finding,) = fleet("ascend.errors_stand_out", a=usual, b=odd)
    assert finding.subject == {"host": "b", "device": "npu1"}


def test_counts_within_the_spread_of_their_peers_do_not_stand_out() -> None:
    spread = counted("pcie-err", *(pcie(Retry_Count=count) for count in (100, 140, 180, 220, 260)))
    assert Status.WARN not in statuses(fleet("ascend.errors_stand_out", a=spread))


def test_few_or_alike_counts_do_not_stand_out() -> None:
    assert fleet("ascend.errors_stand_out", a=counted("pcie-err", pcie(), pcie(Retry_Count=900))) == []
    alike = counted("pcie-err", *(pcie(Retry_Count=count) for count in (3, 0, 9, 1)))
    assert Status.WARN not in statuses(fleet("ascend.errors_stand_out", a=alike))
