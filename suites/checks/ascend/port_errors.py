"""Rules about what the ports of Ascend NPUs count: packets that were bad, sent again or lost, and bits that were wrong.

Counters go on since they were cleared or the device started, and a healthy port has some. So most rules compare: with
an earlier snapshot, or with other ports; only what is much for the traffic, or for the link, is judged by itself.
May import: readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from suites.checks.readings import Reading, evidence, of_devices, untold, value
from suites.checks.rule import Case, Judged, Rule, Scope, Threshold, broken, ok
from suites.report import Status

_TRAFFIC: Mapping[str, str] = {
    "roce_new_pkt_rty_num": "roce_tx_all_pkt_num",
    "roce_rx_err_pkt_num": "roce_rx_all_pkt_num",
    "roce_tx_err_pkt_num": "roce_tx_all_pkt_num",
    "roce_verification_err_num": "roce_rx_all_pkt_num",
    "mac_rx_bad_pkt_num": "mac_rx_total_pkt_num",
    "mac_rx_fcs_err_pkt_num": "mac_rx_total_pkt_num",
    "mac_tx_bad_pkt_num": "mac_tx_total_pkt_num",
}
"""Errors -> all packets of the kind. Packets out of order are left out: where paths are many they are normal."""
_ERRORS = (*_TRAFFIC, "roce_qp_status_err_num", "roce_unexpected_ack_num")
_CODE_ERRORS = ("cw_uncorrect_cnt", "cw_bad_cnt", "pcs_err_cnt", "rx_send_app_bad_pkts")
_MEANING: Mapping[str, str] = {
    "roce_new_pkt_rty_num": "packets sent again",
    "roce_rx_err_pkt_num": "bad RoCE packets received",
    "roce_tx_err_pkt_num": "bad RoCE packets sent",
    "roce_verification_err_num": "packets that failed verification",
    "roce_qp_status_err_num": "packets for a queue pair in the wrong state",
    "roce_unexpected_ack_num": "unexpected acknowledgements",
    "mac_rx_bad_pkt_num": "bad frames received",
    "mac_rx_fcs_err_pkt_num": "frames with a wrong checksum",
    "mac_tx_bad_pkt_num": "bad frames sent",
    "cw_uncorrect_cnt": "code words beyond correction",
    "cw_bad_cnt": "bad code words",
    "pcs_err_cnt": "errors of the coding layer",
    "rx_send_app_bad_pkts": "bad packets passed on",
}


def _many(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "stat"):
        if reading is None:
            yield untold(device, "stat", name)
        elif many := _shares(reading, case.limits):
            counters = reading["counters"]
            worst = max(many, key=lambda error: many[error])
            told = ", ".join(f"{counters[error]} {_MEANING[error]}" for error in many)
            share = f"up to {many[worst]:.1g} of all packets" if many[worst] < 1 else "and its traffic is not told"
            shown = {
                **evidence(reading, worst, case.limits["share"]),
                "counters": {error: counters[error] for error in _ERRORS if counters.get(error)},
            }
            yield broken(f"{name} has many errors for its traffic, {share}: {told}", shown, name)
        elif any(error in reading["counters"] for error in _TRAFFIC):
            yield ok(name)


def _shares(reading: Reading, limits: Mapping[str, Any]) -> dict[str, float]:
    """The share of packets that had each error, of errors that are many; 1 where the traffic is not told."""
    counters = reading["counters"]
    shares = {
        error: counters[error] / max(counters[error], counters.get(total, 0))
        for error, total in _TRAFFIC.items()
        if counters.get(error, 0) > limits["least"]
    }
    return {error: share for error, share in shares.items() if share > limits["share"]}


def _grew(case: Case) -> Iterator[Judged]:
    for query, names in (("stat", _ERRORS), ("stat_extra", _CODE_ERRORS)):
        before = {name: reading for name, _, reading in of_devices(case.earlier, "ascend", query)}
        for name, device, reading in of_devices(case.facts, "ascend", query):
            earlier = before.get(name)
            if reading is None:
                yield untold(device, query, name)
            elif earlier is not None:
                yield _growth(name, reading, earlier, names)


def _growth(name: str, reading: Reading, earlier: Reading, names: Sequence[str]) -> Judged:
    """A counter that is smaller now was cleared in between, so that all of it is new."""
    now, then = reading["counters"], earlier["counters"]
    both = [each for each in names if each in now and each in then]
    grown = {each: now[each] - then[each] if now[each] >= then[each] else now[each] for each in both}
    new = {each: count for each, count in grown.items() if count > 0}
    if not new:
        return ok(name)
    most = max(new, key=lambda each: new[each])
    told = ", ".join(f"{count} {_MEANING[each]}" for each, count in new.items())
    shown = {**evidence(reading, most), "earlier": then[most], "grown": new}
    return broken(f"{name} has new errors since the earlier snapshot: {told}", shown, name)


def _outlier(case: Case) -> Iterator[Judged]:
    read = [
        (host, name, reading)
        for host, facts in case.fleet.items()
        for name, _, reading in of_devices(facts, "ascend", "stat")
        if reading is not None
    ]
    bounds = {each: _bound([reading["counters"].get(each) for _, _, reading in read], case.limits) for each in _ERRORS}
    for host, name, reading in read:
        counters = reading["counters"]
        high = {each: counters[each] for each in _ERRORS if each in counters and counters[each] > bounds[each]}
        if high:
            worst = max(high, key=lambda each: high[each])
            told = ", ".join(f"{count} {_MEANING[each]}" for each, count in high.items())
            message = f"{name} has more errors than the other {len(read) - 1} ports: {told}"
            shown = {**evidence(reading, worst, bounds[worst], "median + 5 MAD of all ports"), "counters": high}
            yield broken(message, shown, name, host=host)
        elif len(read) >= case.limits["ports"]:
            yield ok(name, host)


def _bound(counts: Sequence[int | None], limits: Mapping[str, Any]) -> float:
    """Above it a count is that of an outlier; without end where there are too few to compare."""
    known = [count for count in counts if count is not None]
    if len(known) < limits["ports"]:
        return float("inf")
    middle = median(known)
    spread = median(abs(count - middle) for count in known)
    return float(max(middle + limits["deviations"] * spread, limits["least"]))


def _priority(case: Case) -> Iterator[Judged]:
    variables = (case.facts.get("environment") or {}).get("variables") or {}
    told = variables.get("HCCL_RDMA_SL")
    level = int(told) if told in set("01234567") else int(case.limits["level"])
    for name, device, reading in of_devices(case.facts, "ascend", "stat"):
        if reading is None:
            yield untold(device, "stat", name)
            continue
        frames = _pauses(reading)
        if not frames or max(frames.values()) <= case.limits["least"]:
            yield ok(name)
            continue
        most = max(frames, key=lambda priority: frames[priority])
        if most == level:
            yield ok(name)
        else:
            which = f"mac_rx_pfc_pri{most}_pkt_num"
            shown = {**evidence(reading, which, level), "frames": {f"priority {each}": frames[each] for each in frames}}
            how = f"HCCL_RDMA_SL={told}" if told else f"HCCL's default {level}"
            message = f"pause frames of {name} are of priority {most}, and HCCL sends with {how}"
            yield broken(message, shown, name, status=None if told else Status.INFO)


def _pauses(reading: Reading) -> dict[int, int]:
    """Priority -> pause frames, sent and received, of those that have any."""
    counters = reading["counters"]
    frames = {
        priority: sum(counters.get(f"mac_{way}_pfc_pri{priority}_pkt_num", 0) for way in ("tx", "rx"))
        for priority in range(8)
    }
    return {priority: count for priority, count in frames.items() if count}


def _code_words(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "stat_extra", "cw_uncorrect_cnt"):
        if reading is None:
            yield untold(device, "stat_extra", name)
            continue
        count, most = value(reading, "cw_uncorrect_cnt"), case.limits["most"]
        if count > most:
            message = f"{name} has had {count} code words that could not be corrected, each of which lost packets"
            yield broken(message, evidence(reading, "cw_uncorrect_cnt", most), name)
        else:
            yield ok(name)


def _bit_errors(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "stat_extra", "correcting_bit_rate"):
        if reading is None:
            yield untold(device, "stat_extra", name)
            continue
        rate, warn, fail = value(reading, "correcting_bit_rate"), case.limits["warn"], case.limits["fail"]
        message = f"of the bits that {name} receives {rate:.2g} are wrong before correction"
        if rate >= fail:
            yield broken(message, evidence(reading, "correcting_bit_rate", fail), name)
        elif rate >= warn:
            yield broken(message, evidence(reading, "correcting_bit_rate", warn), name, status=Status.WARN)
        else:
            yield ok(name)


_CLEAN = (
    "clean or replace module and cable of this port and look at `hccn_tool -i N -optical -g`; then clear the counters "
    "(`hccn_tool -i N -stat -c`), run a job and see whether they grow"
)
_NEEDS = ("accelerators",)
RULES = (
    Rule(
        name="ascend.port_errors",
        summary="no port has many errors for its traffic",
        why="RoCE is made for networks that lose nothing: each error is a packet sent again after a wait. Some errors "
        "in a port's life are normal, but more than one in ten million packets is more than a link with a bit error "
        "rate of 1e-12 may have.",
        remedy=_CLEAN + "; packets sent again without bad frames point to congestion: check PFC and ECN at the switch",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_many,
        thresholds={
            "share": Threshold(
                1e-7, "of packets", "IEEE 802.3: a bit error rate of 1e-12 breaks 3e-8 of 4 KiB packets"
            ),
            "least": Threshold(10, "packets", "fewer may come from one reset"),
        },
    ),
    Rule(
        name="ascend.port_errors_grew",
        summary="no port has new errors since the earlier snapshot",
        why="Errors that come while a job runs slow it down, by a retransmission at least: HCCL waits up to seconds "
        "for a lost packet, and gives up after 7 tries (EI0013).",
        remedy=_CLEAN,
        status=Status.WARN,
        needs=_NEEDS,
        judge=_grew,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="ascend.port_errors_outlier",
        summary="no port has more errors than the others",
        why="Ports of one job carry much the same traffic, so that one with far more errors has a cause of its own: "
        "its cable, its module, its switch port.",
        remedy=_CLEAN,
        status=Status.WARN,
        needs=_NEEDS,
        judge=_outlier,
        thresholds={
            "deviations": Threshold(5, "median absolute deviations", "usual bound for outliers"),
            "least": Threshold(10, "errors", "fewer may come from one reset"),
            "ports": Threshold(4, "ports", "fewer have no usual value"),
        },
        scope=Scope.FLEET,
    ),
    Rule(
        name="ascend.pfc_priority",
        summary="pause frames are for the priority with which HCCL sends",
        why="The switch must protect the very priority that HCCL_RDMA_SL chooses. Pause frames of another one mean "
        "that HCCL's traffic may be dropped, or that it is some other traffic that is paused.",
        remedy="set HCCL_RDMA_SL and HCCL_RDMA_TC to what the switch protects, on all ranks alike, or have the switch "
        "enable PFC for priority 4 (traffic class 132, DSCP 33), HCCL's default",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_priority,
        thresholds={
            "level": Threshold(4, "priority", "HCCL's manual: the default of HCCL_RDMA_SL"),
            "least": Threshold(100, "frames", "fewer say nothing about a job's traffic"),
        },
    ),
    Rule(
        name="ascend.code_words_lost",
        summary="the error correction of ports has lost next to nothing",
        why="A code word beyond correction takes several packets with it. Some come whenever a link goes down and up, "
        "so that only their growth while it is up is a fault.",
        remedy=_CLEAN,
        status=Status.INFO,
        needs=_NEEDS,
        judge=_code_words,
        thresholds={"most": Threshold(10, "code words", "MindCluster's fault diagnosis: growth of uncorr_cw_cnt")},
    ),
    Rule(
        name="ascend.bit_errors",
        summary="few bits that ports receive are wrong before correction",
        why="Error correction hides wrong bits until they are too many. A rate that high says that module, cable or "
        "fibre are about to fail.",
        remedy=_CLEAN,
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_bit_errors,
        thresholds={
            "warn": Threshold(5e-5, "of bits", "MindCluster's fault diagnosis, BerThreshold: warning"),
            "fail": Threshold(2e-4, "of bits", "MindCluster's fault diagnosis, BerThreshold: error"),
        },
    ),
)
