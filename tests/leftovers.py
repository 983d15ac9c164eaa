"""What a run may leave behind: nothing. Finds its processes, wherever they hang, and files where it might put some."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_MARK = "OPSDIST_TEST_RUN"
_SHM = Path("/dev/shm")


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Poll until the condition holds; fails with `what` when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.01)


@dataclass(frozen=True)
class RunSpace:
    """A folder and an environment for runs. Every process of them inherits a mark, by which it is found later, even
    when its parents are gone and it has a session of its own."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {"XDG_STATE_HOME": str(self.folder / "state")}
        return {**os.environ, **kept, "TMPDIR": str(self.temporary), _MARK: self.mark, **more}

    def processes(self) -> dict[int, str]:
        """Pids of living processes of this space's runs, with their command lines. Zombies do not count."""
        mark = f"{_MARK}={self.mark}".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
                except OSError:
                    continue  # gone meanwhile, or somebody else's
        return found

    def gone(self, within: float) -> None:
        """Every process of this space has ended, now or within some seconds."""
        until(lambda: not self.processes(), within, f"the end of {self.processes()}")


@contextmanager
def run_space(folder: Path) -> Iterator[RunSpace]:
    """A space for runs; when it is left, no process and no file of them may be there."""
    space = RunSpace(folder)
    space.temporary.mkdir()
    before = set(_SHM.iterdir())
    yield space
    left = space.processes()
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left, f"processes left behind: {left}"
    # Tests of MPI in other processes have files there while they start; those go by themselves.
    new = set(_SHM.iterdir()) - before
    until(lambda: not new & set(_SHM.iterdir()), 20.0, f"the end of what is new in /dev/shm: {new}")
    assert not list(space.temporary.iterdir()), "files left in the temporary folder"
    hidden = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    assert not hidden, f"staging files left: {hidden}"
