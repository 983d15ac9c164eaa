"""Ends of processes, as the kernel, launchers and what watches over containers tell them."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case


def _hydra(rank: int, pid: int, host: str, number: int, name: str) -> str:
    """As mpiexec of Hydra tells it of each."""
    return (
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
        f"=   RANK {rank} PID {pid} RUNNING AT {host}\n=   KILLED BY SIGNAL: {number} ({name})\n"
    )


_FLUX_NAMES_IT = (
    "30.112s: flux-shell[0]: FATAL: doom: python3: rank 3 on host tg12 exited and exit-timeout=30s has expired\n"
    "30.113s: job.exception f8ez type=exec severity=0 python3: rank 3 on host tg12 exited and exit-timeout=30s has "
    "expired\n"
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
    Case(
        "U11 Flux tells who failed first",
        {"job.log": "0.037s: flux-shell[0]: FATAL: task-exit: train.sh: task rank 1 on host gx3 failed and "
         "exit-on-error is set\nflux-job: task(s) exited with exit code 1\n"},
        "crashed", ("rank 1",), None, "rank 1 on host gx3",
    ),
    Case(
        "U12 Flux tells who left first, and a signal",
        {"job.log": f"{_FLUX_NAMES_IT}flux-job: task(s) Segmentation fault\n"}, "crashed", ("rank 3",), None, "rank 3",
    ),
    Case(
        "U13 Flux tells a signal, and of nobody",
        {"job.log": "flux-job: task(s) exited with exit code 139\n"}, "crashed", (), None, "139",
    ),
    Case(
        "U14 Flux tells whose memory ran out",
        {"job.log": "112.778s: flux-shell[1]: ERROR: oom: Memory cgroup out of memory: killed 1 task on tg12.\n"
         f"{_FLUX_NAMES_IT}flux-job: task(s) Killed\n"},
        "resource", ("host tg12",), None, "out of memory",
    ),
    Case(
        "U15 Flux has lost a node",
        {"job.log": "flux-job: job.exception fQ12 type=node-failure severity=0 lost contact with job shell on broker "
         "tg13 (rank 5)\nflux-job: task(s) Terminated\n"},
        "transport", ("host tg13",), None, "lost contact",
    ),
    Case(
        "U16 Flux ends a job at its time limit",
        {"job.log": "3600.112s: job.exception fABC type=timeout severity=0 resource allocation expired\nflux-job: "
         "task(s) exited with exit code 142\n"},
        "undecided",
    ),
    Case(
        "U17 Flux finds no program",
        {"job.log": "0.778s: flux-shell[1]: FATAL: task 4: start failed: torchrun: No such file or directory\n"
         "flux-job: task(s) exited with exit code 127\n"},
        "launch", (), None, "torchrun",
    ),
    Case(
        "U18 a task of Flux aborts after it has waited",
        {"job.log": "[rank3]:[E310 03:01:12.000000001 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective "
         "operation timeout: WorkNCCL(SeqNum=100, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
         "600001 milliseconds before timing out.\nflux-job: task(s) Aborted\n"},
        "undecided",
    ),
    Case(
        "U19 LSF does not start anything on a host",
        {"job.log": "Nov  2 16:47:03 2026 120499 7 10.1 lsb_pjob_res_connect: lsb_pjob_connect_to_res(cp01) failed.\n"
         "The LSF process starter (lsb_launch) failed to start the daemons on\nthe nodes in the allocation.\n"},
        "launch", ("host cp01",), None, "cp01",
    ),
    Case(
        "U20 a launcher in Python tells a signal, and of nobody",
        {"job.log": "subprocess.CalledProcessError: Command '['/usr/bin/python3', '-u', 'train.py', '--local_rank=3']' "
         "died with <Signals.SIGKILL: 9>.\n"},
        "crashed", (), None, "SIGKILL",
    ),
    Case(
        "U21 GNU parallel tells that a job failed",
        {"job.log": "parallel: This job failed:\nssh gx3 python train.py --node_rank 3\n"}, "undecided",
    ),
)  # fmt: skip
