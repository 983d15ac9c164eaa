"""What goes wrong in a real `opsdist perf`: each with its exit, its words, its record, and nothing left behind.

Faults are injected or done from outside, by signal. Nothing here waits a fixed time: conditions are polled, and only
the bounds that users are promised are asserted.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opsdist_cli.output.sink import sinks
from opsdist_cli.screen import Screen
from tests.leftovers import RunSpace
from tests.perf_process import ENDLESS, OPSDIST, PATIENCE, SMALL, perf
from tests.schema import validate

PROMISED = 5.0
"""Seconds within which every process is gone when the controller was killed."""

INJECTED = {
    ("raise", "rendezvous"): ("crashed", "rendezvous"),
    ("raise", "first"): ("crashed", "case 0"),
    ("raise", "middle"): ("crashed", "case 0"),
    ("exit0", "rendezvous"): ("missing", "rendezvous"),
    ("exit0", "first"): ("missing", "case 0"),
    ("exit0", "middle"): ("missing", "case 0"),
    ("kill", "rendezvous"): ("crashed", "rendezvous"),
    ("kill", "first"): ("crashed", "case 0"),
    ("kill", "middle"): ("crashed", "case 0"),
    ("stop", "rendezvous"): ("missing", "rendezvous"),
    ("stop", "first"): ("stuck", "case 0"),
    ("stop", "middle"): ("stuck", "case 0"),
    ("sleep", "rendezvous"): ("missing", "rendezvous"),
    ("sleep", "first"): ("missing", "case 0"),
    ("sleep", "middle"): ("missing", "case 0"),
}
"""(fault, point) -> (class of the verdict, the phase its message names)."""


MANY_ROWS = ("allreduce", "--size", "8:1K:+8", "--loop", "1", "--cache", "warm", "--timeout", "1s")
"""128 rows: more than a narrow pipe holds."""


NARROW = 4096
"""Bytes: room for the header and some rows."""


def _narrow_pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, NARROW)
    return read_end, write_end


class _Rests:
    """Whether a figure has not changed for a while."""

    def __init__(self, figure: Callable[[], int], seconds: float = 0.3) -> None:
        self._figure, self._seconds = figure, seconds
        self._seen, self._since = figure(), time.monotonic()

    def __call__(self) -> bool:
        now, figure = time.monotonic(), self._figure()
        if figure != self._seen:
            self._seen, self._since = figure, now
        return now - self._since > self._seconds


def _unread(read_end: int) -> int:
    """Bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(read_end, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize(("fault", "at"), INJECTED)
def test_a_lost_rank_is_named_and_only_that_one(space: RunSpace, fault: str, at: str) -> None:
    wanted, phase = INJECTED[fault, at]
    deadline = ("--timeout", "2s") if fault in ("stop", "sleep") else ()
    with perf(space, *SMALL, "-n", "3", *deadline, "--inject", f"{fault}:rank=1,at={at}") as run:
        assert run.code() == 3, run.stderr
    validate(run.record)
    verdict = run.record["verdict"]
    assert (verdict["class"], run.culprits(), verdict["suspects"]) == (wanted, [1], [])
    assert "rank 1 " in verdict["explanation"]
    assert phase in verdict["explanation"]
    assert set(verdict["waiting"]) <= {0, 2}
    assert f"opsdist: error: {verdict['explanation']}" in run.stderr
    assert run.record["status"] == "error"


@pytest.mark.parametrize("sync", ["each", "none"])
@pytest.mark.parametrize("at", ["first", "middle"])
def test_wrong_data_is_named_to_the_element(space: RunSpace, at: str, sync: str) -> None:
    with perf(space, *SMALL, "-n", "2", "--sync", sync, "--inject", f"corrupt:rank=1,at={at}") as run:
        assert run.code() == 1, run.stderr
    validate(run.record)
    [finding] = [finding for finding in run.record["findings"] if finding["status"] == "fail"]
    assert finding["subject"]["rank"] == 1
    evidence = finding["evidence"]
    assert evidence["expected"] != evidence["got"]
    for word in ("rank 1", f"index {evidence['index']}", str(evidence["expected"]), str(evidence["got"]), "sometimes"):
        assert word in finding["message"]
    assert run.record["results"][0]["out_of_place"]["nwrong"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--inject", "corrupt:rank=1,at=rendezvous"),
        ("--inject", "kill:rank=7"),
        ("--inject", "kill:rank=1,at=4"),
        ("--inject", "corrupt:rank=1", "--no-check"),
        ("--inject", "kil:rank=1"),
    ],
)
def test_a_fault_that_would_never_strike_is_refused(space: RunSpace, arguments: tuple[str, ...]) -> None:
    with perf(space, *SMALL, "-n", "2", "-v", *arguments) as run:
        assert run.code() == 2
    assert "--inject" in run.stderr
    assert not run.json_path.exists()


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
    assert (run.record["verdict"]["class"], run.culprits()) == ("stuck", [1])
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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_keeps_what_was_measured(space: RunSpace, number: signal.Signals, code: int) -> None:
    with perf(space, *ENDLESS, "-n", "2", "-v") as run:
        run.until_row(4096)
        run.process.send_signal(number)
        assert run.code() == code
    validate(run.record)
    assert run.record["exit_code"] == code
    assert run.record["results"][0]["out_of_place"]["iterations"] > 0
    assert "stopping" in run.stderr


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


