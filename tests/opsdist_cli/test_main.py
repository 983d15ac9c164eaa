"""The root command: help, versions, global flags, and errors that become words and exit codes in one place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from collectives.errors import CollectiveError, PlanError, RendezvousError
from collectives.errors import UsageError as CollectiveUsageError
from opsdist_cli.interrupts import Terminated
from opsdist_cli.main import COMMANDS, run
from opsdist_cli.params import shared_options
from opsdist_cli.screen import Screen
from probes.errors import ProbeError
from suites.errors import SuiteError, UsageError

ROOT = Path(__file__).parents[2]
BROKEN = """\
from opsdist_cli import main
main.opsdist.invoke = lambda context: exec("raise KeyboardInterrupt")
main.main(["info"])
"""

Capture = pytest.CaptureFixture[str]


def hinted(error: Exception) -> Exception:
    error.add_note("look there")
    return error


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """A command `fails` that raises what the test puts here."""
    errors: list[BaseException] = []

    @click.command("fails")
    @shared_options
    @click.pass_obj
    def command(screen: Screen) -> int:
        """Examples: none."""
        if errors:
            raise errors[0]
        screen.note(f"verbosity {screen.verbosity}, debug {screen.debug}, color {screen.color}", level=-1)
        return 0

    monkeypatch.setitem(COMMANDS, "fails", ("told", "for tests"))
    monkeypatch.setattr("opsdist_cli.main.import_module", lambda name: type("module", (), {"fails": command}))
    return errors


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (UsageError("bad root"), 2, "opsdist: bad root"),
        (CollectiveUsageError("bad count"), 2, "opsdist: bad count"),
        (click.UsageError("no such flag"), 2, "opsdist fails: no such flag\nTry 'opsdist fails --help'."),
        (click.BadParameter("not a size"), 2, "not a size"),
        (SuiteError("no verdict"), 3, "opsdist: no verdict"),
        (RendezvousError("nobody came"), 3, "opsdist: nobody came"),
        (CollectiveError("broken"), 3, "opsdist: broken"),
        (PlanError("bad plan"), 3, "opsdist: bad plan"),
        (ProbeError("unreadable"), 3, "opsdist: unreadable"),
        (OSError(28, "No space left on device"), 3, "opsdist: [Errno 28] No space left on device"),
        (hinted(SuiteError("broken")), 3, "opsdist: broken\n  look there"),
        (KeyError("oops"), 3, "opsdist: internal error (KeyError): 'oops'\n  --debug shows the traceback"),
        (KeyboardInterrupt(), 130, "opsdist: ended by Ctrl-C"),
        (click.Abort(), 130, "opsdist: ended by Ctrl-C"),
        (Terminated(), 143, "opsdist: ended by SIGTERM"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_errors_become_words_and_a_code(
    fails: list[BaseException], capsys: Capture, error: BaseException, code: int, words: str
) -> None:
    fails.append(error)
    assert run(["fails"]) == code
    told = capsys.readouterr()
    assert (told.out, words in told.err, "Traceback" in told.err) == ("", True, False)


@pytest.mark.parametrize("arguments", [["--debug", "fails"], ["fails", "--debug"]])
def test_debug_shows_the_traceback(fails: list[BaseException], capsys: Capture, arguments: list[str]) -> None:
    fails.append(KeyError("oops"))
    assert run(arguments) == 3
    told = capsys.readouterr().err
    assert "Traceback (most recent call last)" in told
    assert "raise errors[0]" in told
    assert "--debug shows" not in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fails"], "verbosity 0, debug False, color None"),
        (["-v", "fails"], "verbosity 1, debug False, color None"),
        (["fails", "-v"], "verbosity 1, debug False, color None"),
        (["fails", "-vv"], "verbosity 2, debug False, color None"),
        (["-vv", "fails"], "verbosity 2, debug False, color None"),
        (["-q", "fails"], "verbosity -1, debug False, color None"),
        (["fails", "-q"], "verbosity -1, debug False, color None"),
        (["--no-color", "fails", "--debug"], "verbosity 0, debug True, color False"),
        (["--debug", "fails", "--no-color"], "verbosity 0, debug True, color False"),
    ],
)
def test_global_flags_stand_before_or_after_the_command(
    fails: list[BaseException], capsys: Capture, arguments: list[str], told: str
) -> None:
    assert run(arguments) == 0
    assert capsys.readouterr().err == told + "\n"


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", [*COMMANDS, None])
def test_help_everywhere(capsys: Capture, command: str | None, flag: str) -> None:
    assert run([command, flag] if command else [flag]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.startswith(f"Usage: opsdist {command or '[OPTIONS]'}")
    assert "Examples:" in told.out
    assert all(len(line) <= 120 for line in told.out.splitlines())


def test_help_lists_every_command_with_its_summary(capsys: Capture) -> None:
    run(["--help"])
    told = capsys.readouterr().out
    for name, (_, summary) in COMMANDS.items():
        assert any(line.split() == [name, *summary.split()] for line in told.splitlines())


def test_help_wins_over_what_else_is_wrong(capsys: Capture) -> None:
    assert run(["perf", "allreduce", "-h"]) == 0
    assert "--size" in capsys.readouterr().out


def test_version(capsys: Capture) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"opsdist {version('opsdist')}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pref"], "No such command 'pref'. Did you mean 'perf'?"),
        (["suit", "smoke"], "Did you mean 'suite'?"),
        (["zzz"], f"Commands: {', '.join(COMMANDS)}."),
        (["--nope"], "No such option"),
        (["perf", "allreduce", "--siz", "8"], "--size"),
        (["perf"], "Missing argument 'OP'"),
    ],
)
def test_near_misses_suggest_the_right_word(capsys: Capture, arguments: list[str], words: str) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert (told.out, words in told.err) == ("", True)
    assert "Try 'opsdist" in told.err


def test_without_a_command_help_is_shown_and_nothing_was_done(capsys: Capture) -> None:
    assert run([]) == 2
    assert "Usage: opsdist" in capsys.readouterr().err


def test_the_code_is_ours_when_ctrl_c_has_broken_what_makes_a_class(tmp_path: Path) -> None:
    """Python notes that text which it executed was interrupted, and `python -m` then ends by SIGINT."""
    (tmp_path / "broken.py").write_text(BROKEN)
    done = subprocess.run(
        [sys.executable, "-m", "broken"], check=False, cwd=tmp_path, timeout=60, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    assert done.returncode == 130, done.stderr


def test_a_signal_that_breaks_an_import_is_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As numpy's does, which says that it could not be imported."""

    def broken(*_: object) -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except BaseException as error:
            raise ImportError("failed to import") from error

    monkeypatch.setattr("opsdist_cli.main.opsdist.invoke", broken)
    assert run(["info"]) == 143
