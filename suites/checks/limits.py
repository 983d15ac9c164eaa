"""Rules about the limits of a process, and the kernel's. May import: rule, alike, equipment, sizes,
report.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from suites.checks.alike import Trait, alike, at
from suites.checks.equipment import accelerators, graver, rdma_devices
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.checks.sizes import binary
from suites.report import Status

_GIB = 1 << 30
_FILE = "/proc/self/limits"
_NONE: Mapping[str, Any] = {"soft": None, "hard": None}


def _open_files(case: Case) -> Iterator[Judged]:
    limit = case.facts["limits"]["nofile"] or _NONE
    soft, hard, least = limit["soft"], limit["hard"], case.limits["least"]
    evidence = {"value": soft, "threshold": least, "source": _FILE}
    if soft is None:
        yield unknown("the limit of open files could not be read", evidence)
    elif soft == "unlimited" or soft >= least:
        yield ok()
    else:
        enough = hard == "unlimited" or (hard or 0) >= least
        here = f"ulimit -n {65536 if hard == 'unlimited' else hard} before starting ranks; " if enough else ""
        message = f"only {soft} files may be open: with many ranks connections fail with 'Too many open files'"
        yield broken(message, evidence, remedy=here + _FOR_GOOD)


_FOR_GOOD = "for good: nofile in /etc/security/limits.conf, LimitNOFILE= of the service, or --ulimit nofile=65536"


def _many_files(case: Case) -> Iterator[Judged]:
    soft, wanted = (case.facts["limits"]["nofile"] or _NONE)["soft"], case.limits["wanted"]
    if soft is None or not accelerators(case.facts):
        return
    if soft == "unlimited" or soft >= wanted:
        yield ok()
    else:
        evidence = {"file": _FILE, "value": soft, "threshold": wanted}
        yield broken(f"{soft} files may be open, fewer than {wanted:g}, which HCCL's documentation asks for", evidence)


def _locked(case: Case) -> Iterator[Judged]:
    soft = (case.facts["limits"]["memlock"] or _NONE)["soft"]
    least, enough = case.limits["least"], case.limits["enough"]
    evidence = {"file": _FILE, "value": soft, "threshold": least}
    if soft is None:
        yield unknown("the limit of locked memory could not be read", evidence)
    elif soft == "unlimited" or soft >= enough:
        yield ok()
    elif soft < least:
        message = f"only {binary(soft)} may be locked: RDMA cannot register buffers, 'Cannot allocate memory'"
        yield broken(message, evidence, status=_without_locking(case.facts))
    elif _needs_locking(case.facts):
        message = (
            f"{binary(soft)} may be locked, less than {binary(enough)}, which large buffers of many ranks can need"
        )
        yield broken(message, {**evidence, "threshold": enough}, status=Status.WARN)
    else:
        yield ok()


def _needs_locking(facts: Facts) -> bool:
    return bool(rdma_devices(facts) or accelerators(facts))


def _without_locking(facts: Facts) -> Status:
    """GPUs alone do without it, until their host gets RDMA devices; an NPU has a port of its own."""
    if not _needs_locking(facts):
        return Status.INFO
    return Status.WARN if rdma_devices(facts) == () and "ascend" not in accelerators(facts) else Status.FAIL


def _processes(case: Case) -> Iterator[Judged]:
    soft, least = (case.facts["limits"]["nproc"] or _NONE)["soft"], case.limits["least"]
    if soft is None:
        return
    if soft == "unlimited" or soft >= least:
        yield ok()
    else:
        message = f"this user may have {soft} threads: ranks start hundreds each, and then none any more"
        evidence = {"file": _FILE, "value": soft, "threshold": least}
        yield broken(message, evidence, status=graver(case.facts))


def _backlog(case: Case) -> Iterator[Judged]:
    """Advice for jobs of hundreds of ranks, which hosts without accelerators seldom see."""
    if not accelerators(case.facts):
        return
    for name, path in (("somaxconn", "net/core"), ("tcp_max_syn_backlog", "net/ipv4")):
        value = case.facts["limits"]["kernel"][name]
        if value is None:
            continue
        least, wanted = case.limits[name], case.limits["wanted"]
        evidence = {"file": f"/proc/sys/{path}/{name}", "value": value, "threshold": wanted}
        if value >= wanted:
            yield ok()
        else:
            grave = Status.WARN if value < least else Status.INFO
            message = f"{name} is {value}, less than {wanted:g}: when all ranks of a large job connect some are refused"
            remedy = f"sysctl -w {path.replace('/', '.')}.{name}={wanted:g}, and the same in /etc/sysctl.d for good"
            yield broken(message, evidence, status=grave, remedy=remedy)


def _reverse_path(case: Case) -> Iterator[Judged]:
    """Strict filtering drops what comes in over another interface than the answer would take."""
    filters = case.facts["limits"]["kernel"]["reverse_path_filter"]
    interfaces = case.facts["network"]["interfaces"]
    if filters is None or interfaces is None:
        return
    for subnet, names in _together(interfaces).items():
        strict = [name for name in names if max(filters.get("all", 0), filters.get(name, 0)) == 1]
        if len(names) < 2 or not strict:
            continue
        message = f"{', '.join(names)} are all in {subnet}, and {', '.join(strict)} drops what comes in by another way"
        evidence = {"file": f"/proc/sys/net/ipv4/conf/{strict[0]}/rp_filter", "value": 1, "threshold": 2}
        remedy = "; ".join(f"sysctl -w net.ipv4.conf.{name}.rp_filter=2" for name in ("all", *strict))
        yield broken(message, evidence, strict[0], status=graver(case.facts), remedy=remedy)


def _together(interfaces: list[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Subnet -> interfaces that have an address of version 4 in it."""
    found: dict[str, list[str]] = {}
    for interface in interfaces:
        for address in interface["addresses"] or () if not interface["loopback"] else ():
            if "." in address and "/" in address:
                found.setdefault(str(ipaddress.ip_network(address, strict=False)), []).append(interface["name"])
    return found


