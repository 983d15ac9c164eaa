"""What the kernel knows of the hosts of others, and the cut that shows it; each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("what", "addresses"), [("cut", "127.0.0.2"), ("unread", "")])
def test_who_is_cut_off_does_not_answer_and_who_only_does_not_read_does(what: str, addresses: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.suites.launch.cut_process", what],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == addresses
