"""Readers of torch's, Gloo's and Horovod's words take any text, cut and garbled ones too, and lines of any length."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.diagnose.evidence import LINE_READERS, line_reader
from tests.suites.diagnose.evidence.torch_lines import told

READERS = [path for path in LINE_READERS.values() if path.split(".")[-1].startswith(("torch_", "gloo", "horovod"))]
PIECES = (
    "[rank3]:[E611 03:04:05.6 ProcessGroupNCCL.cpp:6] ", "[PG ID 1 PG GUID 7(tp) Rank 2] ", "[PG ", "[Rank 3] ",
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=GATHER, Timeout(ms)=9",
    ") ran for 99 milliseconds", "work sequence id: 78 PG status: last enqueued work: 79, last completed work: -1",
    "\n\t - [0] Timeout at collective: ALLREDUCE, #5\n", "ranks [0, 1] are the lagging ranks that caused this timeout",
    "[2] finished collective #4, but didn't join collective #5", "\n#5 started ranks:\n[0, 3] started ALLREDUCE\n",
    "Detected mismatch between collectives on ranks. Rank 0 is running collective: ", "CollectiveFingerPrint(",
    "SequenceNumber=0, OpType=ALLREDUCE, TensorShape=[4, 5], TensorDtypes=Float, TensorDeviceTypes=", "), but Rank 1 ",
    "[Rank 0]: Ranks 4, 5 failed to pass monitoredBarrier in 9 ms", "\nMissing ranks:\n", "1!: [HorovodAllreduce_a",
    "a [ready ranks: 1, 2]", "b [missing ranks: 0", "while trying to connect to (127.0.0.1, 9)",
    "keys: /default_pg/0//cuda//0",
    "Stack trace of the failed collective: \n#0 f from x.py:3\n", "Gloo connectFullMesh failed with ",
    "remote=[127.0.0.1]:6",
    "[3] is setting up NCCL communicator and retrieving ncclUniqueId from [0]", "CUDA error: ", "EADDRINUSE port: 9",
    "client socket has failed to connect to [::ffff:255.255.0.0]:9", "gai error: ", "99999999999999999999999",
)  # fmt: skip


@pytest.mark.parametrize("path", READERS)
@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=12), st.integers(0, 60))
def test_any_text_gives_facts_or_nothing(path: str, pieces: list[str], cut: int) -> None:
    text = "".join(piece[: len(piece) - cut] if index % 3 == 2 else piece for index, piece in enumerate(pieces))
    told(line_reader(path), text)


@pytest.mark.parametrize("path", READERS)
def test_long_lines_take_no_time(path: str) -> None:
    """Of 64 KiB, made of each beginning of a text that is known. A pattern that goes back and forth takes minutes."""
    began = time.process_time()
    for piece in (*PIECES, *line_reader(path).wakes, "[1, ", "Rank 1, 2, ", "a ", "[", "(", "//", "1"):
        for prefix in ("", *line_reader(path).wakes):
            told(line_reader(path), prefix + piece * (65536 // len(piece)))
    assert time.process_time() - began < 120
