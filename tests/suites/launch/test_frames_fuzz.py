"""Anything may come out of the pipes between controller and agents: who says it is named, and nothing hangs or stays.

Fewer examples than elsewhere where each starts processes.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import tempfile
import termios
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectives.placement import Placement
from suites.launch import deadlines, ending, frames, local
from suites.launch.frames import ANSWERS, FROM_AGENTS, FROM_CONTROLLERS, GREETING, check, check_shape, check_turn
from suites.launch.job import Job
from suites.launch.link import AgentCommand
from suites.launch.protocol import LARGEST, MARK, BrokenFrame, Frame, FrameReader, Noise, pack, read_frame
from suites.launch.supervise import Supervisor
from suites.report import Status
from suites.verdict import judge
from suites.world import HostFacts
from tests.leftovers import RunSpace, until
from tests.suites.launch import samples
from tests.suites.launch.agent_process import PATIENCE, AgentProcess, agent_process, job
from tests.suites.launch.samples import HELLO, NOBODY, SAID, TOLD, anything, failure, packed, spoilt

pytestmark = pytest.mark.any_engine

# A space is empty again after every example, so one may serve them all.
few = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


# --- bytes


def read(data: bytes) -> Frame | type[Exception]:
    """What `read_frame` makes of a pipe with these bytes and an end."""
    source, sink = os.pipe()
    try:
        os.write(sink, data)
        os.close(sink)
        return read_frame(source)
    except (EOFError, BrokenFrame) as error:
        return type(error)
    finally:
        os.close(source)


@given(samples.pieces(TOLD) | st.binary(max_size=100))
def test_a_pipe_holds_a_frame_or_its_end_or_what_is_no_frame(data: bytes) -> None:
    found = read(data)
    assert found in (EOFError, BrokenFrame) or (isinstance(found, dict) and "type" in found)


@given(st.sampled_from((*TOLD, *SAID)), st.data())
def test_a_frame_that_is_cut_short_is_an_end(frame: Frame, data: st.DataObject) -> None:
    whole = pack(frame)
    assert read(whole) == frame
    assert read(whole[: data.draw(st.integers(0, len(whole) - 1))]) is EOFError


@pytest.mark.parametrize("length", [LARGEST - 8, LARGEST, LARGEST + 1, (1 << 32) - 1])
def test_no_memory_is_taken_for_what_is_only_announced(length: int) -> None:
    announced = struct.pack(">I", length) + b'{"type'
    tracemalloc.start()
    try:
        assert read(announced) in (EOFError, BrokenFrame)
        with suppress(BrokenFrame):
            list(FrameReader().feed(announced))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 << 20


# --- frames


def test_every_type_has_a_sample_and_every_sample_is_as_it_should_be() -> None:
    for table, all_of_it in ((FROM_AGENTS, SAID), (FROM_CONTROLLERS, TOLD)):
        assert set(table) <= {frame["type"] for frame in all_of_it}
        for frame in all_of_it:
            check(frame, table)
    check_shape("hello", HELLO, GREETING)
    assert set(ANSWERS) <= set(FROM_CONTROLLERS)
    assert set(ANSWERS.values()) <= set(FROM_AGENTS)


def test_what_is_looked_at_is_what_there_is() -> None:
    assert set(frames.HOST_FACTS) == {field.name for field in fields(HostFacts)}
    assert set(frames.STATUSES) == set(Status)
    assert set(frames.PLACEMENT) == {field.name for field in fields(Placement)}
    sent = Job("report", {}, [Placement(0, 1, 0, 1, 0, 1)], [None], "t", "ipc://@nowhere", 1.0).frame(0)
    assert set(sent) == {*FROM_CONTROLLERS["job"], "type"}
    check(sent, FROM_CONTROLLERS)


@given(spoilt((*SAID, *TOLD)) | st.dictionaries(st.text(max_size=4), anything).map(lambda frame: {"type": "", **frame}))
def test_a_spoilt_frame_passes_or_is_told_and_nothing_else_is_raised(frame: Frame) -> None:
    for table in (FROM_AGENTS, FROM_CONTROLLERS):
        with suppress(BrokenFrame):
            check(frame, table)


_ALL = [(frame, name) for frame in (*SAID, *TOLD) for name in samples.shape_of(frame)]


@pytest.mark.parametrize(("frame", "name"), _ALL, ids=[f"{frame['type']}-{name}" for frame, name in _ALL])
def test_a_field_that_is_missing_or_holds_something_else_is_named(frame: Frame, name: str) -> None:
    table = FROM_CONTROLLERS if frame in TOLD else FROM_AGENTS
    with pytest.raises(BrokenFrame, match=f"'{frame['type']}' without {name}"):
        check({key: value for key, value in frame.items() if key != name}, table)
    with pytest.raises(BrokenFrame, match=f"'{frame['type']}' whose {name} is"):
        check({**frame, name: {"no": ["such", "thing"]} if name not in ("arguments", "facts") else 5}, table)


@pytest.mark.parametrize("pid", [True, 0, 1, -1, -NOBODY, NOBODY + 1, 2.0, "2", None, [2]])
def test_nobody_can_have_a_process_ended_that_is_none_of_a_run(pid: Any) -> None:
    """Signals to 0, 1 and what is less go to whole groups, or to everybody."""
    for frame in ({"type": "started", "rank": 0, "pid": pid}, {"type": "helpers", "pids": [NOBODY, pid]}):
        with pytest.raises(BrokenFrame):
            check(frame, FROM_AGENTS)


@pytest.mark.parametrize(
    "greeting",
    [
        {"facts": {}}, {"facts": {**HELLO["facts"], "cores": True}}, {"interfaces": None},
        {"interfaces": [{}]}, {"interfaces": [{**HELLO["interfaces"][0], "addresses": ["somewhere"]}]},
    ],
)  # fmt: skip
def test_a_greeting_must_be_one_that_hosts_can_be_chosen_by(greeting: Frame) -> None:
    with pytest.raises(BrokenFrame, match="'hello' whose"):
        check_shape("hello", {**HELLO, **greeting}, GREETING)


@pytest.mark.parametrize("name", ["address", "nowhere.invalid", "", "10.0.0.1/24", "0x7f000001"])
def test_an_agent_looks_up_no_names(name: str) -> None:
    with pytest.raises(BrokenFrame, match="address"):
        check({"type": "listen", "address": name, "secret": "s"}, FROM_CONTROLLERS)


@pytest.mark.parametrize(
    ("frame", "turn"),
    [
        ({"type": "ended"}, {"greeted": False}),
        ({"type": "hello"}, {}),
        ({"type": "listening"}, {}),
        ({"type": "looked"}, {"awaited": "knocked"}),
        ({"type": "started", "rank": 2}, {}),
        ({"type": "exit", "rank": 2}, {}),
        ({"type": "recorded", "rank": 2}, {}),
    ],
)
def test_what_comes_out_of_turn_is_refused(frame: Frame, turn: Frame) -> None:
    with pytest.raises(BrokenFrame):
        check_turn(frame, **{"greeted": True, "awaited": "", "ranks": [0, 1], **turn})


# --- a controller


@contextmanager
def impatient(killed: list[int]) -> Iterator[None]:
    """Short deadlines, and a note of which processes are ended by their ids, of which none is there."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AGENT_SECONDS", "SILENCE_SECONDS", "GRACE_SECONDS", "STOP_SECONDS"):
            patch.setattr(deadlines, name, 0.2)
        note = SimpleNamespace(kill=lambda pid, _: killed.append(pid), killpg=lambda pid, _: killed.append(pid))
        patch.setattr(ending, "os", note)
        yield


