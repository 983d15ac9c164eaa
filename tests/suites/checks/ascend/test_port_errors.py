"""Rules about what NPU ports count."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

MUCH = {"roce_tx_all_pkt_num": 10**9, "roce_rx_all_pkt_num": 10**9, "mac_rx_total_pkt_num": 10**9}


def counted(*ports: dict[str, int], question: str = "stat") -> dict[str, Any]:
    """What ports 0, 1 and so on count."""
    return facts_of({
        f"hccn_tool -i {device} -{question} -g": "".join(f"{name}:{count}\n" for name, count in counts.items())
        for device, counts in enumerate(ports)
    })  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ({**MUCH, "roce_new_pkt_rty_num": 0}, Status.PASS),
        ({**MUCH, "roce_new_pkt_rty_num": 50}, Status.PASS),
        ({**MUCH, "roce_new_pkt_rty_num": 5000}, Status.WARN),
        ({**MUCH, "mac_rx_bad_pkt_num": 5000}, Status.WARN),
        ({"roce_tx_all_pkt_num": 100, "roce_new_pkt_rty_num": 9}, Status.PASS),
        ({"roce_rx_err_pkt_num": 10}, Status.PASS),
        ({"roce_rx_err_pkt_num": 11}, Status.WARN),
        ({**MUCH, "roce_out_of_order_num": 5000, "roce_tx_err_pkt_num": 0}, Status.PASS),
    ],
)
def test_errors_are_judged_by_the_traffic(counts: dict[str, int], status: Status) -> None:
    assert statuses(ruled("ascend.port_errors", counted(counts))) == [status]


def test_errors_are_told_with_their_line_and_all_their_kinds() -> None:
    counts = {**MUCH, "roce_new_pkt_rty_num": 5000, "roce_rx_err_pkt_num": 3}
    (finding,) = ruled("ascend.port_errors", counted({"nic_x": 1}, counts))
    assert finding.subject["device"] == "npu1"
    assert finding.evidence["line"] == "roce_new_pkt_rty_num:5000"
    assert finding.evidence["counters"] == {"roce_new_pkt_rty_num": 5000, "roce_rx_err_pkt_num": 3}


@pytest.mark.parametrize(
    ("then", "now", "new"),
    [
        ({"roce_tx_err_pkt_num": 7}, {"roce_tx_err_pkt_num": 7}, None),
        ({"roce_tx_err_pkt_num": 7}, {"roce_tx_err_pkt_num": 9}, {"roce_tx_err_pkt_num": 2}),
        ({"roce_tx_err_pkt_num": 7}, {"roce_tx_err_pkt_num": 3}, {"roce_tx_err_pkt_num": 3}),
        ({"roce_tx_all_pkt_num": 7}, {"roce_tx_all_pkt_num": 70}, None),
        ({}, {"roce_tx_err_pkt_num": 3}, None),
    ],
)
def test_what_grew_since_the_earlier_snapshot(
    then: dict[str, int], now: dict[str, int], new: dict[str, int] | None
) -> None:
    found = ruled("ascend.port_errors_grew", counted({"nic_x": 1, **now}), earlier=counted({"nic_x": 1, **then}))
    assert statuses(found) == [Status.WARN if new else Status.PASS]
    if new:
        assert found[0].evidence["grown"] == new


def test_the_line_of_what_grew_most_is_the_evidence() -> None:
    now = {"roce_tx_err_pkt_num": 3, "roce_rx_err_pkt_num": 40}
    (finding,) = ruled("ascend.port_errors_grew", counted(now), earlier=counted(dict.fromkeys(now, 0)))
    assert finding.evidence["line"] == "roce_rx_err_pkt_num:40"


def test_code_words_that_grew() -> None:
    before, after = (counted({"cw_uncorrect_cnt": count}, question="stat_extra") for count in (1, 4))
    (finding,) = ruled("ascend.port_errors_grew", after, earlier=before)
    assert "3 code words beyond correction" in finding.message


def test_a_port_with_more_errors_than_the_others() -> None:
    quiet = {"roce_tx_err_pkt_num": 2}
    facts = counted(quiet, quiet, {"roce_tx_err_pkt_num": 77}, quiet)
    (finding,) = ruled("ascend.port_errors_outlier", facts)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "h", "device": "npu2"})
    assert statuses(ruled("ascend.port_errors_outlier", counted(quiet, quiet, quiet, quiet))) == [Status.PASS]


def test_few_ports_have_no_outlier() -> None:
    assert ruled("ascend.port_errors_outlier", counted({"roce_tx_err_pkt_num": 0}, {"roce_tx_err_pkt_num": 77})) == []


def test_ports_of_a_fleet_are_compared_together() -> None:
    many = [{"roce_tx_err_pkt_num": count} for count in (100, 105, 110, 95)]
    found = fleet("ascend.port_errors_outlier", a=counted(*many), b=counted({"roce_tx_err_pkt_num": 900}))
    assert [finding.subject for finding in found] == [{"host": "b", "device": "npu0"}]


def paused(priority: int, frames: int, level: str | None = None) -> dict[str, Any]:
    facts = counted({f"mac_rx_pfc_pri{priority}_pkt_num": frames, "mac_tx_pfc_pri0_pkt_num": 1})
    return {**facts, "environment": {"variables": {"HCCL_RDMA_SL": level} if level else {}}}


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (paused(4, 5000), Status.PASS),
        (paused(3, 50), Status.PASS),
        (paused(3, 5000), Status.INFO),
        (paused(3, 5000, "3"), Status.PASS),
        (paused(3, 5000, "5"), Status.WARN),
    ],
)
def test_pause_frames_of_the_priority_that_hccl_has(facts: dict[str, Any], status: Status) -> None:
    assert statuses(ruled("ascend.pfc_priority", facts)) == [status]


@pytest.mark.parametrize(("count", "status"), [(0, Status.PASS), (10, Status.PASS), (11, Status.INFO)])
def test_code_words_beyond_correction(count: int, status: Status) -> None:
    facts = counted({"cw_uncorrect_cnt": count}, question="stat_extra")
    assert statuses(ruled("ascend.code_words_lost", facts)) == [status]


@pytest.mark.parametrize(
    ("rate", "status"), [("1.00e-08", Status.PASS), ("5.00e-05", Status.WARN), ("2.00e-04", Status.FAIL)]
)
def test_wrong_bits(rate: str, status: Status) -> None:
    facts = facts_of({"hccn_tool -i 0 -stat_extra -g": f"correcting_bit_rate : {rate}\n"})
    assert statuses(ruled("ascend.bit_errors", facts)) == [status]


def test_packets_out_of_order_are_normal_where_paths_are_many() -> None:
    before, after = (counted({"roce_out_of_order_num": count}) for count in (1, 5000))
    assert Status.WARN not in statuses(ruled("ascend.port_errors_grew", after, earlier=before))
