"""Node sets: what brackets amount to, and how names are folded into them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.launch.lists.nodeset import expand, fold, quoted, split
from tests.suites.launch.lists.host_entries import ALL_NAMES


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", []),
        (" \t", []),
        ("a", ["a"]),
        ("a,b c , d\te", ["a", "b", "c", "d", "e"]),
        ("n[1,2 ,3]x,m[4 5]", ["n[1,2 ,3]x", "m[4 5]"]),
        ("a,n[1,2", ["a", "n[1,2"]),
        ("a],b", ["a]", "b"]),
    ],
)
def test_commas_and_blanks_separate_outside_brackets(text: str, items: list[str]) -> None:
    assert split(text) == items


@pytest.mark.parametrize("text", [",", ",a", "a,", "a,,b", "a, ,b", "n[1,],"])
def test_a_comma_separates_something(text: str) -> None:
    with pytest.raises(ValueError, match="has a comma with nothing before or after it; remove it"):
        split(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[01-03]", ["n01", "n02", "n03"]),
        ("n[8-12]", ["n8", "n9", "n10", "n11", "n12"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("n[09-100]", [f"n{number:02d}" for number in range(9, 101)]),
        ("n[10,2,4-5]", ["n10", "n2", "n4", "n5"]),
        ("n[007]", ["n007"]),
        ("n[0-1]", ["n0", "n1"]),
        ("n[1, 3]", ["n1", "n3"]),
        ("n[5-5]", ["n5"]),
        ("n[1-2]-ib[0-1]", ["n1-ib0", "n1-ib1", "n2-ib0", "n2-ib1"]),
        ("foo[0-2]-eth0", ["foo0-eth0", "foo1-eth0", "foo2-eth0"]),
        ("[1-2][3]", ["13", "23"]),
    ],
)
def test_a_set_is_expanded_in_the_order_written(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n[1-2", "'n[1-2' has a bracket without its other half; write node[01-16,20]"),
        ("n1-2]", "a bracket without its other half"),
        ("n[1[2]]", "a bracket without its other half"),
        ("n][", "a bracket without its other half"),
        ("n[]", "'' in 'n[]' is neither a number nor a range; write node[01-16,20]"),
        ("n[1,]", "'' in 'n[1,]' is neither a number nor a range"),
        ("n[1-]", "'1-' in 'n[1-]' is neither a number nor a range"),
        ("n[-3]", "neither a number nor a range"),
        ("n[a-c]", "'a-c' in 'n[a-c]' is neither a number nor a range"),
        ("n[1-2-3]", "neither a number nor a range"),
        ("n[1 - 2]", "neither a number nor a range"),
        ("n[0-10/2]", "neither a number nor a range"),
        ("n[٣]", "neither a number nor a range"),
        ("n[²]", "neither a number nor a range"),
        ("n[16-1]", "'16-1' in 'n[16-1]' runs backwards; write 1-16"),
        ("n[1-010]", "'1-010' in 'n[1-010]' fills up its ends differently; write both with as many digits"),
        ("n[010-11]", "fills up its ends differently"),
        ("n[1-99999999999]", "'n[1-99999999999]' is more than 65536 hosts"),
        ("n[1-65536,1]", "is more than 65536 hosts"),
        ("[1-2]".join("n" * 18), "is more than 65536 hosts"),
        ("n[1-9999999999999999999]", "'1-9999999999999999999' in 'n[1-9999999999999999999]' has more than 18 digits"),
        ("[0-65535]".join(["a" * 200] * 2), "is longer than any host name"),
        ("[1]" * 400, "is longer than any host name"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_no_set_is_said(text: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        expand(text)
    assert words in str(caught.value)


def test_the_most_hosts_there_may_be() -> None:
    assert expand("[1-2]".join("n" * 17))[-1] == "n2" * 16 + "n"
    assert len(expand("n[1-65536]")) == 65536


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["node1"], "node1"),
        (["node1", "node2", "node4"], "node[1-2,4]"),
        (["n08", "n09", "n10", "n11"], "n[08-11]"),
        (["n8", "n9", "n10"], "n[8-10]"),
        (["n9", "n010"], "n[9,010]"),
        (["n3", "n2", "n1", "m1"], "n[3,2,1],m1"),
        (["n1-ib0", "n2-ib0", "n2-ib1"], "n[1-2]-ib0,n2-ib1"),
        (["a", "b", "a1", "b1"], "a,b,a1,b1"),
        (["10.0.0.1", "10.0.0.2"], "10.0.0.[1-2]"),
        (["fd00::1", "fd00::2"], "fd00::1,fd00::2"),
        (["n1", "n1"], "n1,n1"),
        (["n" + "1" * 19, "n" + "1" * 18 + "2"], f"n{'1' * 19},n{'1' * 18}2"),
    ],
)
def test_neighbours_are_folded_and_the_order_is_kept(names: list[str], folded: str) -> None:
    assert fold(names) == folded


@given(st.lists(ALL_NAMES, max_size=12))
def test_what_is_folded_is_expanded_to_the_same(names: list[str]) -> None:
    assert [name for item in split(fold(names)) for name in expand(item)] == names


@given(st.text("n1", max_size=3), st.integers(0, 120), st.integers(1, 30), st.integers(0, 4))
def test_what_counts_up_is_one_range(prefix: str, first: int, count: int, width: int) -> None:
    names = [f"{prefix}x{str(number).zfill(width)}" for number in range(first, first + count)]
    assert "," not in fold(names)
    assert expand(fold(names)) == names


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a", "'a'"), ("a\x1b\n", r"'a\x1b\n'"), ("x" * 60, f"'{'x' * 60}'"), ("x" * 61, f"'{'x' * 57}...'")],
)
def test_what_was_read_is_shown_short_and_harmless(text: str, shown: str) -> None:
    assert quoted(text) == shown
