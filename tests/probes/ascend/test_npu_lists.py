"""Which NPUs there are, as npu-smi and lspci list them."""

from __future__ import annotations

from probes.ascend.npu_lists import parse_list, parse_lspci, parse_map
from probes.ascend.npu_table import ROWS, Row
from probes.reading import Said
from tests.probes.ascend.npu_samples import COLUMNS, COLUMNS_950, COLUMNS_A3, listing, lspci, mapping


def ids(said: Said) -> list[tuple[int | None, ...]]:
    rows: tuple[Row, ...] = said.momentary[ROWS]
    return [(row.card, row.chip, row.logical, row.physical) for row in rows]


def test_a_map_names_chips_and_leaves_helpers_out() -> None:
    said = parse_map(mapping(COLUMNS, ("4", "0", "0", "Ascend 910B3"), ("4", "1", "-", "Mcu"), ("5", "0", "1", "x y")))
    assert said.values["count"] == 2
    assert ids(said) == [(4, 0, 0, None), (5, 0, 1, None)]
    assert [row.name for row in said.momentary[ROWS]] == ["Ascend 910B3", "x y"]


def test_a_map_with_physical_ids() -> None:
    rows = (("1", "0", "2", "2", "Ascend910"), ("1", "1", "3", "3", "Ascend910"), ("1", "2", "-", "-", "3559"))
    assert ids(parse_map(mapping(COLUMNS_A3, *rows))) == [(1, 0, 2, 2), (1, 1, 3, 3)]


def test_a_map_with_slots() -> None:
    assert ids(parse_map(mapping(COLUMNS_950, ("0", "9", "0", "6", "Ascend950")))) == [(0, 0, None, 6)]


def test_a_map_with_single_blanks_as_web_pages_have_them() -> None:
    assert ids(parse_map("NPU ID Chip ID Chip Logic ID Chip Name\n0 0 0 Ascend 910A\n")) == [(0, 0, 0, None)]


def test_a_map_on_a_host_without_cards() -> None:
    assert parse_map("There is no NPU card on this server.\n").values["fault"].startswith("There is no")


def test_a_list_of_cards() -> None:
    said = parse_list(listing(range(4, 8)))
    assert said.values == {"count": 4, "cards": [4, 5, 6, 7]}
    assert ids(said)[0] == (4, None, None, None)


def test_a_list_of_cards_with_two_chips() -> None:
    assert ids(parse_list(listing([3], chips=2))) == [(3, 0, None, None), (3, 1, None, None)]


def test_a_list_with_other_words_and_without_serial_numbers() -> None:
    text = "Card Count : 1\n\nNPU ID : 0\nProduct Name : A card\nSerial Number : SN0001\n"
    said = parse_list(text)
    assert said.values == {"count": 1, "cards": [0], "product": "A card"}
    assert "SN0001" not in str(said)


def test_accelerators_that_lspci_lists() -> None:
    said = parse_lspci("00:00.0 Host bridge: X\n" + lspci("c1:00.0", "0001:02:00.0"))
    assert said.values == {"count": 2}
    assert said.momentary == {"buses": ["0000:c1:00.0", "0001:02:00.0"]}


def test_accelerators_by_number_only() -> None:
    assert parse_lspci("c1:00.0 1200: 19e5:d803 (rev 20)\nc2:00.0 0200: 19e5:0200\n").values == {"count": 1}
    assert not parse_lspci("3d:00.0 Ethernet controller: Huawei Technologies Co., Ltd. Hi1822\n")
