"""The agent as a subprocess, spoken to by hand: what it says, and how it and its ranks end."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from suites.launch import local
from suites.launch.protocol import Frame
from tests.leftovers import RunSpace, until
from tests.suites.launch.agent_process import agent_process, job

ENDS = 5.0
"""Seconds within which everything is gone when the lifeline is cut."""


def test_hello_comes_first_and_stdout_carries_frames_only(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("report", 2, x=1))
        frames = list(agent.frames())
        agent.hang_up()
        assert "something that a library prints" in agent.stderr()
    assert frames[0]["type"] == "hello"
    assert frames[0]["pid"] == agent.process.pid
    assert frames[-1] == {"type": "ended"}
    said = sorted(f["content"]["rank"] for f in frames if f["type"] == "rank" and f["content"]["type"] == "said")
    assert said == [0, 1]
    assert {f["rank"]: f["code"] for f in frames if f["type"] == "exit"} == {0: 0, 1: 0}


def test_the_real_agent_ends_when_nobody_speaks_to_it(space: RunSpace) -> None:
    with agent_process(space, tuple(local.argv())) as agent:
        agent.hang_up()
        assert [frame["type"] for frame in agent.frames() if frame["type"] != "alive"] == ["hello", "ended"]
        assert agent.process.wait(ENDS) == 0


@pytest.mark.parametrize("how", ["the lifeline is cut", "stop"])
def test_ranks_end_with_the_lifeline_and_on_stop(space: RunSpace, how: str) -> None:
    with agent_process(space) as agent:
        agent.send(job("stubborn", 2))
        for _ in range(2):
            agent.first("rank", lambda frame: frame["content"]["type"] == "said")
        if how == "stop":
            agent.send({"type": "stop"})
        else:
            agent.hang_up()
        exits = [frame for frame in agent.frames() if frame["type"] == "exit"]
        assert agent.process.wait(ENDS) == 0
    # They ignore SIGTERM, so they were killed; and it is known that they were told to end.
    assert [(frame["signal"], frame["stopped"]) for frame in exits] == [(signal.SIGKILL, True)] * 2


def test_a_stopped_rank_can_still_end_when_asked(space: RunSpace) -> None:
    """It takes the SIGTERM, since it is continued; it need not be killed."""
    with agent_process(space) as agent:
        agent.send(job("lazy"))
        pid = agent.first("started")["pid"]
        agent.first("rank", lambda frame: frame["content"]["type"] == "said")
        os.kill(pid, signal.SIGSTOP)
        agent.first("alive", lambda frame: (frame["states"]["0"] or "").startswith("T"))
        agent.hang_up()
        assert agent.first("exit")["signal"] == signal.SIGTERM
        assert agent.process.wait(ENDS) == 0


def test_ranks_die_with_the_agent(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("stubborn", 2))
        agent.first("rank", lambda frame: frame["content"]["type"] == "said")
        agent.process.kill()
        space.gone(within=ENDS)


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\2{]", b"\0\0\0\2[]", b"\0\0\0\2{}"])
def test_garbage_on_stdin_is_told_and_ends_the_agent(space: RunSpace, data: bytes) -> None:
    with agent_process(space) as agent:
        agent.write(data)
        broken = agent.first("broken")
        agent.hang_up()
        assert agent.process.wait(ENDS) == 1
        assert "Traceback" not in agent.stderr()
    assert broken["message"].startswith("BrokenFrame")


def test_garbage_while_ranks_run_ends_them(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("stubborn", 2))
        agent.first("rank", lambda frame: frame["content"]["type"] == "said")
        agent.write(b"\xff" * 64)
        agent.first("broken")
        agent.hang_up()
        assert agent.process.wait(ENDS) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [({"job": "no-such-job"}, "no-such-job"), ({"store": "ipc:///nowhere/at/all"}, "cannot listen")],
)
def test_a_job_that_cannot_start_is_told(space: RunSpace, change: Frame, message: str) -> None:
    with agent_process(space) as agent:
        agent.send(job("report", 2) | change)
        assert message in agent.first("broken")["message"]
        agent.hang_up()
        assert agent.process.wait(ENDS) == 1


def test_output_travels_by_line_and_whole_characters(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("chatter"))
        output = [frame for frame in agent.frames() if frame["type"] == "output"]
    texts = {name: [f["text"] for f in output if f["stream"] == name] for name in ("stdout", "stderr")}
    assert "".join(texts["stdout"]) == "half a line\né\nlast, without an end"
    assert all(text.endswith("\n") for text in texts["stdout"][:-1])
    assert texts["stderr"] == ["to stderr\n"]


def test_a_flood_is_held_back_while_nobody_reads_and_blocks_nobody(space: RunSpace) -> None:
    """Rank 0 prints 16 MiB; with a backlog of 1 MiB, the agent must wait for its reader without holding more."""
    lines = 8 << 10
    with agent_process(space, BACKLOG=str(1 << 20)) as agent:
        agent.send(job("flood", 2, lines=lines))
        agent.go()
        pid = agent.process.pid
        # Nobody reads: rank 1 ends, and the agent comes to rest with what it has taken.
        until(lambda: _states(space, pid).count("R") == 0 and _children(pid) == 2, ENDS, "rank 1's end")
        assert _resident(pid) < 150 << 20
        counted, reports = 0, 0
        for frame in agent.frames():
            counted += len(frame.get("text", ""))
            reports += frame["type"] == "rank" and frame["content"]["type"] == "said"
        assert (counted, reports) == (2 * lines * 1024, 2)


def _children(pid: int) -> int:
    """Processes that the agent has not reaped, and itself."""
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return 1 + len(children.read().split())


def _states(space: RunSpace, pid: int) -> list[str]:
    states = []
    for each in space.processes():
        try:
            with open(f"/proc/{each}/stat") as stat:
                states.append(stat.read().rpartition(")")[2].split()[0])
        except OSError:
            continue
    return states


def _resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize(
    ("lines", "backlog"), [(256, 16 << 20), (60, 1000)], ids=["held by the agent", "left in the ranks' pipes"]
)
def test_a_reader_who_comes_late_gets_everything(space: RunSpace, lines: int, backlog: int) -> None:
    """The ranks end long before anybody reads; nothing may be given up meanwhile."""
    with agent_process(space, BACKLOG=str(backlog)) as agent:
        agent.send(job("flood", 1, lines=lines))
        agent.go()
        agent.first("started")
        until(lambda: _children(agent.process.pid) == 1, ENDS, "the end of the rank")
        # Longer than the agent would wait for a controller that had cut the lifeline.
        before = time.monotonic()
        until(lambda: time.monotonic() > before + 1.0, ENDS, "a second")
        frames = list(agent.frames())
    assert sum(len(frame.get("text", "")) for frame in frames) == 2 * lines * 1024
    assert frames[-1] == {"type": "ended"}


def test_a_rank_that_closes_its_end_and_lives_on_is_killed(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("vanish"))
        assert agent.first("exit")["signal"] == signal.SIGKILL


@pytest.mark.parametrize("session", [False, True])
def test_a_child_that_holds_the_output_open_does_not_hold_the_agent(space: RunSpace, session: bool) -> None:
    with agent_process(space) as agent:
        agent.send(job("leave_a_child", session=session))
        child = agent.first("rank", lambda frame: "child" in frame["content"])["content"]["child"]
        agent.first("ended")
        if session:  # not of our group, so not ours to end
            os.kill(child, signal.SIGKILL)
        space.gone(within=ENDS)


def test_a_rank_that_dies_is_noticed_although_its_child_holds_its_socket(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("fork_a_child"))
        assert agent.first("exit")["signal"] == signal.SIGKILL
        agent.first("ended")
        space.gone(within=ENDS)


@pytest.mark.parametrize(("name", "error"), [("long_report", "BrokenFrame"), ("strange", "KeyboardInterrupt")])
def test_whatever_a_job_raises_is_reported(space: RunSpace, name: str, error: str) -> None:
    with agent_process(space) as agent:
        agent.send(job(name))
        failure = agent.first("rank", lambda frame: frame["content"]["type"] == "failure")["content"]
        assert failure["error"] == error
        assert agent.first("exit")["code"] == 1


def test_a_thread_left_behind_does_not_keep_the_rank(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("thread"))
        assert agent.first("exit")["code"] == 0


def test_a_local_folder_does_not_shadow_the_agent(space: RunSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    package = space.folder / "suites"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('shadowed')")
    monkeypatch.chdir(space.folder)
    assert local.argv()[0] == sys.executable
    with agent_process(space, tuple(local.argv())) as agent:
        agent.first("hello")
