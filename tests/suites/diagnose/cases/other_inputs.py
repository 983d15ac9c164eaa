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
        {"job.log": "".join(f"srun: error: node0{1 + rank % 2}: task {rank}: Exited with exit code 1\n" for rank in range(4))
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
)  # fmt: skip
