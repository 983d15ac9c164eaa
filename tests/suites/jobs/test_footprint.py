"""What a rank is charged with: its own pages, not those of peers that it looked at."""

from __future__ import annotations

import os
from typing import Any, cast

from collectives.communicator import Communicator
from suites.jobs.footprint import Footprint
from tests.tree_host import TreeHost


class Registered:
    def __init__(self, registered: int) -> None:
        self.registered = registered


def comms(*registered: int) -> list[Communicator]:
    return [cast(Communicator, cast(Any, Registered(number))) for number in registered]


def tell(tree: TreeHost, peak: int, shared: int) -> None:
    tree.write({f"/proc/{os.getpid()}/status": f"VmHWM:\t{peak} kB\nRssShmem:\t{shared} kB"})


def test_pages_of_peers_are_not_counted(tree: TreeHost) -> None:
    footprint = Footprint(tree)
    assert footprint.nbytes is None
    tell(tree, peak=3000, shared=2000)
    footprint.look(comms(500 << 10, 700 << 10))
    assert footprint.nbytes == (3000 - 800) << 10


def test_a_round_below_the_peak_changes_nothing(tree: TreeHost) -> None:
    footprint = Footprint(tree)
    tell(tree, peak=3000, shared=2000)
    footprint.look(comms(500 << 10))
    # The peers' large buffers are gone; the peak was with them.
    tell(tree, peak=3000, shared=100)
    footprint.look(comms(50 << 10))
    assert footprint.nbytes == (3000 - 1500) << 10


def test_the_largest_of_all_rounds_counts(tree: TreeHost) -> None:
    footprint = Footprint(tree)
    tell(tree, peak=3000, shared=0)
    footprint.look(comms(0))
    tell(tree, peak=4000, shared=3500)
    footprint.look(comms(500 << 10))
    assert footprint.nbytes == 3000 << 10
