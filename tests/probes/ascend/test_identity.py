"""One table of the ids that different tools have for the same NPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from probes.ascend.identity import Identity, identities
from probes.ascend.npu_smi import of_host
from probes.host import Answer
from probes.recorded.texthost import TextHost
from probes.visit import Visit
from tests.probes.ascend.npu_samples import (
    A3,
    A310P,
    A950,
    COLUMNS,
    COLUMNS_A3,
    eight,
    listing,
    mapping,
    matrix,
    mesh,
    rows,
    table,
)


def found(
    commands: Mapping[str, str], devices: Iterable[int] = (), configured: Iterable[int] = ()
) -> dict[int, Identity]:
    files = {f"/dev/davinci{device}": "" for device in devices}
    visit = Visit(TextHost(files, {line: Answer(0, text, "") for line, text in commands.items()}))
    return {each.id: each for each in identities(visit, configured, of_host(visit)) or ()}


def ids(known: Mapping[int, Identity]) -> list[tuple[int | None, ...]]:
    return [(each.id, each.card, each.chip, each.logical) for each in known.values()]


def test_the_table_and_the_map_together() -> None:
    chips = [(str(card), "0", str(card - 4), "Ascend 910B3") for card in range(4, 8)]
    commands = {"npu-smi info": table(rows(card) for card in range(4, 8)), "npu-smi info -m": mapping(COLUMNS, *chips)}
    known = found(commands, devices=range(4, 8))
    assert ids(known) == [(4, 4, 0, 0), (5, 5, 0, 1), (6, 6, 0, 2), (7, 7, 0, 3)]
    assert known[4] == Identity(4, True, 4, 0, 0, "910B3", "0000:c4:00.0")


def test_dies_have_the_physical_id_that_is_printed() -> None:
    assert ids(found({"npu-smi info": A3})) == [(4, 2, 0, None), (5, 2, 1, None)]
    chips = (("0", "0", "0", "8", "Ascend910"), ("0", "1", "1", "9", "Ascend910"))
    assert ids(found({"npu-smi info -m": mapping(COLUMNS_A3, *chips)})) == [(8, 0, 0, 0), (9, 0, 1, 1)]


def test_dies_are_counted_through_where_nothing_prints_it() -> None:
    assert ids(found({"npu-smi info -l": listing([0, 3], chips=2)})) == [
        (0, 0, 0, None), (1, 0, 1, None), (6, 3, 0, None), (7, 3, 1, None),
    ]  # fmt: skip


def test_inference_cards_go_by_their_logical_ids() -> None:
    assert ids(found({"npu-smi info": A310P})) == [(3, 5, 1, 3)]
    chips = (("1", "0", "0", "Ascend 310P3"), ("2", "0", "1", "Ascend 310P3"))
    assert ids(found({"npu-smi info -m": mapping(COLUMNS, *chips)})) == [(0, 1, 0, 0), (1, 2, 0, 1)]


def test_the_files_decide_where_ids_disagree() -> None:
    chips = (("1", "0", "0", "made up"), ("2", "0", "1", "made up"))
    commands = {"npu-smi info -m": mapping(COLUMNS, *chips)}
    assert list(found(commands, devices=[0, 1])) == [0, 1]
    assert list(found(commands, devices=[1, 2])) == [1, 2]


def test_a_chip_without_a_number() -> None:
    assert ids(found({"npu-smi info": A950})) == [(3, 3, None, None)]


def test_recorded_questions_name_devices() -> None:
    known = found(
        {"npu-smi info -t board -i 6": "x", "npu-smi info -t health -i 2 -c 0": "x", "hccn_tool -i 1 -ip -g": ""}
    )
    assert ids(known) == [(1, None, None, None), (2, 2, 0, None), (6, 6, None, None)]
    dies = found({"npu-smi info -t health -i 2 -c 0": "x", "npu-smi info -t health -i 2 -c 1": "x"})
    assert ids(dies) == [(4, 2, 0, None), (5, 2, 1, None)]


def test_a_helper_chip_that_was_asked_is_no_device() -> None:
    commands = {"npu-smi info": eight(), "npu-smi info -t temp -i 3 -c 1": "x"}
    assert list(found(commands)) == list(range(8))


def test_a_card_that_is_only_asked_for_is_a_device_too() -> None:
    commands = {"npu-smi info": eight(npu5=""), "npu-smi info -t board -i 5": "Invalid card id.\n"}
    assert list(found(commands)) == list(range(8))


def test_the_matrix_names_devices_too() -> None:
    assert ids(found({"npu-smi info -t topo": mesh(2)})) == [(0, 0, None, None), (1, 1, None, None)]
    by_id = matrix({"Phy-ID2": ["X", "SIO"], "Phy-ID3": ["SIO", "X"]}, affinity=False)
    assert ids(found({"npu-smi info -t topo": by_id})) == [(2, None, None, None), (3, None, None, None)]


def test_files_and_the_configuration_add_what_no_tool_tells() -> None:
    known = found({"npu-smi info": eight(npu7="")}, devices=[6, 7], configured=[8])
    assert list(known) == list(range(9))
    assert [known[device].present for device in (5, 6, 7, 8)] == [False, True, True, False]


def test_nothing_to_ask_is_unknown() -> None:
    visit = Visit(TextHost({}, {}))
    assert identities(visit, (), {}) is None
