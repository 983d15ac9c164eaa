"""The literal table behind `auto`: complete, reachable, and of algorithms that can serve any world."""

from __future__ import annotations

import pytest

from collectives.algorithms import ALGORITHMS
from collectives.errors import PlanError
from collectives.ops import COLLECTIVES
from collectives.select import RULES, Rule, choose

RANKS = (1, 2, 3, 7, 8, 9, 64, 65_536)
SIZES = (0, 8, 256 << 10, (256 << 10) + 1, 1 << 20, 1 << 40)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_call_has_an_algorithm_that_needs_nothing(collective: str) -> None:
    for ranks in RANKS:
        shape = COLLECTIVES[collective].shape(0, min(ranks, 100), 1)
        for size in SIZES:
            name, why = choose(collective, ranks, size)
            assert ALGORITHMS[collective][name].unmet(shape) is None
            assert why


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.collective}-{rule.algorithm}-{rule.ranks}-{rule.size}")
def test_every_rule_is_reached(rule: Rule) -> None:
    """At its own bounds, where an earlier rule would win if it covered them."""
    assert choose(rule.collective, rule.ranks, rule.size) == (rule.algorithm, rule.why)


def test_the_first_matching_rule_wins() -> None:
    assert choose("allreduce", 2, 8)[0] == "recursive_doubling"
    assert choose("allreduce", 4, 8)[0] == "one_shot"
    assert choose("allreduce", 8, 8)[0] == "linear"
    assert choose("allreduce", 64, 8)[0] == "recursive_doubling"
    assert choose("allreduce", 2, 1 << 30)[0] == "two_shot"


def test_a_collective_without_a_rule_is_an_error_of_ours() -> None:
    with pytest.raises(PlanError, match="no rule"):
        choose("allshare", 2, 8)
