"""What it means that an agent of another host is not there, or not any more, by what was printed on the way to it.

May import: verdict's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from suites.verdict import Fault, Kind


@dataclass(frozen=True, slots=True)
class Trouble:
    """`passing`: another try may do."""

    kind: Kind
    phase: str
    message: str
    advice: tuple[str, ...]
    code: int | None = None
    passing: bool = False
    error: str = ""
    """That it has ended, where there is neither code nor signal to tell."""

    def fault(self, host: str) -> Fault:
        return Fault(
            None, self.kind, self.phase, message=self.message, notes=self.advice, code=self.code, host=host,
            error=self.error,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sign:
    """Words of what leads to an agent, and what they mean. `{host}` is filled in."""

    words: str
    phase: str
    meaning: str
    advice: str
    passing: bool = False


_SIGNS: tuple[Sign, ...] = (
    Sign(
        r"No module named|ModuleNotFoundError", "opsdist", "Python on {host} has no opsdist",
        "install the same version there, or give the interpreter that has it: --python PATH",
    ),
    Sign(
        r"[Uu]nknown option:? -P|[Uu]nrecognized option.*-P", "python", "Python on {host} is older than 3.11",
        "give one that is not: --python PATH",
    ),
)  # fmt: skip
"""Of shells and Python."""
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def not_there(signs: Sequence[Sign], words: str, code: int | None, host: str, *, try_by_hand: str) -> Trouble:
    """No agent came. `signs` are those of what leads to it."""
    last = words.strip().rpartition("\n")[2].strip()
    said = f" (said: {last})" if last else ""
    if code is not None and code < 0:
        return _ended_here(code, host)
    for sign in (*signs, *_SIGNS):
        if re.search(sign.words, words):
            meaning, advice = sign.meaning.format(host=host) + said, sign.advice.format(host=host)
            return Trouble("launch", sign.phase, meaning, (advice,), passing=sign.passing)
    if code in (_NOT_FOUND, _NOT_EXECUTABLE):
        told = f"there is no such Python on {host}{said}"
        return Trouble("launch", "python", told, ("give the one that has opsdist: --python PATH",))
    told = f"{host} ended before its agent was there (exit {code}){said}"
    return Trouble("launch", "start", told, (f"`{try_by_hand}` by hand",))


def gone(words: str, code: int | None, host: str, *, broken: bool) -> Trouble:
    """An agent that was there ended without a word, or the way to it is `broken`."""
    last = words.strip().rpartition("\n")[2].strip()
    said = f" (said: {last})" if last else ""
    if code is not None and code < 0:
        return _ended_here(code, host)
    if broken:
        advice = f"the network to {host}, and its uptime"
        return Trouble("unreachable", "", f"the connection to {host} broke{said}", (advice,))
    advice = f"`dmesg | grep -i oom` on {host}, and who else may end processes there"
    return Trouble("agent", "", f"the agent on {host} ended without a word{said}", (advice,), code)


def _ended_here(code: int, host: str) -> Trouble:
    """It was a process of this machine that got the signal."""
    told = f"what led to {host} was ended on this machine by signal {-code}"
    return Trouble("outside", "", told, ("who ends processes here; `dmesg | grep -i oom`",))
