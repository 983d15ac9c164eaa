"""Four packages, one direction: who may import whom, and where third parties are allowed at all.

The rules are the literal tables below. The checker reads imports from the syntax tree, wherever they stand in a file,
so an import inside a function counts as much as one at the top.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("collectives", "opsdist_cli", "probes", "suites")

FORBIDDEN = {
    "collectives": {"probes", "suites", "opsdist_cli"},
    "probes": {"collectives", "suites", "opsdist_cli"},
    "suites": {"opsdist_cli"},
    "opsdist_cli": set[str](),
}
"""package -> the packages that it may not import."""

ONLY_IN = {
    "click": ("opsdist_cli/",),
    "rich": ("opsdist_cli/",),
    "psutil": ("probes/",),
    "zmq": ("collectives/transport/zmq.py", "collectives/rendezvous.py", "collectives/curve.py"),
    "torch": ("collectives/backends/torch/__init__.py", "collectives/backends/torch/agentstore.py"),
    "mpi4py": ("collectives/backends/mpi/__init__.py", "collectives/backends/mpi/broadcast.py"),
}
"""third party -> the folders and files that may import it."""

WHEN_USED = {"torch", "mpi4py"}
"""Imported inside functions only: they are optional, slow, and must not be loaded before ranks are forked."""

VAGUE = {"utils", "common", "helpers"}


def imports(path: str, source: str) -> Iterator[tuple[str, bool]]:
    """(module, whether inside a function) of every import in the file at `path`."""
    package = path.removesuffix(".py").split("/")[:-1]

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[str, bool]]:
        if isinstance(node, ast.Import):
            yield from ((name.name, inside) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module, inside
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    return walk(ast.parse(source), False)


def violations(path: str, source: str) -> list[str]:
    """What the file at `path`, relative to the root, may not do and does."""
    home = path.split("/")[0]
    found = [
        f"{path}: no part of a path is called {part}" for part in path.removesuffix(".py").split("/") if part in VAGUE
    ]
    for module, inside in imports(path, source):
        top = module.split(".")[0]
        if top in FORBIDDEN[home]:
            found.append(f"{path}: {home} may not import {module}")
        if top in ONLY_IN and not path.startswith(ONLY_IN[top]):
            found.append(f"{path}: {top} is for {', '.join(ONLY_IN[top])} only")
        if top in WHEN_USED and not inside:
            found.append(f"{path}: {top} is imported inside functions only")
    return found


def sources() -> list[str]:
    return [str(path.relative_to(ROOT)) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("path", sources())
def test_every_file_keeps_to_its_layer(path: str) -> None:
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


def test_all_packages_are_found() -> None:
    assert {path.split("/")[0] for path in sources()} == set(PACKAGES)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("collectives/x.py", "import probes.cpu"),
        ("collectives/x.py", "from suites.report import Status"),
        ("collectives/x.py", "def f():\n    from opsdist_cli import main"),
        ("collectives/a/x.py", "from ...probes import cpu"),
        ("probes/x.py", "from collectives import ops"),
        ("probes/x.py", "if TYPE_CHECKING:\n    import suites"),
        ("suites/x.py", "import os, opsdist_cli.units"),
        ("suites/x.py", "import click"),
        ("probes/x.py", "from rich.table import Table"),
        ("suites/x.py", "import psutil"),
        ("collectives/transport/base.py", "import zmq"),
        ("collectives/execute.py", "def f():\n    import torch"),
        ("collectives/backends/mpi/__init__.py", "from mpi4py import MPI"),
        ("collectives/backends/torch/__init__.py", "class A:\n    import torch.distributed"),
        ("probes/utils.py", ""),
        ("suites/common/x.py", ""),
        ("opsdist_cli/helpers.py", ""),
    ],
)
def test_the_checker_sees(path: str, source: str) -> None:
    assert len(violations(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("suites/x.py", "import collectives.ops\nfrom probes import cpu"),
        ("opsdist_cli/x.py", "import click\nfrom suites.report import Report"),
        ("probes/x.py", "import psutil"),
        ("collectives/transport/zmq.py", "import zmq"),
        ("collectives/backends/torch/__init__.py", "def f():\n    import torch"),
        ("collectives/a/x.py", "from ..ops import COLLECTIVES\nfrom . import y"),
    ],
)
def test_the_checker_allows(path: str, source: str) -> None:
    assert violations(path, source) == []
