"""The gate against the plain way to do the same: every text in every line."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from suites.diagnose.evidence.gate import Gate

TEXTS = (
    ("NCCL INFO", "opCount "),
    ("NCCL WARN", "CL W"),
    ("Xid",),
    ("Test NCCL failure", "NCCL INFO"),
    ("aaaa", "aaa"),
)
PIECES = ("NCCL INFO", "NCCL WARN", "NCCL ", "Test ", "failure", "opCount ", "Xi", "d", "aaa", "a", "\n", "\n", "不")


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example("")
@example("NCCL INFO")
@example("CCL INFO\nXid\nXid")
@example("Test NCCL failure" * 3 + "\n\nNCCL INF")
def test_each_line_has_the_mask_of_whom_it_concerns(text: str) -> None:
    block = text.encode()
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
    plain = [
        sum(1 << bit for bit, wanted in enumerate(TEXTS) if any(one in line for one in wanted))
        for line in text.split("\n")
    ]
    assert Gate(TEXTS).hits(block, ends).tolist() == plain


def test_what_every_line_concerns_is_told_apart() -> None:
    gate = Gate((("Xid",), ("",)))
    assert gate.always == 0b10
    assert gate.hits(b"one\nXid\n", np.array([3, 7])).tolist() == [0, 1, 0]
