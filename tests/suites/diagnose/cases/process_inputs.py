"""Ends of processes, as the kernel, launchers and what watches over containers tell them."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case


def _hydra(rank: int, pid: int, host: str, number: int, name: str) -> str:
    """As mpiexec of Hydra tells it of each."""
    return (
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
        f"=   RANK {rank} PID {pid} RUNNING AT {host}\n=   KILLED BY SIGNAL: {number} ({name})\n"
    )


def _killed(pid: int) -> str:
    """As the kernel tells it."""
    return (
        f"Out of memory: Killed process {pid} (python3) total-vm:314946800kB, anon-rss:16499200kB, file-rss:52176kB, "
        "shmem-rss:92kB, UID:1001 pgtables:1372kB oom_score_adj:0\n"
    )


CASES = (
    Case(
        "U01 the kernel tells which of those that mpiexec killed was first",
        {"job.log": _hydra(0, 51370, "cn209", 9, "Killed") + _hydra(1, 51371, "cn209", 9, "Killed")
         + f"[ 7063.247407] {_killed(51371)}"},
        "resource", ("rank 1",), None, "SIGNAL: 9",
    ),
    Case(
        "U02 two processes have the number that the kernel tells",
        {"job.log": _hydra(1, 51371, "cn210", 9, "Killed") + _hydra(2, 51371, "cn211", 9, "Killed")
         + f"[ 7063.247407] {_killed(51371)}"},
        "resource", ("process",), None, "51371",
    ),
    Case(
        "U03 the kernel tells a host without its domain",
        {"job.log": _hydra(0, 51370, "cn209.hpc.local", 9, "Killed") + _hydra(1, 51371, "cn209.hpc.local", 9, "Killed")
         + f"Mar 10 03:11:12 cn209 kernel: {_killed(51371)}"},
        "resource", ("rank 1",), None, "SIGNAL: 9",
    ),
    Case(
        "U04 two ranks in containers have the number that the kernel tells",
        {"job.log": f"GLOBAL_RANK=1 pid=71\nGLOBAL_RANK=9 pid=71\n[ 7063.247407] {_killed(71)}"},
        "resource", (), None, "71",
    ),
)  # fmt: skip
