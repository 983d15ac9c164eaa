"""Where words go, and when they are coloured."""

from __future__ import annotations

import io
from typing import TextIO, cast

import pytest

from opsdist_cli.screen import Screen


class Stream(io.StringIO):
    """A terminal, or a file."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("variables", "asked", "on_terminal", "in_file"),
    [
        ({}, None, True, False),
        ({"NO_COLOR": "1"}, None, False, False),
        ({"NO_COLOR": ""}, None, True, False),  # no-color.org: when present and not empty
        ({"TERM": "dumb"}, None, False, False),
        ({"FORCE_COLOR": "1"}, None, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, None, False, False),
        ({}, False, False, False),
        ({"FORCE_COLOR": "1"}, False, False, False),
    ],
)
def test_colour(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], asked: bool | None, on_terminal: bool, in_file: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    screen = Screen(color=asked)
    assert screen.colored(cast(TextIO, Stream(terminal=True))) is on_terminal
    assert screen.colored(cast(TextIO, Stream(terminal=False))) is in_file


@pytest.mark.parametrize(("verbosity", "heard"), [(-1, "error"), (0, "error remark"), (1, "error remark more")])
def test_remarks_go_to_stderr_by_verbosity(capsys: pytest.CaptureFixture[str], verbosity: int, heard: str) -> None:
    screen = Screen(verbosity=verbosity)
    for level, word in ((-1, "error"), (0, "remark"), (1, "more")):
        screen.note(word, level=level)
    screen.result("result")
    told = capsys.readouterr()
    assert (told.out, told.err.split()) == ("result\n", heard.split())


def test_a_machine_format_has_stdout_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(reserved=True)
    screen.result("for people")
    screen.machine("{}\n")
    assert capsys.readouterr().out == "{}\n"
