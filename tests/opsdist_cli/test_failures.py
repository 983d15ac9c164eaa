"""Processes of a real `opsdist perf` killed, stopped and interrupted from outside: each with its exit, its words, its
record, and nothing left behind.

Nothing here waits a fixed time: conditions are polled, and only the bounds that users are promised are asserted.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.leftovers import RunSpace
from tests.perf_process import ENDLESS, OPSDIST, PATIENCE, PROMISED, SMALL, perf
from tests.schema import validate


@pytest.fixture
def terminal() -> Iterator[None]:
    """Its end counts, even where these tests were started with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_a_rank_killed_in_the_middle_of_a_transfer(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2", "-v") as run:
        run.until_row(4096)
        os.kill(run.ranks()[1], signal.SIGKILL)
        assert run.code() == 3
    assert (run.record["verdict"]["class"], run.culprits()) == ("crashed", [1])
    assert "SIGKILL" in run.record["verdict"]["explanation"]
    assert run.record["results"][0]["out_of_place"]["iterations"] > 0
    validate(run.record)


def test_a_rank_stopped_in_the_middle_of_a_transfer(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2", "-v", "--timeout", "2s") as run:
        run.until_row(4096)
        os.kill(run.ranks()[1], signal.SIGSTOP)
        assert run.code() == 3
    # Wherever it was: in a call, or between two of them.
    assert run.record["verdict"]["class"] in ("stuck", "missing")
    assert run.culprits() == [1]
    assert "stopped" in run.record["verdict"]["explanation"]


def test_the_agent_killed_names_the_host_and_keeps_what_was_measured(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2", "-v") as run:
        run.until_row(4096)
        os.kill(run.agent(), signal.SIGKILL)
        assert run.code() == 3
    validate(run.record)
    verdict = run.record["verdict"]
    assert (verdict["class"], [culprit["kind"] for culprit in verdict["culprits"]]) == ("crashed", ["host"])
    assert "agent" in verdict["explanation"]
    assert "SIGKILL" in verdict["explanation"]
    assert run.record["results"][0]["out_of_place"]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_an_interrupted_run_keeps_what_was_measured(space: RunSpace, number: signal.Signals, code: int) -> None:
    with perf(space, *ENDLESS, "-n", "2", "-v") as run:
        run.until_row(4096)
        run.process.send_signal(number)
        assert run.code() == code
    validate(run.record)
    assert run.record["exit_code"] == code
    assert run.record["results"][0]["out_of_place"]["iterations"] > 0
    assert "stopping" in run.stderr


@pytest.mark.usefixtures("terminal")
def test_a_run_whose_terminal_is_gone_keeps_what_was_measured(space: RunSpace) -> None:
    """As when the connection to a login node breaks: everything that is printed then fails."""
    master, slave = pty.openpty()
    record = space.folder / "run.json"
    command = [*OPSDIST, "perf", *ENDLESS, "-n", "2", "--json", str(record)]
    process = subprocess.Popen(
        ["setsid", "--ctty", *command], env=space.environment(TERM="xterm"), stdin=slave, stdout=slave,
        stderr=slave,
    )  # fmt: skip
    os.close(slave)
    said = b""
    while b"67108864 B, iteration" not in said:  # the case before it is complete
        said += os.read(master, 1 << 16)
    os.close(master)
    assert process.wait(PATIENCE) == 143
    found = json.loads(record.read_text())
    assert found["exit_code"] == 143
    assert found["results"][0]["out_of_place"]["iterations"] > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once(space: RunSpace, number: signal.Signals) -> None:
    with perf(space, *ENDLESS, "-n", "2", "-v") as run:
        run.until_row(4096)
        # An agent that does not react: the first signal alone would wait for it.
        os.kill(run.agent(), signal.SIGSTOP)
        run.process.send_signal(number)
        run.until(lambda: "stopping" in run.stderr, "the word that the signal was seen")
        run.process.send_signal(number)
        assert run.code(PROMISED) == 128 + number


@pytest.mark.parametrize("when", ["as the ranks start", "in a transfer"])
def test_no_process_outlives_a_killed_controller(space: RunSpace, when: str) -> None:
    with perf(space, *ENDLESS, "-n", "3", "-v") as run:
        if when == "in a transfer":
            run.until_row(4096)
        else:
            run.until(lambda: len(space.processes()) > 2, "the first ranks")
        run.process.kill()
        run.process.wait()
        space.gone(within=PROMISED)


def test_a_crashed_run_does_not_hinder_the_next(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2", "-v", name="crashed") as run:
        run.until_row(4096)
        victims = [run.process.pid, run.agent(), *run.ranks().values()]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        run.process.wait()
    with perf(space, *SMALL, "-n", "2", name="next") as again:
        assert again.code() == 0, again.stderr
    space.gone(within=PROMISED)


def test_runs_at_the_same_time_do_not_disturb_each_other(space: RunSpace) -> None:
    with perf(space, *SMALL, "-n", "2", name="one") as one, perf(space, *SMALL, "-n", "3", name="two") as two:
        assert (one.code(), two.code()) == (0, 0), one.stderr + two.stderr
    assert (one.record["world"]["size"], two.record["world"]["size"]) == (2, 3)
