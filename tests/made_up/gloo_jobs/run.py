"""Runs a job until nothing moves any more, and takes what its ranks leave: their dumps, and what they have told."""

from __future__ import annotations

import functools
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.made_up.gloo_jobs.plan import Plan, Where, where_of

Dumps = Mapping[int, dict[str, Any]]
"""Rank -> its dump as Python has it."""

ROOT = Path(__file__).parents[3]
STILL = 2.0
"""Seconds without a word of any rank, after which none goes any further."""
PATIENCE = 60.0
"""Seconds for anything that comes for certain on a machine that is not broken."""
TO_END = 10.0
GATES = ("fall", "dump", "end")
"""In the order in which rank.py is given them."""
PREFIX = "nccl_trace_rank_"


class NotRun(Exception):
    """The job did not come as far as its fault."""


@dataclass
class Told:
    """What the ranks have said. `names` are torch's, of the groups; `at` is the index of the last call begun."""

    names: dict[str, str] = field(default_factory=dict)
    at: dict[int, int] = field(default_factory=dict)
    ready: set[int] = field(default_factory=set)
    stopped: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    raised: set[int] = field(default_factory=set)
    dumped: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)

    def hear(self, rank: int, what: str, value: Any) -> None:
        match what:
            case "ready":
                self.ready.add(rank)
                self.names.update(value)
            case "calls":
                self.at[rank] = value
            case "stops":
                self.stopped.add(rank)
            case "finished" | "raised" | "dumped" | "gone":
                getattr(self, what).add(rank)


@dataclass(frozen=True)
class Outcome:
    """A job that has come to its end. `names` are torch's names of its groups; `at` is where in its program a rank
    was; `stopped` are those that have come to their stop; in `broken` a call failed, since its peers were gone or sent
    what it did not expect."""

    plan: Plan
    dumps: Dumps
    names: Mapping[str, str]
    at: Mapping[int, int]
    stopped: frozenset[int]
    broken: frozenset[int]
    finished: bool

    def called(self, where: Where) -> frozenset[int]:
        """Who has begun this call."""
        done = {rank: self.plan.programs[rank][: index + 1] for rank, index in self.at.items()}
        return frozenset(
            rank for rank, calls in done.items() if any(where_of(calls, index) == where for index in range(len(calls)))
        )


@functools.cache
def unavailable() -> str | None:
    """Why no job can run here; None if they can."""
    if find_spec("torch") is None:
        return "torch is not installed: pip install '.[torch]'"
    question = "from torch._C import _distributed_c10d as it; raise SystemExit(not hasattr(it, '_dump_fr_trace'))"
    asked = subprocess.run([sys.executable, "-c", question], capture_output=True, timeout=PATIENCE, check=False)
    return None if asked.returncode == 0 else "this torch does not record the calls of gloo"


# ---- a run


def run(plan: Plan, folder: Path) -> Outcome:
    """In a folder of its own, in which all that it leaves can be loaded again."""
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(plan.to_json())
    dying = {rank for rank, program in enumerate(plan.programs) for call in program if call.stop in ("exit", "kill")}
    with _started(folder) as job:
        told = job.told
        job.hear_until(lambda: len(told.ready) == plan.size)
        job.hear_until_still()
        if dying & told.stopped:
            job.open("fall")
            job.hear_until(lambda: dying & told.stopped <= told.gone)
            job.hear_until_still()
        job.open("dump")
        job.hear_until(lambda: len(told.dumped | told.gone) == plan.size)
        kept = {
            "names": told.names, "at": told.at, "stopped": sorted(told.stopped),
            "broken": sorted((told.raised | told.gone) - told.stopped), "finished": len(told.finished) == plan.size,
        }  # fmt: skip
    (folder / "told.json").write_text(json.dumps(kept))
    return load(folder)


class _Job:
    """The processes of a job: what they tell, and the gates that are held shut for them."""

    def __init__(self, folder: Path) -> None:
        self.told = Told()
        self._log = folder / "log.txt"
        self._rest = b""
        self._listened, tells = os.pipe()
        gates = {name: os.pipe() for name in GATES}
        self._gates = {name: holds for name, (_, holds) in gates.items()}
        theirs = [tells, *(waits for waits, _ in gates.values())]
        command = [sys.executable, "-m", "tests.made_up.gloo_jobs.rank", str(folder.resolve()), *map(str, theirs)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=theirs,
                start_new_session=True,
            )  # fmt: skip
        for descriptor in theirs:
            os.close(descriptor)

    def open(self, gate: str) -> None:
        os.close(self._gates.pop(gate))

    def hear_until(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not what():
            if not self._hear(deadline - time.monotonic()):
                raise NotRun(f"{self.told}\n{self._log.read_text(errors='replace')[-1000:]}")

    def hear_until_still(self) -> None:
        while self._hear(STILL):
            pass

    def _hear(self, seconds: float) -> bool:
        """Whether anything was said within some seconds. Where nobody is left to say anything, nothing is."""
        ready, _, _ = select.select([self._listened], [], [], max(seconds, 0.0))
        said = os.read(self._listened, 1 << 16) if ready else b""
        *lines, self._rest = (self._rest + said).split(b"\n")
        for line in lines:
            self.told.hear(*json.loads(line))
        return bool(said)

    def end(self) -> None:
        """No process of it is left: each of them could speak."""
        for gate in list(self._gates):
            self.open(gate)
        deadline = time.monotonic() + TO_END
        while self._hear(deadline - time.monotonic()):
            pass
        # Not yet waited for, so its number is that of no other group.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._listened)


@contextmanager
def _started(folder: Path) -> Iterator[_Job]:
    job = _Job(folder)
    try:
        yield job
    finally:
        job.end()


def load(folder: Path) -> Outcome:
    """What a run has left there."""
    plan, told = (folder / "plan.json").read_text(), json.loads((folder / "told.json").read_text())
    dumps = {int(path.name.removeprefix(PREFIX)): pickle.loads(path.read_bytes()) for path in folder.glob(f"{PREFIX}*")}
    at = {int(rank): index for rank, index in told["at"].items()}
    return Outcome(
        Plan.from_json(plan), dict(sorted(dumps.items())), told["names"], at, frozenset(told["stopped"]),
        frozenset(told["broken"]), told["finished"],
    )  # fmt: skip
