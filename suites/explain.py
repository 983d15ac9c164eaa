"""What an algorithm does and costs, without starting a rank: its plan, its proof and its predicted time.

May import: collectives, errors, report.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

from collectives.algorithms import ALGORITHMS, Algorithm, algorithm_named
from collectives.cost import Groups, Link, Prediction, predict, uniform
from collectives.dtypes import DTYPES
from collectives.ops import COLLECTIVES, Collective
from collectives.schedule import Fold, Message, Plan, Shape, Span
from collectives.simulate import Delivery, Outcome, simulate
from suites.errors import UsageError
from suites.report import gigabytes_per_second, microseconds

MOST_PROVEN = 64
"""Up to this many ranks the plans themselves are made and proven; beyond, the proof of the tests has to do."""


@dataclass(frozen=True, slots=True)
class Question:
    """The call to explain. `size` in bytes, `alpha` in seconds, `bandwidth` in bytes/second."""

    collective: str
    ranks: int
    size: int
    dtype: str
    root: int
    in_place: bool
    group_size: int | None
    alpha: float
    bandwidth: float

    @property
    def row(self) -> Collective:
        return COLLECTIVES[self.collective]

    @property
    def itemsize(self) -> int:
        return DTYPES[self.dtype].itemsize

    @property
    def count(self) -> int:
        """Elements a rank and block."""
        return self.row.elements(self.size, self.ranks, self.itemsize)

    @property
    def groups(self) -> Groups:
        """Groups of consecutive ranks: as large as asked for, or the largest equal ones of 8 at most."""
        group = self.group_size or max(size for size in range(1, 9) if self.ranks % size == 0)
        return tuple(tuple(range(first, min(first + group, self.ranks))) for first in range(0, self.ranks, group))

    def shape(self, rank: int) -> Shape:
        return self.row.shape(
            rank, self.ranks, self.count, root=self.root, groups=self.groups, in_place=self.in_place
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """An algorithm and what it would take; or why it cannot serve."""

    algorithm: Algorithm
    unmet: str | None
    prediction: Prediction | None

    @property
    def idea(self) -> str:
        """The first paragraph of the algorithm's file."""
        return " ".join(self._document.split("\n\n")[0].split())

    @property
    def limits(self) -> str | None:
        """What the algorithm's file says of its limits."""
        found = re.search(r"^Limits: (.*?)(?=^[A-Z][\w ]*: |\Z)", self._document, re.MULTILINE | re.DOTALL)
        return " ".join(found[1].split()) if found else None

    @property
    def _document(self) -> str:
        return inspect.getdoc(inspect.getmodule(self.algorithm.plan)) or ""


@dataclass(frozen=True, slots=True)
class Proof:
    """The plans of all ranks, what the simulation counted, and the messages in an order in which they can happen."""

    plans: list[Plan]
    outcome: Outcome
    deliveries: list[Delivery] = field(repr=False)


def candidates(question: Question) -> list[Candidate]:
    """All algorithms of the collective: the quickest first, those that cannot serve last. Raises UsageError."""
    rows = [_candidate(question, algorithm) for algorithm in ALGORITHMS[question.collective].values()]
    return sorted(rows, key=lambda row: row.prediction.seconds if row.prediction else float("inf"))


def candidate(question: Question, name: str) -> Candidate:
    """The named one. Raises UsageError when there is no such algorithm, or it cannot serve."""
    found = _candidate(question, algorithm_named(question.collective, name))
    if found.unmet:
        raise UsageError(f"{question.collective} by {name} {found.unmet}")
    return found


def _candidate(question: Question, algorithm: Algorithm) -> Candidate:
    if reason := algorithm.unmet(question.shape(0)):
        return Candidate(algorithm, reason, None)
    network = uniform(Link(question.alpha, 1 / question.bandwidth))
    return Candidate(
        algorithm,
        None,
        predict(
            algorithm, question.ranks, question.count, question.itemsize, network,
            root=question.root, groups=question.groups,
        ),
    )  # fmt: skip


def prove(question: Question, algorithm: Algorithm) -> Proof | None:
    """Simulate this very call. None beyond MOST_PROVEN ranks. Raises PlanError if it is wrong."""
    if question.ranks > MOST_PROVEN:
        return None
    shapes = [question.shape(rank) for rank in range(question.ranks)]
    plans = [algorithm.plan(shape) for shape in shapes]
    deliveries: list[Delivery] = []
    outcome = simulate(plans, question.row, shapes, question.count, observe=deliveries.append)
    return Proof(plans, outcome, deliveries)


def body(question: Question, rows: list[Candidate], proof: Proof | None) -> dict[str, Any]:
    """What the record adds for kind "explain". With one candidate, `plan` and `prediction` are about it."""
    chosen = rows[0] if len(rows) == 1 else None
    return {
        "collective": question.collective,
        "algorithm": chosen.algorithm.name if chosen else None,
        "world_size": question.ranks,
        "size": question.size,
        "count": question.count,
        "type": question.dtype,
        "root": question.root if question.row.rooted else None,
        "in_place": question.in_place,
        "group_size": len(question.groups[0]),
        "network": {"alpha": microseconds(question.alpha), "bandwidth": gigabytes_per_second(question.bandwidth)},
        "algorithms": [_row_record(row) for row in rows],
        "plan": {"ranks": [_plan_record(rank, plan) for rank, plan in enumerate(proof.plans)]} if proof else None,
        "prediction": _prediction_record(chosen.prediction) if chosen and chosen.prediction else None,
    }


def _row_record(row: Candidate) -> dict[str, Any]:
    return {
        "name": row.algorithm.name,
        "summary": row.algorithm.summary,
        "unmet": row.unmet,
        "prediction": _prediction_record(row.prediction) if row.prediction else None,
    }


def _prediction_record(prediction: Prediction) -> dict[str, Any]:
    return {
        "time": microseconds(prediction.seconds),
        "steps": prediction.steps,
        "wire_bytes_per_rank": prediction.wire_bytes,
        "how": prediction.how,
    }


def _plan_record(rank: int, plan: Plan) -> dict[str, Any]:
    """A plan in plain objects; a span is [buffer, start, stop], an operand a span or the rank that sends it."""
    steps = [
        {
            "sends": [
                {"peer": s.peer, "spans": [_span(span) for span in s.spans], "after": s.after} for s in step.sends
            ],
            "receives": [{"peer": r.peer, "spans": [_span(span) for span in r.spans]} for r in step.receives],
            "folds": [_fold(fold) for fold in step.folds],
        }
        for step in plan.steps
    ]
    return {"rank": rank, "scratch": plan.scratch, "steps": steps}


def _fold(fold: Fold) -> dict[str, Any]:
    operands = [o.peer if isinstance(o, Message) else _span(o) for o in fold.operands]
    return {"into": _span(fold.into), "operands": operands, "last": fold.last}


def _span(span: Span) -> list[Any]:
    return [span.buffer, span.start, span.stop]
