"""Rules about the Ascend driver and its tools, from what they print to the finding."""

from __future__ import annotations

import pytest

from probes.host import Answer
from suites.report import Status
from tests.probes.ascend.npu_samples import COLUMNS, eight, listing, mapping
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

DCMI = "dcmi module initialize failed. ret is -8005\n"


def test_a_driver_that_is_not_reached_is_one_finding() -> None:
    facts = facts_of(dict.fromkeys(("npu-smi info", "npu-smi info -l", "npu-smi info -m"), DCMI))
    (finding,) = ruled("ascend.driver_not_ready", facts)
    assert finding.status is Status.FAIL
    assert "-8005" in finding.message
    assert finding.evidence["line"] == DCMI.strip()


def test_a_host_without_cards_has_no_npu() -> None:
    facts = facts_of({"npu-smi info -m": "There is no NPU card on this server.\n"})
    assert statuses(ruled("ascend.driver_not_ready", facts)) == [Status.FAIL]


def test_a_driver_that_answers_passes() -> None:
    commands = {"npu-smi info": eight(), "npu-smi info -t topo": "This device does not support querying topo.\n"}
    assert statuses(ruled("ascend.driver_not_ready", facts_of(commands))) == [Status.PASS]
    assert statuses(ruled("ascend.driver_not_ready", facts_of({"npu-smi info": eight()}))) == [Status.PASS]


def test_devices_that_another_container_uses_are_no_verdict() -> None:
    used = "dcmi model initialized failed, because the device is used. ret is -8020\n"
    (finding,) = ruled("ascend.driver_not_ready", facts_of({"npu-smi info": used}))
    assert finding.status is Status.SKIP
    assert "-8020" in finding.message


def test_a_driver_that_is_not_completely_installed_warns() -> None:
    warning = "[WARNING]The driver package may not be completely installed, please reinstall it.\n"
    (finding,) = ruled("ascend.driver_incomplete", facts_of({"npu-smi info": eight() + warning}))
    assert (finding.status, finding.evidence["line"]) == (Status.WARN, warning.strip())
    assert statuses(ruled("ascend.driver_incomplete", facts_of({"npu-smi info": eight()}))) == [Status.PASS]
    assert ruled("ascend.driver_incomplete", facts_of({"npu-smi info": DCMI})) == []


def test_a_card_that_is_gone_is_named() -> None:
    lost = "Invalid card id.\nError parameter of -i\nUsage: npu-smi info <watch|proc>\n"
    facts = facts_of({"npu-smi info": eight(npu5=""), "npu-smi info -t board -i 5": lost})
    (finding,) = ruled("ascend.card_lost", facts)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu5")
    assert finding.evidence["command"] == "npu-smi info -t board -i 5"
    assert ruled("ascend.driver_not_ready", facts)[0].status is Status.PASS


def test_a_card_after_the_last_was_never_there() -> None:
    chips = mapping(COLUMNS, ("0", "0", "0", "Ascend 910B3"))
    mapped = facts_of({"npu-smi info -m": chips, "npu-smi info -t board -i 1": "Invalid card id.\n"})
    assert statuses(ruled("ascend.card_lost", mapped)) == [Status.SKIP]
    facts = facts_of({"npu-smi info": eight(), "npu-smi info -t board -i 8": "Invalid card id.\n"})
    assert statuses(ruled("ascend.card_lost", facts)) == [Status.SKIP, Status.PASS]
    lost = facts_of({"npu-smi info": eight(npu7=""), "npu-smi info -t board -i 7": "Invalid card id.\n"})
    assert statuses(ruled("ascend.card_lost", lost)) == [Status.FAIL]


def test_cards_that_are_there_pass() -> None:
    assert statuses(ruled("ascend.card_lost", facts_of({"npu-smi info": eight()}))) == [Status.PASS]
    assert ruled("ascend.card_lost", facts_of({"npu-smi info -l": listing([0])})) == []


@pytest.mark.parametrize("words", ["The device with ID 5 does not exist.\n", "Invalid card id.\n"])
def test_a_card_that_is_listed_and_does_not_exist(words: str) -> None:
    asked = {f"npu-smi info -t {what} -i 5 -c 0": Answer(1, words, "") for what in ("health", "ecc")}
    (finding,) = ruled("ascend.card_lost", facts_of({"npu-smi info": eight(), **asked}))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu5")


def test_a_driver_that_fails_for_one_card_is_that_cards_fault() -> None:
    asked = {f"npu-smi info -t {what} -i 5 -c 0": DCMI for what in ("health", "ecc")}
    (finding,) = ruled("ascend.driver_not_ready", facts_of({"npu-smi info": eight(), **asked}))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu5")
    assert "does not reach npu5" in finding.message
    (finding,) = ruled("ascend.driver_not_ready", facts_of(asked))
    assert finding.subject == {"host": "h"}
