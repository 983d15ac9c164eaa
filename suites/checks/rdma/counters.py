"""Rules about counters of RDMA ports. Their totals say nothing, since healthy ports have some of every kind: what grew
between two looks does. May import: agreement, growth, network_ports, rdma_facts, rule, report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from suites.checks.agreement import Held, far_above
from suites.checks.growth import RESET
from suites.checks.network.ports import interfaces
from suites.checks.rdma.facts import Port, all_ports, grew, likes, ports
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.report import Status

LINK = ("link_downed", "link_error_recovery")
SYMBOLS = ("symbol_error",)
ERRORS = (
    "port_rcv_errors", "port_rcv_remote_physical_errors", "port_xmit_discards", "local_link_integrity_errors",
    "excessive_buffer_overrun_errors", "VL15_dropped", "packet_seq_err", "local_ack_timeout_err",
    "rnr_nak_retry_err", "implied_nak_seq_err", "rx_icrc_encapsulated", "req_cqe_error", "resp_cqe_error",
    "req_remote_access_errors", "resp_remote_access_errors", "req_transport_retries_exceeded",
)  # fmt: skip
"""Packets that were lost, damaged or sent again: the kernel's and mlx5's names."""
BUFFER = ("out_of_buffer",)
CONGESTION = (
    "port_xmit_wait", "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "roce_slow_restart",
    "roce_adp_retrans", "out_of_sequence",
)  # fmt: skip
"""How often a sender had to wait, was slowed down or changed its pace, which is how a shared fabric works; and packets
out of order, which adaptive routing brings."""
REPEATED = ("symbol_error", "packet_seq_err", "local_ack_timeout_err", "implied_nak_seq_err", "rx_icrc_encapsulated")
"""Of which ports of one kind have about as many, or none."""


def _grew(names: tuple[str, ...]) -> Callable[[Case], Iterator[Judged]]:
    def judge(case: Case) -> Iterator[Judged]:
        for port, found in grew(case, names):
            if names is LINK and port.facts["netdev"] in _watched(case.facts):
                continue
            if found is None:
                yield unknown(RESET, device=port.name)
            elif not found:
                yield ok(port.name)
            else:
                said = ", ".join(f"{name} by {now - then}" for name, (then, now) in found.items())
                values = {name: {"before": then, "after": now} for name, (then, now) in found.items()}
                source = _file(port, "*counters", "")
                yield broken(
                    f"on {port.name} grew {said}", {"file": source, "value": values, "threshold": 0}, port.name
                )

    return judge


def _watched(facts: Facts) -> set[str]:
    """Interfaces of which network.link_changes tells how often their link came and went."""
    return {each["name"] for each in interfaces(facts) if "carrier_changes" in each["counters"]}


def _outliers(case: Case) -> Iterator[Judged]:
    for group in likes(all_ports(case)):
        for name in REPEATED:
            counted = [(port, port.facts["counters"].get(name)) for port in group if port.active]
            held = [
                Held(port.host, port.name, count, {"file": _file(port, "*counters", name), "value": count})
                for port, count in counted
                if count is not None
            ]
            yield from far_above(name, held, case.limits)


def _file(port: Port, folder: str, name: str) -> str:
    return f"/sys/class/infiniband/{port.device['name']}/ports/{port.facts['id']}/{folder}/{name}"


def _saturated(case: Case) -> Iterator[Judged]:
    for port in ports(case.facts):
        for name, most in case.limits.items():
            value = port.facts["counters"].get(name)
            if value is None:
                continue
            if value == most:
                source = _file(port, "counters", name)
                message = f"{name} of {port.name} stopped counting at {value}: whether it still happens is hidden"
                yield broken(message, {"file": source, "value": value, "threshold": most}, port.name)
            else:
                yield ok(port.name)


_BITS_8 = Threshold(255, "times", "an 8-bit counter (InfiniBand specification, PortCounters)")
_BITS_16 = Threshold(65535, "times", "a 16-bit counter (InfiniBand specification, PortCounters)")
_FACTS: Mapping[str, tuple[tuple[str, ...], Status, str, str, str]] = {
    "rdma.link_downed_grew": (
        LINK, Status.WARN, "no RDMA port lost its link between two looks",
        "Each time the link is down connections wait or break; a link that flaps kills jobs at random.",
        "reseat or replace the cable or module of this port; see the switch port's own counters and `dmesg`",
    ),
    "rdma.symbol_errors_grew": (
        SYMBOLS, Status.WARN, "no RDMA port received damaged symbols between two looks",
        "Damaged symbols come from a bad cable, module or connector, long before the link goes down.",
        "clean and reseat both ends of the cable, then replace it; `mlxlink -d DEVICE -c` shows the bit error rate",
    ),
    "rdma.errors_grew": (
        ERRORS, Status.WARN, "no RDMA port lost or repeated packets between two looks",
        "Every packet that is lost is sent again after a timeout, and everything behind it waits.",
        "look at the cable (`mlxlink -d DEVICE -c`); for RoCE set PFC and ECN alike on hosts and switches (`mlnx_qos`)",
    ),
    "rdma.out_of_buffer_grew": (
        BUFFER, Status.WARN, "no RDMA port dropped packets for want of receive buffers",
        "The program posted too few receives, or was too slow: what came in was dropped and sent again.",
        "see which process it is (`rdma resource show qp`), and whether its CPUs are busy or throttled",
    ),
    "rdma.congestion": (
        CONGESTION, Status.INFO, "no RDMA port was held up by congestion between two looks",
        "Marks and pauses are how a shared fabric is kept from losing packets; much of them is time that ranks wait.",
        "compare it with other hosts; where one stands out, look at what else uses its switch port and at the routing",
    ),
}  # fmt: skip


def _rule(name: str) -> Rule:
    counters, status, summary, why, remedy = _FACTS[name]
    return Rule(name, summary, why, remedy, status, ("rdma",), _grew(counters), scope=Scope.SNAPSHOTS)


RULES = (
    Rule(
        name="rdma.errors_outlier",
        summary="no RDMA port has far more errors than its peers",
        why="One port among its like that repeats packets or gets damaged ones has a bad cable, module or switch port.",
        remedy="look at the cable (`mlxlink -d DEVICE -c`) and the switch port; see by two snapshots whether it grows: "
        "`opsdist info --since DIR`",
        status=Status.WARN,
        needs=("rdma",),
        judge=_outliers,
        scope=Scope.FLEET,
        thresholds={
            "least": Threshold(1000, "events", "opsdist: fewer come of a restart of the fabric"),
            "deviations": Threshold(5, "median absolute deviations", "opsdist: far outside of what peers have"),
        },
    ),
    Rule(
        name="rdma.counter_saturated",
        summary="no link counter of an RDMA port has stopped counting",
        why="Old counters of InfiniBand stay at their largest value: events after that are not seen by anyone.",
        remedy="reset them, which takes root, and look again after a job: `perfquery -R LID PORT`; if it grows, the "
        "cable or the module is the cause",
        status=Status.WARN,
        needs=("rdma",),
        judge=_saturated,
        thresholds={
            "link_downed": _BITS_8,
            "link_error_recovery": _BITS_8,
            "symbol_error": _BITS_16,
            "port_rcv_errors": _BITS_16,
        },
    ),
    *(_rule(name) for name in _FACTS),
)
