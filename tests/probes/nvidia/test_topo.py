"""What is understood of `nvidia-smi topo`."""

from __future__ import annotations

import pytest

from probes.nvidia.topo import parse_direct, parse_links
from tests.probes.nvidia.samples import topology


def test_gpus_and_cards_with_their_names() -> None:
    text = topology(["X NV18 PIX SYS", "NV18 X NODE PIX"], ("NIC0", "NIC1"), {"NIC0": "mlx5_0", "NIC1": "mlx5_bond_0"})
    said = parse_links(text)
    assert said.values == {
        "0/links": {"1": "NV18"}, "0/cards": {"mlx5_0": "PIX", "mlx5_bond_0": "SYS"}, "0/cpus": "0-31,64-95",
        "0/numa": "0", "0/present": True,
        "1/links": {"0": "NV18"}, "1/cards": {"mlx5_0": "NODE", "mlx5_bond_0": "PIX"}, "1/cpus": "0-31,64-95",
        "1/numa": "0", "1/present": True,
    }  # fmt: skip
    assert said.lines["1/links"] == "GPU1\tNV18\tX\tNODE\tPIX\t0-31,64-95\t0\t\tN/A"


def test_rows_of_cards_are_not_those_of_gpus() -> None:
    text = topology(["X PIX SYS", "PIX X SYS"], ("mlx5_0",)).replace(
        "\n\nLegend", "\nmlx5_0\tPIX\tPIX\t X \n\nLegend", 1
    )
    assert set(parse_links(text).values) >= {"0/links", "1/links"}
    assert not [name for name in parse_links(text).values if name.startswith("mlx5")]


def test_copied_by_hand_with_blanks() -> None:
    said = parse_links(
        "      GPU0  GPU1  CPU Affinity  NUMA Affinity\nGPU0   X    NV12   0,2,4   N/A\nGPU1  NV12   X\n"
    )
    assert said.values["0/links"] == {"1": "NV12"}
    assert said.values["0/cpus"] == "0,2,4"
    assert "0/numa" not in said.values
    assert said.values["1/links"] == {"0": "NV12"}


def test_a_row_that_was_cut_tells_nothing_of_its_last_cell() -> None:
    text = topology(["X NV18 PIX", "NV18 X PIX"], ("mlx5_0",))
    said = parse_links(text[: text.index("GPU1\t", 30) + len("GPU1\tNV1")])
    assert said.values["0/links"] == {"1": "NV18"}
    assert "1/links" not in said.values
    whole_columns = topology(["X NV18", "NV18 X"])
    assert "0/links" not in parse_links(whole_columns[: whole_columns.index("NV18") + len("NV1")]).values


def test_what_stands_below_the_legend_is_no_row() -> None:
    said = parse_links(topology(["X PHB", "PHB X"]) + "GPU0 X NV4\n")
    assert said.values["0/links"] == {"1": "PHB"}


def test_a_single_gpu_is_there() -> None:
    assert parse_links("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-15\t0\n").values["0/present"] is True


def test_direct_access() -> None:
    said = parse_direct(" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tCNS\tX\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n")
    assert said.values == {"0/direct": {"1": "OK"}, "1/direct": {"0": "CNS"}}


@pytest.mark.parametrize("cell", ["NV12", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "N/A"])
def test_every_way_there_is(cell: str) -> None:
    said = parse_links(f"\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\t{cell.lower()}\t0-3\nGPU1\t{cell}\tX\t0-3\n")
    assert (said.values["0/links"], said.values["1/links"]) == ({"1": cell}, {"0": cell})


@pytest.mark.parametrize("cell", ["OK", "CNS", "GNS", "TNS", "NS", "DR", "U"])
def test_every_answer_about_direct_access(cell: str) -> None:
    said = parse_direct(f"\tGPU0\tGPU1\tGPU2\nGPU0\tX\t{cell}\tOK\nGPU1\t{cell}\tX\tOK\n")
    assert said.values["0/direct"] == {"1": cell, "2": "OK"}


def test_what_follows_the_legend_is_no_row_of_a_gpu() -> None:
    said = parse_links("\tGPU0\tGPU1\tNUMA Affinity\nGPU0\tX\tSYS\tN/A\nLegend:\nGPU1\tSYS\tX\t0\n")
    assert "1/links" not in said.values
    assert "0/cpus" not in said.values
