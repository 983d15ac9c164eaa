"""Which labs there are, and whose: a file for each in /run/opsdist-lab, by which one left behind is found."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.lab.network import PATIENCE, LabError, Plan, free_plans, known_numbers
from tests.leftovers import until

ROOT = Path("/run/opsdist-lab")
FOLDER_PREFIX = "opsdist-lab-"


@dataclass(frozen=True)
class Claim:
    """A lab's number, its folder, and the process it lives and ends with. A standing lab is there for its own sake and
    may be told to end; another belongs to a test."""

    number: int
    folder: str
    standing: bool
    owner: int
    born: str

    def lives(self) -> bool:
        return _born(self.owner) == self.born

    def remove(self) -> None:
        """Remove what is there of the lab, and its claim last."""
        Plan(self.number).remove()
        if Path(self.folder).name.startswith(FOLDER_PREFIX):
            shutil.rmtree(self.folder, ignore_errors=True)
        (ROOT / str(self.number)).unlink(missing_ok=True)


def claim(folder: Path, standing: bool) -> Claim:
    """Take a number that is free, for this process."""
    ROOT.mkdir(mode=0o700, exist_ok=True)
    born = _born(os.getpid()) or ""
    draft = ROOT / f".{os.getpid()}"
    for plan in free_plans():
        taken = Claim(plan.number, str(folder / f"{FOLDER_PREFIX}{plan.number}"), standing, os.getpid(), born)
        draft.write_text(json.dumps(asdict(taken)))
        try:
            # A link is there at once and whole, or fails because another is there.
            os.link(draft, ROOT / str(plan.number))
        except FileExistsError:
            continue
        finally:
            draft.unlink()
        return taken
    raise LabError("no free network for a lab; are there labs left behind? `python -m tests.lab down` removes them")


def numbers() -> list[int]:
    """Numbers of the labs that are there, wholly or in parts."""
    claimed: list[str] = []
    with suppress(FileNotFoundError):
        claimed = os.listdir(ROOT)
    return sorted({*known_numbers(), *(int(name) for name in claimed if name.isdigit())})


def remove(number: int) -> tuple[bool, str]:
    """Remove a lab that nobody lives for, or tell a standing one to end; that of a living test stays. Returns whether
    it is gone, and a line about it."""
    # In this order: nothing of a lab is ever there without its claim.
    there = number in known_numbers()
    found = _find(number)
    if found is None:
        Plan(number).remove()
        return True, f"lab {number}: removed what was left of it" if there else f"lab {number}: is not there"
    if not found.lives():
        found.remove()
        return True, f"lab {number}: removed; its owner, process {found.owner}, is gone"
    if not found.standing:
        return False, f"lab {number}: kept; it belongs to the living process {found.owner}"
    with suppress(ProcessLookupError):
        os.kill(found.owner, signal.SIGTERM)
    until(lambda: _find(number) is None or not found.lives(), PATIENCE, f"the end of lab {number}")
    if _find(number) == found:
        found.remove()
    return True, f"lab {number}: ended"


def _find(number: int) -> Claim | None:
    try:
        return Claim(**json.loads((ROOT / str(number)).read_text()))
    except FileNotFoundError:
        return None


def _born(pid: int) -> str | None:
    """When a process began, in the kernel's own count; None if it has ended. A zombie has."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]
