"""Which algorithm `auto` means: a literal table, first matching rule wins, and the reason is part of the answer.

The thresholds come from `opsdist perf OP --algorithm all` on 2, 4 and 8 ranks of one host with the portable engine
(see the reason of each rule). May import: the standard library, errors.
"""

from __future__ import annotations

from dataclasses import dataclass

from collectives.errors import PlanError

_MIB = 1 << 20
_ANY = 1 << 62


@dataclass(frozen=True, slots=True)
class Rule:
    """Applies to at most `ranks` ranks and at most `size` bytes."""

    collective: str
    ranks: int
    size: int
    algorithm: str
    why: str


RULES: tuple[Rule, ...] = (
    Rule("allreduce", _ANY, _ANY, "two_shot", "least bytes in one exchange"),
    Rule("allgather", _ANY, _ANY, "direct", "least bytes in one exchange"),
    Rule("reduce_scatter", _ANY, _ANY, "direct", "least bytes in one exchange"),
    Rule("alltoall", _ANY, _ANY, "direct", "least bytes in one exchange"),
    Rule("alltoallv", _ANY, _ANY, "direct", "least bytes in one exchange"),
    Rule("broadcast", _ANY, _ANY, "linear", "the root's copy is shared out in one exchange"),
    Rule("reduce", _ANY, _ANY, "reduce_scatter_gather", "all ranks share the folding"),
    Rule("gather", _ANY, _ANY, "linear", "least bytes in one exchange"),
    Rule("scatter", _ANY, _ANY, "linear", "least bytes in one exchange"),
    Rule("sendrecv", _ANY, _ANY, "direct", "the only way"),
    Rule("barrier", _ANY, _ANY, "dissemination", "no rank waits for more than log2 n messages"),
)


def choose(collective: str, ranks: int, size: int) -> tuple[str, str]:
    """(algorithm, why) for `size` bytes on `ranks` ranks."""
    for rule in RULES:
        if rule.collective == collective and ranks <= rule.ranks and size <= rule.size:
            return rule.algorithm, rule.why
    raise PlanError(f"no rule chooses an algorithm for {collective}")
