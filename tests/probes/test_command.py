"""Commands that are run: whatever they write, leave behind or wait for."""

from __future__ import annotations

import os
import select
import signal
import sys
from pathlib import Path

import pytest

from probes import command
from probes.command import Answer


def test_a_command_answers() -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    assert command.run([sys.executable, "-c", script], 60) == Answer(3, "out\n", "err\n")


def test_a_command_that_a_signal_ends() -> None:
    assert command.run(["sh", "-c", "echo half; kill -SEGV $$"], 60) == Answer(-signal.SIGSEGV, "half\n", "")


def test_a_command_that_is_not_there_is_unknown() -> None:
    assert command.run(["no-such-command-anywhere"], 60) is None
    assert command.run(["/no/such/command"], 60) is None


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [("#!/no/such/interpreter\n", 0o755, 127), ("\x7fELF", 0o755, 127), ("#!/bin/sh\n", 0o644, 127)],
)
def test_a_command_that_cannot_be_started_says_so(tmp_path: Path, content: str, mode: int, code: int) -> None:
    program = tmp_path / "tool"
    program.write_text(content)
    program.chmod(mode)
    answer = command.run([str(program)], 60)
    assert answer is not None
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert str(program) in answer.stderr


def test_a_command_past_its_deadline_is_killed_with_its_children(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    child = f"(echo alive; exec tail -f /dev/null) > {pipe} & echo started; wait"
    assert command.run(["sh", "-c", child], 1.0) == Answer(None, "started\n", "")
    # The pipe ends when its last writer, the child, is gone.
    received = b""
    while select.select([reader], [], [], 30)[0] and (data := os.read(reader, 100)):
        received += data
    os.close(reader)
    assert received == b"alive\n"
    assert data == b""


def test_a_command_that_closes_its_streams_still_has_a_deadline() -> None:
    assert command.run(["sh", "-c", "exec >&- 2>&-; kill -STOP $$"], 0.5) == Answer(None, "", "")


@pytest.mark.parametrize("pidfd", [True, False])
def test_what_a_command_leaves_running_does_not_hold_it_up(monkeypatch: pytest.MonkeyPatch, pidfd: bool) -> None:
    """Its child has the streams, and will have them for longer than anybody waits."""
    if not pidfd:  # then it is only seen at the deadline that the command has ended
        monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.setattr("probes.command._REST_SECONDS", 0.05)
    answer = command.run(["sh", "-c", "tail -f /dev/null & echo $!"], 600.0 if pidfd else 0.5)
    assert answer is not None
    os.kill(int(answer.stdout), signal.SIGKILL)
    assert (answer.exit_code, answer.stderr) == (0, "")


@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
def test_a_command_that_cannot_be_killed_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that waits in its driver."""
    spared = []
    monkeypatch.setattr("probes.command._DEATH_SECONDS", 0.01)
    monkeypatch.setattr(os, "killpg", lambda group, number: spared.append(group))
    assert command.run(["sh", "-c", "echo half; exec tail -f /dev/null"], 0.5) == Answer(None, "half\n", "")
    monkeypatch.undo()
    (group,) = spared
    os.killpg(group, signal.SIGKILL)


def test_of_a_command_that_runs_wild_the_beginning_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probes.command._MOST", 100_000)
    script = "import sys; [sys.stdout.write('0123456789' * 1000) for _ in range(1000)]; print('x', file=sys.stderr)"
    assert command.run([sys.executable, "-c", script], 60) == Answer(0, "0123456789" * 10_000, "x\n", cut=True)
