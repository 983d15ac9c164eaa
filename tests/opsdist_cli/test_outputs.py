"""Outputs that are closed, full, unread or unwritable, of a real `opsdist perf`: none changes what was measured, and
what cannot work is found before any rank starts."""

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

from opsdist_cli import main
from opsdist_cli.output.sink import sinks
from opsdist_cli.screen import Screen
from suites.launch.supervise import Supervisor
from tests.leftovers import RunSpace
from tests.perf_process import ENDLESS, OPSDIST, PATIENCE, PROMISED, SMALL, perf

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
def test_an_unwritable_record_is_found_before_any_rank_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(Supervisor, "__enter__", None)
    assert main.run(["perf", *SMALL, "-n", "2", "--json", str(tmp_path / path)]) == 2
    told = capsys.readouterr()
    assert path in told.err
    assert told.out == ""


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


def test_what_ranks_print_is_shown_with_where_it_comes_from(space: RunSpace) -> None:
    """The interpreter itself prints in every process, since it is told to report its imports."""
    with perf(space, *SMALL, "-n", "2", variables={"PYTHONPROFILEIMPORTTIME": "1"}) as run:
        assert run.code() == 0
    host = run.record["world"]["nodes"][0]["name"]
    for who in ("agent", "0", "1"):
        assert f"\n[{host} {who}] import time:" in run.stderr
    assert "import time" not in run.stdout


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
