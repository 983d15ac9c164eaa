"""The questions to npu-smi and lspci, and how their answers come to the devices."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from probes import ascend
from probes.ascend import AscendFacts
from probes.ascend.npu_smi import CARD_QUERIES, CHIP_QUERIES, HOST_QUERIES, LSPCI_QUERIES
from probes.host import Answer
from probes.reading import State
from probes.recorded.texthost import TextHost
from probes.visit import Query, Visit
from tests.probes.ascend.npu_samples import A3, A950, details, eight, idle, links, lspci, rows, table


def facts(commands: Mapping[str, str | Answer], hurry: bool = False) -> AscendFacts:
    answers = {line: Answer(0, said, "") if isinstance(said, str) else said for line, said in commands.items()}
    return ascend.read(Visit(TextHost({}, answers), hurry=hurry))


def test_each_device_has_its_row_and_the_host_the_rest() -> None:
    found = facts({"npu-smi info": table([rows(0), rows(1, "Warning")], idle(0, 1))})
    table_of_host = found.readings["info"]
    assert (table_of_host.values, table_of_host.momentary) == ({"version": "99.1.rc1", "count": 2}, {})
    first, second = found.devices or ()
    assert [device.readings["info"].values["health"] for device in (first, second)] == ["OK", "Warning"]
    assert second.readings["info"].source == "npu-smi info"
    assert (second.bus, second.name) == ("0000:c1:00.0", "910B3")


def test_devices_are_asked_by_card_and_chip() -> None:
    question = "npu-smi info -t health -i 2 -c 1"
    found = facts({"npu-smi info": A3, question: "\tHealth Status : Alarm\n"})
    assert found.devices
    assert [device.readings["health"].source for device in found.devices if "health" in device.readings] == [question]
    assert found.devices[1].readings["health"].values["health"] == "Alarm"


def test_a_chip_without_a_number_is_not_named() -> None:
    found = facts({"npu-smi info": A950, "npu-smi info -t health -i 3": " Health : OK\n"})
    assert found.devices
    assert found.devices[0].readings["health"].state is State.TOLD


def test_links_under_their_other_name_where_the_first_is_not_known() -> None:
    unknown, told = "Error parameter of -t\nUsage: npu-smi info ...\n", links([4], name="xlink")
    found = facts({"npu-smi info -t hccs -i 0 -c 0": unknown, "npu-smi info -t xlink -i 0 -c 0": told})
    assert found.devices
    readings = found.devices[0].readings
    assert (readings["hccs"].state, readings["xlink"].values["health"]) == (State.UNSUPPORTED, "OK")
    both = facts({"npu-smi info -t hccs -i 0 -c 0": links([4]), "npu-smi info -t xlink -i 0 -c 0": told})
    assert both.devices
    assert "xlink" not in both.devices[0].readings


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("This device does not support querying spod-info.\n", State.UNSUPPORTED),
        ("This device dose not support querying hccs topo.\n", State.UNSUPPORTED),
        ("Error parameter of -t\nUsage: npu-smi info <watch|proc>\n", State.UNSUPPORTED),
        ("dcmi model initialized failed, because the device is used. ret is -8020\n", State.REFUSED),
        ("Permission denied\n", State.REFUSED),
    ],
)
def test_what_is_no_fault_is_a_state(text: str, state: State) -> None:
    found = facts({"npu-smi info -t spod-info -i 0 -c 0": text})
    assert found.devices
    assert (found.devices[0].readings["super_pod"].state, found.devices[0].readings["super_pod"].values) == (state, {})


def test_a_fault_on_the_error_output_is_a_value_too() -> None:
    said = "DrvMngGetConsoleLogLevel failed. (ret=4)\ndcmi module initialize failed. ret is -8005\n"
    found = facts({"npu-smi info": Answer(251, "", said)})
    assert found.readings["info"].values == {"fault": "dcmi module initialize failed. ret is -8005"}


def test_lspci_is_kept_where_it_lists_accelerators() -> None:
    assert "lspci" not in facts({"lspci": "00:00.0 Host bridge: made up\n"}).readings
    assert facts({"lspci": lspci("c1:00.0")}).readings["lspci"].values == {"count": 1}


def test_accelerators_that_are_of_no_device() -> None:
    listed = lspci("c0:00.0", "c1:00.0", "c2:00.0")
    assert facts({"npu-smi info": table([rows(0), rows(2)]), "lspci": listed}).unclaimed == ("0000:c1:00.0",)
    assert facts({"lspci": listed}).unclaimed is None


def test_a_quick_look_asks_little() -> None:
    common = details(Aicore_Freq__MHZ=1)
    questions = {"npu-smi info": eight(), "npu-smi info -t common -i 0 -c 0": common, "npu-smi info -m": "x"}
    found = facts(questions, hurry=True)
    assert found.devices
    assert found.devices[0].readings["common"].state is State.UNASKED
    assert found.readings["map"].state is State.UNASKED
    assert len(found.devices) == 8


@pytest.mark.parametrize("query", [*HOST_QUERIES, *CARD_QUERIES, *CHIP_QUERIES, *LSPCI_QUERIES], ids=lambda q: q.name)
def test_an_answer_without_sense_says_nothing(query: Query) -> None:
    assert not query.parse("")
    assert not query.parse("\n: :\n|\t|\n\x00\ufffd [ ] {} \n")
