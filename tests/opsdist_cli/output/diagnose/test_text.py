"""A diagnosis as people see it on one screen."""

from __future__ import annotations

from opsdist_cli.output.diagnose.text import render
from tests.opsdist_cli.output.diagnose.records import USUAL, diagnosis, evidence, group, sources, stand, verdict


def test_the_verdict_comes_first_and_last() -> None:
    lines = render(USUAL).split("\n")
    assert lines[0].startswith("missing (likely): rank 7 on node02 never entered allreduce #1234 of tensor")
    assert lines[-1] == "# fault found: missing (likely): rank 7 on node02 at allreduce #1234 of tensor"


def test_who_waits_is_folded_and_told_from_who_is_absent() -> None:
    assert "    waiting: [0-6,8-15] in allreduce #1234; absent: 7" in render(USUAL).split("\n")


def test_what_began_it_is_quoted_first_and_what_followed_is_only_counted() -> None:
    text = render(USUAL)
    assert text.index("rank7.log:3  DataLoader worker") < text.index("rank3.log:12  last enqueued work: 1234")
    assert "and 57 lines that follow from it" in text
    assert "and 1 line of the end of the job" in text


def test_ranks_without_evidence_are_listed_apart() -> None:
    text = render(USUAL)
    assert "seen        15 of 16 ranks (15 x flight recorder dump (2.9))" in text
    assert "no evidence from: 7" in text
    assert "suspect     rank 3 on node01 (cannot be excluded" in text


def test_next_steps_are_numbered() -> None:
    text = render(USUAL)
    assert "  1. py-spy dump --pid 4711 on node02: where its main thread stands" in text
    assert "  2. the output of rank 7" in text


def test_both_sides_of_a_mismatch_are_shown() -> None:
    sides = [{"signature": "allreduce of 8 float32", "ranks": [0, 1]}, {"signature": "allgather", "ranks": [2, 3]}]
    tie = verdict(**{"class": "mismatch"}, culprits=[], sides=sides, waiting=[0, 1, 2, 3])
    text = render(diagnosis(verdict=tie))
    assert "  waiting     ranks [0-3]\n" in text
    assert "victim" not in text  # one side is at fault
    assert "entered     allreduce of 8 float32: ranks [0-1]" in text
    assert "entered     allgather: ranks [2-3]" in text
    assert text.endswith("# fault found: mismatch (likely) at allreduce #1234 of tensor")


def test_one_victim_is_one() -> None:
    assert "  victim      rank 3, which only waits\n" in render(diagnosis(verdict=verdict(waiting=[3])))


def test_a_thousand_ranks_stay_on_one_screen() -> None:
    everybody, odd = list(range(1024)), list(range(1, 1024, 2))
    record = diagnosis(
        verdict=verdict(waiting=odd, next_checks=["look"] * 30, missing_evidence=["a log"] * 30, cascade_count=5000),
        groups=[group(f"g{number}", size=1024, ranks=everybody, waiting=odd, unseen=[4]) for number in range(100)],
        evidence=[evidence("supporting", "word " * 400)] * 100,
        stands=[stand(rank) for rank in range(64)],
        sources=sources(1024, 1024, odd, unread=[{"file": f"f{number}", "why": "cut"} for number in range(50)]),
        notes=["a note"] * 40,
    )
    lines = render(record).split("\n")
    assert len(lines) <= 72  # with too much of everything; what is usual takes half of it
    assert max(map(len, lines)) < 100


def test_one_more_than_there_is_room_for_is_shown_instead_of_counted() -> None:
    texts = [render(diagnosis(verdict=verdict(missing_evidence=["a", "b", "c", "d", "e", "f"][:n]))) for n in (5, 6)]
    assert "  missing     e\n" in texts[0]
    assert "more things" not in texts[0]
    assert "  missing     e\n" not in texts[1]
    assert "and 2 more things that are missing" in texts[1]


def test_what_comes_from_outside_is_shown_and_not_obeyed() -> None:
    text = render(diagnosis(evidence=[evidence("initiating", "red \x1b[31m alarm")], notes=["bell \a"]))
    assert text.isprintable() or all(line.isprintable() for line in text.split("\n"))


def test_our_own_words_are_ascii() -> None:
    assert render(USUAL).isascii()


def test_without_evidence_it_says_what_to_collect() -> None:
    nothing = diagnosis(
        verdict=verdict(**{"class": "undecided"}, culprits=[], collective=None, explanation="no evidence"),
        sources={"read": 0, "kinds": {}, "unread": [], "ranks": {"seen": [], "size": None}},
    )
    text = render(nothing)
    for name in ("NCCL_DEBUG=INFO", "HCCL_ENTRY_LOG_ENABLE=1", "TORCH_FR_BUFFER_SIZE", "ncclras", "py-spy dump"):
        assert name in text
    assert text.endswith("# undecided: there was no evidence to read")


def test_what_was_heard_and_does_not_tell_is_not_called_nothing() -> None:
    heard = diagnosis(
        verdict=verdict(
            **{"class": "undecided"}, culprits=[], collective=None, cascade_count=1, next_checks=["the log of rank 3"]
        ),
        sources={"read": 1, "kinds": {}, "unread": [], "ranks": {"seen": [], "size": None}},
    )
    text = render(heard)
    assert "the log of rank 3" in text
    assert text.endswith("# undecided: the evidence does not tell")


def test_nothing_wrong_is_not_called_a_fault() -> None:
    text = render(diagnosis(verdict=verdict(**{"class": "none"}, culprits=[], collective=None, explanation="all well")))
    assert text.startswith("none: all well")
    assert text.endswith("# nothing wrong in what was seen")


def test_links_hosts_and_devices_are_named() -> None:
    culprits = [
        {"kind": "link", "host": "node01", "device": "mlx5_0", "peer": "node02"},
        {"kind": "link", "rank": 3, "peer": 4},
        {"kind": "link", "host": "node06"},
        {"kind": "host", "host": "node03"},
        {"kind": "host", "host": "node04"},
        {"kind": "device", "device": "npu3", "host": "node05", "rank": 9},
    ]
    text = render(diagnosis(verdict=verdict(culprits=culprits)))
    for words in (
        "link node01 mlx5_0 - node02",
        "link rank 3 - rank 4",
        "link of node06",
        "hosts node[03-04]",
        "device npu3 rank 9 on",
    ):
        assert words in text.replace("\n              ", " ")
