"""A slice of the real jobs that hang: a rank that does not come, one that calls something else, and one that dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.made_up.gloo_jobs.faults import planned
from tests.made_up.gloo_jobs.grading import answer
from tests.made_up.gloo_jobs.run import run, unavailable
from tests.soak.real_jobs import Score, judge, main

pytestmark = pytest.mark.any_engine


@pytest.fixture
def can_run() -> None:
    if why := unavailable():
        pytest.skip(why)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """In which a job runs, of which no process is left afterwards."""
    yield tmp_path / "job"
    left = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path) in _read(path)]
    assert left == []


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # gone meanwhile


@pytest.mark.usefixtures("can_run")
@pytest.mark.parametrize(
    ("seed", "name", "rank", "group", "seq", "op"),
    [(1, "missing", 3, "2", 4, "barrier"), (7, "mismatch", 4, "2", 2, "allreduce")],
)
def test_the_culprit_is_named(seed: int, name: str, rank: int, group: str, seq: int, op: str, folder: Path) -> None:
    outcome = run(planned(seed), folder)
    verdict = answer(outcome.dumps)
    assert (verdict["class"], verdict["culprits"]) == (name, [{"kind": "rank", "rank": rank}])
    called = {"group": f"G{group} ({outcome.names[group]})", "seq": seq, "op": op}
    assert verdict["collective"] == called
    score = Score()
    _ = list(judge(outcome, score))
    assert score.innocents.total() == 0
    assert [score.right[outcome.plan.fault, form] for form in ("whole", "as NCCL")] == [1, 1]


@pytest.mark.usefixtures("can_run")
def test_a_rank_that_is_gone_is_suspected_and_its_job_can_be_judged_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(planned(2), folder)
    assert outcome.dumps.keys() == {0, 1, 2}
    verdict = answer(outcome.dumps)
    assert verdict["class"] == "undecided"
    assert verdict["culprits"] == []
    assert {"kind": "rank", "rank": 3} in verdict["suspects"]
    assert main(["--from", str(folder.parent)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("exit")] == [["exit", "0/1/1"]]
    assert lines[-1] == "real jobs: 1, 0 answers blame an innocent with at most 1 dump gone"
