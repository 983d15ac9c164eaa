"""Rules about the resource limits of a process. May import: rule, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.rule import Case, Judged, Rule, Threshold, broken, ok, unknown
from suites.report import Status


def _open_files(case: Case) -> Iterator[Judged]:
    limit = case.facts["limits"]["nofile"] or {"soft": None, "hard": None}
    soft, hard, least = limit["soft"], limit["hard"], case.limits["least"]
    evidence = {"value": soft, "threshold": least, "source": "/proc/self/limits"}
    if soft is None:
        yield unknown("the limit of open files could not be read", evidence)
    elif soft == "unlimited" or soft >= least:
        yield ok()
    else:
        enough = hard == "unlimited" or (hard or 0) >= least
        here = f"ulimit -n {65536 if hard == 'unlimited' else hard} before starting ranks; " if enough else ""
        message = f"only {soft} files may be open: with many ranks connections fail with 'Too many open files'"
        yield broken(message, evidence, remedy=here + _FOR_GOOD)


_FOR_GOOD = "for good: nofile in /etc/security/limits.conf, LimitNOFILE= of the service, or --ulimit nofile=65536"

RULES = (
    Rule(
        name="limits.nofile_low",
        summary="enough files may be open for the sockets of all ranks",
        why="Every pair of ranks takes sockets and descriptors; 1024, the usual default, ends at a few dozen ranks.",
        remedy=_FOR_GOOD,
        status=Status.WARN,
        needs=("limits",),
        judge=_open_files,
        thresholds={"least": Threshold(4096, "descriptors", "a few sockets for each of some hundred pairs of ranks")},
    ),
)
