"""Which algorithm `auto` means: a literal table, first matching rule wins, and the reason is part of the answer.

The rules come from measurements with the portable engine on one host of two cores, for 2, 4 and 8 ranks:

    for n in 2 4 8; do opsdist perf OP --algorithm all --size 8,4K,64K,1M,16M,64M -n $n --loop 15; done

An algorithm is preferred where it was ahead by more than the intervals overlap, else the one with fewer messages.
Beyond 8 ranks nothing was measured; there the asymptotically better one is taken, and the reason says so.
May import: the standard library, errors.
"""

from __future__ import annotations

from dataclasses import dataclass

from collectives.errors import PlanError

_KIB, _MIB = 1 << 10, 1 << 20
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
    Rule("allreduce", 2, 256 * _KIB, "recursive_doubling", "one exchange; measured ahead up to 256K on 2 ranks"),
    Rule("allreduce", 8, 256 * _KIB, "linear", "fewest messages; measured ahead up to 64K on 4 and 8 ranks"),
    Rule("allreduce", _ANY, 256 * _KIB, "recursive_doubling", "log2 n exchanges; not measured beyond 8 ranks"),
    Rule("allreduce", _ANY, _ANY, "two_shot", "least bytes in one exchange; measured ahead from 1M on"),
    Rule("allgather", _ANY, _ANY, "direct", "least bytes in one exchange; none was measured ahead of it"),
    Rule("reduce_scatter", _ANY, _ANY, "direct", "least bytes in one exchange; none was measured ahead of it"),
    Rule("alltoall", _ANY, _ANY, "direct", "least bytes in one exchange; measured ahead"),
    Rule("alltoallv", _ANY, _ANY, "direct", "least bytes in one exchange; measured ahead"),
    Rule("broadcast", 8, _ANY, "linear", "one exchange; measured ahead on 2 to 8 ranks"),
    Rule("broadcast", _ANY, _MIB, "tree", "log2 n exchanges; not measured beyond 8 ranks"),
    Rule("broadcast", _ANY, _ANY, "scatter_allgather", "the root sends once; not measured beyond 8 ranks"),
    Rule("reduce", 8, _ANY, "linear", "one exchange; measured level or ahead on 2 to 8 ranks"),
    Rule("reduce", _ANY, _MIB, "tree", "log2 n exchanges; not measured beyond 8 ranks"),
    Rule("reduce", _ANY, _ANY, "reduce_scatter_gather", "all ranks share the folding; not measured beyond 8 ranks"),
    Rule("gather", _ANY, _ANY, "linear", "every block moves once; measured ahead from 64K on"),
    Rule("scatter", _ANY, _ANY, "linear", "every block moves once; measured ahead"),
    Rule("sendrecv", _ANY, _ANY, "direct", "the only way"),
    Rule("barrier", 2, _ANY, "dissemination", "one exchange; measured ahead on 2 ranks"),
    Rule("barrier", 8, _ANY, "linear", "fewest messages; measured ahead on 4 and 8 ranks"),
    Rule("barrier", _ANY, _ANY, "dissemination", "no rank waits for more than log2 n messages"),
)


def choose(collective: str, ranks: int, size: int) -> tuple[str, str]:
    """(algorithm, why) for `size` bytes on `ranks` ranks."""
    for rule in RULES:
        if rule.collective == collective and ranks <= rule.ranks and size <= rule.size:
            return rule.algorithm, rule.why
    raise PlanError(f"no rule chooses an algorithm for {collective}")
