"""Host lists: what is read from flags and files, and how what is wrong in them is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.errors import UsageError
from suites.launch.lists.hosts import HostEntry, parse_hostfile, parse_hosts, read_hostfile, task_counts
from suites.launch.lists.ranktable import Device
from tests.suites.launch.lists.host_entries import ALL_NAMES, SLOTS, entries, refusal


def pairs(found: Iterable[HostEntry]) -> list[tuple[str, int | None]]:
    return [(entry.name, entry.slots) for entry in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [("a", None)]),
        ("b,a", [("b", None), ("a", None)]),
        ("a , b:2  c", [("a", None), ("b", 2), ("c", None)]),
        ("b:8,n[08-10,20]:4", [("b", 8), ("n08", 4), ("n09", 4), ("n10", 4), ("n20", 4)]),
        ("n[1-2]-ib[0-1]:2", [("n1-ib0", 2), ("n1-ib1", 2), ("n2-ib0", 2), ("n2-ib1", 2)]),
        ("user@h,root@n[1-2]:3", [("user@h", None), ("root@n1", 3), ("root@n2", 3)]),
        ("10.0.0.5:8,10.0.1.[1-2]", [("10.0.0.5", 8), ("10.0.1.1", None), ("10.0.1.2", None)]),
        ("[fd00::1]:4,fd00::2,[fd00::3]", [("fd00::1", 4), ("fd00::2", None), ("fd00::3", None)]),
        ("me@[fd00::1]:4,me@fe80::1%eth0", [("me@fd00::1", 4), ("me@fe80::1%eth0", None)]),
        ("fd00::1:8", [("fd00::1:8", None)]),  # an address, to its end
        ("a slots=4 max-slots=6", [("a", 4)]),
        ("Rack_1.example.com:4096", [("Rack_1.example.com", 4096)]),
    ],
)
def test_the_flag(text: str, expected: list[tuple[str, int | None]]) -> None:
    assert pairs(parse_hosts(text)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no host is named; write for example node01,node02 or node[01-16]:8"),
        ("a,,b", "'a,,b' has a comma with nothing before or after it"),
        ("n[1-2", "'n[1-2' has a bracket without its other half"),
        # Twice
        ("a,b,a", "'a' is named twice; name a host once, with all its slots: a:2"),
        ("a:3,a:4", "with all its slots: a:7"),
        ("a:4096,a:4096", "with all its slots: a:4096"),
        ("Node,node", "'node' is named twice"),
        ("a,me@a", "'me@a' is named twice"),
        ("fd00::1,[fd00:0::1]:2", "'fd00:0::1' is named twice; name a host once, with all its slots: [fd00::1]:3"),
        ("n[1-3,2]", "'n2' is named twice"),
        ("a[1-40000],b[1-40000]", "these are more than 65536 hosts"),
        # Slots
        ("a:0", "'0' is not a number of slots; write 1 to 4096 (a port belongs in ~/.ssh/config)"),
        ("a:-1", "'-1' is not a number of slots"),
        ("a:", "'' is not a number of slots"),
        ("a:x", "'x' is not a number of slots"),
        ("a:4097", "'4097' is not a number of slots"),
        ("a:²", "'²' is not a number of slots"),
        ("a:" + "9" * 5000, "is not a number of slots"),
        ("[fd00::1]:0", "'0' is not a number of slots"),
        ("node01 8", "'8' is not a host: it is a number; slots are written node01:8 or node01 slots=8"),
        ("a slots=x", "'x' is not a number of slots"),
        ("a,b slots=4", "'b' and 'a' share a line with slots; write one host a line"),
        ("a slots=4 b", "'b' and 'a' share a line with slots"),
        ("a cpus=4", "'cpus=4' is not understood; after a host, write slots=8 and no more"),
        ("a slots=4 slots=5", "'slots=5' is the second slots of a host; remove one"),
        ("a:4 slots=4", "'a:4' has slots, and so has slots=4; remove one"),
        ("a slots=4 max-slots=2", "slots=4 is more than max-slots=2; correct one of them"),
        ("a:4 max_slots=2", "slots=4 is more than max-slots=2"),
        ("slots=4", "'slots=4' is not a host: no name has '=' in it"),
        # Addresses
        ("[fd00::1]4", "'[fd00::1]4' is not an IPv6 address in brackets; write [fd00::1]:8"),
        ("[fd00::1", "'[fd00::1' is not an IPv6 address in brackets"),
        ("fd00::12345", "'fd00::12345' is not a host: it is no IPv6 address"),
        ("fe80::1%", "it is no IPv6 address"),
        ("fe80::1%e;h", "it is no IPv6 address"),
        ("a:4:2", "it is no IPv6 address, and a host and its slots are written node01:8"),
        ("10.0.0.300", "it is no IPv4 address"),
        ("10.0.0", "it is no IPv4 address"),
        ("10.0.0.01", "it is no IPv4 address"),
        # What ssh would take for an option
        ("-oProxyCommand=x", "'-oProxyCommand=x' begins like an option; a host and a user begin with a letter"),
        ("a,-oProxyCommand=x", "'-oProxyCommand=x' begins like an option"),
        ("-a:4", "'-a' begins like an option"),
        ("me@-a", "'me@-a' begins like an option"),
        ("-l@a", "'-l@a' begins like an option"),
        ("-[1-2]", "'-1' begins like an option"),
        ("a user=-l", "'-l@a' begins like an option"),
        # What no name has
        ("@a", "'' in '@a' is not a user"),
        ("me;x@a", "'me;x' in 'me;x@a' is not a user; give odd ones in ~/.ssh/config"),
        ("a user=b@c", "'b@c' in 'b@c@a' is not a user"),
        ("me@a user=you", "'you@me' in 'you@me@a' is not a user"),
        ("a;reboot", "'a;reboot' is not a host: no name has ';' in it"),
        ("$(x)", "no name has '$' in it"),
        ("a/b", "no name has '/' in it"),
        ("knöten", "no name has 'ö' in it"),
        ("a\x00", r"'a\x00' is not a host: no name has '\x00' in it"),
        ("a\x1b;", r"'a\x1b;' is not a host: no name has '\x1b' in it"),
        (".a", "no name looks like this"),
        ("a..b", "no name looks like this"),
        ("a" * 254, "no name looks like this"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_wrong_in_the_flag_is_said(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_hosts(text)
    assert str(caught.value).startswith("--hosts: ")
    assert words in str(caught.value)


def test_a_list_from_elsewhere_is_named_by_its_place() -> None:
    assert pairs(parse_hosts("gnode[10,25]", "SLURM_JOB_NODELIST")) == [("gnode10", None), ("gnode25", None)]
    with pytest.raises(UsageError, match=r"^SLURM_JOB_NODELIST: "):
        parse_hosts("gnode[", "SLURM_JOB_NODELIST")


def ranked(*names: str) -> str:
    """A rank table of hosts with a device each."""
    servers = [{"server_id": name, "device": [{"rank_id": str(rank)}]} for rank, name in enumerate(names)]
    return json.dumps({"server_list": servers})


MIXED = """\ufeff# from everywhere\r
\r
  node01 slots=10 max-slots=12\r
