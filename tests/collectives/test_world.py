"""What ranks say of themselves when they meet: a world that is not the one asked for is refused by name."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from collectives.errors import RendezvousError
from collectives.world import has_ended, prove
from tests.leftovers import until


def member(pid: int, **other: Any) -> dict[str, Any]:
    return {"node": 0, "pid": pid, "version": "1", "size": 2, **other}


def test_distinct_processes_that_agree_are_a_world() -> None:
    prove([member(1), member(2)])
    prove([member(1), member(1, node=1)])


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (member(1), "ranks 0 and 1 are the same process (pid 1)"),
        (member(2, size=3), "rank 1 was told of 3 ranks, others of 2"),
        (member(2, version="2"), "rank 1 runs opsdist 2, rank 0 1; install the same version"),
    ],
)
def test_another_world_is_refused(second: dict[str, Any], words: str) -> None:
    with pytest.raises(RendezvousError) as caught:
        prove([member(1), second])
    assert str(caught.value) == words


def test_a_process_has_ended_before_and_after_its_parent_takes_note() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert not has_ended(child.pid)
        child.kill()
        until(lambda: has_ended(child.pid), 20, "the end of the child")
        child.wait()
        assert has_ended(child.pid)
