"""Names, entries and refusals for the tests of host lists."""

from __future__ import annotations

import string
from collections.abc import Callable

from hypothesis import strategies as st

from suites.errors import UsageError
from suites.launch.lists.hosts import HostEntry

_NUMBERS = st.one_of(st.integers(0, 12).map(str), st.from_regex(r"[0-9]{1,4}", fullmatch=True))
_LETTERS = st.text(string.ascii_letters, min_size=1, max_size=2)
_NUMBERED = st.lists(st.tuples(_LETTERS, _NUMBERS).map("".join), min_size=1, max_size=3).map("-".join)
_OTHERS = st.sampled_from(["node_1.example.com", "x"])

PLAIN_NAMES = st.one_of(_NUMBERED, st.ip_addresses(v=4).map(str), _OTHERS)
SSH_NAMES = st.tuples(st.sampled_from(["", "", "me@", "a.b+c@"]), PLAIN_NAMES).map("".join)
IPV6 = st.tuples(st.sampled_from(["", "me@"]), st.ip_addresses(v=6).map(str)).map("".join)
ALL_NAMES = st.one_of(SSH_NAMES, IPV6)
SLOTS = st.integers(1, 4096)


def entries(
    names: st.SearchStrategy[str], slots: st.SearchStrategy[int | None]
) -> st.SearchStrategy[tuple[HostEntry, ...]]:
    """A few different hosts."""
    entry = st.builds(HostEntry, names, slots)
    unique = st.lists(entry, min_size=1, max_size=8, unique_by=lambda entry: entry.name.rpartition("@")[2].lower())
    return unique.map(tuple)


def refusal(parse: Callable[[], object]) -> str | None:
    """What the UsageError says that this raises; None when something that is not empty comes back."""
    try:
        assert parse()
    except UsageError as error:
        return str(error)
    return None
