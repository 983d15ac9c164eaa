"""Stacks, tracebacks, exits and launch failures are read as facts. May import: suites."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import exits, launchers, mpi, mpi_blocks, pyspy, tracebacks
from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.line import Line, LineReader
from suites.diagnose.facts import NOBODY, Ended, Fact, Frame, Level, Raised, Stack, Trouble, Who

_PY_SPY = """\
== pid 4310 rank 3 ==
Process 4310: python train.py --rank 3
Python v3.11.4 (/opt/python3.11)

Thread 4310 (idle): "MainThread"
    pthread_cond_wait (libc.so.6)
    all_reduce (torch/distributed/distributed_c10d.py:2501)
        Locals:
            tensor: <Tensor at 0x7f00>
    <module> (train.py:40)
Thread 0x7F11AA (active+gil): "loader"
    fetch (data.py:7)
"""
_TRACEBACK = """\
Traceback (most recent call last):
  File "/job/train.py", line 40, in <module>
    main()
  File "/job/train.py", line 12, in main
    step()
ValueError: bad batch
"""
_TORCHRUN = """\
Root Cause (first observed failure):
[0]:
  time      : 2026-01-02_03:04:05
  host      : node03
  rank      : 3 (local_rank: 1)
  exitcode  : -9 (pid: 1234)
