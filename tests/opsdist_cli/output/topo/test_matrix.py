"""The matrix, as people know it from nvidia-smi."""

from __future__ import annotations

from opsdist_cli.output.topo.matrix import WIDEST, render
from tests.opsdist_cli.output.topo.records import MACHINES, dies, healthy, pairs, plain, record_of, sick


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each row of the first block, by its name."""
    lines = text.split("\n\n")[1].splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines[1:]}


def test_cells_affinity_and_nearest_card() -> None:
    text = render(record_of(h=healthy()))
    assert rows(text)["npu4"] == [
        *["HCCS"] * 4, "X", *["HCCS"] * 3, *["SYS"] * 4, "PIX", *["NODE"] * 3, "24-47", "1", "mlx5_4", "PIX",
    ]  # fmt: skip
    assert rows(text)["mlx5_4"][4:8] == ["PIX", "NODE", "NODE", "NODE"]


def test_weak_cells_have_a_mark_that_the_legend_explains() -> None:
    text = render(record_of(h=sick()))
    assert rows(text)["npu5"][:8] == [*["SYS!"] * 5, "X", "SYS!", "SYS!"]
    assert rows(text)["npu0"][4:6] == ["HCCS", "SYS!"]
    assert "\n  !    = weaker than usual" in text


def test_the_legend_has_only_words_that_are_used() -> None:
    text = render(record_of(h=healthy()))
    legend = text[text.index("Legend:") :]
    assert [line.split()[0] for line in legend.splitlines()[2:6]] == ["X", "HCCS", "PIX", "NODE"]
    assert "UB" not in legend
    assert "!" not in legend


def test_what_is_not_known_is_a_question_mark() -> None:
    facts = pairs()
    del facts["rdma"]["devices"][0]["numa_node"], facts["network"]["interfaces"][0]["numa_node"]
    for device in facts["pcie"]["devices"]:
        device.pop("numa_node")
    text = render(record_of(h=facts))
    assert "?" in rows(text)["gpu0"]
    assert "? " in text[text.index("Legend:") :]


def test_a_wide_matrix_goes_on_below_itself() -> None:
    text = render(record_of(h=dies()))
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDEST
    assert sum(line.startswith("npu15") for line in lines) == 2


def test_cards_without_rdma_are_named_below() -> None:
    text = render(record_of(h=pairs()))
    assert "not in the matrix, since they do no RDMA: eno1" in text
    assert "eno1" not in rows(text)


def test_a_machine_without_accelerators() -> None:
    text = render(record_of(h=plain()))
    assert set(rows(text)) == {"eth0", "wlan0"}
    assert text.splitlines()[-1] == "topo: 0 accelerators, 2 network cards, 1 NUMA node; nothing out of line"


def test_nothing_at_all() -> None:
    text = render(record_of(h=MACHINES["empty"]()))
    assert "neither accelerators nor network cards are known" in text
    assert "Legend" not in text
    assert text.splitlines()[-1] == "topo: nothing is known of any host's topology"
