"""The big table of `npu-smi info`, in the forms that generations of it have."""

from __future__ import annotations

import pytest

from probes.ascend.npu_table import ROWS, Row, parse_table
from tests.probes.ascend.npu_samples import A3, A310P, A910A, A950, eight, idle, rows, table


def chips(text: str) -> list[Row]:
    return list(parse_table(text).momentary[ROWS])


def test_eight_chips_and_the_version() -> None:
    said = parse_table(eight(npu3=rows(3, "Alarm")))
    assert said.values == {"version": "99.1.rc1", "count": 8}
    first, fourth = said.momentary[ROWS][0], said.momentary[ROWS][3]
    assert (first.card, first.chip, first.physical, first.name, first.bus) == (0, 0, None, "910B3", "0000:c0:00.0")
    assert first.said.values == {
        "health": "OK", "name": "910B3", "hugepages_total": 0, "memory_mb_total": 0, "hbm_mb_total": 65536,
    }  # fmt: skip
    assert first.said.momentary["hbm_mb_used"] == 3300
    assert (first.said.momentary["power_w"], first.said.momentary["temperature_c"]) == (99.5, 40)
    assert fourth.said.values["health"] == "Alarm"
    assert "Alarm" in fourth.said.lines["health"]


def test_dies_of_a_card_have_their_physical_ids_and_one_has_no_power() -> None:
    one, other = chips(A3)
    assert [(row.card, row.chip, row.physical) for row in (one, other)] == [(2, 0, 4), (2, 1, 5)]
    assert (one.said.values["health"], other.said.values["health"]) == ("OK", "Alarm")
    assert one.said.momentary["power_w"] == 170.5
    assert "power_w" not in other.said.momentary
    assert one.said.momentary["aicore_percent"] == 7


def test_columns_are_known_by_their_headings_in_any_order() -> None:
    text = table([rows(0)]).replace("Power(W)    Temp(C) ", "Temp(C)     Power(W)")
    text = text.replace("AICore(%)   Memory-Usage(MB)  HBM-Usage(MB) ", "HBM-Usage(MB)   Memory-Usage(MB)  AICore(%) ")
    text = text.replace(
        "0           0    / 0          3300 / 65536", "3301 / 65536      0    / 0          9            "
    )
    (row,) = chips(text)
    assert (row.said.momentary["temperature_c"], row.said.momentary["power_w"]) == (99.5, 40)
    assert (row.said.momentary["aicore_percent"], row.said.momentary["hbm_mb_used"]) == (9, 3301)


def test_a_chip_without_a_pci_address() -> None:
    (row,) = chips(A950.replace("0000:F1:00.0 ", "NA           "))
    assert (row.bus, row.said.momentary["hbm_mb_used"]) == (None, 3993)


def test_a_table_that_begins_in_the_middle_or_ends_there() -> None:
    text = "".join([rows(0), rows(1), rows(2)]).split("\n", 1)[1]
    assert [row.card for row in chips(text)] == [1, 2]
    cut = chips(table([rows(0), rows(1).split("\n")[0]]))
    assert [(row.card, row.chip, row.said.values["health"]) for row in cut] == [(0, 0, "OK"), (1, None, "OK")]


def test_a_process_that_was_cut_is_none() -> None:
    whole = "| 0       0                 | 7             | python                   | 60                      |"
    text = table([rows(0)], [whole, "| 0       0                 | 8             |", "|  | 9 | python | 60 |"])
    (row,) = chips(text)
    assert [process["pid"] for process in row.said.momentary["processes"]] == [7]


def test_processes_belong_to_their_chip() -> None:
    one, other = chips(A3)
    assert one.said.momentary["processes"] == []
    assert other.said.momentary["processes"] == [{"pid": 4711, "name": "python3", "memory_mb": 512}]
    assert "4711" in other.said.lines["processes"]


def test_a_table_with_empty_cells_for_ids() -> None:
    (row,) = chips(A950)
    assert (row.card, row.chip, row.name, row.bus) == (3, None, "Ascend950PR", "0000:f1:00.0")
    assert row.said.values["hbm_mb_total"] == 131072
    assert (row.said.values["health"], row.said.momentary["aicore_percent"]) == ("Warning", 12)
    assert row.said.momentary["processes"][0]["pid"] == 4712


def test_a_table_with_logical_ids_and_without_hbm() -> None:
    (row,) = chips(A310P)
    assert (row.card, row.chip, row.logical, row.physical) == (5, 1, 3, None)
    assert "hbm_mb_total" not in row.said.values
    assert row.said.momentary["memory_mb_used"] == 1846
    assert "power_w" not in row.said.momentary


def test_a_slash_without_a_blank_and_memory_in_bytes() -> None:
    (row,) = chips(A910A)
    assert (row.said.momentary["hbm_mb_used"], row.said.values["hbm_mb_total"]) == (30750, 32768)
    assert (row.said.momentary["hugepages_used"], row.said.values["hugepages_total"]) == (11, 22)
    assert row.said.momentary["processes"] == [{"pid": 99, "name": "train", "memory_mb": 5}]


def test_without_the_second_table_processes_are_unknown() -> None:
    assert all("processes" not in row.said.momentary for row in chips(eight()))


def test_a_second_table_without_any_process_says_so_for_all() -> None:
    assert [row.said.momentary["processes"] for row in chips(table([rows(0), rows(1)], idle(0)))] == [[], []]


def test_a_second_table_that_was_cut_says_nothing_of_the_others() -> None:
    process = "| 0       0                 | 7             | python                   | 60                      |"
    first, second, third = chips(table([rows(0), rows(1), rows(2)], [process, *idle(1)]))
    assert (len(first.said.momentary["processes"]), second.said.momentary["processes"]) == (1, [])
    assert "processes" not in third.said.momentary


def test_a_table_of_no_chips_counts_none() -> None:
    assert parse_table(table([], [])).values["count"] == 0
    assert "count" not in parse_table(table([])).values


def test_a_driver_that_is_not_completely_installed() -> None:
    warning = "[WARNING]The driver package may not be completely installed, which may cause function abnormal.\n"
    said = parse_table(eight() + warning)
    assert said.values["driver_incomplete"] is True
    assert said.values["count"] == 8


@pytest.mark.parametrize(
    "text",
    [
        "dcmi module initialize failed. ret is -8005\n",
        "DrvMngGetConsoleLogLevel failed. (ret=4)\r\ndcmi model initialized failed. ret is -8012\r\n",
        "There is no NPU card on this server.\n",
    ],
)
def test_faults_are_values(text: str) -> None:
    said = parse_table(text)
    assert said.values["fault"] in text
    assert said.lines["fault"] == said.values["fault"]


def test_a_device_that_another_container_uses_is_no_fault() -> None:
    assert not parse_table("dcmi model initialized failed, because the device is used. ret is -8020\n")


def test_a_table_with_carriage_returns_and_terminal_escapes() -> None:
    text = "\ufeff" + eight(npu0=rows(0).replace("OK", "\x1b[4mOK\x1b[0m")).replace("\n", "\r\n")
    assert [row.said.values["health"] for row in chips(text)] == ["OK"] * 8
