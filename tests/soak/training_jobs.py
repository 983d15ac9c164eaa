"""Diagnose the dumps of made-up training jobs that hang, and see whether the right ranks are named.

    python -m tests.soak.training_jobs --jobs 120 --seed 0

Jobs are spread over tensors, replicas, stages and experts, and have a fault of a host, of a device or of the program.
Each is diagnosed from every form of dumps that it can leave. Prints each answer that was wrong, with the seed of its
job and what is right, then for each fault and form how many were right, in how many an innocent was named, and in how
many one at fault was neither named nor suspected; and how often less than the truth was asked, since the dumps cannot
show it. Exits with 1 where an innocent was named.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from tests.made_up.training.faults import FAULTS
from tests.made_up.training.grading import Grade, grade
from tests.made_up.training.job import Job, job
from tests.made_up.training.wanted import FORMS, Form


class Score:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._less: Counter[str] = Counter()

    def add(self, made: Job, form: Form, one: Grade) -> None:
        for fault in (made.fault, "all"):
            for what, is_so in (("all", True), ("right", one.right), ("innocent", one.innocent), ("lost", one.lost)):
                self._counts[fault, form.name, what] += bool(is_so)
        self._less[one.wanted.less] += 1

    @property
    def innocents(self) -> int:
        return sum(self._counts["all", form.name, "innocent"] for form in FORMS)

    def table(self) -> str:
        """right/all of each, with what is worse than wrong behind it."""
        rows = [["", *(form.name for form in FORMS)]]
        for fault in (*FAULTS, "all"):
            if any(self._counts[fault, form.name, "all"] for form in FORMS):
                rows.append([fault, *(self._cell(fault, form) for form in FORMS)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)

    def less(self) -> str:
        """How often less than the truth was asked, and why."""
        return ", ".join(f"{why} {number}" for why, number in self._less.most_common() if why)

    def _cell(self, fault: str, form: Form) -> str:
        right, everything, innocent, lost = (
            self._counts[fault, form.name, what] for what in ("right", "all", "innocent", "lost")
        )
        bad = [f"{number} {what}" for number, what in ((innocent, "innocent"), (lost, "lost")) if number]
        return f"{right}/{everything}{' ' * bool(bad)}{', '.join(bad)}" if everything else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0, help="of the first job; those after it have the next ones")
    asked = parser.parse_args(arguments)
    score = Score()
    for seed in range(asked.seed, asked.seed + asked.jobs):
        made = job(seed)
        for form in FORMS:
            one = grade(made, form)
            if one is None:
                continue
            score.add(made, form, one)
            if not one.right:
                bad = [f"INNOCENT {sorted(one.innocent)}"] * bool(one.innocent) + [f"LOST {sorted(one.lost)}"] * bool(
                    one.lost
                )
                print(f"{made}, {form.name}: {'; '.join((*bad, str(one)))}", flush=True)
                print(f"    {one.verdict['explanation'][:240]}", flush=True)
    print(score.table())
    print(f"less than the truth was asked: {score.less()}")
    return 1 if score.innocents else 0


if __name__ == "__main__":
    sys.exit(main())
