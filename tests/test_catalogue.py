"""Whatever has a row in a table is described: in the table, in its file, in the README, and by a test of its own."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from collectives.algorithms import ALGORITHMS, Algorithm
from collectives.backends import BACKENDS, backend_named
from collectives.dtypes import DTYPES, OPERATORS
from collectives.ops import COLLECTIVES, Collective
from opsdist_cli.main import COMMANDS
from opsdist_cli.output import FORMATS
from opsdist_cli.output.adapters import ADAPTERS
from opsdist_cli.params import Operation
from suites.catalogue import SUITES
from suites.hostinfo import SECTIONS, VIEWS

ROOT = Path(__file__).parent.parent
ROWS = [row for rows in ALGORITHMS.values() for row in rows.values()]

IN_THE_README = sorted(
    {
        *BACKENDS,
        *COLLECTIVES,
        *(row.name for row in ROWS),
        *BACKENDS,
        *DTYPES,
        *OPERATORS,
        *(f"opsdist {name}" for name in COMMANDS),
        *FORMATS,
        *ADAPTERS,
        *(f"suite {name}" for name in SUITES),
        *SECTIONS,
        *VIEWS,
    }
)
"""What README.md must name. A new table's names go here."""


def is_a_summary(text: str) -> bool:
    """A few words on one line, that fit beside a name."""
    return bool(text) and len(text) <= 80 and "\n" not in text and not text.endswith(".")


@pytest.mark.parametrize("name", IN_THE_README)
def test_the_readme_names(name: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text), f"README.md does not mention {name}"


@pytest.mark.parametrize("row", COLLECTIVES.values(), ids=lambda row: row.name)
def test_collectives(row: Collective) -> None:
    assert is_a_summary(row.summary)
    assert ALGORITHMS[row.name]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.collective}-{row.name}")
def test_algorithms(row: Algorithm) -> None:
    """The docstring of the file has the idea, a drawing, and what it costs."""
    assert is_a_summary(row.summary)
    document = inspect.getdoc(inspect.getmodule(row.plan)) or ""
    idea = document.split("\n\n")[0]
    assert idea.endswith((".", ":"))
    assert re.search(r"^    .*(->|<-)", document, re.MULTILINE), (
        "no drawing: an indented block that shows who sends to whom"
    )
    assert re.search(r"^Steps [^\n]+\n?[^\n]*\bbytes\b", document, re.MULTILINE), "no line 'Steps ..., bytes ...'"
    assert "May import:" in document


@pytest.mark.parametrize("name", BACKENDS)
def test_backends(name: str) -> None:
    backend = backend_named(name)
    assert backend.name == name
    assert is_a_summary(backend.summary)


def test_types_and_operators_say_how_they_are_folded() -> None:
    import collectives.dtypes

    document = inspect.getdoc(collectives.dtypes) or ""
    narrow = [name for name, dtype in DTYPES.items() if dtype.itemsize == 2]
    assert all(name in document for name in [*narrow, "avg"])
    assert all(name.islower() and name.isalnum() for name in [*DTYPES, *OPERATORS])


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str) -> None:
    module, summary = COMMANDS[name]
    assert is_a_summary(summary)
    assert module == f"opsdist_cli.commands.{name}"
    command = getattr(import_module(module), name)
    assert isinstance(command, click.Command)
    assert "Examples:" in (command.help or "")
    assert (ROOT / "tests" / "opsdist_cli" / f"test_{name}.py").exists()


def test_the_command_line_knows_all_collectives() -> None:
    assert Operation().words == tuple(COLLECTIVES)


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str) -> None:
    module, function = FORMATS[name].split(":")
    assert (import_module(module).__doc__ or "").strip()
    assert list(inspect.signature(getattr(import_module(module), function)).parameters) == ["record"]
