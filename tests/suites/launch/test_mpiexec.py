"""Ranks under an mpiexec: to the agent they are what forked ranks are. A stand-in starts them, so MPI is not needed."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from suites.errors import LaunchError
from suites.launch import mpiexec
from suites.launch.dial import rank_of
from suites.launch.protocol import Frame
from suites.launch.starters import spinning, starter_for
from tests.leftovers import RunSpace, until
from tests.suites.launch.agent_process import AgentProcess, agent_process, job
from tests.suites.launch.loners import stand_in

pytestmark = pytest.mark.any_engine
ENDS = 5.0


@contextmanager
def agent_with(
    space: RunSpace, name: str, ranks: int = 2, text: str | None = None, **arguments: object
) -> Iterator[AgentProcess]:
    """An agent that was given a job whose ranks mpiexec starts."""
    program = stand_in(space, "loners", *[text] if text else [])
    with agent_process(space, OPSDIST_MPIEXEC=program) as agent:
        agent.send(job(name, ranks, **arguments) | {"starter": "mpiexec"})
        yield agent
    space.gone(within=ENDS)


def said(frame: Frame) -> bool:
    return bool(frame["content"]["type"] == "said")


def test_ranks_report_and_end_like_forked_ones(space: RunSpace) -> None:
    with agent_with(space, "report", 3, x=1) as agent:
        frames = list(agent.frames())
    reports = {frame["rank"]: frame["content"] for frame in frames if frame["type"] == "rank" and said(frame)}
    assert {rank: (content["rank"], content["arguments"]) for rank, content in reports.items()} == {
        rank: (rank, {"x": 1}) for rank in range(3)
    }
    exits = {frame["rank"]: (frame["code"], frame["signal"]) for frame in frames if frame["type"] == "exit"}
    assert exits == dict.fromkeys(range(3), (0, None))
    started = {frame["pid"] for frame in frames if frame["type"] == "started"}
    helpers = {pid for frame in frames if frame["type"] == "helpers" for pid in frame["pids"]}
    assert len(started) == 3
    assert len(helpers) == 4  # mpiexec, and a parent for each rank
    assert not started & helpers
    assert frames[-1] == {"type": "ended"}


def test_output_travels_with_the_rank_that_printed_it(space: RunSpace) -> None:
    with agent_with(space, "chatter") as agent:
        output = [frame for frame in agent.frames() if frame["type"] == "output" and frame["rank"] is not None]
    for rank in (0, 1):
        texts = [
            "".join(f["text"] for f in output if (f["rank"], f["stream"]) == (rank, s)) for s in ("stdout", "stderr")
        ]
        assert texts == ["half a line\né\nlast, without an end", "to stderr\n"]


@pytest.mark.parametrize("how", ["the lifeline is cut", "stop"])
def test_stubborn_ranks_are_killed_when_told_to_end(space: RunSpace, how: str) -> None:
    with agent_with(space, "stubborn") as agent:
        for _ in range(2):
            agent.first("rank", said)
        if how == "stop":
            agent.send({"type": "stop"})
        else:
            agent.hang_up()
        exits = [frame for frame in agent.frames() if frame["type"] == "exit"]
        assert agent.process.wait(ENDS) == 0
    assert [(frame["signal"], frame["stopped"]) for frame in exits] == [(signal.SIGKILL, True)] * 2


def test_a_stopped_rank_can_still_end_when_asked(space: RunSpace) -> None:
    with agent_with(space, "lazy", 1) as agent:
        pid = agent.first("started")["pid"]
        agent.first("rank", said)
        os.kill(pid, signal.SIGSTOP)
        agent.first("alive", lambda frame: (frame["states"]["0"] or "").startswith("T"))
        agent.hang_up()
        assert agent.first("exit")["signal"] == signal.SIGTERM


def test_a_rank_that_is_killed_is_told_with_its_signal_while_the_others_live_on(space: RunSpace) -> None:
    with agent_with(space, "lazy") as agent:
        pids = {frame["rank"]: frame["pid"] for frame in (agent.first("started"), agent.first("started"))}
        for _ in range(2):
            agent.first("rank", said)
        os.kill(pids[1], signal.SIGKILL)
        exited = agent.first("exit")
        assert (exited["rank"], exited["signal"], exited["stopped"]) == (1, signal.SIGKILL, False)
        agent.first("alive", lambda frame: list(frame["states"]) == ["0"])


def test_ranks_die_with_the_agent(space: RunSpace) -> None:
    with agent_with(space, "stubborn") as agent:
        agent.first("rank", said)
        agent.process.kill()
        space.gone(within=ENDS)


def test_a_rank_that_closes_its_end_and_lives_on_is_killed(space: RunSpace) -> None:
    with agent_with(space, "vanish", 1) as agent:
        assert agent.first("exit")["signal"] == signal.SIGKILL


def test_a_rank_that_dies_is_noticed_although_its_child_holds_its_socket(space: RunSpace) -> None:
    with agent_with(space, "fork_a_child", 1) as agent:
        assert agent.first("exit")["signal"] == signal.SIGKILL
        agent.first("ended")


@pytest.mark.parametrize(("name", "error"), [("strange", "KeyboardInterrupt"), ("no-such-job", "KeyError")])
def test_whatever_a_rank_raises_is_reported(space: RunSpace, name: str, error: str) -> None:
    with agent_with(space, name, 1) as agent:
        failure = agent.first("rank", lambda frame: frame["content"]["type"] == "failure")["content"]
        assert failure["error"] == error
        assert agent.first("exit")["code"] == 1


@pytest.mark.parametrize(
    "hello",
    [b"", b"not JSON", b'{"token": "wrong", "rank": 0, "pid": 1, "dial": 1, "parent": 1}', b'{"rank": 0}', b"[]"],
)
def test_strangers_who_dial_are_dropped(space: RunSpace, hello: bytes) -> None:
    """An mpiexec that starts nobody before it may: the agent waits with an open door."""
    text = "import sys, time\nif '--version' not in sys.argv: time.sleep(600)"
    with agent_with(space, "report", 1, text) as agent:
        pid = agent.first("helpers")["pids"][0]
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        address = next(line.partition(b"=")[2] for line in environment if line.startswith(b"OPSDIST_DIAL="))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.connect(b"\0" + address)
            stranger.settimeout(ENDS)
            socket.send_fds(stranger, [hello or b"\0"], [0, 1, 2])
            assert stranger.recv(1) == b""
        agent.first("alive")
        agent.hang_up()
        assert [frame["type"] for frame in agent.frames() if frame["type"] != "alive"] == ["ended"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import sys; sys.exit('no slots')", "ended with exit 1 before all ranks had come"),
        ("import os, sys\nif '--version' not in sys.argv: os.kill(os.getpid(), 9)", "was ended by SIGKILL before all"),
    ],
)
def test_an_mpiexec_that_fails_is_told_with_its_words(space: RunSpace, text: str, words: str) -> None:
    with agent_with(space, "report", 2, text) as agent:
        frames = []
        for frame in agent.frames():
            frames.append(frame)
            if frame["type"] == "broken":
                break
        assert words in frames[-1]["message"]
        assert "loners" in frames[-1]["message"]
        spoken = "".join(frame["text"] for frame in frames if frame["type"] == "output" and frame["rank"] is None)
        assert spoken.strip() == ("no slots" if "slots" in text else "")


def test_no_mpiexec_is_told_with_the_remedy(space: RunSpace) -> None:
    with agent_process(space, OPSDIST_MPIEXEC="/gone") as agent:
        agent.send(job("report") | {"starter": "mpiexec"})
        assert "no mpiexec to start ranks of MPI with" in agent.first("broken")["message"]


def test_the_lifeline_cut_while_mpiexec_starts_ends_it(space: RunSpace) -> None:
    text = "import sys, time\nif '--version' not in sys.argv: time.sleep(600)"
    with agent_with(space, "report", 2, text) as agent:
        agent.first("helpers")
        agent.hang_up()
        agent.first("ended")
        assert agent.process.wait(ENDS) == 0


@pytest.mark.parametrize(
    ("printed", "flag"),
    [("HYDRA build details:", "-launcher"), ("mpirun (Open MPI) 5.0.1", "--oversubscribe"), ("other", None)],
)
def test_options_are_those_of_the_kind(space: RunSpace, printed: str, flag: str | None) -> None:
    found = mpiexec.flags(stand_in(space, "kind", f"print({printed!r})"))
    assert (flag in found) if flag else (found == ())


def test_a_program_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="gone --version"):
        mpiexec.flags(str(tmp_path / "gone"))


def test_mpiexec_does_not_see_the_allocation_or_mpi_that_the_agent_is_in() -> None:
    given = {"PMI_RANK": "3", "PMIX_NAMESPACE": "x", "OMPI_COMM_WORLD_SIZE": "9", "SLURM_JOB_ID": "1", "HOME": "/h",
             "OMPI_MCA_btl": "self"}  # fmt: skip
    environment = mpiexec.environment(given, "/bin/mpiexec", "address", "secret")
    assert environment == {
        "HOME": "/h", "OMPI_MCA_btl": "self", "OPSDIST_MPIEXEC": "/bin/mpiexec", "OPSDIST_DIAL": "address",
        "OPSDIST_DIAL_TOKEN": "secret",
    }  # fmt: skip


def test_a_process_without_a_rank_says_so() -> None:
    assert rank_of({"PMI_RANK": "2"}) == 2
    with pytest.raises(KeyError, match="no mpiexec"):
        rank_of({"HOME": "/"})


def test_only_mpi_wants_mpiexec() -> None:
    assert [starter_for(names) for names in (("builtin",), ("builtin", "mpi"))] == ["fork", "mpiexec"]
    assert [spinning(names) for names in (("builtin",), ("builtin", "mpi"))] == [False, True]


def test_segments_that_a_stopped_run_cannot_remove_are_removed(space: RunSpace) -> None:
    """Named shared memory that the rank has mapped, and nothing else that lies beside it."""
    names = [Path(f"/dev/shm/{name}_{space.mark}") for name in ("mpich_shm", "other")]
    try:
        with agent_with(space, "map_files", 1, paths=[str(name) for name in names]) as agent:
            agent.first("rank", said)
            agent.send({"type": "stop"})
            agent.first("ended")
        until(lambda: not space.processes(), ENDS, "the end")
        assert [name.exists() for name in names] == [False, True]
    finally:
        for name in names:
            name.unlink(missing_ok=True)
