"""From paths to facts: who reads what, what is kept, and that nothing ends a diagnosis."""

import gzip
import os
from pathlib import Path

import pytest

from suites.diagnose import gather as gathering
from suites.diagnose.compact import Kept
from suites.diagnose.evidence import FILE_READERS, LINE_READERS, line_reader
from suites.diagnose.facts import Call, Fact, Identity, Level, Place, Seen, Signature, Trouble, Unread, Waiting, Who

FAKES = "tests.suites.diagnose.fakereaders"
READERS = gathering.Readers({"fake": FAKES}, {"complaints": f"{FAKES}:Complaints"})


def facts(*paths: Path) -> list[Fact]:
    return gathering.gather([str(path) for path in paths], readers=READERS).facts


def test_a_file_goes_to_the_reader_whose_it_is_and_a_log_to_all(tmp_path: Path) -> None:
    (tmp_path / "rank_1.dump").write_text("FAKE")
    (tmp_path / "rank_2.log").write_text("x\nsorry\n")
    fake, trouble = facts(tmp_path)
    assert fake == Seen(Place(f"{tmp_path}/rank_1.dump"), "fake of 4", Who(rank=1))
    assert isinstance(trouble, Trouble)
    assert trouble.who == Who(rank=2)
    assert trouble.place == Place(f"{tmp_path}/rank_2.log", 2, "sorry")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (bytes(range(256)) * 9, "no text, and nothing that is known"),
        (b"plain text\n", "text, but nothing in it is known"),
        (b"FAKE RAISE", "the reader of fake failed: KeyError: 'of the fake'"),
        (gzip.compress(os.urandom(9999))[:99], "Compressed file ended before the end-of-stream marker was reached"),
    ],
    ids=["empty", "binary", "plain", "reader that fails", "cut"],
)
def test_what_gives_nothing_says_why(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "a").write_bytes(data)
    assert facts(tmp_path / "a") == [Unread(f"{tmp_path}/a", why)]


@pytest.mark.parametrize("data", [b"", bytes(range(256)) * 9, b"plain text\n", b"FAKE RAISE", None])
def test_of_what_tells_nothing_the_name_tells_that_there_is_such_a_rank(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "rank_3.dump"
    if data is None:
        path.symlink_to(tmp_path / "gone")
    else:
        path.write_bytes(data)
    unread, identity = facts(path)
    assert isinstance(unread, Unread)
    assert identity == Identity(Who(rank=3), Place(str(path)))


def test_many_sources_are_read_by_processes_in_their_order(tmp_path: Path) -> None:
    for rank in range(40):
        (tmp_path / f"rank_{rank}").write_text("FAKE DIE" if rank == 17 else f"FAKE{'x' * rank}")
    names: list[str] = []
    told = gathering.gather([str(tmp_path)], names.append, READERS).facts
    assert names == [f"{tmp_path}/rank_{rank}" for rank in range(40)]
    assert [fact.kind if isinstance(fact, Seen) else type(fact) for fact in told] == [
        Unread if rank == 17 else f"fake of {4 + rank}" for rank in range(40)
    ]


def test_a_million_equal_complaints_take_little(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"sorry\n" * 100_000)
    evidence = gathering.gather([str(tmp_path / "a.log")], readers=READERS)
    lines = [fact.place.line for fact in evidence.facts if isinstance(fact, Trouble)]
    assert lines == [*range(1, 21), 100_000]
    assert evidence.repeats == {"fake.sorry": 100_000 - 21}


def test_the_last_calls_are_kept_and_all_that_are_under_way(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("Call 1\n" + "".join(f"Called {number}\n" for number in range(2, 6000)))
    calls = [fact for fact in facts(tmp_path / "a.log") if isinstance(fact, Call)]
    assert [call.seq for call in calls] == [1, *range(6000 - 4096, 6000)]


def test_calls_of_very_many_are_kept_shorter() -> None:
    kept = Kept()
    for seq in range(600):
        for rank in range(1024):
            kept.add(Call(Who(rank=rank), Place("a", seq), "0", seq, Signature("allreduce"), "done"))
    calls = [fact for fact in kept.evidence().facts if isinstance(fact, Call)]
    assert 1024 * 64 <= len(calls) <= 1 << 18
    assert {call.seq for call in calls if call.who.rank == 5} >= set(range(600 - 64, 600))


def test_equal_facts_of_different_people_stay() -> None:
    kept = Kept()
    for line in range(100):
        for rank in range(2):
            kept.add(Waiting(Who(rank=rank), Place("a", line), (Who(rank=7),)))
            kept.add(Trouble(Who(rank=rank), Place("a", line), Level.TIMEOUT, "late"))
    assert len(kept.evidence().facts) == 4 * 21
    assert kept.evidence().repeats == {"late": 2 * 79}


def test_every_reader_of_the_tables_is_there() -> None:
    assert all(line_reader(path).wakes for path in LINE_READERS.values())
    for path in FILE_READERS.values():
        gathering.attribute(f"{path}:recognises")
        gathering.attribute(f"{path}:read")
