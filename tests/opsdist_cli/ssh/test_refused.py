"""What is refused before any host is asked, and what a dry run shows."""

from __future__ import annotations

import re

import pytest

from tests.leftovers import RunSpace
from tests.perf_process import SMALL, perf


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--hosts", "node1", "--hostfile", "f"), "exclude each other"),
        (("--hostfile", "/no/such/file"), "/no/such/file"),
        (("--hosts", "node[1-2", "--per-host", "1"), "node[1-2"),
        (("--launcher", "ssh"), "no hosts"),
        (("--launcher", "local", "--hosts", "node1"), "not this host: node1"),
        (("--hosts", "node1", "--interface", "10.0.0.0/99"), "--interface"),
        (("--hosts", "node1", "--ssh", "ssh 'x"), "No closing quotation"),
        (("--hosts", "node1", "--ssh", "/no/such/ssh"), "there is no such program here"),
        (("--hosts", "node1", "--ssh", " "), "there is no such program here"),
        (("--hosts", "node1", "--env", "NO_SUCH_NAME_HERE"), "not set here"),
    ],
)
def test_refused(space: RunSpace, arguments: tuple[str, ...], wanted: str) -> None:
    with perf(space, *SMALL, *arguments) as ended:
        assert ended.code() == 2
    assert wanted in ended.stderr


def test_a_dry_run_shows_ranks_and_commands_and_starts_nothing(space: RunSpace) -> None:
    with perf(space, *SMALL, "--hosts", "a:2,b:1,u@c:2", "--dry-run", "--ssh", "ssh -F my_config") as ended:
        assert ended.code() == 0
    assert re.findall(r"^\w+  ranks? [\d-]+$", ended.stdout, re.MULTILINE) == [
        "a  ranks 0-1",
        "b  rank 2",
        "c  ranks 3-4",
    ]
    assert re.search(
        r"^# c: ssh -F my_config .*BatchMode=yes.* -- u@c 'exec .*suites.launch.far'$", ended.stdout, re.MULTILINE
    )
