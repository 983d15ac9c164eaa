"""What a rank does once it was forked: put itself in order, run its job, tell the agent how it ended.

May import: protocol, unanswered, jobs, collectives.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from collectives.errors import CollectiveError
from collectives.placement import Placement
from collectives.recorder import Recorder
from suites.launch.protocol import Channel, Frame
from suites.launch.unanswered import unanswered

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class RankContext:
    """A rank's surroundings, as its job sees them. `timeout` bounds every wait without progress, in seconds."""

    placement: Placement
    arguments: Mapping[str, Any]
    token: str
    timeout: float
    store: str
    report: Callable[[Frame], None]
    address: str | None = None
    """Where this host is reached by others, if there are any."""
    recorder: Recorder | None = None
    """Where its calls are recorded so that the agent can see them."""

    def phase(self, name: str) -> None:
        """Say what this rank does next; a fault is reported with it."""
        self.report({"type": "phase", "phase": name})


def become_rank(outputs: tuple[int, int], close: Sequence[int], parent: int) -> None:
    """Right after the fork: let go of the parent's descriptors, print to `outputs`, die with the parent."""
    # Without it, a rank would outlive a parent that was killed.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the controller decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for descriptor in close:
        os.close(descriptor)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[1], 2)
    for descriptor in (null, *outputs):
        os.close(descriptor)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    gc.enable()


def pin(cpus: Sequence[int] | None) -> None:
    """Take the given CPUs."""
    if cpus:
        # Cores may have been taken from us since the controller looked: then run where we may.
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cpus)


def run_job(
    channel: Channel, job: Callable[[RankContext], None], frame: Frame, placement: Placement, record: int | None
) -> NoReturn:
    """Run the job to its end and leave the process. Whatever goes wrong is reported, never lost.

    `record` leads to memory for what it records. Leaving skips the interpreter's own clean-up: it could wait for
    threads and sockets of a job that has failed.
    """
    code = 0
    try:
        store = channel.receive()["store"]
        context = RankContext(
            placement, frame["arguments"], frame["token"], frame["timeout"], store, channel.send,
            frame["address"], Recorder(placement.rank, placement.world_size, record),
        )  # fmt: skip
        job(context)
        channel.send({"type": "finished"})
    except SystemExit as stop:
        # A job that leaves early has not finished; its exit code is reported by the agent.
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException as error:
        code = 1
        channel.send(failure(error))
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def failure(error: BaseException) -> Frame:
    """An error as data; where a rank has waited in vain, with what its kernel knows of the others' hosts."""
    waiting_for = list(getattr(error, "waiting_for", ()))
    return {
        "type": "failure",
        "error": type(error).__name__,
        "message": str(error),
        "notes": list(getattr(error, "__notes__", ())),
        "waiting_for": waiting_for,
        "unanswered": unanswered() if waiting_for else [],
        "peer": getattr(error, "peer", None),
        "expected": isinstance(error, CollectiveError),
        "traceback": traceback.format_exception(error),
    }
