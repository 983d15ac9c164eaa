"""Rules about the state of each NPU, from what npu-smi prints to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.probes.ascend.npu_samples import A3, details, eight, pairs_of, rows, table
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of


def asked(question: str, text: str, device: int = 0) -> dict[str, Any]:
    return facts_of({f"npu-smi info -t {question} -i {device} -c 0": text})


@pytest.mark.parametrize(
    ("word", "status"),
    [("Warning", Status.WARN), ("Alarm", Status.FAIL), ("Critical", Status.FAIL), ("OK", Status.PASS)],
)
def test_health_by_its_word(word: str, status: Status) -> None:
    assert statuses(ruled("ascend.health_bad", asked("health", f"\tHealth Status : {word}\n"))) == [status]
    assert statuses(ruled("ascend.health_bad", asked("health", f"Health : {word}\n"))) == [status]


def test_health_in_the_table_names_the_die() -> None:
    (finding,) = ruled("ascend.health_bad", facts_of({"npu-smi info": A3}))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu5")
    assert "Alarm" in finding.evidence["line"]


def test_bad_health_has_its_codes_and_their_meaning() -> None:
    text = pairs_of({"Health Status": "Alarm", "Error Code": "80E01801 8C03A000", "Error Information": "made up"})
    (finding,) = ruled("ascend.health_bad", asked("health", text))
    assert finding.message == "the health of npu0 is Alarm: 80E01801, 8C03A000"
    assert finding.evidence["meanings"] == ["made up"]
    assert ruled("ascend.fault_codes", asked("health", text)) == []


def test_the_worse_of_two_answers_counts() -> None:
    commands = {"npu-smi info": eight(npu1=rows(1, "Critical")), "npu-smi info -t health -i 1 -c 0": "Health : OK\n"}
    (finding,) = ruled("ascend.health_bad", facts_of(commands))
    assert finding.subject["device"] == "npu1"


@pytest.mark.parametrize("word", ["UNKNOWN", "Offline"])
def test_a_chip_that_did_not_start_has_no_health(word: str) -> None:
    (finding,) = ruled("ascend.health_bad", facts_of({"npu-smi info": eight(npu2=rows(2, word))}))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "npu2")
    assert statuses(ruled("ascend.health_bad", asked("health", f"\tHealth Status : {word}\n"))) == [Status.WARN]
    both = {"npu-smi info": table([rows(0, "Alarm")]), "npu-smi info -t health -i 0 -c 0": f"Health : {word}\n"}
    assert statuses(ruled("ascend.health_bad", facts_of(both))) == [Status.FAIL]


def test_health_that_cannot_be_asked_for_is_no_verdict() -> None:
    (finding,) = ruled("ascend.health_bad", asked("health", "This device does not support querying health.\n"))
    assert finding.status is Status.SKIP


def test_codes_of_a_healthy_chip_warn() -> None:
    text = pairs_of({"Health Status": "OK", "Error Code": "80E01801"})
    assert statuses(ruled("ascend.fault_codes", asked("health", text))) == [Status.WARN]
    events = "Fault Event Count : 1\nFault Event Information : event id=0x81AF8000, severity=1\n"
    (finding,) = ruled("ascend.fault_codes", asked("current-fault-event", events))
    assert "81AF8000" in finding.message
    none = pairs_of({"Health Status": "OK", "Error Code": "NA"})
    assert statuses(ruled("ascend.fault_codes", asked("health", none))) == [Status.PASS]


def test_heat_is_named_with_its_line_and_limit() -> None:
    (finding,) = ruled("ascend.temperature_high", facts_of({"npu-smi info": eight(npu6=rows(6, temperature=91))}))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "npu6")
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (91, 85)
    assert statuses(ruled("ascend.temperature_high", facts_of({"npu-smi info": eight()}))) == [Status.PASS]


@pytest.mark.parametrize(
    ("question", "line", "status"),
    [
        ("memory", "HBM Temperature(C) : 105", Status.WARN),
        ("memory", "HBM Temperature(C) : 90", Status.PASS),
        ("temp", "NPU Temperature (C) : 101", Status.WARN),
        ("temp", "NPU Temperature (C) : 50", Status.PASS),
    ],
)
def test_heat_that_other_questions_tell(question: str, line: str, status: Status) -> None:
    assert statuses(ruled("ascend.temperature_high", asked(question, f"\t{line}\n"))) == [status]


def common(load: int, now: int, temperature: int = 50, power: float = 100, rated: int = 1800) -> dict[str, Any]:
    chip = details(
        Aicore_Usage_Rate__=load, Aicore_Freq__MHZ=rated, Aicore_curFreq__MHZ=now, Temperature__C=temperature
    )
    return asked("common", chip + pairs_of({"NPU Real-time Power(W)": power}))


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (common(97, 1100, temperature=91), Status.WARN),
        (common(97, 1700), Status.WARN),
        (common(10, 1100, power=410), Status.WARN),
        (common(97, 1720), Status.PASS),
        (common(0, 800), Status.PASS),
        (common(6, 800), Status.PASS),
        (common(0, 100, temperature=65, power=420, rated=1650), Status.PASS),
        (common(100, 900, rated=900), Status.PASS),
    ],
)
def test_clocks(facts: dict[str, Any], status: Status) -> None:
    assert statuses(ruled("ascend.clock_throttled", facts)) == [status]


def test_a_low_clock_tells_why() -> None:
    (finding,) = ruled("ascend.clock_throttled", common(97, 1100, temperature=91))
    assert finding.message == "npu0 runs at 1100 of 1800 MHz at 97 % load, and it is hot"
    assert "curFreq" in finding.evidence["line"]


def test_clocks_that_are_not_told_are_no_verdict() -> None:
    (finding,) = ruled("ascend.clock_throttled", asked("common", details(Temperature__C=40)))
    assert finding.status is Status.SKIP


def test_fewer_cores_than_others_of_the_model() -> None:
    commands = {f"npu-smi info -t common -i {card} -c 0": details(Aicore_Count=24) for card in range(3)}
    less = {**commands, "npu-smi info -t common -i 1 -c 0": details(Aicore_Count=23)}
    (finding,) = fleet("ascend.cores_missing", a=facts_of(less))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "a", "device": "npu1"})
    assert statuses(fleet("ascend.cores_missing", a=facts_of(commands))) == [Status.PASS]
    other = {"npu-smi info": table([rows(0), rows(1, name="910B4")]), **commands}
    other["npu-smi info -t common -i 1 -c 0"] = details(Aicore_Count=20)
    assert Status.FAIL not in statuses(fleet("ascend.cores_missing", a=facts_of(other)))


def test_memory_clocks_of_a_910b_only() -> None:
    slow = details(HBM_Clock_Speed__MHz=1200)
    question = "npu-smi info -t memory -i 0 -c 0"
    assert statuses(ruled("ascend.hbm_clock_low", facts_of({"npu-smi info": table([rows(0)]), question: slow}))) == [
        Status.WARN
    ]
    older = facts_of({"npu-smi info": table([rows(0, name="910A")]), question: slow})
    assert ruled("ascend.hbm_clock_low", older) == []


def test_firmware_that_does_not_fit() -> None:
    text = pairs_of({"Software Version": "99.1", "Firmware Version": "9.0", "Compatibility": "NOK"})
    (finding,) = ruled("ascend.board_incompatible", facts_of({"npu-smi info -t board -i 2": text}))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu2")
    assert "99.1" in finding.message
    for word, expected in (("OK", [Status.PASS]), ("UNKNOWN", []), ("NOT SUPPORT", [])):
        facts = facts_of({"npu-smi info -t board -i 2": text.replace("NOK", word)})
        assert statuses(ruled("ascend.board_incompatible", facts)) == expected


def test_faulty_chips_on_a_card() -> None:
    board = details(Chip_Count=2, Faulty_Chip_Count=1)
    facts = facts_of({"npu-smi info -t board -i 0": board})
    assert statuses(ruled("ascend.chip_faulty", facts)) == [Status.FAIL]
