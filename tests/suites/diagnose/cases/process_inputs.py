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
    Case(
        "U05 one aborts, and mpiexec kills the others",
        {"job.log": _hydra(2, 5130, "cn5", 9, "Killed") + _hydra(3, 5131, "cn5", 6, "Aborted")
         + _hydra(4, 5132, "cn5", 9, "Killed")},
        "crashed", ("rank 3",), None, "SIGNAL: 6",
    ),
    Case(
        "U06 one aborts after it has waited, and mpiexec kills the others",
        {"job.log": "[rank3]:[E310 03:01:12.000000001 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective "
         "operation timeout: WorkNCCL(SeqNum=100, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
         f"600001 milliseconds before timing out.\n{_hydra(2, 5130, 'cn5', 9, 'Killed')}"
         f"{_hydra(3, 5131, 'cn5', 6, 'Aborted')}"},
        "undecided",
    ),
    Case(
        "U07 two abort, and mpiexec kills the others",
        {"job.log": _hydra(2, 5130, "cn5", 6, "Aborted") + _hydra(3, 5131, "cn5", 6, "Aborted")
         + _hydra(4, 5132, "cn5", 9, "Killed")},
        "undecided",
    ),
    Case(
        "U08 somebody has ended all, and one of them by force",
        {"job.log": _hydra(0, 5130, "cn5", 15, "Terminated") + _hydra(1, 5131, "cn5", 9, "Killed")
         + _hydra(2, 5132, "cn5", 15, "Terminated")},
        "undecided",
    ),
    Case(
        "U09 mpirun tells of one that aborted, and nobody of anything else",
        {"job.log": "mpirun noticed that process rank 3 with PID 2330 on node cn27 exited on signal 6 (Aborted).\n"},
        "crashed", ("rank 3",), None, "signal 6",
    ),
    Case(
        "U10 PRRTE tells who left, in one line",
        {"job.log": "prterun detected that one or more processes exited with non-zero status,\nthus causing the job to "
         "be terminated. The first process to do so was:\n\n   Process name: [prterun-gx14-71230@1,1] Exit code:    "
         "7\n"},
        "crashed", ("rank 1",), None, "Exit code",
    ),
)  # fmt: skip
