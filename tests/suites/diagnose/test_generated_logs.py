"""The engine on logs of made-up jobs of every class and layout: nobody innocent is named, what they tell is found."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up.hangs import logs
from tests.made_up.hangs.grading import jobs
from tests.made_up.hangs.job import Job

JOBS = [(label, made) for label, made in jobs((2, 4)) if not label.startswith("messages")]
WAYS = [(words, together) for words in logs.WORDS for together in (True, False)]
LEAST = {"torch 2.6": 0.5, "torch 2.4": 0.5, "torch 2.1": 0.35, "NCCL": 0.7}
"""Parts of the jobs that must be told right. The rest no log tells: watchdogs know no types."""


def answer(made: Job, words: str, together: bool) -> tuple[str, frozenset[int | None]]:
    with tempfile.TemporaryDirectory() as folder:
        logs.write(made, Path(folder), words, together=together)
        verdict = diagnose([folder], ["opsdist"], now()).record()["verdict"]
    return verdict["class"], frozenset(one.get("rank") for one in verdict["culprits"] if one["kind"] == "rank")


@pytest.mark.parametrize(("words", "together"), WAYS)
def test_nobody_innocent_is_named_and_what_is_told_is_found(words: str, together: bool) -> None:
    told: Counter[bool] = Counter()
    for label, made in JOBS[::2]:
        name, named = answer(made, words, together)
        truth = made.truth
        assert named <= truth.culprits | truth.sides, label
        told[name == truth.name and named == truth.culprits] += 1
    assert told[True] >= LEAST[words] * told.total()
