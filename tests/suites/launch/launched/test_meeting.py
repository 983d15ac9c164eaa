"""How processes of one launcher find each other, and that nobody else is let in, on real sockets."""

from __future__ import annotations

import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from collectives.placement import FAMILIES, Launched, Placement, launched
from suites.errors import LaunchError, UsageError
from suites.launch.launched import board
from suites.launch.launched.assembly import Assembly, posts
from suites.launch.launched.meeting import MEETINGS, Found, Meeting, OneHost, Ports, Posted, candidates, listen, meeting
from suites.launch.launched.member import Presence, presence
from suites.launch.launched.proof import Key
from suites.launch.protocol import pack
from tests.leftovers import until

LONG, SHORT = 30.0, 0.5
FAMILY = FAMILIES[0]


def placed(rank: int, size: int) -> Launched:
    return Launched(FAMILY, Placement(rank, size, rank, size, 0, 1))


@pytest.fixture
def one_host() -> OneHost:
    return OneHost(secrets.token_hex(8))


class Guests:
    """Processes of the launcher, in threads."""

    def __init__(self, where: Meeting, size: int) -> None:
        self.where, self.size, self.found = where, size, list[Found]()
        self._threads: list[threading.Thread] = []

    def come(self, rank: int, /, **lies: Any) -> None:
        """As that rank, or as something else."""
        self.do(lambda: self._come(rank, lies))

    def _come(self, rank: int, lies: dict[str, Any]) -> None:
        found = self.where.find(LONG)
        one = replace(presence(placed(rank, self.size)), arguments=tuple(sys.argv[1:]))
        found.connection.sendall(pack({"type": "here", **asdict(one), **lies}))
        self.found.append(found)

    def do(self, act: Callable[[], object]) -> None:
        self._threads.append(threading.Thread(target=act))
        self._threads[-1].start()

    def gone(self) -> None:
        for thread in self._threads:
            thread.join(LONG)
        for found in self.found:
            found.connection.close()


@pytest.fixture
def guests(one_host: OneHost) -> Iterator[Guests]:
    guests = Guests(one_host, 3)
    yield guests
    guests.gone()


# --- the table


def test_every_family_of_variables_has_a_way_to_meet() -> None:
    assert list(MEETINGS) == [family.name for family in FAMILIES]


def test_on_one_host_no_launcher_needs_more_than_the_name_of_its_job() -> None:
    here = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "x"}
    found = launched(here)
    assert found
    again = {**here, "RANK": "0", "LOCAL_RANK": "0"}
    assert meeting(found, here) == meeting(found, again)
    assert meeting(found, here) != meeting(found, {**here, "TORCHELASTIC_RESTART_COUNT": "1"})


STEP = {
    "SLURM_STEP_ID": "3", "SLURM_JOB_ID": "77", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1", "SLURM_LOCALID": "1",
    "SLURM_NODEID": "0", "SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_STEP_NODELIST": "localhost,other",
}  # fmt: skip


def test_the_tasks_of_a_step_think_of_the_same_ports_and_those_of_another_of_others() -> None:
    found = launched(STEP)
    assert found
    one, again, other = (meeting(found, {**STEP, "SLURM_STEP_ID": step}) for step in ("3", "3", "4"))
    assert isinstance(one, Ports)
    assert isinstance(again, Ports)
    assert isinstance(other, Ports)
    assert (one.ports, one.key().secret) == (again.ports, again.key().secret)
    assert not set(one.ports) & set(other.ports)
    assert "127.0.0.1" in one.hosts()
    assert len(set(one.ports)) == len(one.ports) > 3


def test_jobs_in_a_row_share_no_port() -> None:
    ports = [port for step in range(20) for port in candidates(f"job.{step}")]
    assert len(set(ports)) > 0.9 * len(ports)
    assert all(1024 < port < 32768 for port in ports)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0"}, "not MASTER_ADDR"),
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "1", "MPI_LOCALRANKID": "0"}, "PMI_FD"),
        (
            {"OPSDIST_RANK": "1", "OPSDIST_WORLD_SIZE": "2", "OPSDIST_LOCAL_SIZE": "1", "OPSDIST_LOCAL_RANK": "0"},
            "OPSDIST_STORE=tcp://HOST:PORT",
        ),
        ({**STEP, "SLURM_STEP_NODELIST": "node[1-"}, "SLURM_STEP_NODELIST"),
    ],
)
def test_what_is_missing_to_meet_on_several_hosts_is_said(variables: dict[str, str], words: str) -> None:
    found = launched(variables)
    assert found
    with pytest.raises(UsageError) as refused:
        meeting(found, variables)
    assert words in str(refused.value)


