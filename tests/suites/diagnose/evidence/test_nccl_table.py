"""The table of nccl-tests."""

from __future__ import annotations

from suites.diagnose.evidence.nccl_table import Table
from suites.diagnose.facts import Fact, Level, Seen, Trouble
from tests.suites.diagnose.evidence.feeding import fed, only

HEADER = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ROW = "     {size}        131072   float  sum  -1  663.1  0.79  0.79  {out}  569.4  0.92  0.92  {in_}\n"


def row(size: int, out: str = "0", in_: str = "0") -> str:
    return ROW.format(size=size, out=out, in_=in_)


def read(text: str) -> list[Fact]:
    return fed(Table(), text)


def test_the_first_row_with_wrong_values_is_told() -> None:
    told = only(
        read(HEADER + row(64) + row(128, "0", "7") + row(256, "9") + "# Out of bounds values : 2 FAILED\n"), Trouble
    )
    assert [(one.cause, one.place.line) for one in told] == [("corrupt", 5)]
    assert "7 values were wrong after a collective of 128 bytes" in told[0].what


def test_a_table_that_came_to_its_end_is_right() -> None:
    facts = read(HEADER + row(64) + row(128, "N/A", "N/A") + "# Out of bounds values : 0 OK\n")
    assert not only(facts, Trouble)
    assert len(only(facts, Seen)) == 1


def test_a_table_that_stops_is_a_wait_in_vain() -> None:
    for text, where in ((HEADER, "before its first row"), (HEADER + row(64), "after 64 bytes")):
        (told,) = only(read(text), Trouble)
        assert (told.level, told.cause) == (Level.TIMEOUT, None)
        assert where in told.what


def test_lines_of_others_within_it_are_no_rows() -> None:
    others = "1024 steps done\nnode01:4711:4720 [2] NCCL INFO Connected all rings\n12 13\n"
    told = only(read(HEADER + row(64) + others), Trouble)
    assert [one.what for one in told] == ["the benchmark stops after 64 bytes"]