RULES = (
    Rule(
        name="limits.nofile_low",
        summary="enough files may be open for the sockets of all ranks",
        why="Every pair of ranks takes sockets and descriptors; 1024, the usual default, ends at a few dozen ranks.",
        remedy=_FOR_GOOD,
        status=Status.WARN,
        needs=("limits",),
        judge=_open_files,
        thresholds={"least": Threshold(4096, "descriptors", "a few sockets for each of some hundred pairs of ranks")},
    ),
    Rule(
        name="limits.nofile_below_advice",
        summary="as many files may be open as makers of accelerators ask for",
        why="A job of thousands of ranks opens tens of thousands of sockets on the host of its first rank.",
        remedy=f"ulimit -n 65535; {_FOR_GOOD}",
        status=Status.INFO,
        needs=("limits",),
        judge=_many_files,
        thresholds={"wanted": Threshold(65535, "descriptors", "HCCL's documentation")},
    ),
    Rule(
        name="limits.memlock_low",
        summary="enough memory may be locked for RDMA",
        why="RDMA registers buffers, which locks their memory; at the limit ibv_reg_mr fails, often only after hours, "
        "when a larger buffer is asked for. What counts is the limit of the rank, not of the login shell.",
        remedy="ulimit -l unlimited before starting ranks; for good: memlock unlimited in /etc/security/limits.conf "
        "(log in anew), LimitMEMLOCK=infinity of the service that starts ranks (slurmd, sshd, docker), or docker "
        "run --ulimit memlock=-1",
        status=Status.FAIL,
        needs=("limits",),
        judge=_locked,
        thresholds={
            "least": Threshold(16 * _GIB, "bytes", "the node checks of awsome-distributed-training (AWS)"),
            "enough": Threshold(32 * _GIB, "bytes", "the node check of Primus"),
        },
    ),
    Rule(
        name="limits.nproc_low",
        summary="a user may have enough processes and threads",
        why="Every rank starts threads for the network, for the device and for data; at the limit none can be started.",
        remedy="ulimit -u unlimited; for good: nproc in /etc/security/limits.conf, TasksMax=infinity of the service",
        status=Status.WARN,
        needs=("limits",),
        judge=_processes,
        thresholds={"least": Threshold(4096, "threads", "some hundred threads for each of eight ranks")},
    ),
    Rule(
        name="limits.backlog_low",
        summary="many ranks can connect to one at the same time",
        why="At the start of a job all ranks connect to the first one; those for whom the queue has no place try again "
        "later, or give up.",
        remedy="sysctl -w net.core.somaxconn=65535 net.ipv4.tcp_max_syn_backlog=65535",
        status=Status.WARN,
        needs=("limits", "accelerators"),
        judge=_backlog,
        thresholds={
            "somaxconn": Threshold(4096, "connections", "Linux's default since 5.4"),
            "tcp_max_syn_backlog": Threshold(1024, "connections", "Linux's default for hosts of some memory"),
            "wanted": Threshold(65535, "connections", "HCCL's documentation"),
        },
    ),
    Rule(
        name="limits.reverse_path_strict",
        summary="no interface drops packets that come in by another way than answers go",
        why="With several interfaces in one subnet answers leave by one of them; strict filtering then drops what "
        "comes in by the others, and connections over them time out.",
        remedy="sysctl -w net.ipv4.conf.all.rp_filter=2, and the same for each interface",
        status=Status.WARN,
        needs=("limits", "network"),
        judge=_reverse_path,
    ),
    Rule(
        name="limits.differ",
        summary="limits and settings of the kernel are the same on all hosts",
        why="A job fails or slows down on the one host that is set otherwise, and the others wait for it.",
        remedy="set the host as the others: /etc/security/limits.conf, /etc/sysctl.d, the kernel's command line",
        status=Status.WARN,
        needs=("limits",),
        judge=alike(
            *(
                Trait(f"the limit {name}", at("limits", name, "soft"), _FILE)
                for name in ("memlock", "nofile", "nproc", "stack")
            ),
            *(
                Trait(f"{path}/{name}", at("limits", "kernel", name), f"/proc/sys/{path}/{name}")
                for path, name in (
                    ("net/core", "somaxconn"),
                    ("net/ipv4", "tcp_max_syn_backlog"),
                    ("net/core", "rmem_max"),
                    ("net/core", "wmem_max"),
                    ("kernel", "pid_max"),
                    ("vm", "max_map_count"),
                )
            ),
            Trait("the range of outgoing ports", at("limits", "kernel", "port_range"), "ip_local_port_range"),
            Trait("the list of reserved ports", at("limits", "kernel", "reserved_ports"), "ip_local_reserved_ports"),
            Trait("the kernel's command line", at("limits", "kernel", "options"), "/proc/cmdline"),
        ),
        scope=Scope.FLEET,
    ),
)
