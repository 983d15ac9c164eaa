"""Rules about the backends of opsdist itself. May import: rule, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.rule import Case, Judged, Rule, broken, ok
from suites.report import Status


def _caveats(case: Case) -> Iterator[Judged]:
    """Of those that are ready, with something amiss."""
    for backend in case.facts["backends"]:
        if backend["ready"] and backend["reason"]:
            evidence = {"value": backend["name"], "threshold": None, "source": "the backend itself"}
            yield broken(f"{backend['name']}: {backend['reason']}", evidence, remedy=backend["remedy"] or "")
        elif backend["ready"]:
            yield ok()


RULES = (
    Rule(
        name="backends.caveat",
        summary="the backends that are ready work as they should",
        why="A backend that falls back to something slower gives figures of that, not of the machine.",
        remedy="what the backend itself says",
        status=Status.WARN,
        needs=("backends",),
        judge=_caveats,
    ),
)