# --- the ways


class File:
    """A board that all on this machine can read."""

    where = "a file"

    def __init__(self, path: Path) -> None:
        self._path = path

    def post(self, text: str, seconds: float) -> None:
        new = self._path.with_suffix(".new")
        new.write_text(text)
        new.rename(self._path)  # nobody reads half of it

    def read(self, seconds: float) -> str:
        until(self._path.exists, seconds, "the post")
        return self._path.read_text()


def ways(tmp_path: Path) -> list[Meeting]:
    ports = Ports(lambda: ["127.0.0.1"], candidates(secrets.token_hex(8)), lambda: Key(b"k"), "here")
    return [OneHost(secrets.token_hex(8)), ports, Posted(File(tmp_path / "board"))]


@pytest.mark.parametrize("number", range(3))
def test_all_come_together_and_are_known(tmp_path: Path, number: int) -> None:
    where = ways(tmp_path)[number]
    guests = Guests(where, 3)
    guests.come(2)
    guests.come(1)
    with closing(Assembly(placed(0, 3), where, LONG)) as assembly:
        assembly.gather(LONG)
        guests.gone()
    assert assembly.faults == []
    assert [[one.rank for one in post.present] for post in assembly.posts] == [[0, 1, 2]]
    assert assembly.remarks == []


def test_a_port_that_is_taken_is_passed_over_by_all(tmp_path: Path) -> None:
    """Whoever else listens there says nothing, or something else."""
    ports = candidates(secrets.token_hex(8))
    where = Ports(lambda: ["127.0.0.1"], ports, lambda: Key(b"k"), "here")
    guests = Guests(where, 2)
    with listen(ports[0]) as other:
        guests.do(lambda: mail(other))
        guests.come(1)
        with closing(Assembly(placed(0, 2), where, LONG)) as assembly:
            assembly.gather(LONG)
            guests.gone()
    assert assembly.faults == []


def mail(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(b"220 mail.example.org ESMTP\r\n")


def test_no_port_left_is_said() -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LaunchError, match=f"{port} are taken"):
            Ports(list, [port], lambda: Key(b""), "here").open(SHORT)


def test_a_second_rank_0_of_the_same_job_is_refused(one_host: OneHost) -> None:
    listener, _ = one_host.open(SHORT)
    with listener, pytest.raises(LaunchError, match="listens already"):
        one_host.open(SHORT)


def test_without_a_rank_0_the_place_is_named(one_host: OneHost) -> None:
    with pytest.raises(LaunchError, match=f"not found within 0.5 s at {one_host.where}: nobody listens there"):
        one_host.find(SHORT)


class Mpiexec:
    """What an mpiexec says over PMI-1 to its one process. `heard` are the commands."""

    def __init__(self, *silent: str) -> None:
        ours, self.process = socket.socketpair()
        self.heard: list[str] = []
        self._thread = threading.Thread(target=self._serve, args=(ours, silent))
        self._thread.start()

    def _serve(self, ours: socket.socket, silent: tuple[str, ...]) -> None:
        values: dict[str, str] = {}
        with ours, ours.makefile("rw", newline="\n") as lines:
            for line in lines:
                words = dict(pair.partition("=")[::2] for pair in line.split())
                self.heard.append(words["cmd"])
                if words["cmd"] in silent:
                    continue
                if words["cmd"] == "put":
                    values[words["key"]] = words["value"]
                value = values.get(words.get("key", ""), "")
                lines.write(f"cmd=answer rc=0 kvsname=space value={value}\n")
                lines.flush()

    def close(self) -> None:
        self.process.close()
        self._thread.join(LONG)