def supervise(
    space: RunSpace, first: bytes, then: str, with_ranks: bytes = b"", ranks: int = 2
) -> tuple[Supervisor, list[int]]:
    """A whole run with an agent that says this, more once it is told of its ranks, and then does what a shell is told.
    Returns whom the controller would have ended."""
    placements = [Placement(rank, ranks, rank, ranks, 0, 1) for rank in range(ranks)]
    asked = Job("report", {}, placements, [None] * ranks, "t", "ipc://@nowhere", 0.2)
    killed: list[int] = []
    with tempfile.TemporaryDirectory(dir=space.folder) as folder, impatient(killed):
        before, after = Path(folder, "before"), Path(folder, "after")
        before.write_bytes(first)
        after.write_bytes(with_ranks)
        heard = 'test -s "$1" && head -c 1 >/dev/null && cat "$1"'
        shell = ("/bin/sh", "-c", f'cat "$0"; {heard}; {then}', str(before), str(after))
        watched = Supervisor([AgentCommand("here", shell, space.environment())])
        with watched:
            for _ in watched.greet(0.5):
                pass
            if not watched.faults:
                for _ in watched.events(asked):
                    pass
    return watched, killed


def blamed(watched: Supervisor) -> dict[str, Any]:
    """The verdict, which names the host or ranks of it."""
    verdict = judge(watched.faults, ["here", "here"])
    assert verdict["explanation"]
    assert {culprit["host"] for culprit in verdict["culprits"]} <= {"here"}
    return verdict


