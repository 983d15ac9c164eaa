"""The real agent, impatient and with jobs that no job of opsdist would be: for tests of what the agent can take.

Started as `python -m tests.suites.launch.strange_agent`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy

from collectives.backends.builtin import BACKEND
from collectives.rendezvous import Store
from suites.jobs import JOBS
from suites.launch import agent, mpiexec
from suites.launch.rank import RankContext


def report(context: RankContext) -> None:
    """Says what it was given."""
    context.phase("middle")
    context.report({"type": "said", "rank": context.placement.rank, "arguments": dict(context.arguments)})


def chatter(context: RankContext) -> None:
    """Prints half lines and torn characters, as libraries do."""
    for piece in ("half a l", "ine\n", "é\n", "last, without an end"):
        for byte in piece.encode():
            os.write(1, bytes([byte]))
    os.write(2, b"to stderr\n")


def flood(context: RankContext) -> None:
    """Rank 0 prints without mercy; the others only report."""
    if context.placement.rank == 0:
        line = b"x" * 1023 + b"\n"
        for _ in range(context.arguments["lines"]):
            os.write(1, line)
            os.write(2, line)
    context.report({"type": "said"})


def lazy(context: RankContext) -> None:
    """Does nothing for long, and ends when asked."""
    context.report({"type": "said"})
    time.sleep(3600)


def stubborn(context: RankContext) -> None:
    """Ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context.report({"type": "said"})
    time.sleep(3600)


def vanish(context: RankContext) -> None:
    """Closes everything, its way to the agent included, and lives on."""
    os.closerange(3, 256)
    time.sleep(3600)


def leave_a_child(context: RankContext) -> None:
    """Starts a process in a session of its own, which holds the rank's output open, and ends."""
    child = subprocess.Popen(["sleep", "3600"], start_new_session=context.arguments["session"])
    context.report({"type": "said", "child": child.pid})


def fork_a_child(context: RankContext) -> None:
    """Forks without exec, so that the child holds even the way to the agent open; then dies."""
    if os.fork() == 0:
        time.sleep(3600)
    os.kill(os.getpid(), signal.SIGKILL)


def long_report(context: RankContext) -> None:
    """Reports more than a frame may hold."""
    context.report({"type": "said", "much": "x" * (65 << 20)})


def thread(context: RankContext) -> None:
    """Leaves a thread behind that never ends."""
    threading.Thread(target=time.sleep, args=(3600,)).start()
    context.report({"type": "said"})


def map_files(context: RankContext) -> None:
    """Maps files of its own, as libraries do with shared memory, and is stopped before it can remove them."""
    maps = []
    for path in context.arguments["paths"]:
        with open(path, "wb+") as file:
            file.truncate(4096)
            maps.append(mmap.mmap(file.fileno(), 4096))
    context.report({"type": "said"})
    time.sleep(3600)


def meet(context: RankContext) -> None:
    """All call an allreduce but the last rank, which does what is wanted instead."""
    store = Store(context.store, context.token)
    comm = BACKEND.open(context.placement, store, context.token, context.timeout, context.address, context.recorder)
    comm.barrier()
    if context.placement.rank == context.placement.world_size - 1:
        LATE[context.arguments["late"]]()
    comm.allreduce(numpy.ones(4, numpy.float32))


LATE: dict[str, Callable[[], object]] = {
    "sleeps": lambda: time.sleep(3600),
    "holds the lock": lambda: ctypes.PyDLL(None).sleep(3600),
    "leaves": lambda: sys.exit(0),
    "comes": lambda: None,
}


def strange(context: RankContext) -> None:
    """Raises what is no Exception, with a message that is no text."""
    raise KeyboardInterrupt("\ud800")


for function in (
    report, chatter, flood, lazy, stubborn, vanish, leave_a_child, fork_a_child, long_report, thread, map_files,
    meet, strange,
):  # fmt: skip
    JOBS[function.__name__] = f"tests.suites.launch.strange_agent:{function.__name__}"

if __name__ == "__main__":
    agent._TERM_SECONDS = 0.3
    agent._KILL_SECONDS = 0.3
    agent._BACKLOG = int(os.environ.get("BACKLOG", agent._BACKLOG))
    mpiexec._TERM_SECONDS = 0.1
    mpiexec.DIAL = "tests.suites.launch.strange_dial"
    agent.main()
else:  # the agent looks a job up
    print("something that a library prints")
