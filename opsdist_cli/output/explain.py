"""An algorithm, or all algorithms of a collective, as text for people. Pure: what suites.explain found, lines out.

May import: suites' data types, and from this package.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdist_cli.output.layout import pairs, table, wrapped
from opsdist_cli.output.plan import drawing
from opsdist_cli.units import bytes_binary, bytes_per_second, seconds
from suites.explain import MOST_PROVEN, Candidate, Proof, Question

MOST_DRAWN = 8
"""Plans of more ranks than this are not drawn: the lines would be too many to read."""


def choice(question: Question, rows: Sequence[Candidate]) -> str:
    """All algorithms of a collective, quickest first."""
    lines = [*wrapped(_call(question), "", "  "), f"with {_network(question)}", ""]
    able = [
        (
            row.algorithm.name,
            str(row.prediction.steps),
            bytes_binary(row.prediction.wire_bytes),
            seconds(row.prediction.seconds),
            row.algorithm.summary,
        )
        for row in rows
        if row.prediction
    ]
    lines += table(("algorithm", "steps", "sent by a rank", "predicted", "idea"), able)
    if unable := [(row.algorithm.name, row.unmet) for row in rows if row.unmet]:
        lines += ["", *table(("not here", "reason"), unable)]
    lines += ["", f"explain: {able[0][0]} is predicted quickest; --algorithm {able[0][0]} shows its plan"]
    return "\n".join(lines)


def one(question: Question, row: Candidate, proof: Proof | None) -> str:
    """One algorithm: the idea, the proof, the plan drawn, and what it costs."""
    assert row.prediction
    lines = [*wrapped(f"{row.algorithm.name}: {_call(question)}", "", "  "), ""]
    lines += pairs([("idea", row.idea), ("limits", row.limits or "none"), ("proof", _proof(proof))])
    if proof and question.ranks <= MOST_DRAWN:
        lines += ["", *drawing(proof.deliveries, reduces=question.row.reduces)]
    scratch = max(plan.scratch for plan in proof.plans) * question.itemsize if proof else None
    lines += ["", *pairs([
        ("steps", str(row.prediction.steps)),
        ("sent by a rank", f"{bytes_binary(row.prediction.wire_bytes)} at most"),
        ("scratch of a rank", "not computed at this size" if scratch is None else bytes_binary(scratch)),
    ])]  # fmt: skip
    how = f"{_network(question)}; {row.prediction.how}"
    lines += ["", f"explain: predicted time {seconds(row.prediction.seconds)} ({how})"]
    return "\n".join(lines)


def _call(question: Question) -> str:
    ranks = f"{question.ranks} rank{'s' * (question.ranks != 1)}"
    place = ", in place" if question.in_place else ""
    root = f", root {question.root}" if question.row.rooted else ""
    if question.collective == "barrier":
        return f"barrier of {ranks}"
    of = f"{question.count} x {question.dtype}"
    each = " a rank and block" if question.row.blocks(2) > 1 else " a rank"
    return f"{question.collective} of {bytes_binary(question.size)} on {ranks} ({of}{each}{root}{place})"


def _network(question: Question) -> str:
    return f"alpha {seconds(question.alpha)} a message, {bytes_per_second(question.bandwidth)} a port"


def _proof(proof: Proof | None) -> str:
    if proof is None:
        return f"not simulated beyond {MOST_PROVEN} ranks; proven for world sizes 1-17 by the tests"
    return "proven: simulated with these ranks and elements, every rank ends with exactly what it should"
