"""What people type: sizes, sweeps, bandwidths, durations and names, and how wrong ones are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectives.dtypes import DTYPES, SYNONYMS
from collectives.ops import COLLECTIVES
from opsdist_cli.commands.perf import FloorAt
from opsdist_cli.injection import InjectIntoLoop
from opsdist_cli.params import (
    Bandwidth,
    Duration,
    Operation,
    Size,
    SizeSweep,
    Word,
    Words,
    parse_bandwidth,
    parse_size,
    parse_sweep,
)

DTYPE = Word("dtype", "collectives.dtypes:DTYPES", "collectives.dtypes:SYNONYMS")
KINDS: list[click.ParamType[Any]] = [
    Size(), SizeSweep(), Bandwidth(), Duration(), Operation(), FloorAt(), InjectIntoLoop(), Words(), DTYPE,
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8", 8), ("0", 0), ("512B", 512), ("64K", 65536), ("64k", 65536), ("64KiB", 65536), ("64kib", 65536),
        ("64KB", 64000), ("64kb", 64000), ("1M", 1 << 20), ("1MiB", 1 << 20), ("1MB", 10**6), ("1G", 1 << 30),
        ("1GiB", 1 << 30), ("1GB", 10**9), ("2T", 2 << 40), ("1TB", 10**12), ("1.5K", 1536), ("0.5k", 512),
        (" 4 M ", 4 << 20), ("9007199254740993", 9007199254740993), ("0.1MB", 100_000),
    ],
)  # fmt: skip
def test_sizes_are_those_of_gnu_coreutils_in_any_case(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a size"), ("K", "is not a size"), ("1X", "is not a size"), ("-1", "is not a size"),
        ("1 2", "is not a size"), ("1e6", "is not a size"), ("0x10", "is not a size"), ("1Ki", "is not a size"),
        ("inf", "is not a size"), ("1.5", "not a whole number of bytes"), ("0.3K", "not a whole number of bytes"),
        ("9" * 400, "more than any machine holds"), ("1" + "0" * 20, "more than any machine holds"),
    ],
)  # fmt: skip
def test_what_is_not_a_size_is_refused_with_the_word(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        parse_size(text)
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1K", [1024]),
        ("8,1K,64K", [8, 1024, 65536]),
        ("1K,8,1K", [1024, 8]),
        ("8:64", [8, 16, 32, 64]),
        ("8:100", [8, 16, 32, 64]),
        ("8:1K:x4", [8, 32, 128, 512]),
        ("8:1K:X4", [8, 32, 128, 512]),
        ("8:1K:*4", [8, 32, 128, 512]),
        ("1M:4M:+1M", [1 << 20, 2 << 20, 3 << 20, 4 << 20]),
        ("8:8", [8]),
        ("1:4,1K:2K", [1, 2, 4, 1024, 2048]),
    ],
)
def test_sweeps(text: str, sizes: list[int]) -> None:
    assert parse_sweep(text) == tuple(sizes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("64:8", "smaller size"), ("0:8", "at least 1"), ("8:64:x1", "not a step"), ("8:64:2", "not a step"),
        ("8:64:x2:x3", "not a range"), ("8:64:+0", "does not get on"), ("8,,9", "not a size"), (":8", "not a size"),
        ("1:1G:+1", "makes 4097 sizes"), ("8:64:xK", "not a step"),
    ],
)  # fmt: skip
def test_what_is_no_sweep_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_sweep(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("40GB/s", 40e9), ("40gB/s", None), ("200Gb/s", 25e9), ("200Gbps", 25e9), ("1.5TB/s", 1.5e12), ("8b/s", 1.0),
        ("100MB/s", 100e6), ("100kB/s", 100e3), ("100KB/s", 100e3), ("1B/s", 1.0), ("1 GB/s", 1e9), ("40GB", None),
        ("40", None), ("-1GB/s", None), ("0GB/s", None), ("40GiB/s", None), ("40GBps", None),
        ("9" * 400 + "GB/s", None),
    ],
)  # fmt: skip
def test_bandwidths_are_decimal_and_capital_b_is_bytes(text: str, rate: float | None) -> None:
    if rate is None:
        with pytest.raises(ValueError, match="is not a bandwidth"):
            parse_bandwidth(text)
    else:
        assert parse_bandwidth(text) == rate


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5), ("30s", 30), ("30", 30), ("5m", 300), ("5min", 300), ("1h", 3600), ("250us", 250e-6),
        ("1.5S", 1.5), ("0s", None), ("-1s", None), ("s", None), ("5d", None), ("inf", None), ("9" * 400, None),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    if seconds is None:
        with pytest.raises(click.BadParameter, match="duration"):
            Duration().convert(text, None, None)
    else:
        assert Duration().convert(text, None, None) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("allreduce", "allreduce"), ("all_reduce", "allreduce"), ("all-reduce", "allreduce"),
        ("AllReduce", "allreduce"), ("reduce-scatter", "reduce_scatter"), ("reduce_scatter", "reduce_scatter"),
        ("reducescatter", "reduce_scatter"),
        ("alltoall", "alltoall"), ("all_to_all", "alltoall"), ("all-to-all", "alltoall"), ("all_to_all_v", "alltoallv"),
        ("send-recv", "sendrecv"), ("BARRIER", "barrier"),
    ],
)  # fmt: skip
def test_a_collective_is_one_word_however_it_is_spelt(text: str, word: str) -> None:
    assert Operation().convert(text, None, None) == word


@pytest.mark.parametrize(
    ("text", "near"), [("allredcue", "allreduce"), ("brodcast", "broadcast"), ("allgater", "allgather")]
)
def test_an_unknown_collective_is_refused_with_the_nearest(text: str, near: str) -> None:
    with pytest.raises(click.BadParameter, match=f"unknown operation '{text}': did you mean '{near}'"):
        Operation().convert(text, None, None)


def test_the_words_for_help_are_the_engines_own() -> None:
    assert Operation().words == tuple(COLLECTIVES)
    assert Operation(extra=("all",)).words == (*COLLECTIVES, "all")


@pytest.mark.parametrize(
    ("synonym", "name"), [*SYNONYMS.items(), *((name, name) for name in DTYPES), ("BF16", "bfloat16")]
)
def test_dtypes_go_by_all_their_names(synonym: str, name: str) -> None:
    assert DTYPE.convert(synonym, None, None) == name


@pytest.mark.parametrize(("text", "near"), [("flaot32", "float32"), ("bflot16", "bfloat16")])
def test_an_unknown_dtype_is_refused_with_the_nearest(text: str, near: str) -> None:
    with pytest.raises(click.BadParameter, match=f"unknown dtype '{text}': did you mean '{near}'"):
        DTYPE.convert(text, None, None)


def test_where_nothing_is_near_all_are_named() -> None:
    with pytest.raises(click.BadParameter, match="unknown operator 'zzz': known: sum, prod, min, max, avg"):
        Word("operator", "collectives.dtypes:OPERATORS").convert("zzz", None, None)


def test_names_by_commas() -> None:
    assert Words().convert("ring, tree,ring", None, None) == ("ring", "tree")
    with pytest.raises(click.BadParameter, match="empty name"):
        Words().convert("ring,,tree", None, None)


def test_a_floor_names_a_rate_and_a_size() -> None:
    assert FloorAt().convert("40GB/s@256M", None, None) == (40e9, 256 << 20)
    with pytest.raises(click.BadParameter, match="names no size"):
        FloorAt().convert("40GB/s", None, None)


@pytest.mark.parametrize(
    ("text", "injection"),
    [
        ("corrupt", {"fault": "corrupt", "rank": 1, "at": "middle"}),
        ("kill:rank=0", {"fault": "kill", "rank": 0, "at": "middle"}),
        ("stop:rank=3,at=first", {"fault": "stop", "rank": 3, "at": "first"}),
        ("raise:at=17", {"fault": "raise", "rank": 1, "at": "17"}),
    ],
)
def test_faults(text: str, injection: dict[str, Any]) -> None:
    assert InjectIntoLoop().convert(text, None, None) == injection


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kil", "did you mean 'kill'"), ("kill:rank=x", "rank is a number"), ("kill:rank=²", "rank is a number"),
        ("kill:at=last", "at is one of rendezvous"), ("kill:who=1", "'who' is neither rank nor at"),
    ],
)  # fmt: skip
def test_what_is_no_fault_is_refused(text: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message):
        InjectIntoLoop().convert(text, None, None)


DIGITS_AND_UNITS = st.text(alphabet="0123456789.,:+x*-KMGTiBbps/hmu @ eE_=٣²", max_size=30)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
@given(text=st.one_of(st.text(max_size=30), DIGITS_AND_UNITS))
def test_whatever_is_typed_is_understood_or_refused_in_words(kind: click.ParamType[Any], text: str) -> None:
    try:
        value = kind.convert(text, None, None)
    except click.BadParameter:
        return
    assert value == kind.convert(value, None, None)


@pytest.mark.parametrize("parse", [parse_size, parse_sweep, parse_bandwidth])
@given(text=st.one_of(st.text(max_size=30), DIGITS_AND_UNITS))
def test_parsers_raise_nothing_but_value_errors(parse: Callable[[str], Any], text: str) -> None:
    try:
        value = parse(text)
    except ValueError:
        return
    assert min(value) >= 0 if isinstance(value, tuple) else value >= 0
