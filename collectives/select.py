"""Which algorithm `auto` means: a literal table, first matching rule wins, and the reason is part of the answer.

The rules come from measurements with the native core on one host of two cores, for 2, 4 and 8 ranks, warm and cold:

    for n in 2 4 8; do
      for mode in "--sync none --cache warm" ""; do
        opsdist perf OP --algorithm all --size 8,1K,8K,64K,512K -n $n --loop 300 $mode
        opsdist perf OP --algorithm all --size 4M,32M -n $n --loop 12 $mode
      done
    done

An algorithm is preferred where it was ahead in both, by more than runs differ; else the one with fewer messages.
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
    Rule("allreduce", 2, 32 * _KIB, "recursive_doubling", "one exchange; measured ahead or level up to 32K on 2 ranks"),
    Rule("allreduce", 2, _ANY, "two_shot", "least bytes in one exchange; measured ahead from 64K on"),
    Rule("allreduce", 4, 16 * _KIB, "one_shot", "one exchange; measured ahead or level up to 8K on 4 ranks"),
    Rule("allreduce", 4, _ANY, "two_shot", "least bytes in one exchange; measured ahead from 64K on"),
    Rule("allreduce", 8, 128 * _KIB, "linear", "fewest messages; measured ahead up to 64K on 8 ranks"),
    Rule("allreduce", 8, _ANY, "two_shot", "least bytes in one exchange; measured ahead from 512K on"),
    Rule("allreduce", _ANY, 256 * _KIB, "recursive_doubling", "log2 n exchanges; not measured beyond 8 ranks"),
    Rule("allreduce", _ANY, _ANY, "two_shot", "least bytes in one exchange; not measured beyond 8 ranks"),
    Rule("allgather", _ANY, _ANY, "direct", "least bytes in one exchange; none was measured ahead of it"),
    Rule("reduce_scatter", _ANY, _ANY, "direct", "least bytes in one exchange; none was measured ahead of it"),
    Rule("alltoall", _ANY, _ANY, "direct", "least bytes in one exchange; none was measured ahead of it"),
    Rule("alltoallv", _ANY, _ANY, "direct", "least bytes in one exchange, as for alltoall"),
    Rule("broadcast", 8, _ANY, "linear", "one exchange; measured ahead or level on 2 to 8 ranks"),
    Rule("broadcast", _ANY, _MIB, "tree", "log2 n exchanges; not measured beyond 8 ranks"),
    Rule("broadcast", _ANY, _ANY, "scatter_allgather", "the root sends once; not measured beyond 8 ranks"),
    Rule("reduce", 8, _ANY, "linear", "one exchange; measured ahead or level on 2 to 8 ranks"),
    Rule("reduce", _ANY, _MIB, "tree", "log2 n exchanges; not measured beyond 8 ranks"),
    Rule("reduce", _ANY, _ANY, "reduce_scatter_gather", "all ranks share the folding; not measured beyond 8 ranks"),
    Rule("gather", _ANY, _ANY, "linear", "every block moves once; measured ahead or level"),
    Rule("scatter", _ANY, _ANY, "linear", "every block moves once; measured ahead or level"),
    Rule("sendrecv", _ANY, _ANY, "direct", "the only way"),
    Rule("barrier", 2, _ANY, "dissemination", "one exchange; measured ahead on 2 ranks"),
    Rule("barrier", 8, _ANY, "linear", "fewest messages; measured ahead or level on 4 and 8 ranks"),
    Rule("barrier", _ANY, _ANY, "dissemination", "no rank waits for more than log2 n messages"),
)


ACROSS: tuple[Rule, ...] = (
    Rule("allreduce", _ANY, _ANY, "hierarchical", "several ranks a host: least bytes between hosts"),
)
"""Come first where hosts have several ranks each, and equally many."""


def choose(collective: str, ranks: int, size: int, local: int | None = None) -> tuple[str, str]:
    """(algorithm, why) for `size` bytes on `ranks` ranks; `local` of them are on each host, where all have as many."""
    several = local is not None and 1 < local < ranks
    for rule in (*ACROSS, *RULES) if several else RULES:
        if rule.collective == collective and ranks <= rule.ranks and size <= rule.size:
            return rule.algorithm, rule.why
    raise PlanError(f"no rule chooses an algorithm for {collective}")