LEAVE, STAY = "exit 0", "exec sleep 1000"


_before = st.one_of(samples.streams(SAID), samples.streams(SAID).map(lambda rest: MARK + rest))


@few
@given(said=_before, then=st.sampled_from((LEAVE, STAY)))
def test_a_controller_takes_anything_that_comes_instead_of_an_agent(space: RunSpace, said: bytes, then: str) -> None:
    watched, killed = supervise(space, said, then)
    assert watched.faults, "nobody was blamed for what was no run"
    blamed(watched)
    assert set(killed) <= {NOBODY}
    assert watched.survivors == []
    space.gone(within=PATIENCE)


@settings(few, max_examples=100)
@given(said=samples.streams(samples.SAID_OF_RANKS), then=st.sampled_from((LEAVE, STAY)))
def test_a_controller_takes_anything_that_an_agent_says_of_its_ranks(space: RunSpace, said: bytes, then: str) -> None:
    watched, killed = supervise(space, MARK + pack(HELLO), then, said)
    assert watched.faults, "nobody was blamed for what was no run"
    blamed(watched)
    assert set(killed) <= {NOBODY}
    assert watched.survivors == []
    space.gone(within=PATIENCE)


@pytest.mark.parametrize("then", [LEAVE, STAY])
@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (b"no mark at all", "ended without a word|has said nothing"),
        (MARK + b"\xff\xff\xff\xff", "a frame of 4294967295 bytes"),
        (MARK + packed([1]), "a frame without a type"),
        (MARK + packed({"type": ["x"]}), "a frame of type"),
        (MARK + pack({"type": "ended"}), "'ended' before its greeting"),
        (MARK + packed({"type": "hello"}), "'hello' without version"),
        (MARK + packed({**HELLO, "facts": []}), "'hello' whose facts"),
        (MARK + pack(HELLO) * 2, "a second greeting"),
        (MARK + pack(HELLO) + pack({"type": "listening", "port": 5}), "which nobody has asked for"),
        (MARK + pack(HELLO) + pack({"type": "started", "rank": 7, "pid": NOBODY}), "none of its ranks"),
        (MARK + pack(HELLO) + pack({"type": "started", "rank": 0, "pid": -1}), "'started' whose pid is -1"),
        (MARK + pack(HELLO) + pack({"type": "alive", "states": {"0": 5}, "cpu_seconds": {}}), "'alive' whose states"),
        (MARK + pack(HELLO) + pack({"type": "alive", "states": {"7": None}, "cpu_seconds": {}}), "speak the protocol"),
        (MARK + pack(HELLO) + pack(failure(notes=[1])), "'failure' whose notes"),
        (MARK + pack(HELLO) + pack({"type": "ended"}), "has ended before its ranks"),
        (MARK + pack(HELLO) + b"\xff" * (1 << 20), "a frame of 4294967295 bytes"),
    ],
)  # fmt: skip
def test_what_no_agent_says_is_told_of_the_host_that_said_it(
    space: RunSpace, said: bytes, then: str, wanted: str
) -> None:
    watched, _ = supervise(space, said, then)
    verdict = blamed(watched)
    assert (verdict["class"], verdict["culprits"]) == ("launch", [{"kind": "host", "host": "here"}])
    assert any(phrase in verdict["explanation"] for phrase in wanted.split("|")), verdict["explanation"]
    assert len(watched.faults) == 1  # however much of it there is
    assert watched.survivors == []
    space.gone(within=PATIENCE)


def test_one_that_says_nothing_but_garbage_is_listened_to_no_longer_and_the_others_are(space: RunSpace) -> None:
    loud = ("/bin/sh", "-c", 'cat "$0"; exec yes', str(space.folder / "loud"))
    (space.folder / "loud").write_bytes(MARK)
    quiet = ("sleep", "1000")
    hosts = {"loud": loud, "quiet": quiet}
    watched = Supervisor([AgentCommand(host, argv, space.environment()) for host, argv in hosts.items()])
    with impatient([]), watched:
        assert list(watched.greet(0.5)) == []
    assert [fault.host for fault in watched.faults] == ["loud", "quiet"]
    assert watched.survivors == []
    space.gone(within=PATIENCE)


