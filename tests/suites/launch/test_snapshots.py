"""What ranks have recorded, as their agent tells it: of living, stopped, busy and dead ones, by every starter."""

from __future__ import annotations

import base64
import os
import signal
import zlib
from collections.abc import Callable

import pytest

from collectives import ring
from collectives.ringreader import Entry, Ring, read
from suites.launch.protocol import BrokenFrame, Frame
from suites.launch.snapshots import reach, recorded, unpacked
from suites.launch.starters import Member
from tests.leftovers import RunSpace, until
from tests.suites.launch.agent_process import PATIENCE, AgentProcess, agent_process, job
from tests.suites.launch.loners import stand_in

ENDS = 10.0


def rings(frames: list[Frame]) -> dict[int, Ring]:
    return {frame["rank"]: read(unpacked(frame["data"])) for frame in frames if frame["type"] == "recorded"}


def look(agent: AgentProcess) -> dict[int, Ring]:
    """What has been recorded by now. What is asked after it is answered after it."""
    agent.send({"type": "record"})
    agent.send({"type": "clock"})
    said = []
    for frame in agent.frames():
        said.append(frame)
        if frame["type"] == "clocked":
            break
    return rings(said)


def look_until_stuck(agent: AgentProcess, ranks: int) -> dict[int, Ring]:
    """Until all ranks have met and all but the last are in the allreduce."""
    found: dict[int, Ring] = {}

    def stuck() -> bool:
        found.update(look(agent))
        met = {rank for rank, one in found.items() if one.entries and one.entries[0].outcome == "done"}
        return len(met) == ranks and all(inside(found[rank]) for rank in range(ranks - 1))

    until(stuck, PATIENCE, "ranks that wait for the last")
    return found


def inside(found: Ring) -> Entry | None:
    """The allreduce under way."""
    last = found.entries[-1] if found.entries else None
    return last if last and (last.collective, last.outcome) == ("allreduce", "under way") else None


def told(agent: AgentProcess) -> list[Frame]:
    """All that it still says, until it ends."""
    frames = list(agent.frames())
    agent.hang_up()
    return frames


@pytest.mark.parametrize("starter", ["fork", "mpiexec"])
@pytest.mark.parametrize("late", ["sleeps", "holds the lock"])
def test_where_ranks_stand_is_seen_from_outside(space: RunSpace, late: str, starter: str) -> None:
    with agent_process(space, OPSDIST_MPIEXEC=stand_in(space, "loners")) as agent:
        agent.send(job("meet", 3, late=late) | {"starter": starter, "timeout": 60.0})
        found = look_until_stuck(agent, 3)
        agent.hang_up()
    for rank in (0, 1):
        entry = inside(found[rank])
        assert entry is not None
        assert entry.waits
        assert entry.frame is not None
        assert entry.frame.function == "meet"
        assert (found[rank].rank, found[rank].world_size) == (rank, 3)
    # It has left the barrier, and is in no call.
    assert [(entry.collective, entry.outcome) for entry in found[2].entries] == [("barrier", "done")]
    space.gone(within=ENDS)


def test_a_stopped_rank_is_seen_and_a_killed_one_still_tells_where_it_stood(space: RunSpace) -> None:
    with agent_process(space) as agent:
        agent.send(job("meet", 2, late="sleeps") | {"timeout": 60.0})
        pid = agent.first("started", lambda frame: frame["rank"] == 0)["pid"]
        look_until_stuck(agent, 2)
        os.kill(pid, signal.SIGSTOP)
        assert inside(look(agent)[0])
        os.kill(pid, signal.SIGKILL)
        ended = []
        for frame in agent.frames():
            ended.append(frame)
            if frame["type"] == "exit":
                break
        assert ended[-1]["rank"] == 0
        # Unasked, and before its end is told, since nobody may be there to ask later.
        assert inside(rings(ended)[0])
        assert inside(look(agent)[0])
        agent.hang_up()
    space.gone(within=ENDS)


@pytest.mark.parametrize(
    ("late", "record", "ranks"), [("comes", False, set()), ("comes", True, {0, 1}), ("leaves", False, {0, 1})]
)
def test_rings_are_told_unasked_of_who_has_not_finished_and_where_it_is_wanted(
    space: RunSpace, late: str, record: bool, ranks: set[int]
) -> None:
    with agent_process(space) as agent:
        agent.send(job("meet", 2, late=late) | {"record": record, "timeout": 0.5})
        frames = told(agent)
    found = rings(frames)
    assert set(found) == ranks
    exits = [number for number, frame in enumerate(frames) if frame["type"] == "exit"]
    assert all(number < exits[-1] for number, frame in enumerate(frames) if frame["type"] == "recorded")
    if late == "leaves":
        assert [entry.collective for entry in found[1].entries] == ["barrier"]
        assert found[0].entries[-1].outcome == "timed out"


# --- the pieces


def member(descriptor: int | None) -> Member:
    return Member(0, os.getpid(), None, {}, descriptor)  # type: ignore[arg-type]


def test_a_rank_that_has_not_begun_to_record_tells_nothing() -> None:
    descriptor = ring.memory()
    assert descriptor is not None
    try:
        assert list(recorded([member(None), member(descriptor)])) == []
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("opened", [lambda: os.open("/dev/null", os.O_RDONLY), lambda: 1 << 20])
def test_only_a_ring_is_taken_for_one(opened: Callable[[], int]) -> None:
    one = member(None)
    reach(one, {"type": "ring", "descriptor": opened()})
    assert one.ring is None


@pytest.mark.parametrize(
    "data",
    ["", "!", base64.b64encode(b"no zlib").decode(), base64.b64encode(zlib.compress(b"x" * 99)[:-5]).decode(), "é"],
)
def test_a_spoilt_snapshot_is_told(data: str) -> None:
    with pytest.raises(BrokenFrame):
        unpacked(data)


def test_a_snapshot_is_never_larger_than_a_ring() -> None:
    with pytest.raises(BrokenFrame, match="longer"):
        unpacked(base64.b64encode(zlib.compress(bytes(ring.LENGTH * 2))).decode())
