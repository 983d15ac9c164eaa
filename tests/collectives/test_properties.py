"""What holds for any plan: the order of delivery changes nothing, and damage is refused in words or does no harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from collectives.algorithms import ALGORITHMS, Algorithm
from collectives.errors import PlanError
from collectives.ops import COLLECTIVES
from collectives.schedule import Buffer, Fold, Plan, Send, Shape, Span, Step
from collectives.simulate import simulate
from tests.collectives.plans import Groups, equal_groups, made, shapes_of
from tests.collectives.reckless import Engine, wanted

ROWS = [row for rows in ALGORITHMS.values() for row in rows.values()]
BUFFERS: tuple[Buffer, ...] = ("send", "recv", "scratch")

modest = settings(deadline=None)


@dataclass(frozen=True)
class Call:
    """One call of an algorithm. Its repr is what a failure shows."""

    collective: str
    algorithm: str
    size: int
    count: int
    root: int
    groups: Groups
    in_place: bool

    @property
    def row(self) -> Algorithm:
        return ALGORITHMS[self.collective][self.algorithm]

    def shapes(self) -> list[Shape]:
        return shapes_of(
            self.row, self.size, self.count, root=self.root, groups=self.groups, in_place=self.in_place
        )  # fmt: skip


@st.composite
def calls(draw: st.DrawFn, most: int = 9) -> Call:
    row = draw(st.sampled_from(ROWS))
    collective = COLLECTIVES[row.collective]
    size = draw(st.integers(1, most))
    groups: Groups = ()
    if row.name == "hierarchical":
        ranks = draw(st.permutations(range(size)))
        group = draw(st.sampled_from([g for g in range(1, size + 1) if size % g == 0]))
        groups = tuple(tuple(ranks[i] for i in places) for places in equal_groups(size, group))
    call = Call(
        row.collective,
        row.name,
        size,
        count=draw(st.integers(0, 40)),
        root=draw(st.integers(0, size - 1)) if collective.rooted else 0,
        groups=groups,
        in_place=draw(st.booleans()) if collective.alias else False,
    )
    assume(not row.unmet(call.shapes()[0]))
    return call


def ends_right(call: Call, plans: Sequence[Plan], random: Random) -> bool:
    """Whether the reckless engine gets the wanted result from these plans."""
    collective, shapes = COLLECTIVES[call.collective], call.shapes()
    given_ = [np.array([random.randrange(1 << 40) for _ in range(shape.send.count)], np.int64) for shape in shapes]
    got = Engine(plans, collective, shapes, given_, random).run()
    return all(
        np.array_equal(recv, wanted(collective, shape, call.count, given_))
        for recv, shape in zip(got, shapes, strict=True)
    )


@settings(modest, max_examples=100)
@given(calls(most=12), st.randoms(use_true_random=False))
def test_the_order_of_delivery_changes_nothing(call: Call, random: Random) -> None:
    shapes, collective = call.shapes(), COLLECTIVES[call.collective]
    plans = made(call.row, shapes)
    oldest_first = simulate(plans, collective, shapes, call.count)
    assert simulate(plans, collective, shapes, call.count, choose=random.randrange) == oldest_first


@settings(modest, max_examples=60)
@given(calls(most=6), st.randoms(use_true_random=False))
def test_what_is_proven_comes_out_right(call: Call, random: Random) -> None:
    assert ends_right(call, made(call.row, call.shapes()), random)


@pytest.mark.parametrize("in_place", [False, True])
def test_the_reckless_engine_finds_races(in_place: bool) -> None:
    """Two ranks fold each other's buffer, in place into what they are sending: the simulator refuses that, and some
    order of events goes wrong."""
    call = Call("allreduce", "one_shot", 2, 3, 0, (), in_place)
    plans = made(call.row, shapes_of(call.row, 2, 3))
    right = [ends_right(call, plans, Random(seed)) for seed in range(20)]
    assert all(right) != in_place
    assert bool(refusal(call, plans)) == in_place


def refusal(call: Call, plans: Sequence[Plan]) -> str:
    """The simulator's words against these plans; empty where it takes them."""
    try:
        simulate(plans, COLLECTIVES[call.collective], call.shapes(), call.count)
    except PlanError as error:
        return str(error)
    return ""


def moved(span: Span, by: int) -> Span:
    return Span(span.buffer, span.start + by, span.stop + by)


def without(items: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    return items[:index] + items[index + 1 :]


def put(items: tuple[Any, ...], index: int, item: object) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index + 1 :])


@st.composite
def damaged(draw: st.DrawFn, step: Step, size: int) -> Step:
    """`step` with one thing wrong."""
    kinds = [kind for kind in ("sends", "receives", "folds") if getattr(step, kind)]
    kind = draw(st.sampled_from(kinds))
    parts = getattr(step, kind)
    index = draw(st.integers(0, len(parts) - 1))
    part = parts[index]
    damage = draw(st.sampled_from(["drop", "twice", "shift", "peer", "flag", "buffer"]))
    if damage == "drop":
        return replace(step, **{kind: without(parts, index)})
    if damage == "twice":
        return replace(step, **{kind: (*parts, part)})
    by = draw(st.sampled_from([-3, -1, 1, 2]))
    buffer: Buffer = draw(st.sampled_from(BUFFERS))
    if isinstance(part, Fold):
        operands = part.operands
        if damage == "shift":
            part = replace(part, into=moved(part.into, by))
        elif damage == "buffer":
            part = replace(part, into=replace(part.into, buffer=buffer))
        elif damage == "peer":
            part = replace(part, operands=operands[::-1])
        elif damage == "flag":
            part = replace(part, last=not part.last)
        else:
            part = replace(part, operands=draw(st.sampled_from([operands[:1], operands[1:], (*operands, part.into)])))
    elif damage == "peer":
        part = replace(part, peer=draw(st.integers(-1, size)))
    elif damage == "flag" and isinstance(part, Send):
        part = replace(part, after=not part.after)
    elif part.spans:
        place = draw(st.integers(0, len(part.spans) - 1))
        span = part.spans[place]
        changed = replace(span, buffer=buffer) if damage == "buffer" else moved(span, by)
        part = replace(part, spans=put(part.spans, place, changed))
    return replace(step, **{kind: put(parts, index, part)})


@settings(modest, max_examples=600)
@given(st.data(), calls(most=5), st.randoms(use_true_random=False))
def test_damage_is_refused_or_does_no_harm(data: st.DataObject, call: Call, random: Random) -> None:
    """A plan with something dropped, repeated, moved, or sent elsewhere either raises PlanError or, if the simulator
    takes it all the same, still comes out right in an engine that takes every liberty."""
    shapes = call.shapes()
    plans = made(call.row, shapes)
    rank = data.draw(st.sampled_from([rank for rank, plan in enumerate(plans) if plan.steps] or [-1]))
    assume(rank >= 0)
    steps = plans[rank].steps
    index = data.draw(st.integers(0, len(steps) - 1))
    worse = (
        without(steps, index)
        if data.draw(st.booleans())
        else put(steps, index, data.draw(damaged(steps[index], call.size)))
    )
    plans[rank] = replace(plans[rank], steps=worse)
    words = refusal(call, plans)
    assert "rank " in words if words else ends_right(call, plans, random)
