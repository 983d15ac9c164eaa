"""Rules about counters of RDMA ports: totals say nothing, growth does."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.probes.rdma.samples import sysfs
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


def test_a_port_without_counters_or_without_a_past_is_not_judged() -> None:
    assert ruled("rdma.errors_grew", counted(), earlier=counted()) == []
    assert ruled("rdma.errors_grew", counted(packet_seq_err=9), earlier=told()) == []
