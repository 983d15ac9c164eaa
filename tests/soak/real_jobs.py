"""Hang real jobs of torch's gloo, and see what is said of their dumps: `python -m tests.soak.real_jobs --jobs 40`.

Every job has its own layout, programs and one fault, drawn from its seed, and processes that really hang. Its dumps are
judged whole, with some of them gone, and as NCCL would have written them. Prints each answer that could be better with
the seed of its job, and a score: right / suspected / all, where "suspected" leaves it undecided with the culprit
among the suspects, which is all that can be said when just its dump is gone. Exits with 1 when somebody innocent was
named while at most one dump was gone. `--keep DIR` keeps the jobs, `--from DIR` judges such jobs again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.made_up.gloo_jobs.faults import FAULTS, planned
from tests.made_up.gloo_jobs.forms import FORMS, dumps_in
from tests.made_up.gloo_jobs.grading import Grade, answer, grade
from tests.made_up.gloo_jobs.run import NotRun, Outcome, load, run, unavailable

MOST_GONE = 1
"""With more dumps gone, somebody innocent may look like the culprit."""

Cell = tuple[str, str]
"""A fault and a form of its dumps."""


class Score:
    def __init__(self) -> None:
        self.right: Counter[Cell] = Counter()
        self.suspected: Counter[Cell] = Counter()
        self.all: Counter[Cell] = Counter()
        self.innocents: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.forbidden = 0
        """Answers with an innocent that no gap in the dumps excuses."""

    def count(self, fault: str, form: str, graded: Grade) -> None:
        self.all[fault, form] += 1
        self.right[fault, form] += graded.right
        self.suspected[fault, form] += graded.suspected
        self.innocents[form] += bool(graded.innocents)
        self.lost[form] += bool(graded.lost)
        self.forbidden += bool(graded.innocents) and graded.gone <= MOST_GONE

    def lines(self) -> Iterator[str]:
        faults = [fault for fault in FAULTS if any(self.all[fault, form] for form in FORMS)]
        yield from _table(("right / suspected / all", *FORMS), [(fault, *self._row([fault])) for fault in faults])
        yield from _table(
            ("", *FORMS),
            [
                ("all of them", *self._row(faults)),
                ("with an innocent named", *(str(self.innocents[form]) for form in FORMS)),
                ("with a culprit lost", *(str(self.lost[form]) for form in FORMS)),
            ],
        )

    def _row(self, faults: list[str]) -> list[str]:
        return [
            "/".join(str(sum(of[fault, form] for fault in faults)) for of in (self.right, self.suspected, self.all))
            for form in FORMS
        ]


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    for first, *cells in (head, *rows):
        yield f"{first:<24}" + "".join(f"{cell:>14}" for cell in cells)


def judge(outcome: Outcome, score: Score) -> Iterator[str]:
    """Grade what is said of a job in all forms. Yields what could be better."""
    for form in FORMS:
        dumps = dumps_in(form, outcome)
        if dumps is None:
            continue
        graded = grade(outcome, dumps, answer(dumps))
        score.count(outcome.plan.fault, form, graded)
        if not graded.best:
            yield _told(outcome, form, graded)


def _told(outcome: Outcome, form: str, graded: Grade) -> str:
    plan, blame, verdict = outcome.plan, graded.blame, graded.verdict
    job = f"{plan.size} ranks in {plan.layout}, of {plan.entries} entries, {graded.gone} gone"
    right = (
        f"{' or '.join(sorted(blame.classes))} by {sorted(blame.culprits)} at {sorted(blame.calls or plan.truth.calls)}"
    )
    named, suspects = ([one.get("rank") for one in verdict[who]] for who in ("culprits", "suspects"))
    bad = [
        f"; {what} {sorted(ranks)}" for what, ranks in (("INNOCENT", graded.innocents), ("LOST", graded.lost)) if ranks
    ]
    said = f"{verdict['class']} by {named}, suspects {suspects}, at {verdict['collective']}{''.join(bad)}"
    head = f"seed {plan.seed}: {plan.fault}, {form}, {job}"
    return "\n    ".join((head, f"is: {right}", f"said: {said}", verdict["explanation"]))


def outcomes(seeds: range, folder: Path) -> Iterator[Outcome]:
    """Run the jobs of these seeds, one after the other."""
    for seed in seeds:
        plan = planned(seed)
        try:
            yield run(plan, folder / str(seed))
        except NotRun as error:
            print(f"seed {seed}: {plan.fault}: not run: {error}", flush=True)


def kept(folder: Path) -> Iterator[Outcome]:
    for path in sorted(folder.glob("*/told.json")):
        yield load(path.parent)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1, help="of the first job; the others' follow")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the jobs are kept")
    parser.add_argument("--from", type=Path, metavar="DIR", dest="kept", help="judge the jobs that were kept here")
    given = parser.parse_args(arguments)
    score, jobs = Score(), 0
    with tempfile.TemporaryDirectory(prefix="opsdist-jobs-") as folder:
        if given.kept:
            found = kept(given.kept)
        elif why := unavailable():
            parser.error(why)
        else:
            found = outcomes(range(given.seed, given.seed + given.jobs), given.keep or Path(folder))
        for outcome in found:
            jobs += 1
            for line in judge(outcome, score):
                print(line, flush=True)
    print(*score.lines(), sep="\n")
    print(f"real jobs: {jobs}, {score.forbidden} answers blame an innocent with at most {MOST_GONE} dump gone")
    return int(score.forbidden > 0)


if __name__ == "__main__":
    sys.exit(main())
