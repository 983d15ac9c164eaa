"""Launchers, and what looks like a fault and is none."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case

CASES = (
    Case(
        "C49",
        {"job.log": "localhost: jo@localhost: Permission denied (publickey,password).\npdsh@bench-7960: localhost: "
            "ssh exited "
         "with exit code 255\n"},
        "launch", ("host localhost",), None, "Permission denied",
    ),
    Case(
        "C48 another host",
        {"job.log": "node08: jo@node08: Permission denied (publickey).\npdsh@node01: node08: ssh exited with exit "
            "code 255\n"},
        "launch", ("host node08",), None, "Permission denied",
    ),
    Case(
        "C51",
        {"job.log": "Traceback (most recent call last):\n  File \"/opt/lib/launcher/runner.py\", line 500, in main\n"
         "    env[\"PDSH_SSH_ARGS_APPEND\"] += f\" -p {port}\"\nKeyError: 'PDSH_SSH_ARGS_APPEND'\n"},
        "launch", (), None, "PDSH_SSH_ARGS_APPEND",
    ),
    Case(
        "C118 slots",
        {"job.log": "There are not enough slots available in the system to satisfy the 16 slots\nthat were requested "
            "by the "
         "application:\n"},
        "launch", (), None, "not enough slots",
    ),
    Case(
        "C119",
        {"job.log": "ssh: Could not resolve hostname bench-worker-3.bench.default.svc: Name or service not "
            "known\r\nORTE was "
         "unable to reliably start one or more daemons.\n"},
        "launch", ("host bench-worker-3.bench.default.svc",), None, "Could not resolve",
    ),
    Case(
        "C120 the consequence first",
        {"job.log": "ORTE was unable to reliably start one or more daemons.\nssh: connect to host node09 port 22: "
            "Connection "
         "timed out\n"},
        "launch", ("host node09",), None, "connect to host",
    ),
    Case(
        "C122 killed",
        {"job.log": "srun: error: node03: task 12: Killed\nsrun: Terminating StepId=88.0\n"
         + "".join(f"srun: error: node0{1 + rank % 2}: task {rank}: Exited with exit code 1\n" for rank in range(4))},
        "crashed", ("rank 12",), None, "Killed",
    ),
    Case(
        "C124 killed, told last",
        {"job.log": "".join(
            f"srun: error: node0{1 + rank % 2}: task {rank}: Exited with exit code 1\n" for rank in range(4))
         + "srun: error: node03: task 12: Killed\n"},
        "crashed", ("rank 12",), None, "Killed",
    ),
    Case(
        "C43 a benchmark that passed",
        {"job.log": "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
         "   134217728      33554432     float     sum      -1   2666.0   50.34   94.39      0   2660.4   50.44   "
         "94.58      "
         "0\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 84.8558\n"},
        "none undecided",
    ),
    Case(
        "C127",
        {"job.log": "(EngineCore_DP0 pid=3232) INFO 12-09 11:25:53 [shm_broadcast.py:466] No available shared memory "
            "broadcast "
         "block found in 60 seconds. This typically happens when some processes are hanging or doing some "
         "time-consuming "
         "work (e.g. compilation).\n" * 3},
        "none undecided",
    ),
    Case(
        "C128 an idle server is told to wait",
        {"job.log": "INFO 12-09 11:25:53 [core.py:58] Waiting for requests\n" * 3},
        "none undecided",
    ),
    Case(
        "L1 torchrun under srun: tasks are no ranks",
        {"job.log": "".join(
            f"{task}: [rank{rank}]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank {rank}.\n"
            for task in (0, 1) for rank in range(4 * task, 4 * task + 4) if rank != 6)
         + "1: Traceback (most recent call last):\n1:   File \"train.py\", line 7, in main\n1: ValueError: bad shard\n"
         "1: torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
         "1:   host      : node02\n1:   rank      : 6 (local_rank: 2)\n1:   exitcode  : 1 (pid: 5120)\n"
         "srun: error: node02: task 1: Exited with exit code 1\n"},
        "crashed", ("rank 6",), None, "ValueError",
    ),
    Case(
        "L2 one leaves without a word, the others wait",
        {"job.log": "".join(
            f"[rank{rank}]:[E131 01:11:21.16083{rank:04} ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught "
            f"collective "
            f"operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) "
            f"ran for "
            f"600001 milliseconds before timing out.\n" for rank in (0, 1, 2, 4))
         + "srun: error: node03: task 3: Exited with exit code 1\n"},
        "crashed missing", ("rank 3",), ("allreduce", 77),
    ),
    Case(
        "L3 all leave, one after another",
        {"job.log": "".join(f"srun: error: node0{rank}: task {rank}: Exited with exit code 1\n" for rank in range(4))},
        "undecided",
    ),
    Case(
        "L4 Open MPI tells a signal",
        {"job.log": "mpirun noticed that process rank 2 with PID 991 on node node03 exited on signal 11 (Segmentation "
         "fault).\n"},
        "crashed", ("rank 2",), None, "signal 11",
    ),
    Case(
        "L5 ended by its job's time limit",
        {"job.log": "slurmstepd: error: *** STEP 88.0 ON node01 CANCELLED AT 2026-01-31T12:00:00 DUE TO TIME LIMIT "
                    "***\n"
         "srun: error: node01: task 0: Terminated\nsrun: error: node02: task 1: Terminated\n"},
        "undecided",
    ),
)  # fmt: skip
