"""Fixtures that more than one package's tests use."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.leftovers import RunSpace, run_space
from tests.tree_host import TreeHost

ANY_ENGINE = (
    "tests/probes/", "tests/suites/checks/", "tests/suites/test_spoiled.py", "tests/suites/test_readiness.py",
    "tests/opsdist_cli/output/", "tests/opsdist_cli/test_checks.py", "tests/opsdist_cli/test_topo.py",
    "tests/opsdist_cli/test_monitor.py", "tests/opsdist_cli/test_diagnose.py", "tests/suites/diagnose/",
    "tests/test_samples.py",
)  # fmt: skip
"""What has nothing to do with the engine that moves data."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(ANY_ENGINE):
            item.add_marker(pytest.mark.any_engine)


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """An empty host in a folder of its own."""
    root = tmp_path / "host"
    root.mkdir()
    return TreeHost(root)


@pytest.fixture
def space(tmp_path: Path) -> Iterator[RunSpace]:
    """A folder and an environment for runs; the test fails when they leave a process or a file behind."""
    with run_space(tmp_path) as space:
        yield space


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What runs keep of themselves goes to a folder of the tests, not to the user's."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell that runs the tests in its background has them, and what they start, ignore Ctrl-C: not here."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# How long an example takes depends on what else the machine does; what it asserts does not.
settings.register_profile("opsdist", deadline=None)
settings.load_profile("opsdist")
