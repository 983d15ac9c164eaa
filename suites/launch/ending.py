"""The end of a run: no process of it stays, and what could not be ended is known. May import: link, seen, probes."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence

from probes import process
from probes.host import LocalHost
from suites.launch.link import Link
from suites.launch.seen import Roll

_HELPER_SECONDS = 1.0
_KILLED_SECONDS = 1.0


def end_all(links: Sequence[Link], roll: Roll, seconds: float) -> list[tuple[str, int]]:
    """End what is left of these agents and their ranks. Host and process id of what is not known to have ended then.

    An agent's end is the end of its ranks: they are killed with it by the kernel. On another host it is the end of its
    lifeline, which is cut here.
    """
    near = [link for link in links if not link.ended and not link.command.far]
    for link in links:
        if not link.ended:
            link.kill()
    _await_helpers(near)
    for link in near:
        for pid in roll.living(link.ranks).values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        for pid in link.helpers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + seconds
    for link in links:
        link.release(max(deadline - time.monotonic(), 0.0))
        if link.ended and link.exit_code(0.0) is None:
            link.kill()  # it has said that it ends, and does not
            link.exit_code(_KILLED_SECONDS)
    while (here := _here(links, roll)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return here + _elsewhere(links, roll)


def _await_helpers(links: Sequence[Link]) -> None:
    """They end their ranks and clean up after them, once their agent is gone."""
    host, deadline = LocalHost(), time.monotonic() + _HELPER_SECONDS
    helpers = [pid for link in links for pid in link.helpers]
    while any(_lives(host, pid) for pid in helpers) and time.monotonic() < deadline:
        time.sleep(0.01)


def _here(links: Sequence[Link], roll: Roll) -> list[tuple[str, int]]:
    """Processes of the run that are still there."""
    host, found = LocalHost(), []
    for link in links:
        assert link.way
        pids = [] if link.way.pid is None or link.exit_code(0.0) is not None else [link.way.pid]
        if not link.command.far:
            pids += [*roll.living(link.ranks).values(), *([] if link.ended else link.helpers)]
        found += [(link.host, pid) for pid in pids if _lives(host, pid)]
    return found


def _elsewhere(links: Sequence[Link], roll: Roll) -> list[tuple[str, int]]:
    """Ranks on other hosts whose end nobody has told."""
    silent = [link for link in links if link.command.far and not link.ended]
    return [(link.host, pid) for link in silent for pid in roll.living(link.ranks).values()]


def _lives(host: LocalHost, pid: int) -> bool:
    return not (process.state(host, pid) or "Z").startswith(("Z", "X"))
