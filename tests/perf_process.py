"""A real `opsdist perf` under test: a process of its own whose output goes to files, so that it never waits for us."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectives import native, ring
from suites.expect import IMPLAUSIBLE_CHECK
from tests.leftovers import RunSpace, until

OPSDIST = (sys.executable, "-m", "opsdist_cli")
SMALL = ("allreduce", "--size", "4K", "--loop", "4", "--cache", "warm")
"""The smallest run that has a first iteration, a middle and an end."""
ENDLESS = ("allreduce", "--size", "4K,64M", "--loop", "5000", "--cache", "warm", "--no-check", "--peak", "100GB/s")
"""A row that is soon complete, then transfers of 64 MiB with nothing between them, for a minute or more."""
TRANSPORT = "shm" if native.core() else "zmq"
"""What the built-in backend runs over here."""
PATIENCE = 60.0
"""Seconds after which a run counts as hung, whatever the machine is busy with."""
PROMISED = 5.0
"""Seconds within which every process is gone when the controller was killed, or told to end twice."""
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True)
class Perf:
    """One run. `record` is what it wrote as JSON."""

    process: subprocess.Popen[bytes]
    stdout_path: Path
    stderr_path: Path
    json_path: Path

    @property
    def stdout(self) -> str:
        return self.stdout_path.read_text()

    @property
    def stderr(self) -> str:
        return self.stderr_path.read_text()

    @property
    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.json_path.read_text())
        return record

    def code(self, seconds: float = PATIENCE) -> int:
        """Its exit code, once it has ended."""
        return self.process.wait(seconds)

    def measured(self) -> None:
        """It has gone well, but perhaps for a ceiling that was taken while something else had the machine."""
        assert self.code() in (0, 3), self.stderr
        bad = [each for each in self.record["findings"] if each["status"] in ("fail", "error")]
        assert all(each["check"] == IMPLAUSIBLE_CHECK for each in bad), bad
        assert self.record["exit_code"] == (3 if bad else 0)

    def ranks(self) -> dict[int, int]:
        """Process ids of the ranks, once they have met (the run needs -v)."""
        self.until(lambda: "ranks started" in self.stderr and self.stderr.endswith("\n"), "the start of the ranks")
        line = next(line for line in self.stderr.splitlines() if "ranks started" in line)
        return {int(rank): int(pid) for rank, pid in re.findall(r"(\d+):(\d+)", line.partition("pid")[2])}

    def agent(self) -> int:
        """The agent's process id."""
        stat = Path(f"/proc/{self.ranks()[0]}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[1])

    def rings(self) -> dict[int, bytes]:
        """What the ranks have recorded until now (the run needs -v)."""
        found = {}
        for rank, pid in self.ranks().items():
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if ring.NAME in os.readlink(entry):
                        found[rank] = _snapshot(entry)
        return found

    def until_row(self, size: int) -> None:
        """Wait for a row of the table."""
        self.until(lambda: re.search(rf"^ +{size} ", self.stdout, re.MULTILINE) is not None, f"the row of {size} bytes")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that need not be so any more a moment later."""
        met = False

        def over() -> bool:
            nonlocal met
            ended = self.process.poll() is not None
            met = condition()
            return met or ended

        until(over, PATIENCE, what)
        assert met, f"ended before {what}: {self.stderr}"

    def culprits(self) -> list[int | None]:
        return [culprit.get("rank") for culprit in self.record["verdict"]["culprits"]]


def _snapshot(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return ring.snapshot(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def perf(space: RunSpace, *arguments: str, name: str = "run", **options: Any) -> Iterator[Perf]:
    """Start a run; it is killed on leaving if it has not ended."""
    run = start(space, arguments, name, **options)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()


def start(
    space: RunSpace, arguments: Sequence[str], name: str = "run", variables: Mapping[str, str] = _NONE, **options: Any
) -> Perf:
    out, err, record = (space.folder / f"{name}.{kind}" for kind in ("out", "err", "json"))
    command = [*OPSDIST, "perf", *arguments, *(() if "--json" in arguments else ("--json", str(record)))]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        streams = {"stdout": stdout, "stderr": stderr, "stdin": subprocess.DEVNULL, **options}
        process = subprocess.Popen(command, env=space.environment(**variables), **streams)
    return Perf(process, out, err, record)
