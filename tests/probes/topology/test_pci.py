"""Paths over PCIe by the places of two devices, in the words of nvidia-smi."""

from __future__ import annotations

import pytest

from probes.topology.pci import Place

SWITCH = ("0000:10:01.0", "0000:11:00.0", "0000:12:00.0")
OTHER_PORT = (*SWITCH[:2], "0000:12:04.0")
BELOW_ANOTHER = (*OTHER_PORT, "0000:17:00.0", "0000:18:00.0")


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (Place("0000:13:00.0"), Place("0000:13:00.1"), "PIX"),
        (Place("0000:13:00.0", SWITCH), Place("0000:16:00.0", OTHER_PORT), "PIX"),
        (Place("0000:13:00.0", ("0000:10:01.0",)), Place("0000:13:01.0", ("0000:10:01.0",)), "PIX"),
        (Place("0000:13:00.0", SWITCH), Place("0000:19:00.0", BELOW_ANOTHER), "PXB"),
        (Place("0000:13:00.0", SWITCH), Place("0000:20:00.0", ("0000:10:02.0",)), "PHB"),
        (Place("0000:00:03.0", ()), Place("0000:00:04.0", ()), "PHB"),
        (Place("0000:13:00.0", SWITCH, 0), Place("0000:31:00.0", ("0000:30:01.0",), 0), "NODE"),
        (Place("0000:13:00.0", SWITCH, 0), Place("0000:31:00.0", ("0000:30:01.0",), 1), "SYS"),
        (Place("0001:13:00.0", ("0001:10:01.0",), 0), Place("0000:31:00.0", ("0000:10:01.0",), 0), "NODE"),
        (Place("0000:13:00.0", SWITCH), Place("0000:31:00.0", ("0000:30:01.0",)), None),
        (Place(numa=0), Place(numa=0), "NODE"),
        (Place(numa=0), Place(numa=1), "SYS"),
        (Place(numa=0), Place(), None),
    ],
)
def test_the_path_between_two_places(one: Place, other: Place, kind: str | None) -> None:
    for found in (one.kind_to(other), other.kind_to(one)):
        assert (found and found[0]) == kind


def test_what_numa_nodes_alone_tell_says_so() -> None:
    assert Place(numa=0).kind_to(Place(numa=1)) == ("SYS", "numa")
    assert Place("0000:13:00.0", SWITCH, 0).kind_to(Place("0000:31:00.0", ("0000:30:01.0",), 1)) == ("SYS", "pci")


def test_switches_are_known_by_their_upstream_ports() -> None:
    assert Place("0000:13:00.0", SWITCH).switches == ("0000:11:00.0",)
    assert Place("0000:19:00.0", BELOW_ANOTHER).switches == ("0000:11:00.0", "0000:17:00.0")
    assert Place("0000:20:00.0", ("0000:10:02.0",)).switches == ()
    assert Place().switches == ()
