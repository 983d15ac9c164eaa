"""The matrix of links between NPUs."""

from __future__ import annotations

from probes.ascend.npu_topo import parse_topology
from tests.probes.ascend.npu_samples import matrix, mesh


def test_a_mesh() -> None:
    said = parse_topology(mesh(3, npu1_npu2="SYS"))
    assert said.values["npu0"] == {"npu1": "HCCS", "npu2": "HCCS"}
    assert said.values["npu1"] == {"npu0": "HCCS", "npu2": "SYS"}
    assert said.values["affinity"] == {"npu0": "0-23", "npu1": "0-23", "npu2": "0-23"}
    assert said.lines["npu1"].startswith("NPU1")


def test_rows_named_by_physical_id_without_affinity_or_legend() -> None:
    text = matrix({"Phy-ID2": ["X", "SIO"], "Phy-ID13": ["SIO", "X"]}, affinity=False, legend=False)
    assert parse_topology(text).values == {"phy2": {"phy13": "SIO"}, "phy13": {"phy2": "SIO"}}


def test_columns_of_network_cards_and_their_names() -> None:
    cells = {"NPU0": ["X", "UB", "PIX"], "NPU1": ["UB", "X", "SYS"], "NIC0": ["PIX", "SYS", "X"]}
    said = parse_topology(matrix(cells, legend=False) + "\nNIC0: made_up_0\nNIC1: made_up_1\n\nLegend:\n")
    assert said.values["npu0"] == {"npu1": "UB", "nic0": "PIX"}
    assert "nic0" not in said.values
    assert said.values["affinity"] == {"npu0": "0-23", "npu1": "0-23"}


def test_an_underlined_header_and_tabs() -> None:
    text = "\x1b[4m\tNPU0\tNPU1\tCPU Affinity\x1b[0m\nNPU0\tX\tHCCS\t0-3,8\nNPU1\tHCCS\tX\t4-7\nLegend:\nNPU0 X SYS\n"
    said = parse_topology(text)
    assert said.values["npu0"] == {"npu1": "HCCS"}
    assert said.values["affinity"] == {"npu0": "0-3,8", "npu1": "4-7"}


def test_a_row_that_was_cut_has_what_is_left_of_it() -> None:
    said = parse_topology(mesh(3).partition("NPU2       HCCS")[0] + "NPU2       HCCS       HC")
    assert said.values["npu2"] == {"npu0": "HCCS", "npu1": "HC"}
    assert parse_topology("NPU2  X  HCCS\n").values == {}


def test_one_device_alone() -> None:
    assert parse_topology(mesh(1)).values == {"affinity": {"npu0": "0-23"}}


def test_what_follows_the_legend_is_no_row() -> None:
    text = matrix({"NPU0": ["X", "HCCS"], "NPU1": ["HCCS", "X"]}) + "NPU7       SYS        X\n"
    assert "npu7" not in parse_topology(text).values


def test_a_title_that_names_one_npu_is_no_header() -> None:
    said = parse_topology("Topology seen by NPU 0\n" + mesh(2))
    assert said.values["npu0"] == {"npu1": "HCCS"}


def test_a_header_that_comes_twice_is_no_row() -> None:
    text = mesh(2)
    assert parse_topology(text.split("\n")[0] + "\n" + text).values == parse_topology(text).values


def test_cells_and_affinities_that_are_not_known() -> None:
    head = "\tNPU0\tNPU1\tNPU2\tCPU Affinity\n"
    said = parse_topology(head + "NPU0\tX\tN/A\t-\tN/A\nNPU1\tN/A\tX\tSYS\t4-7\n")
    assert said.values == {
        "npu0": {"npu1": "N/A"},
        "npu1": {"npu0": "N/A", "npu2": "SYS"},
        "affinity": {"npu1": "4-7"},
    }