def test_an_agent_that_says_it_has_ended_and_does_not_is_ended(space: RunSpace) -> None:
    """Nothing of it stays, though it has said that all is well."""
    finished = [{"type": "rank", "rank": rank, "content": {"type": "finished"}} for rank in (0, 1)]
    watched, _ = supervise(space, MARK + pack(HELLO), STAY, b"".join(map(pack, [*finished, {"type": "ended"}])))
    assert watched.faults == []
    assert watched.survivors == []
    space.gone(within=PATIENCE)


# --- an agent


def say(agent: AgentProcess, data: bytes) -> None:
    """As far as the agent takes it: it may have enough of it before."""
    assert agent.process.stdin
    with suppress(BrokenPipeError):
        while data:
            data = data[os.write(agent.process.stdin.fileno(), data) :]


def feed(agent: AgentProcess, data: bytes) -> tuple[int, list[Frame], str]:
    """Say it and hang up: its exit code, what it says, and what it prints."""
    say(agent, data)
    out, words = agent.process.communicate(timeout=PATIENCE)
    return agent.process.returncode, list(FrameReader().feed(Noise().feed(out))), words.decode()


ENDS = ((0, "ended"), (1, "broken"))
"""Exit codes, and what an agent says last."""


@settings(few, max_examples=12)
@given(data=samples.streams(TOLD))
def test_an_agent_takes_anything_that_a_controller_says(space: RunSpace, data: bytes) -> None:
    with agent_process(space) as agent:
        code, told, words = feed(agent, data)
    assert told[0]["type"] == "hello"
    assert (code, told[-1]["type"]) in ENDS
    assert "Traceback" not in words
    space.gone(within=PATIENCE)


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"\xff\xff\xff\xff" * 9, "a frame of 4294967295 bytes"),
        (packed("text") * 3, "a frame without a type"),
        (packed({"type": None}), "a frame of type None"),
        (packed({"type": "go"}), "'go' without store"),
        (packed({**TOLD[1], "address": "nowhere.invalid"}), "'listen' whose address"),
        (packed({**TOLD[2], "port": 0}), "'knock' whose port"),
        (packed({**TOLD[3], "placements": [{"rank": 0}]}), "'job' whose placements"),
        (packed({**TOLD[3], "cpus": [None]}), "zip"),
        (packed({**TOLD[3], "job": "no-such-job"}), "no-such-job"),
        (pack(TOLD[3]) * 2, "a second job"),
    ],
)
def test_what_no_controller_says_is_told_and_ends_agent_and_ranks(space: RunSpace, data: bytes, wanted: str) -> None:
    with agent_process(space) as agent:
        agent.write(data)
        broken = agent.first("broken")
        say(agent, b"\xff" * (1 << 16))  # it goes on, and nobody listens any more
        agent.hang_up()
        assert agent.process.wait(PATIENCE) == 1
        assert "Traceback" not in agent.stderr()
    assert wanted in broken["message"]
    space.gone(within=PATIENCE)


def test_a_controller_that_neither_listens_nor_makes_sense_is_told_so_when_it_listens(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("flood", 1, lines=1000))
        agent.go()
        assert agent.process.stdout
        stdout = agent.process.stdout.fileno()
        until(lambda: waiting(stdout) > 32_000, PATIENCE, "an agent that nobody listens to")
        code, told, words = feed(agent, b"\xff" * (1 << 18))
    assert code == 1
    assert "broken" in {frame["type"] for frame in told}
    assert "Traceback" not in words
    space.gone(within=PATIENCE)


def waiting(descriptor: int) -> int:
    """Bytes that are there to be read."""
    (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))
    return int(count)


@pytest.mark.parametrize("data", [b"\xff" * 16, pack({"type": "stop"})[:9]])
def test_a_real_agent_ends_whatever_cuts_its_frames(space: RunSpace, data: bytes) -> None:
    with agent_process(space, tuple(local.argv())) as agent:
        code, told, _ = feed(agent, data)
    assert (code, told[-1]["type"]) in ENDS
    space.gone(within=PATIENCE)


def test_a_far_agent_does_not_start_on_garbage(space: RunSpace) -> None:
    with agent_process(space, (sys.executable, "-P", "-m", "suites.launch.far")) as agent:
        code, told, words = feed(agent, b"\xff" * 16)
    assert (code, told) == (1, [])
    assert "a frame of 4294967295 bytes" in words
