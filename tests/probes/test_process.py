"""The state of a process."""

from __future__ import annotations

import os

import pytest

from probes import process
from probes.host import LocalHost
from tests.tree_host import TreeHost


@pytest.mark.parametrize(
    ("stat", "state"),
    [
        ("7 (python) T 1 7 7", "T (stopped)"),
        ("7 (a) S (b) R c) S 1 7 7", "S (sleeping)"),
        ("7 (two\nlines ) Z 1", "Z (zombie)"),
        ("7 (x) t 1", "t (stopped by a debugger)"),
        ("7 (x) X 1", "X (dead)"),
        ("7 (x) I 1", "I (idle)"),
        ("7 (x) Q 1", "Q (unknown state)"),
        ("7 (x)", None),
        ("7 x S 1", None),
    ],
)
def test_parse_state(stat: str, state: str | None) -> None:
    assert process.parse_state(stat) == state


def test_state(tree: TreeHost) -> None:
    tree.write({"/proc/42/stat": "42 (sleep) D 1 42"})
    assert process.state(tree, 42) == "D (waiting in the kernel, cannot be interrupted)"
    assert process.state(tree, 43) is None
    assert process.state(LocalHost(), os.getpid()) == "R (running)"


def test_cpu_seconds_are_those_of_user_and_kernel_mode(tree: TreeHost) -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    times = " ".join(str(tick) for tick in (3 * ticks, 4 * ticks, 50 * ticks, 60 * ticks))
    tree.write({"/proc/42/stat": f"42 (a b) S) S 1 42 42 0 -1 4194304 98 0 0 0 {times}"})
    assert process.cpu_seconds(tree, 42) == 7.0
    assert process.cpu_seconds(tree, 43) is None
    assert process.parse_cpu_seconds("42 (x) S 1 2 3") is None


def test_memory_is_what_the_kernel_calls_peak_and_shared(tree: TreeHost) -> None:
    status = "Name:\topsdist\nVmPeak:\t  999 kB\nVmHWM:\t    2048 kB\nRssAnon:\t 100 kB\nRssShmem:\t    512 kB"
    tree.write({"/proc/7/status": status})
    assert process.memory(tree, 7) == process.Memory(2 << 20, 512 << 10)
    assert process.memory(tree, 8) is None


def test_memory_is_unknown_where_the_kernel_does_not_tell(tree: TreeHost) -> None:
    tree.write({"/proc/7/status": "VmHWM:\t    2048 kB"})
    assert process.memory(tree, 7) is None