def test_a_text_goes_through_the_space_of_an_mpiexec_and_its_ranks_leave_as_they_should() -> None:
    with closing(Mpiexec()) as mpiexec:
        space = board.Pmi(mpiexec.process.fileno())
        space.post('{"a": "b = c"}', LONG)
        assert space.read(LONG) == '{"a": "b = c"}'
        space.withdraw()
        assert mpiexec.heard[-2:] == ["init", "finalize"]


def test_a_rank_that_does_not_come_to_the_space_is_not_waited_for_longer_than_said() -> None:
    with closing(Mpiexec("barrier_in")) as mpiexec, pytest.raises(LaunchError, match="not all ranks came"):
        board.Pmi(mpiexec.process.fileno()).post("x", 0.2)


# --- what rank 0 makes of those who come


def gathered(guests: Guests, seconds: float = LONG) -> Assembly:
    with closing(Assembly(placed(0, guests.size), guests.where, LONG)) as assembly:
        assembly.gather(seconds)
        guests.gone()
    return assembly


def test_those_who_do_not_come_are_named(guests: Guests) -> None:
    guests.come(1)
    assembly = gathered(guests, SHORT)
    assert [fault.waiting_for for fault in assembly.faults] == [(2,)]
    assert "rank 2 of 3 did not come" in assembly.faults[0].message


@pytest.mark.parametrize(
    ("lies", "words"),
    [
        ({"size": 4}, "is rank 1 of 4 by OPSDIST_RANK, where rank 0 is of 3 by OPSDIST_RANK"),
        ({"launcher": "srun"}, "is rank 1 of 3 by srun"),
        ({"rank": 0}, "two processes say that they are rank 0"),
        ({"version": "0.0.1", "host": "old"}, "old has opsdist 0.0.1, and rank 0"),
    ],
)
def test_a_world_that_cannot_be_is_told_at_once(guests: Guests, lies: dict[str, Any], words: str) -> None:
    guests.come(1, **lies)
    assembly = gathered(guests)
    assert words in assembly.faults[0].message


def test_other_arguments_are_remarked_on(guests: Guests) -> None:
    guests.come(1, arguments=["perf", "other"])
    guests.come(2)
    assert [remark.partition(" of ")[0] for remark in gathered(guests).remarks] == ["rank 1"]


@pytest.mark.parametrize(
    "words",
    [b"GET / HTTP/1.1\r\n\r\n", pack({"type": "here", "rank": 2}), pack({"type": "proof"}), b"\0\0\xff\xff", b""],
)
def test_strangers_are_no_part_of_it(guests: Guests, one_host: OneHost, words: bytes) -> None:
    """Before the ranks come; and whatever they say, all others are let in."""
    with socket.socket(socket.AF_UNIX) as stranger, closing(Assembly(placed(0, 3), one_host, LONG)) as assembly:
        stranger.connect(f"\0{one_host.where[1:]}")
        stranger.sendall(words)
        guests.come(1)
        guests.come(2)
        assembly.gather(LONG)
        guests.gone()
        stranger.settimeout(LONG)
        while words and stranger.recv(1024):
            pass  # it is asked who it is, and then hung up on
    assert assembly.faults == []


def test_a_frame_that_is_none_after_the_greeting_ends_the_wait(guests: Guests) -> None:
    guests.come(1, cpus="all")
    assembly = gathered(guests, SHORT)
    assert assembly.faults[0].waiting_for == (1, 2)


def one(rank: int, node: str, host: str = "h") -> Presence:
    return Presence(rank, 8, "srun", node, host, 1, "v", (rank,), ())


def test_hosts_are_those_that_could_share_memory_in_the_order_of_their_first_ranks() -> None:
    found = posts([one(3, "b"), one(0, "a"), one(2, "a"), one(1, "b", "other")])
    assert [(post.name, [one.rank for one in post.present], post.cpus) for post in found] == [
        ("h", [0, 2], [0, 2]),
        ("other", [1, 3], [1, 3]),
    ]
    assert [post.name for post in posts([one(0, "a"), one(1, "b"), one(2, "c")])] == ["h", "h-2", "h-3"]


def test_a_presence_travels_as_json() -> None:
    own = presence(placed(1, 2))
    assert Presence.of(json.loads(json.dumps(asdict(own)))) == own
