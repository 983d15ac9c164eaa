"""The kernel's small formats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.kernel_text import bound, count, cpu_list, fields, kibibytes, word


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8,10-11\n", (0, 1, 2, 3, 8, 10, 11)),
        ("5", (5,)),
        ("\n", ()),
        ("3-1", None),
        ("0-", None),
        ("all", None),
        ("0-99999999999", None),
        (None, None),
    ],
)
def test_cpu_list(text: str | None, cpus: tuple[int, ...] | None) -> None:
    assert cpu_list(text) == cpus


@given(st.sets(st.integers(0, 600)))
def test_cpu_list_reads_what_it_means(cpus: set[int]) -> None:
    assert cpu_list(",".join(f"{cpu}-{cpu}" if cpu % 2 else str(cpu) for cpu in sorted(cpus))) == tuple(sorted(cpus))


def test_numbers_words_and_bounds() -> None:
    assert [count(text) for text in (" 12\n", "-1", "", "12 kB", None)] == [12, None, None, None, None]
    assert [word(text) for text in (" up\n", "\n", None)] == ["up", None, None]
    assert [bound(text, "max") for text in ("max\n", "77", "-", None)] == ["unlimited", 77, None, None]
    assert [kibibytes(text) for text in ("3 kB", "3", "kB", None)] == [3072, 3072, None, None]


def test_fields_keep_the_first_of_a_key() -> None:
    assert fields("model name\t: A: b\nmodel name : C\nno colon\n") == {"model name": "A: b"}
