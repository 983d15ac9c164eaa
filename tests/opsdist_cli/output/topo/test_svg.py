"""The topology as a drawing: what can be said of it without looking."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from opsdist_cli.output.topo import draw
from opsdist_cli.output.topo.places import packed
from tests.opsdist_cli.output.topo.records import MACHINES, dies, healthy, hostile, pairs, record_of, sick
from tests.probes.topology.machines import Facts, but, machine, mesh

SVG = "{http://www.w3.org/2000/svg}"


def drawing(**hosts: Facts) -> ElementTree.Element:
    return ElementTree.fromstring(draw("svg", record_of(**hosts)))


def words(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", MACHINES)
def test_it_is_well_formed_and_needs_nothing_from_outside(name: str) -> None:
    text = draw("svg", record_of(h=MACHINES[name]()))
    root = ElementTree.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg",
        "title",
        "rect",
        "line",
        "circle",
        "text",
    }
    assert "href" not in text
    assert "url(" not in text
    assert text.count("http") == 1


@pytest.mark.parametrize("name", MACHINES)
def test_everything_is_inside_of_the_page(name: str) -> None:
    root = drawing(h=MACHINES[name](), other=MACHINES["sick"]())
    wide, high = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{SVG}rect"):
        assert 0 <= float(box.get("x", 0)) <= float(box.get("x", 0)) + float(box.attrib["width"]) <= wide
        assert 0 <= float(box.get("y", 0)) <= float(box.get("y", 0)) + float(box.attrib["height"]) <= high
    for text in root.iter(f"{SVG}text"):
        room = float(text.attrib["font-size"]) * 0.6 * len(text.text or "")
        left = float(text.attrib["x"]) - (room / 2 if text.attrib["text-anchor"] == "middle" else 0)
        assert left >= 0
        assert left + room <= wide
        assert float(text.attrib["y"]) <= high


def test_all_devices_and_numa_nodes_are_named() -> None:
    found = words(drawing(h=healthy()))
    assert {*(f"npu{number}" for number in range(8)), *(f"mlx5_{number}" for number in range(8))} <= set(found)
    assert {"numa0 in socket 0", "CPUs 0-23", "Host h", "HCCS: all 28 pairs"} <= set(found)


def test_a_full_mesh_is_one_line_with_a_dot_for_each() -> None:
    root = drawing(h=machine("ascend", range(8), mesh("HCCS")))
    thick = [line for line in root.iter(f"{SVG}line") if line.get("stroke-width") == "6"]
    assert len(thick) == 2  # and its sample below
    assert len([dot for dot in root.iter(f"{SVG}circle") if dot.get("cy") == thick[0].get("y1")]) == 8


def test_the_fallen_one_is_marked_by_more_than_colour() -> None:
    root = drawing(h=sick())
    assert "npu5 !" in words(root)
    assert "SYS to 7 others, HCCS is usual" in words(root)
    dashed = [box for box in root.iter(f"{SVG}rect") if box.get("stroke-dasharray") == "7 4"]
    assert len(dashed) == 1
    assert "! weaker than usual among its like" in words(root)


def test_few_weak_links_are_drawn_as_lines() -> None:
    root = drawing(h=machine("amd", range(8), but(mesh("XGMI"), [(2, 5)], "PCIE")))
    assert "PCIE, XGMI is usual" in words(root)
    assert "gpu2 !" not in words(root)
    assert not [box for box in root.iter(f"{SVG}rect") if box.get("stroke-dasharray") == "7 4"]


def test_the_key_has_only_marks_that_are_used() -> None:
    found = words(drawing(h=MACHINES["plain"]()))
    assert "network card, with its interface or address" in found
    assert not [text for text in found if "accelerator, with" in text or "weaker" in text or "dot on it" in text]


def test_two_dies_of_a_card_and_the_switch_between_all_have_lines_of_their_own() -> None:
    found = words(drawing(h=dies()))
    assert found.count("SIO") == 8 + 1  # and in the key
    assert "HCCS_SW: 112 of 120 pairs" in found


def test_tied_cards_are_on_one_line() -> None:
    root = drawing(h=pairs())
    assert words(root).count("NODE") == 2  # one of them in the key
    assert "no RDMA: eno1" in words(root)


def test_names_are_shown_and_not_obeyed() -> None:
    text = draw("svg", record_of(h=hostile()))
    assert "&lt;script&gt;&quot;x&quot;&amp;\\" in text
    assert "\\x1b[31m" in text or "\u2026" in text


def test_lanes_of_lines_that_do_not_touch_are_shared() -> None:
    assert packed([(0, 1), (2, 3), (0, 3), (4, 5), (1, 2)]) == [0, 0, 1, 0, 2]
    assert packed([]) == []
