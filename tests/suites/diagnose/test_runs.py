"""Recordings of several runs, given at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suites.diagnose.facts import Call, Fact, Identity, Place, Seen, Signature, Track, Who
from suites.diagnose.offline import diagnose
from suites.diagnose.runs import of_latest_run
from suites.report import now
from tests.made_up.hangs import dumps, job
from tests.suites.diagnose.cases.framework_inputs import waiting


def judged(folder: Path) -> dict[str, Any]:
    return diagnose([str(folder)], ["opsdist"], now()).record()


def named(record: dict[str, Any]) -> list[int]:
    return [culprit["rank"] for culprit in record["verdict"]["culprits"]]


def later(made: job.Job, seconds: float) -> job.Job:
    for rank in made.ranks:
        for call in rank.made:
            call.at += seconds
    return made


def test_the_latest_of_two_runs_is_judged_and_that_is_said(tmp_path: Path) -> None:
    dumps.write(job.missing(4, "halves", (1,), "1", 9, 2), tmp_path / "tuesday")
    dumps.write(later(job.missing(4, "halves", (2,), "2", 5, 2), 5000.0), tmp_path / "wednesday")
    record = judged(tmp_path)
    assert named(record) == [2]
    assert any("wednesday" in note for note in record["notes"])


def test_of_two_dumps_of_a_rank_the_later_counts(tmp_path: Path) -> None:
    dumps.write(job.missing(4, "world", (3,), "0", 5, 1), tmp_path)
    early = later(job.missing(4, "world", (1,), "0", 3, 1), -500.0)
    dumps.write(early, tmp_path, form="json")
    assert named(judged(tmp_path)) == [3]


def test_hosts_with_folders_of_their_own_are_one_run(tmp_path: Path) -> None:
    made = job.missing(4, "world", (3,), "0", 5, 1)
    dumps.write(made, tmp_path)
    for rank in range(4):
        folder = tmp_path / f"node{rank // 2}"
        folder.mkdir(exist_ok=True)
        (tmp_path / f"nccl_trace_rank_{rank}").rename(folder / f"nccl_trace_rank_{rank}")
    record = judged(tmp_path)
    assert named(record) == [3]
    assert not record["notes"]


def of_own_run(folder: str, start: float, pid: int, *, calls: bool = True) -> list[Fact]:
    """What a run of opsdist's own left whose two ranks wait for a message of each other."""
    told = Place(f"{folder}/run.json")
    facts: list[Fact] = [Seen(told, "run of opsdist")]
    for rank in range(2):
        who, ring = Who(rank=rank, host="node01", pid=pid + rank), Place(f"{folder}/rank-{rank}.ring")
        facts += [Identity(who, told), Seen(ring, "opsdist flight recorder", who)]
        if calls:
            done = Call(who, ring, "world", 1, Signature("barrier"), "done", entered=start)
            facts.append(Track(who, ring, "world", 1, None, 1, latest=[done]))
            facts.append(Call(who, ring, "messages", None, Signature("recv"), "pending", Who(rank=1 - rank)))
    return facts


def test_nothing_of_an_earlier_run_of_opsdist_is_left() -> None:
    """Neither messages, nor processes, nor what ranks without a call have left."""
    latest = of_own_run("state/c", 200.0, 30)
    earlier = of_own_run("state/a", 100.0, 10) + of_own_run("state/b", 150.0, 20, calls=False)
    kept, notes = of_latest_run(earlier + latest)
    assert list(kept) == latest
    assert ["state/c" in note for note in notes] == [True]


_ASSERT = "[rank2]: RuntimeError: CUDA error: device-side assert triggered\n"
_AGAIN = "I0314 10:00:01.2 70 api.py:889] [default] Worker group FAILED. 2/3 attempts left; will restart worker group\n"


def test_what_failed_before_a_restart_is_over(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(_ASSERT + _AGAIN + waiting((0, 1, 3)))
    record = judged(tmp_path)
    assert (record["verdict"]["class"], named(record)) == ("missing", [2])
    assert any("before line 2 is of an earlier attempt" in note for note in record["notes"])


def test_where_nothing_fails_behind_a_restart_what_failed_before_counts(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(_ASSERT + _AGAIN + "step 1\n")
    assert judged(tmp_path)["verdict"]["class"] == "crashed"


def test_other_logs_keep_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "node1.log").write_text(_AGAIN + waiting((0, 1, 3)))
    (tmp_path / "node2.log").write_text(_ASSERT)
    assert judged(tmp_path)["verdict"]["class"] == "crashed"
