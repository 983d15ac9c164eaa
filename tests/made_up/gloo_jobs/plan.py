"""What a job is to do: its groups, the program of each rank, and the fault with its truth. It can be written down, so
that a job that was kept is graded later by what it was, whatever is drawn by then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Operation = Literal["all_reduce", "all_gather", "broadcast", "all_to_all", "barrier", "reduce", "reduce_scatter"]
Stop = Literal["sleep", "raise", "exit", "kill", "busy"]
Where = tuple[str, int]
"""A call: its group, and its number in it from 1."""

WORLD = "0"
OPERATIONS: tuple[Operation, ...] = get_args(Operation)


@dataclass(frozen=True)
class Call:
    """One collective of a program. `count` is of elements; `waits` for it and for all before it; at a `stop` the rank
    does that instead of the call."""

    group: str
    operation: Operation
    count: int
    dtype: str = "Float"
    waits: bool = True
    stop: Stop | None = None

    @property
    def signature(self) -> tuple[str, int, str]:
        """What all members of the group must agree on."""
        return self.operation, self.count, self.dtype


def where_of(program: Sequence[Call], index: int) -> Where:
    group = program[index].group
    return group, sum(call.group == group for call in program[: index + 1])


def index_of(program: Sequence[Call], where: Where) -> int:
    group, seq = where
    return [index for index, call in enumerate(program) if call.group == group][seq - 1]


@dataclass(frozen=True)
class Truth:
    """What an answer is graded by: the classes that are right, who is at fault, and at which calls. `anywhere`: it may
    be seen at others, first or only."""

    classes: frozenset[str]
    culprits: frozenset[int]
    calls: tuple[Where, ...]
    anywhere: bool = False


@dataclass(frozen=True)
class Plan:
    """`entries` is how many calls a rank's recorder holds; `local` are groups that only their members make, whose
    names are then hashes."""

    seed: int
    size: int
    layout: str
    groups: Mapping[str, tuple[int, ...]]
    programs: Sequence[Sequence[Call]]
    fault: str
    truth: Truth
    entries: int
    local: bool

    def groups_of(self, rank: int) -> Iterator[str]:
        return (name for name, members in self.groups.items() if rank in members)

    def stops(self) -> Mapping[int, Where]:
        """Rank -> the call that it does not make."""
        return {
            rank: where_of(program, index)
            for rank, program in enumerate(self.programs)
            for index, call in enumerate(program)
            if call.stop
        }

    def to_json(self) -> str:
        told = asdict(self)
        truth = told["truth"]
        truth["classes"], truth["culprits"] = sorted(truth["classes"]), sorted(truth["culprits"])
        return json.dumps(told)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        told: dict[str, Any] = json.loads(text)
        truth = told.pop("truth")
        programs = [[Call(**call) for call in program] for program in told.pop("programs")]
        groups = {name: tuple(members) for name, members in told.pop("groups").items()}
        calls = tuple((group, seq) for group, seq in truth["calls"])
        found = Truth(frozenset(truth["classes"]), frozenset(truth["culprits"]), calls, truth["anywhere"])
        return cls(groups=groups, programs=programs, truth=found, **told)
