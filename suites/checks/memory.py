"""Rules about memory that ranks share. May import: rule, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.rule import Case, Judged, Rule, Threshold, broken, ok, unknown
from suites.report import Status


def _shm(case: Case) -> Iterator[Judged]:
    size, least, enough = case.facts["memory"]["shm_bytes"], case.limits["least"], case.limits["enough"]
    evidence = {"value": size, "threshold": least, "source": "statvfs /dev/shm"}
    if size is None:
        yield unknown("the size of /dev/shm could not be read", evidence)
    elif size < least:
        yield broken(
            f"/dev/shm is smaller than {least / (1 << 30):g} GiB: ranks exchange data there and fail with 'No space "
            "left on device'",
            evidence,
        )
    elif size < enough:
        message = f"/dev/shm is smaller than {enough / (1 << 30):g} GiB, which data loaders and many ranks can need"
        yield broken(message, {**evidence, "threshold": enough}, status=Status.INFO)
    else:
        yield ok()


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
            "least": Threshold(1 << 30, "bytes", "docker's default of 64 MiB, and NCCL issues #290, #342"),
            "enough": Threshold(8 << 30, "bytes", "the node check of Primus"),
        },
    ),
)
