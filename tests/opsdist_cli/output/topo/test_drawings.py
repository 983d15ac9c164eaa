"""What all formats of a topology have in common."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdist_cli.output.topo import DRAWINGS, draw
from tests.opsdist_cli.output.topo.records import MACHINES, record_of
from tests.probes.topology.test_topology import ANYTHING

FOR_PEOPLE = [name for name in DRAWINGS if name != "json"]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", DRAWINGS)
def test_every_machine_is_drawn(name: str, machine: str) -> None:
    drawn = draw(name, record_of(h=MACHINES[machine]()))
    assert drawn.endswith("\n")
    assert not drawn.endswith("\n\n")
    assert not any(letter for letter in drawn if not letter.isprintable() and letter != "\n")


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_hosts_that_are_alike_are_drawn_once(name: str) -> None:
    healthy, sick = MACHINES["healthy"], MACHINES["sick"]
    drawn = draw(name, record_of(node1=healthy(), node2=healthy(), node3=sick(), node4=healthy()))
    assert drawn.count("node[1-2,4]") >= 1
    assert "node1" not in drawn
    assert drawn.count("HCCS: all 28 pairs") == (0 if name == "matrix" else 1)


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_hosts_that_differ_in_pci_addresses_only_are_alike(name: str) -> None:
    other = MACHINES["healthy"]()
    for section, key, field in (("pcie", "devices", "id"), ("rdma", "devices", "pci_slot")):
        for row in other[section][key]:
            row[field] = row[field].replace("0000:", "0001:")
    for row in other["accelerators"]["ascend"]["devices"]:
        row["bus"] = row["bus"].replace("0000:", "0001:")
    for row in other["network"]["interfaces"]:
        row["pci_slot"] = (row["pci_slot"] or "").replace("0000:", "0001:")
    assert "node[1-2]" in draw(name, record_of(node1=MACHINES["healthy"](), node2=other))


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_what_is_weak_is_said_with_its_device(name: str) -> None:
    drawn = draw(name, record_of(h=MACHINES["sick"]()))
    assert "npu5" in drawn
    if name != "dot":
        assert "! npu5: SYS to npu[0-4,6-7] where HCCS is usual" in drawn
        assert "1 out of line" in drawn
    assert "out of line" not in draw("dot", record_of(h=MACHINES["healthy"]()))
    assert "nothing out of line" in draw("matrix", record_of(h=MACHINES["healthy"]()))


@given(facts=ANYTHING, name=st.sampled_from(list(DRAWINGS)))
@settings(deadline=None, max_examples=150)
def test_any_facts_are_drawn(facts: Any, name: str) -> None:
    record = record_of(h=facts if isinstance(facts, dict) else {})
    assert draw(name, record)
