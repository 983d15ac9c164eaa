"""What frameworks say when a call of CANN failed: by its number, and of whom."""

from __future__ import annotations

import pytest

from suites.diagnose.facts import Class, Level
from tests.suites.diagnose.evidence.hccl_lines import troubles

NUMBERS = {
    507053: (Level.INITIATING, "device"), 507054: (Level.INITIATING, "device"), 507010: (Level.INITIATING, "device"),
    507015: (Level.INITIATING, "crashed"), 507035: (Level.INITIATING, "crashed"),
    507056: (Level.TRANSPORT, "transport"), 507904: (Level.TRANSPORT, "transport"),
    507057: (Level.TRANSPORT, None), 507049: (Level.TRANSPORT, None),
    507048: (Level.TIMEOUT, None), 507014: (Level.TIMEOUT, None), 507034: (Level.TIMEOUT, None),
    107020: (Level.TIMEOUT, None), 507018: (Level.CASCADE, None), 507001: (Level.CASCADE, None),
}  # fmt: skip
_FAILED = "RuntimeError: made_up:torch_npu/csrc/made_up.cpp:12 NPU function error: {}, error code is {}"
_BLOCK = "[ERROR] 2026-03-01-08:00:00 (PID:52, Device:3, RankID:11) ERR00100 PTA call acl api failed."


_STREAM = "RuntimeError: ACL stream synchronize failed, error code:{}{}"
WORDS = {
    "HBM MULTI BIT ECC ERROR": (Level.INITIATING, "device"), "UCE ERROR": (Level.INITIATING, "device"),
    "HCCL OP RETRY FAILED": (Level.TRANSPORT, "transport"), "SUSPECT REMOTE ERROR": (Level.TRANSPORT, None),
    "FORCE STOP": (Level.CASCADE, None),
}  # fmt: skip


@pytest.mark.parametrize("text", [_FAILED.format("AclrtMadeUp(stream)", "{}"), _STREAM.format("", "{}")])
@pytest.mark.parametrize("number", NUMBERS)
def test_each_number(number: int, text: str) -> None:
    (trouble,) = troubles(text.format(number))
    assert (trouble.level, trouble.cause) == NUMBERS[number]


@pytest.mark.parametrize("words", WORDS)
def test_the_words_of_a_number(words: str) -> None:
    (trouble,) = troubles(f"RuntimeError: {words}")
    assert (trouble.level, trouble.cause) == WORDS[words]


@pytest.mark.parametrize(("code", "level"), [(9, Level.TIMEOUT), (11, Level.CASCADE)])
def test_only_a_time_out_of_hccl_is_a_wait(code: int, level: Level) -> None:
    """It returns 11 where it cannot connect, and where it cannot listen too."""
    (trouble,) = troubles(f"RuntimeError: made_up.cpp:1 HCCL function error: HcclMadeUp(a, &b), error code is {code}")
    assert (trouble.level, trouble.cause, trouble.about) == (level, None, ())


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: made_up.cpp:2 OPS function error: HcclAllreduce, error code is 6",
        "RuntimeError: made_up.cpp:2 HCCL function error: HcclMadeUp(a), error code is 15",
        "RuntimeError: [ERROR] HCCL error in: made_up.cpp:64",
        "RuntimeError: ACL stream synchronize failed.",
        "RuntimeError: The Inner error is reported as above.",
    ],
)
def test_where_it_comes_to_light_is_not_why(text: str) -> None:
    (trouble,) = troubles(text)
    assert (trouble.level, trouble.cause, trouble.about) == (Level.CASCADE, None, ())


@pytest.mark.parametrize(("between", "rank"), [("\n", 11), ("\nEH9999: Inner Error!\n", None)])
def test_the_line_after_it_says_whose_it_is(between: str, rank: int | None) -> None:
    told = troubles(_FAILED.format("HBM MULTI BIT ECC ERROR", 507054) + between + _BLOCK)
    (broken,) = [trouble for trouble in told if trouble.cause == "device"]
    assert broken.about[0].who.rank == rank


def test_the_last_line_is_not_lost() -> None:
    cause: Class | None = troubles(_BLOCK + "\n" + _FAILED.format("X", 507056))[-1].cause
    assert cause == "transport"