user@node02 slots = 4   # the user is for ssh
worker-0 max_slots=1
donner:2 # MPICH
blitz:3 user=me
node[11-12]:8
gnode[10,20]
a, b:2 c
[fd00::1]:4
fd00::2 slots=3
last"""


def test_every_line_of_a_file_may_be_of_another_kind() -> None:
    assert pairs(parse_hostfile(MIXED, "f")) == [
        ("node01", 10), ("user@node02", 4), ("worker-0", 1), ("donner", 2), ("me@blitz", 3), ("node11", 8),
        ("node12", 8), ("gnode10", None), ("gnode20", None), ("a", None), ("b", 2), ("c", None), ("fd00::1", 4),
        ("fd00::2", 3), ("last", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "f: no host is named; write one a line, for example node01:8"),
        ("# none\n\n", "f: no host is named"),
        ("a\n\nb:x\n", "f:3: 'x' is not a number of slots"),
        ("a\r\n-b\r\n", "f:2: '-b' begins like an option"),
        ("a:1\nb:1\na:2", "f:3: 'a' is named again, after f:1; name a host once, with all its slots: a:3"),
        ("a slots=4\nb\na slots=4", "f:3: 'a' is named again, after f:1; name a host once, with all its slots: a:8"),
        ("a\nn[1-2]\nn[2-3]", "f:3: 'n2' is named again, after f:2"),
        ("n[1,1]", "f:1: 'n1' is named twice"),
        # Lines are counted only where all of them are bare names.
        ("a\na\nb:2", "f:2: 'a' is named again, after f:1"),
        ("b:2\na\na", "f:3: 'a' is named again, after f:2"),
        ("a,b\na", "f:2: 'a' is named again, after f:1"),
        ("a\nme@a", "f:2: 'me@a' is named again, after f:1"),
        ("a\n" * 4097, "f:4097: 'a' stands on more than 4096 lines"),
        ("a[1-40000]\nb[1-40000]", "f:2: these are more than 65536 hosts"),
        ("a\n\x7fELF\x00", r"f:2: '\x7fELF\x00' is not a host: no name has '\x7f' in it"),
        # Rank tables
        ('{\n"version": \n}', "f:3: begins like a rank table, and is not JSON"),
        (ranked("-a"), "f: '-a' begins like an option"),
        (ranked("a\ud800"), r"f: 'a\ud800' is not a host: no name has '\ud800' in it"),
        (ranked("a", "b", "a"), "f: 'a' is named twice"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_wrong_in_a_file_is_said_with_the_line(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_hostfile(text, "f")
    assert str(caught.value).startswith(words)


def test_in_a_file_of_bare_names_lines_are_slots() -> None:
    """As batch systems write them: in blocks or in turns."""
    text = "# nodes\na\na\nme@b\na\nme@b # again\nfd00::1\n"
    assert pairs(parse_hostfile(text, "f")) == [("a", 3), ("me@b", 2), ("fd00::1", 1)]
    assert pairs(parse_hostfile("a\nb\n", "f")) == [("a", None), ("b", None)]


def test_a_file_that_begins_with_a_brace_is_a_rank_table() -> None:
    text = """
{"version": "1.0", "server_list": [
  {"server_id": "node_1", "device": [{"device_id": "0", "device_ip": "192.168.2.8", "rank_id": "1"}]},
  {"server_id": "node_0", "device": [{"device_id": "0", "device_ip": "192.168.1.8", "rank_id": "0"}]}
]}"""
    assert parse_hostfile(text, "f") == (
        HostEntry("node_0", 1, (Device("0", "192.168.1.8", "0"),)),
        HostEntry("node_1", 1, (Device("0", "192.168.2.8", "1"),)),
    )


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_bytes(b"\xef\xbb\xbfnode01 slots=2\r\nnode02:2\r\n")
    assert pairs(read_hostfile(str(path))) == [("node01", 2), ("node02", 2)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read the host file {path}: No such file or directory; name a file that can be read"),
        (b"", "{path}: no host is named"),
        (b"a\n\xff\xfe\n", "{path}:2: this is not UTF-8 text"),
        ("knoten\n".encode("utf-16"), "{path}:1: this is not UTF-8 text; name a host list, or save it as UTF-8"),
        (b"a:2\na\n", "{path}:2: 'a' is named again, after {path}:1"),
    ],
)
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "hosts"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_hostfile(str(path))
    assert str(caught.value).startswith(words.format(path=path))


def test_a_folder_and_a_file_without_end_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        read_hostfile(str(tmp_path))
    with pytest.raises(UsageError, match="/dev/zero: more than 64 MiB cannot be a host list"):
        read_hostfile("/dev/zero")


@pytest.mark.parametrize(
    ("text", "counts"),
    [("4(x3),2", (4, 4, 4, 2)), ("8", (8,)), ("1(x4)", (1,) * 4), ("2, 3(x1)", (2, 3)), ("1(x65536)", (1,) * 65536)],
)
def test_run_lengths_are_written_out(text: str, counts: tuple[int, ...]) -> None:
    assert task_counts(text) == counts


@pytest.mark.parametrize(
    "text", ["", "x", "4(x)", "4(3)", "4(x0)", "0(x3)", "-1", "4,", "4(x3", "4097", "1(x65537)", "1(x65536),1", "²"]
)
def test_what_is_not_run_lengths_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^SLURM_TASKS_PER_NODE: .* write for example 8\(x16\),4"):
        task_counts(text)


@given(entries(ALL_NAMES, st.none() | SLOTS))
def test_entries_as_text_are_what_the_flag_takes(some: tuple[HostEntry, ...]) -> None:
    assert parse_hosts(",".join(map(str, some))) == some


TEXTS = st.one_of(st.text(), st.text('a1[]-,:@=#{}"/\\ \n\t%.'), st.text("n[]0123456789-,:"))
STARTS = st.sampled_from([b"", b"{", b"node01 slots=4\n"])


@pytest.mark.parametrize("parse", [parse_hosts, lambda text: parse_hostfile(text, "--hosts"), task_counts])
@given(text=TEXTS)
def test_any_text_is_a_list_or_a_usage_error(parse: Callable[[str], object], text: str) -> None:
    told = refusal(lambda: parse(text))
    assert told is None or told.startswith(("--hosts:", "SLURM_TASKS_PER_NODE:"))


@given(STARTS, st.binary())
def test_any_file_is_a_list_or_a_usage_error(
    tmp_path_factory: pytest.TempPathFactory, start: bytes, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(start + content)
    told = refusal(lambda: read_hostfile(str(path)))
    assert told is None or told.startswith(f"{path}:")
