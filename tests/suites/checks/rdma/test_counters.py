"""Rules about counters of RDMA ports: totals say nothing, growth does."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.probes.rdma.samples import devices, sysfs
from tests.suites.checks.rdma_told import hosts_device, told
from tests.suites.checks.ruled import ruled, statuses


def counted(**counters: int) -> dict[str, Any]:
    return told(sysfs("mlx5_0", **{f"counters__{name}": str(value) for name, value in counters.items()}))


def test_a_counter_that_stands_at_its_largest_value() -> None:
    (finding,) = ruled("rdma.counter_saturated", counted(link_downed=255, symbol_error=3))
    assert (finding.status, hosts_device(finding)) == (Status.WARN, ("h", "mlx5_0"))
    assert finding.evidence["file"] == "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed"


def test_totals_of_a_healthy_port_are_silent() -> None:
    facts = counted(link_downed=254, port_rcv_errors=14, excessive_buffer_overrun_errors=15, out_of_sequence=9000)
    assert statuses(ruled("rdma.counter_saturated", facts)) == [Status.PASS]


@pytest.mark.parametrize(
    ("rule", "name", "status"),
    [
        ("rdma.link_downed_grew", "link_downed", Status.WARN),
        ("rdma.symbol_errors_grew", "symbol_error", Status.WARN),
        ("rdma.errors_grew", "packet_seq_err", Status.WARN),
        ("rdma.out_of_buffer_grew", "out_of_buffer", Status.WARN),
        ("rdma.congestion", "np_cnp_sent", Status.INFO),
        ("rdma.congestion", "out_of_sequence", Status.INFO),
    ],
)
def test_what_grew_between_two_looks(rule: str, name: str, status: Status) -> None:
    before, after = counted(**{name: 5}), counted(**{name: 7})
    (finding,) = ruled(rule, after, earlier=before)
    assert (finding.status, finding.message) == (status, f"on mlx5_0 grew {name} by 2")
    assert finding.evidence["value"] == {name: {"before": 5, "after": 7}}
    assert statuses(ruled(rule, after, earlier=after)) == [Status.PASS]


def test_counters_that_were_reset_are_unknown() -> None:
    (finding,) = ruled("rdma.link_downed_grew", counted(link_downed=1), earlier=counted(link_downed=9))
    assert (finding.status, finding.message) == (Status.SKIP, "mlx5_0: the counters were reset between the two looks")


def test_one_counter_that_is_lower_than_before_says_that_all_were_reset() -> None:
    before, after = counted(packet_seq_err=5, rnr_nak_retry_err=9), counted(packet_seq_err=7, rnr_nak_retry_err=0)
    assert statuses(ruled("rdma.errors_grew", after, earlier=before)) == [Status.SKIP]


def test_a_link_whose_interface_is_watched_is_not_told_twice() -> None:
    counters = {"interfaces": [{"name": "net1", "counters": {"carrier_changes": 3}}]}
    before, after = (told(sysfs("mlx5_0", gid_attrs__ndevs__0="net1", counters__link_downed=it)) for it in "57")
    assert statuses(ruled("rdma.link_downed_grew", after, earlier=before)) == [Status.WARN]
    assert ruled("rdma.link_downed_grew", after | {"network": counters}, earlier=before) == []


def test_packets_out_of_order_are_no_errors() -> None:
    assert ruled("rdma.errors_grew", counted(out_of_sequence=7), earlier=counted(out_of_sequence=5)) == []


@pytest.mark.parametrize(("count", "found"), [(93211, [Status.WARN]), (400, [Status.PASS])])
def test_a_port_with_far_more_errors_than_its_peers(count: int, found: list[Status]) -> None:
    counts = {f"mlx5_{number}": count if number == 3 else 0 for number in range(8)}
    facts = told(devices(**{name: {"hw_counters__local_ack_timeout_err": str(it)} for name, it in counts.items()}))
    findings = ruled("rdma.errors_outlier", facts)
    assert statuses(findings) == found
    if count > 1000:
        assert hosts_device(findings[0]) == ("h", "mlx5_3")


def test_a_port_without_counters_or_without_a_past_is_not_judged() -> None:
    assert ruled("rdma.errors_grew", counted(), earlier=counted()) == []
    assert ruled("rdma.errors_grew", counted(packet_seq_err=9), earlier=told()) == []
