"""Rules about the memory of a host: what ranks share, swapping, and whether hosts have the same.

May import: rule, alike, equipment, sizes, report.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from suites.checks.alike import Trait, alike, at
from suites.checks.equipment import graver
from suites.checks.rule import Case, Judged, Rule, Scope, Threshold, broken, ok, unknown
from suites.checks.sizes import binary
from suites.report import Status

_GIB = 1 << 30


def _shm(case: Case) -> Iterator[Judged]:
    size, least, enough = case.facts["memory"]["shm_bytes"], case.limits["least"], case.limits["enough"]
    evidence = {"value": size, "threshold": least, "source": "statvfs /dev/shm"}
    if size is None:
        yield unknown("the size of /dev/shm could not be read", evidence)
    elif size < least:
        yield broken(
            f"/dev/shm is smaller than {binary(least)}: ranks exchange data there and fail with 'No space "
            "left on device'",
            evidence,
        )
    elif size < enough:
        message = f"/dev/shm is smaller than {binary(enough)}, which data loaders and many ranks can need"
        yield broken(message, {**evidence, "threshold": enough}, status=Status.INFO)
    else:
        yield ok()


def _swap(case: Case) -> Iterator[Judged]:
    swap = case.facts["memory"]["swap_bytes"]
    if swap:
        evidence = {"file": "/proc/meminfo", "value": swap, "threshold": 0, "source": "Azure's and LBNL's node checks"}
        message = f"{binary(swap)} of swap are on: a rank whose memory is swapped out holds up all others"
        yield broken(message, evidence, status=graver(case.facts))
    elif swap == 0:
        yield ok()


def _oom(case: Case) -> Iterator[Judged]:
    before, after = case.earlier["memory"]["oom_kills"], case.facts["memory"]["oom_kills"]
    if before is None or after is None or after < before:
        return
    if after == before:
        yield ok()
        return
    evidence = {"file": "/proc/vmstat", "value": after, "threshold": before}
    yield broken(f"the kernel has ended {after - before} processes since then, since memory ran out", evidence)


def _total(case: Case) -> Iterator[Judged]:
    """Against the middle of the fleet: hosts of one kind differ by what firmware keeps, not by a module. Of two hosts
    against the larger one, since the middle is near to both."""
    told = {host: facts["memory"]["total_bytes"] for host, facts in case.fleet.items()}
    sizes = {host: size for host, size in told.items() if size}
    if len(sizes) < 2:
        return
    share = case.limits["share"]
    usual = median(sizes.values()) if len(sizes) > 2 else max(sizes.values())
    evidence = {"file": "/proc/meminfo", "threshold": usual}
    odd = {host: size for host, size in sizes.items() if abs(size - usual) > share * usual}
    if not odd:
        yield ok()
    elif 2 * len(odd) >= len(sizes):
        text = ", ".join(f"{host}: {binary(size)}" for host, size in sizes.items())
        yield broken(f"the memory of the hosts differs: {text}", {**evidence, "value": sizes})
    else:
        for host, size in odd.items():
            message = f"{binary(size)} of memory, and {binary(usual)} on most hosts"
            yield broken(message, {**evidence, "value": size}, host=host)


RULES = (
    Rule(
        name="memory.shm_small",
        summary="/dev/shm is large enough for the ranks of this host",
        why="NCCL, MPI and data loaders put tens of MiB a rank there, and containers start with 64 MiB in all: "
        "'posix_fallocate failed: No space left on device'. (The built-in backend does not; its memory is anonymous.)",
        remedy="start the container with --shm-size=8g or --ipc=host (Kubernetes: an emptyDir of medium Memory at "
        "/dev/shm); on a host: mount -o remount,size=8G /dev/shm",
        status=Status.WARN,
        needs=("memory",),
        judge=_shm,
        thresholds={
            "least": Threshold(_GIB, "bytes", "docker's default of 64 MiB, and NCCL issues #290, #342"),
            "enough": Threshold(8 * _GIB, "bytes", "the node check of Primus"),
        },
    ),
    Rule(
        name="memory.swap_on",
        summary="no swap is on",
        why="Memory that was swapped out comes back in milliseconds, and all ranks wait for the slowest.",
        remedy="swapoff -a, and take the swap out of /etc/fstab",
        status=Status.WARN,
        needs=("memory",),
        judge=_swap,
    ),
    Rule(
        name="memory.oom_kill",
        summary="memory has not run out between the two looks",
        why="When memory runs out the kernel ends a process, often a rank or a data loader; others then wait for it.",
        remedy="see `dmesg | grep -i oom` for who was ended; use fewer data loaders or ranks, or a smaller batch",
        status=Status.WARN,
        needs=("memory",),
        judge=_oom,
        scope=Scope.SNAPSHOTS,
    ),
    Rule(
        name="memory.size_differs",
        summary="hosts have the same amount of memory",
        why="A host with less than its peers has lost a module, which also costs it memory bandwidth.",
        remedy="see `dmidecode -t memory` and the board's management controller for the module that is missing",
        status=Status.WARN,
        needs=("memory",),
        judge=_total,
        thresholds={"share": Threshold(0.05, "of the median", "check_hw_physmem of LBNL's node health check")},
        scope=Scope.FLEET,
    ),
    Rule(
        name="memory.pages_differ",
        summary="hosts use pages alike: their size, huge ones, transparent huge ones",
        why="Pages decide how long it takes to register and to touch memory; one host that is set otherwise is slower, "
        "or has less memory left.",
        remedy="set the host as the others: sysctl vm.nr_hugepages, /sys/kernel/mm/transparent_hugepage/enabled, or "
        "the kernel with the same page size",
        status=Status.WARN,
        needs=("memory",),
        judge=alike(
            Trait("the size of a page", at("memory", "page_bytes"), "/sys/kernel/mm/transparent_hugepage", " bytes"),
            Trait("the number of huge pages", at("memory", "huge_pages"), "/proc/meminfo"),
            Trait("the size of a huge page", at("memory", "huge_page_bytes"), "/proc/meminfo", " bytes"),
            Trait(
                "the use of transparent huge pages",
                at("memory", "transparent_huge_pages"),
                "/sys/kernel/mm/transparent_hugepage/enabled",
            ),
        ),
        scope=Scope.FLEET,
    ),
)
