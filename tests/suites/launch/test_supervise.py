"""The controller's side against agents that fail in every way: stand-ins, which say and do what a test tells them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from collectives.placement import Placement
from collectives.ringreader import read
from suites.launch import deadlines
from suites.launch.job import Event, Job, Output, Report
from suites.launch.link import AgentCommand
from suites.launch.supervise import Supervisor
from suites.launch.trouble import Trouble
from suites.verdict import judge
from tests.leftovers import RunSpace, until
from tests.suites.launch.agent_process import STRANGE

PUPPET = (sys.executable, str(Path(__file__).with_name("puppet_agent.py")))
FACTS = {"name": "here", "core_cpus": [0], "cores": 1, "available": None, "cache": 0, "without_core": None}
HELLO = json.dumps(
    {"type": "hello", "version": version("opsdist"), "python": "3.11.2", "facts": FACTS, "interfaces": []}
)
HUNG = 30.0
ENDED = json.dumps({"type": "ended"})


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All deadlines of the controller are short, so that tests with a stand-in are; none may wait for its end."""
    monkeypatch.setattr(deadlines, "AGENT_SECONDS", 1.0)
    monkeypatch.setattr(deadlines, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(deadlines, "GRACE_SECONDS", 0.3)
    monkeypatch.setattr(deadlines, "STOP_SECONDS", 0.3)
    started = time.monotonic()
    yield
    assert time.monotonic() < started + HUNG, "a deadline of the controller did not work"


@pytest.fixture
def patient(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For an agent that is one, and has much to import."""
    monkeypatch.setattr(Watched, "greeting", 30.0)
    monkeypatch.setattr(deadlines, "AGENT_SECONDS", 30.0)
    monkeypatch.setattr(deadlines, "STOP_SECONDS", 10.0)


def started(rank: int, pid: int) -> str:
    return json.dumps({"type": "started", "rank": rank, "pid": pid})


def said(rank: int, **content: object) -> str:
    return json.dumps({"type": "rank", "rank": rank, "content": content})


def failed(rank: int, *waiting: int, error: str = "TransportTimeout") -> str:
    return said(
        rank, type="failure", error=error, message="m", notes=[], waiting_for=waiting, unanswered=[], peer=None,
        traceback=["t"],
    )  # fmt: skip


def beat(**ranks: tuple[str, float]) -> str:
    """`r0=("S (sleeping)", 0.5)`: state and CPU seconds."""
    states = {name[1:]: state for name, (state, _) in ranks.items()}
    used = {name[1:]: seconds for name, (_, seconds) in ranks.items()}
    return json.dumps({"type": "alive", "states": states, "cpu_seconds": used})


class Watched(Supervisor):
    """One that knows what its agents are to do."""

    greeting = 1.0

    def __init__(self, commands: list[AgentCommand], job: Job) -> None:
        super().__init__(commands)
        self.job = job

    def all_events(self) -> Iterator[Event]:
        yield from self.greet(self.greeting)
        if not self.faults:
            yield from self.events(self.job)


def supervisor(space: RunSpace, *argv: str, ranks: int = 2, timeout: float = 0.2, **arguments: object) -> Watched:
    placements = [Placement(rank, ranks, rank, ranks, 0, 1) for rank in range(ranks)]
    job = Job("report", arguments, placements, [None] * ranks, "t", f"ipc://@opsdist-test-{space.mark}", timeout)
    root = str(Path(__file__).parents[3])
    return Watched([AgentCommand("here", argv, space.environment(PYTHONPATH=root))], job)


def puppet(space: RunSpace, *acts: str, **options: Any) -> Watched:
    return supervisor(space, *PUPPET, *acts, **options)


def run(watched: Watched) -> list[Report | Output]:
    with watched:
        return list(watched.all_events())


def verdict(watched: Watched) -> tuple[str, list[int | str]]:
    """Class and culprits."""
    judged = judge(watched.faults, ["here"] * len(watched.job.placements))
    return judged["class"], [culprit.get("rank", culprit["kind"]) for culprit in judged["culprits"]]


@pytest.mark.usefixtures("patient")
def test_a_job_that_goes_well_has_no_faults(space: RunSpace) -> None:
    watched = supervisor(space, *STRANGE, x=1)
    reports = [event for event in run(watched) if isinstance(event, Report)]
    assert sorted(report.rank for report in reports) == [0, 1]
    assert all(report.content["arguments"] == {"x": 1} for report in reports)
    assert (watched.faults, watched.survivors) == ([], [])
    assert set(watched.phases.values()) == {"middle"}


@pytest.mark.parametrize("argv", [("/no/such/program",), (str(Path(__file__)),)])
def test_an_agent_that_cannot_be_started_is_a_fault_of_the_launch(space: RunSpace, argv: tuple[str, ...]) -> None:
    watched = supervisor(space, *argv)
    assert run(watched) == []
    assert verdict(watched) == ("launch", ["host"])
    assert argv[0] in watched.faults[0].message


@pytest.mark.parametrize(
    ("acts", "wanted"),
    [
        (["exit 7"], "exit 7"),
        (["say no module\n", "exit 1"], "exit 1"),
        ([HELLO, "read", "exit 0"], "ended without a word"),
        (["raw this is no frame at all"], "does not speak the protocol"),
        ([HELLO, '{"type": "started"}', "eof"], "does not speak the protocol"),
        ([HELLO, said(9, type="phase", phase="x"), "eof"], "does not speak the protocol"),
        ([HELLO, '{"type": "rank", "rank": 0, "content": []}', "eof"], "does not speak the protocol"),
        ([HELLO, '{"type": "broken", "error": "E", "message": "no room", "traceback": []}', "eof"], "no room"),
        (["wait 60"], "has said nothing for 1 s"),
        (["stop"], "has said nothing for 1 s"),
        (["close", "wait 60"], "ended without a word"),
    ],
)
def test_an_agent_that_fails_before_ranks_run(space: RunSpace, acts: list[str], wanted: str) -> None:
    watched = puppet(space, *acts)
    printed = [event.text for event in run(watched) if isinstance(event, Output)]
    assert verdict(watched) == ("launch", ["host"])
    assert wanted in judge(watched.faults, ["here"] * 2)["explanation"]
    assert printed == [act.removeprefix("say ") for act in acts if act.startswith("say ")]
    assert watched.survivors == []


@pytest.mark.parametrize(
    ("acts", "wanted"),
    [(["exit 7"], "crashed"), (["raw xxxxxxxx", "eof"], "stuck"), (["stop"], "stuck"), (["wait 60"], "stuck")],
)
def test_an_agent_that_fails_while_ranks_run(space: RunSpace, acts: list[str], wanted: str) -> None:
    # The rank is a process that has ended already, so that nobody else's can be hit.
    watched = puppet(space, HELLO, "read", started(0, _ended_process()), *acts, ranks=1)
    run(watched)
    assert verdict(watched) == (wanted, ["host"])


def _ended_process() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def test_a_large_job_does_not_block_on_an_agent_that_does_not_read(space: RunSpace) -> None:
    watched = puppet(space, "wait 60", much="x" * (1 << 20))
    run(watched)
    assert verdict(watched) == ("launch", ["host"])


def test_a_large_job_reaches_an_agent_that_reads(space: RunSpace) -> None:
    done = [said(rank, type="finished") for rank in (0, 1)]
    watched = puppet(space, HELLO, "read", said(0, type="said"), *done, ENDED, much="x" * (1 << 20))
    assert [event.rank for event in run(watched)] == [0]
    assert watched.faults == []


def test_silence_of_all_ranks_is_noticed(space: RunSpace) -> None:
    acts = [HELLO, "read", started(0, _ended_process())]
    acts += [act for _ in range(20) for act in (beat(r0=("S (sleeping)", 1.0)), "wait 0.1")]
    watched = puppet(space, *acts, "eof", ENDED, ranks=1)
    run(watched)
    assert verdict(watched) == ("undecided", [])
    assert judge(watched.faults, ["here"] * 1)["suspects"] == [{"kind": "rank", "rank": 0, "host": "here"}]


def test_cpu_use_is_a_sign_of_life(space: RunSpace) -> None:
    acts = [HELLO, "read", started(0, _ended_process())]
    for used in range(10):
        acts += [beat(r0=("R (running)", used / 10)), "wait 0.1"]
    watched = puppet(space, *acts, said(0, type="finished"), ENDED, ranks=1)
    run(watched)
    assert watched.faults == []


def _absent(events: Iterator[Report | Output], seconds: float) -> None:
    """Take events, and be away for a while at the first report."""
    away = False
    for event in events:
        if isinstance(event, Report) and not away:
            away, before = True, time.monotonic()
            until(lambda before=before: time.monotonic() > before + seconds, 10.0, "an absence")  # type: ignore[misc]


def test_time_in_which_the_controller_was_away_is_nobodys_fault(space: RunSpace) -> None:
    """As with a full stdout: the caller comes back later than any deadline, and all is well."""
    watched = puppet(space, HELLO, "read", started(0, _ended_process()), said(0, type="row"), said(0, type="finished"),
                     "wait 1.5", ENDED, ranks=1)  # fmt: skip
    with watched:
        _absent(watched.all_events(), 1.2)
    assert watched.faults == []


class Suspended(Watched):
    """It does not run for a while, just when it has read that a rank has started."""

    def _go(self) -> None:
        super()._go()
        before = time.monotonic()
        until(lambda: time.monotonic() > before + 1.2, 10.0, "the end of it")


def test_what_was_said_while_the_controller_did_not_run_is_read_before_anybody_is_called_silent(
    space: RunSpace,
) -> None:
    acts = [HELLO, "read", started(0, _ended_process()), "wait 0.3", said(0, type="finished"), ENDED]
    watched = puppet(space, *acts, ranks=1)
    suspended = Suspended(watched.commands, watched.job)
    run(suspended)
    assert suspended.faults == []


def test_reports_that_came_while_the_controller_was_away_count_before_deadlines(space: RunSpace) -> None:
    watched = puppet(space, HELLO, "read", started(0, _ended_process()), failed(0, 1), said(0, type="row"),
                     "wait 0.6", failed(1, 0), "eof", ENDED)  # fmt: skip
    with watched:
        _absent(watched.all_events(), 1.0)
    assert verdict(watched) == ("joined", [])


def test_a_rank_that_was_at_work_reports_late_and_is_not_blamed(space: RunSpace) -> None:
    """Rank 0 waits for 1 and 2; rank 1 enters later, so its deadline passes later; rank 2 never does anything."""
    sleeping, working = ("S (sleeping)", 0.0), "R (running)"
    acts = [
        HELLO, "read", started(0, _ended_process()),
        beat(r0=sleeping, r1=(working, 0.0), r2=sleeping), beat(r0=sleeping, r1=(working, 1.0), r2=sleeping),
        failed(0, 1, 2), beat(r0=sleeping, r1=(working, 2.0), r2=sleeping), "wait 0.8", failed(1, 2), "eof", ENDED,
    ]  # fmt: skip
    watched = puppet(space, *acts, ranks=3, timeout=1.0)
    run(watched)
    assert verdict(watched) == ("missing", [2])


def test_where_waiting_uses_cpu_only_reports_count_and_who_used_none_is_named(space: RunSpace) -> None:
    """Rank 0 spins in a wait; rank 1 never entered. CPU alone would keep the run alive for ever."""
    sleeping = ("S (sleeping)", 0.0)
    beats = [act for turn in range(60) for act in (beat(r0=("R (running)", turn / 5), r1=sleeping), "wait 0.05")]
    watched = puppet(space, HELLO, "read", started(0, _ended_process()), *beats, "eof", ENDED)
    watched.job = replace(watched.job, spins=True)
    run(watched)
    assert verdict(watched) == ("missing", [1])
    assert "it used no CPU" in judge(watched.faults, ["here"] * 2)["explanation"]


def test_helpers_of_an_agent_that_died_are_given_a_moment_and_then_ended(space: RunSpace) -> None:
    helper = subprocess.Popen(["sleep", "3600"], env=space.environment(), start_new_session=True)
    helpers = json.dumps({"type": "helpers", "pids": [helper.pid]})
    watched = puppet(space, HELLO, "read", helpers, "exit 3")
    try:
        run(watched)
    finally:
        code = helper.wait(HUNG)
    assert code == -signal.SIGKILL
    assert watched.survivors == []


def test_stopped_ranks_are_named_without_waiting_for_their_reports(
    space: RunSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "GRACE_SECONDS", 2 * HUNG)
    watched = puppet(space, HELLO, "read", started(0, _ended_process()), beat(r1=("T (stopped)", 0.0)), failed(0, 1),
                     "eof", ENDED)  # fmt: skip
    run(watched)
    assert verdict(watched) == ("missing", [1])


def test_an_agent_that_does_not_stop_is_killed(space: RunSpace) -> None:
    watched = puppet(space, HELLO, "read", failed(0, error="ValueError"), "wait 60")
    run(watched)
    assert verdict(watched) == ("crashed", [0])
    assert watched.survivors == []


@pytest.mark.usefixtures("patient")
def test_leaving_early_ends_every_process(space: RunSpace) -> None:
    watched = supervisor(space, *STRANGE)
    watched.job = Job("stubborn", {}, watched.job.placements, [None] * 2, "t", watched.job.store, 1.0)
    with watched:
        next(event for event in watched.all_events() if isinstance(event, Report))
        assert len(space.processes()) == 3
    assert watched.survivors == []
    assert not space.processes()


def far(command: AgentCommand) -> AgentCommand:
    """The same as one of another host."""
    return replace(command, explain=lambda words, code, host, *, greeted: Trouble("agent", "", words, ()))


def test_where_one_agent_hears_that_somebody_is_there_all_do(space: RunSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them have been told how long they may hear nothing, that of this host too."""
    monkeypatch.setattr(deadlines, "BEAT_SECONDS", 0.05)
    commands = []
    for rank in range(2):
        acts = [
            HELLO,
            "read job",
            started(rank, _ended_process()),
            "read alive",
            "read alive",
            said(rank, type="finished"),
            ENDED,
        ]
        commands += puppet(space, *acts).commands
    watched = puppet(space, timeout=HUNG)
    watched.commands = [commands[0], far(replace(commands[1], host="there"))]
    placements = [Placement(rank, 2, 0, 1, rank, 2) for rank in range(2)]
    watched.job = replace(watched.job, placements=placements)
    assert run(watched) == []
    assert (watched.faults, watched.survivors) == ([], [])


def test_who_takes_the_events_may_be_away_for_long(space: RunSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a stdout that nobody reads for a while: an agent of another host still hears that somebody is there."""
    monkeypatch.setattr(deadlines, "BEAT_SECONDS", 0.05)
    heard = space.folder / "heard"
    acts = [
        HELLO,
        "read job",
        started(0, os.getpid()),
        said(0, type="hi"),
        "read alive",
        "read alive",
        f"touch {heard}",
    ]
    watched = puppet(space, *acts, said(0, type="finished"), ENDED, ranks=1)
    watched.commands = [far(watched.commands[0])]
    taken = []
    with watched:
        for event in watched.all_events():
            taken.append(event)
            if isinstance(event, Report):
                until(heard.exists, HUNG, "two heartbeats")
    assert [event.content for event in taken if isinstance(event, Report)] == [{"type": "hi"}]


@pytest.mark.usefixtures("patient")
def test_what_ranks_have_recorded_is_kept_when_a_run_goes_wrong(space: RunSpace) -> None:
    watched = supervisor(space, *STRANGE, timeout=1.0, late="sleeps")
    watched.job = replace(watched.job, name="meet")
    run(watched)
    assert verdict(watched) == ("missing", [1])
    found = {rank: read(data) for rank, data in watched.rings.items()}
    assert [entry.collective for entry in found[0].entries] == ["barrier", "allreduce"]
    assert [entry.collective for entry in found[1].entries] == ["barrier"]


def test_an_agent_that_tells_a_spoilt_ring_is_told(space: RunSpace) -> None:
    spoilt = json.dumps({"type": "recorded", "rank": 0, "data": "no ring"})
    watched = puppet(space, HELLO, "read job", spoilt, "eof")
    run(watched)
    assert "does not speak the protocol: what a rank has recorded is spoilt" in watched.faults[0].message