def test_signals_end_a_run_whose_output_nobody_reads(space: RunSpace) -> None:
    """The first stops the ranks, keeps the record, and then waits to tell it; the second does not wait."""
    read_end, write_end = _narrow_pipe()
    rows = (*MANY_ROWS[:2], f"{MANY_ROWS[2]},64M", "--loop", "40", *ENDLESS[5:])
    with perf(space, *rows, "-n", "2", stdout=write_end) as run:
        os.close(write_end)
        rests = _Rests(lambda: _unread(read_end))
        run.until(lambda: rests() and _unread(read_end) > NARROW // 2, "a full pipe")
        assert len(space.processes()) >= 4, "the ranks had ended already"
        run.process.send_signal(signal.SIGINT)
        run.until(run.json_path.exists, "the record")
        assert set(space.processes()) == {run.process.pid}
        run.process.send_signal(signal.SIGINT)
        assert run.code(PROMISED) == 130
        os.close(read_end)
    assert run.record["exit_code"] == 130


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


@pytest.mark.parametrize("shown", ["the first line", "nothing"])
def test_a_reader_who_leaves_early_does_not_change_the_verdict(space: RunSpace, shown: str) -> None:
    with perf(space, *SMALL, "-n", "2", stdout=subprocess.PIPE) as run:
        assert run.process.stdout
        if shown == "the first line":
            assert run.process.stdout.readline()
        run.process.stdout.close()
        assert run.code() == 0, run.stderr
    assert run.record["exit_code"] == 0


def _close_stdout() -> None:
    os.close(1)


def _close_all() -> None:
    for descriptor in (0, 1, 2):
        os.close(descriptor)


@pytest.mark.parametrize("close", [_close_stdout, _close_all])
def test_closed_descriptors_do_not_change_the_verdict(space: RunSpace, close: Callable[[], None]) -> None:
    """As after `>&-`: no pipe between controller and agent may take their place."""
    with perf(space, *SMALL, "-n", "2", preexec_fn=close) as run:
        assert run.code() == 0, run.stderr
    assert run.record["results"][0]["out_of_place"]


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("perf", "--help"), ("suite",)])
def test_help_to_a_reader_who_left_is_no_failure(space: RunSpace, arguments: tuple[str, ...]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        ended = subprocess.run(
            [*OPSDIST, *arguments],
            stdout=write_end,
            stderr=subprocess.PIPE,
            env=space.environment(),
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(write_end)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_ranks_finish_although_nobody_reads(space: RunSpace) -> None:
    """stdout is soon full; the rest waits in the controller, in the agent, and for whoever reads at last."""
    read_end, write_end = _narrow_pipe()
    with perf(space, *MANY_ROWS, "-n", "2", stdout=write_end) as run:
        os.close(write_end)
        run.until(lambda: len(space.processes()) >= 4, "controller, agent and two ranks")
        run.until(lambda: len(space.processes()) <= 2, "the end of the ranks")
        with open(read_end, encoding="utf-8") as reader:
            lines = reader.read().splitlines()
        assert run.code() == 0, run.stderr
    assert sum(" float32 " in line for line in lines) == 128
    assert lines[-1].startswith("# passed: 128 of 128 cases")


@pytest.mark.parametrize("path", ["missing/run.json", "folder", "file/run.json", "/proc/run.json"])
def test_an_unwritable_record_is_found_before_any_rank_starts(space: RunSpace, path: str) -> None:
    (space.folder / "file").touch()
    (space.folder / "folder").mkdir()
    with perf(space, *SMALL, "-n", "2", "-v", "--json", str(space.folder / path)) as run:
        assert run.code() == 2
    assert path in run.stderr
    assert "ranks started" not in run.stderr
    assert run.stdout == ""


def test_what_ranks_print_is_shown_with_where_it_comes_from(space: RunSpace) -> None:
    """The interpreter itself prints in every process, since it is told to report its imports."""
    with perf(space, *SMALL, "-n", "2", variables={"PYTHONPROFILEIMPORTTIME": "1"}) as run:
        assert run.code() == 0
    host = run.record["world"]["nodes"][0]["name"]
    for who in ("agent", "0", "1"):
        assert f"\n[{host} {who}] import time:" in run.stderr
    assert "import time" not in run.stdout


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


def test_an_interrupted_write_of_the_record_leaves_no_staging_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(staging: Path, target: Path) -> None:
        raise KeyboardInterrupt

    out = sinks(Screen(), json=str(tmp_path / "run.json"))
    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        out.write({"kind": "perf"})
    assert not list(tmp_path.iterdir())
