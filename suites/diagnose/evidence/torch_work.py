"""A call as torch's watchdogs print it: `WorkNCCL(SeqNum=4, OpType=BROADCAST, NumelIn=112, ...) ran for ...`.

May import: facts, operations, torch_speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from suites.diagnose.evidence.operations import EQUAL_INPUTS, operation
from suites.diagnose.evidence.torch_speaker import Speaker
from suites.diagnose.facts import NOBODY, Call, Fact, Level, Place, Signature, Trouble

_WORK = re.compile(r"Work[A-Z]{1,12}\s{0,4}\((?P<fields>[^()]{0,400})")
_TIMES = re.compile(r"\(ms\)=(?P<limit>\d{1,15})(?:\)\s{1,9}ran for\s{1,9}(?P<ran>\d{1,15}))?")
_FIELD = re.compile(r"(\w{1,20})=(-?\w{1,40})")
_MESSAGES = {"send": False, "recv": True, "recvanysource": True}
"""Point-to-point -> whether it is the peer who sends."""
_GROWING = {"allgather": ("NumelOut", "NumelIn"), "reduce_scatter": ("NumelIn", "NumelOut")}
"""Operation -> what is as many times what as the group has members."""
_UNEQUAL = {"gather": "NumelOut", "scatter": "NumelIn"}
"""Operation -> what only the root has."""
_LATE = 60_000
"""Milliseconds by which a watchdog that is well may be late."""


@dataclass(frozen=True, slots=True)
class Work:
    """`limit` and `ran` are in milliseconds."""

    seq: int | None
    op: str
    numbers: dict[str, int]
    limit: int | None = None
    ran: int | None = None

    @property
    def signature(self) -> Signature:
        name = "NumelIn" if self.op in EQUAL_INPUTS else "NumelOut" if self.op == "reduce_scatter" else ""
        return Signature(self.op, self.numbers.get(name))

    def facts(self, said: Speaker, place: Place, first: bool) -> Iterator[Fact]:
        """`first`: it was not told before. Repeats add nothing but the call."""
        yield said.fact(place, self._group_size(said.group_rank))
        peer_sends = _MESSAGES.get(self.op)
        op = self.signature if self.op != "recvanysource" else Signature("recv")
        yield Call(
            said.member, place, said.key, self.seq, op, "pending", None if peer_sends is None else NOBODY,
            bool(peer_sends),
        )  # fmt: skip
        if first:
            yield Trouble(said.member, place, Level.TIMEOUT, self._words(), known_as="torch.watchdog")
        if first and self.limit and self.ran and self.ran > 2 * self.limit + _LATE:
            words = (
                f"the watchdog came after {self.ran // 1000} s, with a limit of {self.limit // 1000} s: "
                "the process itself was frozen"
            )
            yield Trouble(said.member, place, Level.TIMEOUT, words, known_as="torch.watchdog_late")

    def _group_size(self, group_rank: int | None) -> int | None:
        """Of the group, as sizes tell it."""
        whole, part = (self.numbers.get(name) or 0 for name in _GROWING.get(self.op, ("", "")))
        size = whole // part if part and whole % part == 0 else 0
        return size if size > max(1, group_rank or 0) else None

    def _words(self) -> str:
        number = "" if self.seq is None else f" #{self.seq}"
        role = "; this rank is not its root" if self.numbers.get(_UNEQUAL.get(self.op, "")) == 0 else ""
        limit = "" if self.limit is None else f" within {self.limit / 1000:g} s"
        return f"{self.op}{number} did not end{limit}{role}"


def work(text: str) -> Work | None:
    """The first one in a text. Lines that were broken leave blanks within its words."""
    found = _WORK.search(text)
    if found is None:
        return None
    fields = dict(_FIELD.findall("".join(found["fields"].split())))
    times = _TIMES.search(text, found.end() - 1, found.end() + 200)
    numbers = {name: int(value) for name, value in fields.items() if value.isdecimal() and name != "OpType"}
    return Work(
        numbers.get("SeqNum"), operation(fields.get("OpType", "unknown")), numbers,
        int(times["limit"]) if times else None, int(times["ran"]) if times and times["ran"] else None,
    )  # fmt: skip
