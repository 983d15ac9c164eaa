"""Which process is which rank, where a program prints both in one line.

Conservative: only words that mean the rank in the world, and only where nothing in the line contradicts them.
May import: facts, known, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from suites.diagnose.evidence.known import people
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import Fact, Identity, Who

_IS = r"['\"]?(?: ?[=:] ?| )['\"]?"
_RANK = re.compile(
    r"(?<![\w-])(?:[Gg]lobal[_ ]?[Rr]ank|GLOBAL_RANK|[Ww]orld[_ ]?[Rr]ank|RANK|--rank)"
    rf"{_IS}(?P<rank>\d{{1,7}})\b(?!\.\d)"
)
_LOCAL_RANK = re.compile(rf"(?<![\w-])(?:[Ll]ocal[_ ]?[Rr]ank|LOCAL_RANK){_IS}(?P<local_rank>\d{{1,4}})\b(?!\.\d)")
_PID = re.compile(rf"(?<![\w-])(?:[Pp]id|PID){_IS}(?P<pid>\d{{1,9}})\b(?!\.\d)")
_WORDS = (_RANK, _LOCAL_RANK, _PID)


@dataclass(slots=True)
class Identities:
    """Each line stands for itself."""

    wakes: tuple[str, ...] = (
        "lobal_rank", "lobal rank", "lobalRank", "GLOBAL_RANK", "orld_rank", "orld rank", "RANK=", "RANK:", "--rank",
        "RANK'", 'RANK"',
    )  # fmt: skip
    awake: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        told = line.who
        for pattern in _WORDS:
            for who in map(people, pattern.finditer(line.text)):
                if not _agree(told, who):
                    return
                told = merged(told, who)
        if told != line.who and told.rank is not None and told.pid is not None:
            yield Identity(told, line.place())

    def end(self) -> Iterable[Fact]:
        return ()


def _agree(one: Who, other: Who) -> bool:
    return all(
        None in (mine := (getattr(one, name), getattr(other, name))) or mine[0] == mine[1]
        for name in ("rank", "local_rank", "pid")
    )
