"""A job's evidence with the right answer to it, and how an answer is graded: class, culprits, collective, first line.

May import: suites, the standard library.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.suites.diagnose.cases.forms import APART, FORMS


@dataclass(frozen=True)
class Case:
    """`classes` are those that are right, mostly one. `culprits` are in the words of `label`; who is undecided names
    nobody. `collective` is (op, seq), where the answer must give it. `initiating` is in the line that must be shown."""

    name: str
    files: Mapping[str, str]
    classes: str
    culprits: tuple[str, ...] = ()
    collective: tuple[str, int | None] | None = None
    initiating: str | None = None
    apart: str = ""
    """What is right where each rank has a file of its own, and that is another answer."""
    suspects: tuple[int, ...] = ()
    """Ranks that at least must be suspected, where the answer is undecided."""


@dataclass(frozen=True)
class Grade:
    """What is wrong in an answer, in words; nothing where all is right."""

    wrong: tuple[str, ...]
    innocent: tuple[str, ...]
    """Named, and not at fault."""
    explanation: str

    @property
    def right(self) -> bool:
        return not self.wrong


def grade(case: Case, form: str = "as it is") -> Grade | None:
    """Of what is said of a case in a form; None where it does not come in it."""
    files = FORMS[form](case.files)
    if files is None:
        return None
    classes = case.apart if form == APART and case.apart else case.classes
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        verdict = diagnose([folder], ["opsdist"], now()).record()["verdict"]
    told = tuple(label(one) for one in verdict["culprits"])
    right = case.culprits if verdict["class"] != "undecided" else ()
    innocent = tuple(one for one in told if one not in right)
    return Grade(tuple(_wrong(replace(case, classes=classes), verdict, told, right)), innocent, verdict["explanation"])


def _wrong(case: Case, verdict: Mapping[str, Any], told: Sequence[str], right: Sequence[str]) -> list[str]:
    found = []
    if verdict["class"] not in case.classes.split():
        found.append(f"class {verdict['class']}, not {case.classes}")
    if sorted(told) != sorted(right):
        found.append(f"culprits {sorted(told)}, not {sorted(right)}")
    if case.collective is not None:
        at = verdict["collective"]
        if at is None or (at["op"], at["seq"]) != case.collective:
            found.append(f"collective {at}, not {case.collective}")
    if case.initiating is not None:
        text = (verdict["initiating"] or {}).get("text") or ""
        if case.initiating not in text:
            found.append(f"initiating {text[:80]!r}, not {case.initiating!r}")
    suspected = {one.get("rank", one.get("group_rank")) for one in verdict["suspects"]}
    if verdict["class"] == "undecided" and not set(case.suspects) <= suspected:
        found.append(f"suspects {sorted(map(str, suspected))}, not {sorted(case.suspects)}")
    return found


def label(culprit: Mapping[str, Any]) -> str:
    """`rank 3`, `host node01`, `device npu2 of node01`, `link node01 - 192.0.2.7`."""
    kind, host, device, rank = (culprit.get(name) for name in ("kind", "host", "device", "rank"))
    whose = f" of {host}" if host else ""
    match kind:
        case "rank":
            own = f"group rank {culprit['group_rank']}" if "group_rank" in culprit else f"process{whose}"
            return own if rank is None else f"rank {rank}"
        case "device":
            return f"device {device}{whose}" if device else "device of " + (own_name(culprit) or "?")
        case "link":
            return "link " + " - ".join(
                str(end) for end in (own_name(culprit) or "?", culprit.get("peer")) if end is not None
            )
        case _:
            return f"{kind} {Path(host).name if kind == 'file' and host else host}"


def own_name(culprit: Mapping[str, Any]) -> str | None:
    """Of an end of a link, or the owner of a device."""
    if culprit.get("rank") is not None:
        return f"rank {culprit['rank']}"
    return culprit.get("host") or culprit.get("device")
