"""What a plan costs on a network: alpha-beta time, of the very plans that run.

The model. Every rank has one port out and one port in, and a message of b bytes occupies each of the two for
alpha + b * beta, so that n messages through one port cost n alphas:

- A rank enters a step when all its messages and folds of the step before are done.
- A message may go when both ends have entered the step that holds it, and, sent `after` a fold, when that is done.
- Of the messages that may go, a port out sends one at a time, in the order in which the step lists them.
- A port in takes one at a time, in the order in which they leave. A message that finds it free arrives as it leaves.
- A fold starts when its operands are there, one at a time a rank, and takes gamma a byte and operand folded in.
- Local copies are free.

On a uniform network every closed form of ALGORITHMS equals this exactly where its chunks are whole; where ranks carry
unequal loads (alltoallv) it says that it is a bound.
May import: timeline, schedule, algorithms, ops, errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collectives.algorithms import Algorithm
from collectives.errors import UsageError
from collectives.ops import COLLECTIVES
from collectives.schedule import Plan
from collectives.timeline import finish_times

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Link:
    """What joins two ranks: `alpha` seconds a message, `beta` seconds a byte."""

    alpha: float
    beta: float


@dataclass(frozen=True, slots=True)
class Network:
    """The links of all pairs: `inside`, or `across` where the two ranks are in different groups.

    `group_of` holds the group of each rank; empty for a uniform network.
    """

    inside: Link
    across: Link
    group_of: tuple[int, ...] = ()

    def link(self, source: int, target: int) -> Link:
        if self.group_of and self.group_of[source] != self.group_of[target]:
            return self.across
        return self.inside

    @property
    def slowest(self) -> Link:
        """No pair's link is slower than this."""
        links = (self.inside, self.across) if len(set(self.group_of)) > 1 else (self.inside,)
        return Link(max(link.alpha for link in links), max(link.beta for link in links))


def uniform(link: Link) -> Network:
    """All pairs alike."""
    return Network(link, link)


def grouped(inside: Link, across: Link, groups: Groups) -> Network:
    """One link inside every group (hosts, NUMA nodes), another between them. `groups` hold each rank once."""
    group_of = {rank: index for index, ranks in enumerate(groups) for rank in ranks}
    return Network(inside, across, tuple(group_of[rank] for rank in range(len(group_of))))


@dataclass(frozen=True, slots=True)
class Prediction:
    seconds: float
    steps: int
    """The most communicating steps any rank takes."""
    wire_bytes: int
    """The most bytes any rank sends."""
    how: str
    """SIMULATED or CLOSED."""


SIMULATED, CLOSED = "simulated plan", "closed form"

_MOST_MESSAGES = 20_000
_MOST_RANKS = 256
"""Beyond either the closed form answers: timing the plans of more would take seconds, of 65,536 ranks days."""


def seconds_of(plans: Sequence[Plan], itemsize: int, network: Network, gamma: float = 0.0) -> float:
    """When the last rank is done. `gamma` is seconds a byte folded in. Raises PlanError for plans that do not fit."""

    def cost(source: int, target: int, elements: int) -> float:
        link = network.link(source, target)
        return link.alpha + elements * itemsize * link.beta

    return max(finish_times(plans, cost, lambda elements: elements * itemsize * gamma))


def predict(
    algorithm: Algorithm, size: int, count: int, itemsize: int, network: Network, *, root: int = 0, groups: Groups = ()
) -> Prediction:
    """How long `algorithm` takes with `size` ranks and `count` elements of `itemsize` bytes a rank and block.

    Few messages are timed one by one. Beyond that the closed form answers at once for any size, with every link taken
    for the slowest. Raises UsageError when the algorithm cannot serve this shape.
    """
    collective = COLLECTIVES[algorithm.collective]
    first = collective.shape(0, size, count, root=root, groups=groups)
    if reason := algorithm.unmet(first):
        raise UsageError(f"{algorithm.collective} {algorithm.name} {reason}")
    closed = algorithm.closed(size, count, len(groups[0]) if groups else 1)
    if size > _MOST_RANKS or size * closed.alphas > _MOST_MESSAGES:
        link = network.slowest
        seconds = closed.alphas * link.alpha + closed.path * itemsize * link.beta
        return Prediction(seconds, closed.steps, round(closed.wire * itemsize), CLOSED)
    shapes = [collective.shape(rank, size, count, root=root, groups=groups) for rank in range(size)]
    plans = [algorithm.plan(shape) for shape in shapes]
    wire = max(_elements_sent(rank, plan) for rank, plan in enumerate(plans))
    return Prediction(seconds_of(plans, itemsize, network), closed.steps, wire * itemsize, SIMULATED)


def _elements_sent(rank: int, plan: Plan) -> int:
    return sum(span.count for step in plan.steps for send in step.sends if send.peer != rank for span in send.spans)
