"""Host lists in other tools' formats: the text, what is read back from it, and what a format cannot hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.errors import UsageError
from suites.launch.lists.hostformats import FORMATS, left_out, render, task_runs
from suites.launch.lists.hosts import HostEntry, parse_hostfile, parse_hosts, task_counts
from suites.launch.lists.ranktable import Device
from tests.suites.launch.lists.host_entries import ALL_NAMES, PLAIN_NAMES, SLOTS, SSH_NAMES, entries


@pytest.mark.parametrize(
    ("name", "hosts", "lines"),
    [
        ("mpich", "node[01-02]:8,me@x:4,y", ["node01:8", "node02:8", "x:4 user=me", "y"]),
        ("ompi", "n1:8,me@x:4,fd00::1,[fd00::2]:3", ["n1 slots=8", "me@x slots=4", "fd00::1", "fd00::2 slots=3"]),
        ("slurm", "node[01-02]:8,x,node03", ["node[01-02],x,node03"]),
        ("deepspeed", "worker-[0-1]:8", ["worker-0 slots=8", "worker-1 slots=8"]),
    ],
)
def test_formats(name: str, hosts: str, lines: list[str]) -> None:
    assert render(parse_hosts(hosts), name) == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("name", "hosts", "words"),
    [
        ("mpich", "fd00::1", "MPICH's host files end a name at the first colon, and fd00::1 is an IPv6 address"),
        ("slurm", "a,fd00::1", "Slurm's node lists have names only, and fd00::1 is an IPv6 address"),
        ("slurm", "a,me@b", "Slurm's node lists have no users, and me@b has one; name the host without it"),
        ("deepspeed", "a:4,b", "DeepSpeed needs the slots of every host, and b has none; write b:8"),
        ("deepspeed", "fd00::1", "and fd00::1 has none; write [fd00::1]:8"),
        ("rank-table", "a:4", "a rank table needs the addresses of devices, and for a there are none"),
        ("rnak-table", "a:4", "unknown format 'rnak-table': did you mean 'rank-table'?"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(name: str, hosts: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        render(parse_hosts(hosts), name)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "hosts", "told"),
    [
        ("slurm", "a,b", None),
        ("slurm", "a:2,b", "a node list of Slurm has no slots in it"),
        ("slurm", "a[1-3]:2,b:1", "a node list of Slurm has no slots in it; as SLURM_TASKS_PER_NODE they are 2(x3),1"),
        ("mpich", "a:2,b", None),
    ],
)
def test_what_a_format_leaves_out_is_said(name: str, hosts: str, told: str | None) -> None:
    assert left_out(parse_hosts(hosts), name) == told


@given(st.lists(st.integers(1, 8), min_size=1))
def test_run_lengths_are_read_back(counts: list[int]) -> None:
    assert task_counts(task_runs(counts)) == tuple(counts)


@st.composite
def tables(draw: st.DrawFn) -> tuple[HostEntry, ...]:
    """Entries as they come from a rank table."""
    found: list[HostEntry] = []
    rank = 0
    for name in draw(st.lists(PLAIN_NAMES, min_size=1, max_size=4, unique_by=str.lower)):
        ranks = range(rank, rank + draw(st.integers(1, 4)))
        devices = (
            Device(str(rank % 8), f"10.0.0.{rank}", str(rank), draw(st.sampled_from([None, "1"]))) for rank in ranks
        )
        found.append(HostEntry(name, len(ranks), tuple(devices)))
        rank = ranks.stop
    return tuple(found)


HELD: dict[str, st.SearchStrategy[tuple[HostEntry, ...]]] = {
    "mpich": entries(SSH_NAMES, st.none() | SLOTS),
    "ompi": entries(ALL_NAMES, st.none() | SLOTS),
    "slurm": entries(PLAIN_NAMES, st.none()),
    "deepspeed": entries(ALL_NAMES, SLOTS),
    "rank-table": tables(),
}
"""format -> lists that it holds whole. A new format goes here."""


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_what_a_format_holds_is_read_back(name: str, data: st.DataObject) -> None:
    some = data.draw(HELD[name])
    assert parse_hostfile(render(some, name), "f") == some