"""
READERS: tuple[Callable[[], LineReader], ...] = (
    pyspy.Stacks, tracebacks.Tracebacks, exits.Exits, lambda: KnownTexts(launchers.ROWS),
    lambda: KnownTexts(mpi.ROWS), mpi_blocks.MpiParagraphs,
)  # fmt: skip


def facts(reader: LineReader, text: str) -> list[Fact]:
    """As the line feeder does: all lines that a reader wants."""
    return mixed(reader, [(NOBODY, line) for line in text.split("\n")])


def mixed(reader: LineReader, lines: list[tuple[Who, str]]) -> list[Fact]:
    found: list[Fact] = []
    for number, (who, text) in enumerate(lines, 1):
        if reader.awake or any(word in text for word in reader.wakes):
            found += reader.feed(Line(text, number, "log", who))
    return [*found, *reader.end()]


def test_stacks_of_py_spy_have_their_rank_thread_and_frames() -> None:
    main, loader = [fact for fact in facts(pyspy.Stacks(), _PY_SPY) if isinstance(fact, Stack)]
    assert main.who == Who(rank=3, pid=4310)
    assert (main.thread, main.active, main.holds_gil) == ("MainThread", False, False)
    assert main.frames[0] == Frame("pthread_cond_wait", "libc.so.6")
    assert main.frames[-1] == Frame("<module>", "train.py", 40)
    assert (loader.thread, loader.active, loader.holds_gil) == ("loader", True, True)


def test_stacks_of_faulthandler_are_read() -> None:
    text = (
        'Current thread 0x00007f11 (most recent call first):\n  File "a.py", line 3 in f\n  File "a.py", line 9 in g\n'
    )
    (stack,) = [fact for fact in facts(pyspy.Stacks(), text) if isinstance(fact, Stack)]
    assert stack.frames == (Frame("f", "a.py", 3), Frame("g", "a.py", 9))
    assert stack.active is None


def test_tracebacks_of_two_ranks_in_one_log_are_kept_apart() -> None:
    lines = _TRACEBACK.strip().split("\n")
    both = [(Who(rank=rank), line) for line in lines for rank in (0, 1)]
    found = mixed(tracebacks.Tracebacks(), both)
    assert [fact.who.rank for fact in found if isinstance(fact, Raised)] == [0, 1]
    for fact in found:
        assert isinstance(fact, Raised)
        assert (fact.error, fact.message) == ("ValueError", "bad batch")
        assert fact.frames == (Frame("main", "/job/train.py", 12), Frame("<module>", "/job/train.py", 40))


@pytest.mark.parametrize(
    ("text", "who", "code", "signal"),
    [
        (_TORCHRUN, Who(rank=3, host="node03", local_rank=1, pid=1234), None, 9),
        ("failed (exitcode: 1) local_rank: 3 (pid: 99) of binary: python", Who(local_rank=3, pid=99), 1, None),
        ("srun: error: node03: task 5: Exited with exit code 1", Who(rank=5, host="node03"), 1, None),
        ("srun: error: node03: task 3: Killed", Who(rank=3, host="node03"), None, 9),
        (
            "mpirun noticed that process rank 2 with PID 0 on node node03 exited on signal 11 (Segmentation fault).",
            Who(rank=2, host="node03"), None, 11,
        ),
        ("=   PID 12 RUNNING AT node03\n=   EXIT CODE: 9", Who(pid=12, host="node03"), 9, None),
        ("=   PID 12 RUNNING AT node03\n=   EXIT CODE: 9\nTERMINATED WITH THE EXIT STRING: Killed (signal 9)",
         Who(pid=12, host="node03"), None, 9),
        ("=   RANK 3 PID 12 RUNNING AT node03\n=   KILLED BY SIGNAL: 9 (Killed)", Who(rank=3, pid=12, host="node03"),
         None, 9),
        ("=   RANK 3 PID 12 RUNNING AT node03\n=   EXIT STATUS: 1", Who(rank=3, pid=12, host="node03"), 1, None),
        ("prterun noticed that process rank 2 with PID 4321 on node node03 exited on\nsignal 11 (Segmentation fault).",
         Who(rank=2, pid=4321, host="node03"), None, 11),
        ("The first process to do so was:\n\n   Process name: [prterun-head-77@1,3]\n   Exit code:    1", Who(rank=3),
         1, None),
        ("The first process to do so was:\n\n  Process name: [[40321,1],3]\n  Exit code:    2", Who(rank=3), 2, None),
        ("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\nwith errorcode 7.", Who(rank=3), 7, None),
        ("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n  Proc: [[4,1],3]\n  Errorcode: 7",
         Who(rank=3), 7, None),
        ("Abort(5) on node 3 (rank 3 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 5)", Who(rank=3), 5,
         None),
        ("[nid7:mpispawn_0][child_handler] MPI process (rank: 5, pid: 4422) terminated with signal 11 -> abort job",
         Who(rank=5, pid=4422, host="nid7"), None, 11),
        ("nid001.hsn: rank 6 died from signal 11", Who(rank=6, host="nid001.hsn"), None, 11),
        ("nid001.hsn: rank 3 exited with code 1", Who(rank=3, host="nid001.hsn"), 1, None),
        ("ERROR:  One or more process (first noticed rank 4) terminated with signal 11", Who(rank=4), None, 11),
        ("_pmiu_daemon(SIGCHLD): [NID 00512] [c2-0c1s0n0] [Mon Mar  9 10:11:12 2026] PE RANK 6 exit signal Bus error",
         Who(rank=6), None, 7),
        ("gx07 | FAILED | rc=139 >>", Who(host="gx07"), 139, None),
        ("worker-1 exited with code 137", Who(host="worker-1"), 137, None),
    ],
)  # fmt: skip
def test_ends_of_processes(text: str, who: Who, code: int | None, signal: int | None) -> None:
    (ended,) = facts(exits.Exits(), text)
    assert isinstance(ended, Ended)
    assert (ended.who, ended.code, ended.signal) == (who, code, signal)


def test_ends_of_several_tasks_are_each_ones_own() -> None:
    found = facts(exits.Exits(), "srun: error: node03: tasks 4-6,9: Killed")
    assert [(one.who.rank, one.who.host, one.signal) for one in found if isinstance(one, Ended)] == [
        (rank, "node03", 9) for rank in (4, 5, 6, 9)
    ]


def test_failures_that_torchrun_lists_come_in_the_order_of_their_times() -> None:
    later = _TORCHRUN.replace("03:04:05", "03:04:09").replace("rank      : 3", "rank      : 2").replace("-9", "-6")
    found = [one for one in facts(exits.Exits(), later + _TORCHRUN) if isinstance(one, Ended)]
    assert [(one.who.rank, one.signal, one.place.time) for one in found] == [(3, 9, None), (2, 6, None)]


def test_what_is_said_of_nobody_is_nobodys_end() -> None:
    assert not facts(exits.Exits(), "Exit code: 1\n=   EXIT CODE: 9\nsignal 11 (Segmentation fault)")


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("ssh: Could not resolve hostname node07.example: Name or service not known", "node07.example"),
        ("ssh: connect to host node07 port 22: Connection refused", "node07"),
        ("user@node07: Permission denied (publickey,password).", "node07"),
        ("ssh: connect to host node07 port 22: No route to host", "node07"),
        ("Connection closed by 192.0.2.7 port 22", "192.0.2.7"),
        ("Connection reset by node07 port 22", "node07"),
        ("Host key for node07 has changed and you have requested strict checking.", "node07"),
        ("No ED25519 host key is known for node07 and you have requested strict checking.", "node07"),
        ("Received disconnect from 192.0.2.7 port 22:2: Too many authentication failures", "192.0.2.7"),
        ("pdsh@head: node07: mcmd: connect failed: Connection refused", "node07"),
        ('[proxy:0:1@node07] HYDU_sock_connect (s.c:1): unable to connect from "node07" to "head" (Connection refused)',
         "node07"),
        ("[proxy:0:1@node07] main (p.c:1): unable to connect to server head at port 1 (check!)", "node07"),
        ("[mpiexec@head] check_exit_codes (h.c:1): unable to run bstrap_proxy on node07 (pid 1, exit code 65280)",
         "node07"),
        ("[mpiexec@head] check_exit_codes (h.c:1): unable to run proxy on node07 (pid 1)", "node07"),
        ("ssh not successful for host node07:", "node07"),
        ('Error from server (NotFound): pods "node07" not found', "node07"),
        ("srun: error: Task launch for StepId=7.0 failed on node node07: Communication connection failure", "node07"),
    ],
)  # fmt: skip
def test_a_host_that_is_not_reached_is_what_the_launch_fails_on(text: str, host: str) -> None:
    (trouble,) = facts(KnownTexts(launchers.ROWS), text)
    assert isinstance(trouble, Trouble)
    assert (trouble.level, trouble.cause) == (Level.INITIATING, "launch")
    assert [(subject.kind, subject.who.host) for subject in trouble.about] == [("host", host)]


@pytest.mark.parametrize(
    "text",
    [
        "kex_exchange_identification: Connection closed by remote host",
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @",
        "Host key verification failed.",
        "Bad owner or permissions on /home/job/.ssh/config",
        "There are not enough slots available in the system to satisfy the 16",
        "prterun was unable to find the specified executable file, and therefore did",
        "mpirun was unable to launch the specified application as it could not access",
        "Open RTE was unable to open the hostfile:",
        "A hostfile was provided that contains at least one node not",
        "mpirun has detected an attempt to run as root.",
        "SLURM's PMI support and therefore cannot execute; OMPI was not built with SLURM",
        "ValueError: Hostfile is not formatted correctly, unable to proceed with launching.",
        "[proxy:0:0@node07] HYDU_create_process (c.c:1): execvp error on file ./job (No such file or directory)",
        "srun: error: Unable to allocate resources: Requested node configuration is not available",
        "salloc: error: Job submit/allocate failed: Invalid qos specification",
        "sbatch: error: Batch job submission failed: Invalid partition name specified",
        "srun: error: Unable to create step for job 7: More processors requested than permitted",
        "srun: error: Invalid MPI type 'pmix', --mpi=list for acceptable types",
        "slurmstepd: error: execve(): ./job: No such file or directory",
        "srun: error: Application launch failed: Communication connection failure",
        "PMI2_Init failed to intialize.  Return code: 1",
        "An ORTE daemon has unexpectedly failed after launch and before",
        "bash: orted: command not found",
        "bash: prted: command not found",
        "error: unable to upgrade connection: container not found",
        "0/8 nodes are available: 8 Insufficient nvidia.com/gpu.",
        'Failed to pull image "registry.example/job:1": not found',
        "docker: Error response from daemon: could not select device driver.",
    ],
)
def test_why_nothing_starts_is_the_launch(text: str) -> None:
    (trouble,) = facts(KnownTexts(launchers.ROWS), text)
    assert isinstance(trouble, Trouble)
    assert trouble.level <= Level.TRANSPORT
    assert trouble.cause == "launch"


@pytest.mark.parametrize(
    ("text", "level", "cause"),
    [
        ("slurmstepd: error: *** STEP 7.0 ON node01 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
         Level.TEARDOWN, None),
        ("slurmstepd: error: *** STEP 7.0 ON node01 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***",
         Level.TEARDOWN, None),
        ("slurmstepd: error: *** JOB 7 ON node01 CANCELLED AT 2026-01-02T03:04:05 ***", Level.TEARDOWN, None),
        ("slurmstepd: error: *** STEP 7.0 ON node01 CANCELLED AT 2026-01-02T03:04:05 DUE TO NODE FAILURE, SEE ***",
         Level.TRANSPORT, "device"),
        ("srun: error: Node failure on node03", Level.INITIATING, "device"),
        ("slurmstepd: error: Exceeded job memory limit", Level.INITIATING, "resource"),
        ("[WARNING] Received Signals.SIGTERM death signal, shutting down workers", Level.TEARDOWN, None),
        ("Primary job  terminated normally, but 1 process returned", Level.TEARDOWN, None),
        ("ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.", Level.CASCADE, None),
        ("ray.exceptions.WorkerCrashedError: The worker died unexpectedly", Level.CASCADE, None),
        ("srun: error: node03: task 3: Out Of Memory", Level.INITIATING, "resource"),
        ("The node was low on resource: memory. Container job was using 61Gi", Level.INITIATING, "resource"),
        ("Task was killed due to the node running low on memory.", Level.INITIATING, "resource"),
    ],
)  # fmt: skip
def test_ends_of_jobs_and_of_workers(text: str, level: Level, cause: str | None) -> None:
    (trouble,) = facts(KnownTexts(launchers.ROWS), text)
    assert isinstance(trouble, Trouble)
    assert (trouble.level, trouble.cause) == (level, cause)


def test_a_worker_of_ray_that_died_is_named_by_its_process() -> None:
    text = (
        "Worker ID: 00ff Node ID: 11ee Worker IP address: 192.0.2.3 Worker port: 10002 Worker PID: 4321 Worker exit "
        "type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2."
    )
    (trouble,) = facts(KnownTexts(launchers.ROWS), text)
    assert isinstance(trouble, Trouble)
    assert (trouble.level, trouble.cause, trouble.who) == (
        Level.INITIATING, "crashed", Who(pid=4321, address="192.0.2.3")
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "[WARNING] [runner.py:1:fetch_hostfile] Unable to find hostfile, will proceed with local resources",
        "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
        "RuntimeError: Connection reset by peer",
    ],
)
def test_what_is_no_failure_of_a_launcher_says_nothing(text: str) -> None:
    assert not facts(KnownTexts(launchers.ROWS), text)


def test_the_end_of_pdsh_is_a_consequence() -> None:
    (trouble,) = facts(KnownTexts(launchers.ROWS), "pdsh@head: node03: ssh exited with exit code 255")
    assert isinstance(trouble, Trouble)
    assert (trouble.level, trouble.cause, trouble.about) == (Level.CASCADE, None, ())


@given(st.lists(st.sampled_from([*_PY_SPY.split("\n"), *_TRACEBACK.split("\n"), *_TORCHRUN.split("\n")])), st.text())
def test_no_text_makes_a_reader_raise(lines: list[str], tail: str) -> None:
    for new in READERS:
        facts(new(), "\n".join([*lines, tail]))


@pytest.mark.parametrize("pad", ["9", "a.", " ", "a ", "(", "| ", "a:", "a@", "aa: "])
@pytest.mark.parametrize("new", READERS)
def test_a_long_line_is_read_as_any_other(new: Callable[[], LineReader], pad: str) -> None:
    def told(length: int, word: str, form: str) -> list[tuple[type, Who | None]]:
        text = form.format(word=word, pad=pad * (length // len(pad)))
        return [(type(fact), getattr(fact, "who", None)) for fact in facts(new(), text)]

    for word in new().wakes:
        for form in ("{word}{pad}", "{pad}{word}"):
            assert told(65536, word, form) == told(1024, word, form)
