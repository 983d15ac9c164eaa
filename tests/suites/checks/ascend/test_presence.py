"""Rules about which NPUs there are, from what tools print to the finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from suites.report import Finding, Status
from tests.probes.ascend.npu_samples import (
    A3,
    COLUMNS,
    eight,
    idle,
    listing,
    lspci,
    mapping,
    mesh,
    rows,
    table,
)
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

MISSING = "ascend.npu_missing"
BUSES = [f"c{card}:00.0" for card in range(8)]


def devices(findings: Iterable[Finding]) -> list[str | None]:
    return [finding.subject.get("device") for finding in findings]


def of_cards(*cards: int) -> dict[str, Any]:
    return facts_of({"npu-smi info": table([rows(card) for card in cards], idle(*cards))})


def test_all_that_lspci_lists_pass() -> None:
    assert statuses(ruled(MISSING, facts_of({"npu-smi info": eight(), "lspci": lspci(*BUSES)}))) == [Status.PASS]


def test_what_only_lspci_lists_fails_and_is_named_by_its_gap_and_address() -> None:
    facts = facts_of({"npu-smi info": eight(npu5=""), "lspci": lspci(*BUSES)})
    (finding,) = ruled(MISSING, facts)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu5")
    assert "lspci lists 8 NPUs and npu-smi 7, not 0000:c5:00.0" in finding.message


def test_the_last_one_has_no_gap() -> None:
    (finding,) = ruled(MISSING, facts_of({"npu-smi info": eight(npu7=""), "lspci": lspci(*BUSES)}))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "h"})
    assert "0000:c7:00.0" in finding.message


def test_what_fell_off_the_bus_is_named() -> None:
    facts = facts_of({"npu-smi info": eight(), "lspci": lspci(*BUSES[:3], *BUSES[4:])})
    (finding,) = ruled(MISSING, facts)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu3")


def test_a_container_was_given_but_some() -> None:
    facts = facts_of({"npu-smi info": table([rows(4), rows(5)]), "lspci": lspci(*BUSES)})
    facts["cgroup"] = {"container": "docker"}
    (finding,) = ruled(MISSING, facts)
    assert finding.status is Status.SKIP
    assert "this container was given 2" in finding.message


@pytest.mark.parametrize(
    ("commands", "files"),
    [
        ({}, {"/dev/davinci5": ""}),
        ({"npu-smi info -l": listing(range(8))}, {}),
        ({"npu-smi info -t topo": mesh(8)}, {}),
        ({"npu-smi info -m": mapping(COLUMNS, *((str(card), "0", str(card), "x") for card in range(8)))}, {}),
    ],
    ids=["file", "list", "matrix", "map"],
)
def test_what_another_source_knows_fails(commands: dict[str, str], files: dict[str, str]) -> None:
    found = ruled(MISSING, facts_of({"npu-smi info": eight(npu5=""), **commands}, files))
    assert (statuses(found), devices(found)) == ([Status.FAIL], ["npu5"])


def test_a_gap_among_many_is_a_warning() -> None:
    found = ruled(MISSING, facts_of({"npu-smi info": eight(npu5="")}))
    assert (statuses(found), devices(found)) == ([Status.WARN], ["npu5"])


def test_one_that_is_configured_and_not_listed_is_a_warning() -> None:
    configured = "".join(f"address_{device}=192.0.2.{device + 1}\n" for device in range(8))
    found = ruled(MISSING, facts_of({"npu-smi info": eight(npu7="")}, {"/etc/hccn.conf": configured}))
    assert (statuses(found), devices(found)) == ([Status.WARN], ["npu7"])


@pytest.mark.parametrize("cards", [(4, 5, 6, 7), (1, 2, 3, 4), (0, 2, 4, 6), (0, 1, 4, 5), (3,)])
def test_ids_of_a_part_of_a_host_are_no_fault(cards: tuple[int, ...]) -> None:
    assert statuses(ruled(MISSING, of_cards(*cards))) == [Status.PASS]


@pytest.mark.parametrize(
    "commands",
    [{"npu-smi info": eight(npu7="")}, {"lspci": lspci(*BUSES[:7])}, {"npu-smi info -l": listing(range(7))}],
    ids=["table", "lspci", "list"],
)
def test_seven_are_one_short(commands: dict[str, str]) -> None:
    (finding,) = ruled(MISSING, facts_of(commands))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "h"})
    assert "there are 7 NPUs" in finding.message


def test_nothing_known_is_no_finding() -> None:
    assert ruled(MISSING, facts_of({})) == []


def test_the_host_with_fewer_than_most_is_named_with_what_it_lacks() -> None:
    whole, lacking = facts_of({"npu-smi info": eight()}), facts_of({"npu-smi info": eight(npu5="")})
    (finding,) = fleet("ascend.npu_count_differs", a=whole, b=lacking, c=whole)
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "b", "device": "npu5"})
    assert "not here: npu5" in finding.message


def test_of_two_hosts_none_is_to_blame() -> None:
    whole, lacking = facts_of({"lspci": lspci(*BUSES)}), facts_of({"lspci": lspci(*BUSES[:6], BUSES[7])})
    (finding,) = fleet("ascend.npu_count_differs", a=whole, b=lacking)
    assert (finding.status, finding.subject) == (Status.FAIL, {})
    assert "not on all: 0000:c6:00.0" in finding.message


def test_equal_hosts_pass_and_a_host_alone_says_nothing() -> None:
    facts = facts_of({"npu-smi info": eight()})
    assert statuses(fleet("ascend.npu_count_differs", a=facts, b=facts)) == [Status.PASS]
    assert fleet("ascend.npu_count_differs", a=facts) == []


def test_what_is_gone_since_the_earlier_look_is_named() -> None:
    before = facts_of({"npu-smi info": eight(), "lspci": lspci(*BUSES)})
    after = facts_of({"npu-smi info": eight(npu5=""), "lspci": lspci(*BUSES[:5], *BUSES[6:])})
    found = ruled("ascend.npu_gone", after, earlier=before)
    assert (statuses(found), devices(found)) == ([Status.FAIL], ["npu5"])
    fewer, none = (facts_of({"lspci": lspci(*buses)}) for buses in (BUSES[:5], BUSES[:6]))
    (finding,) = ruled("ascend.npu_gone", fewer, earlier=none)
    assert "the NPU at 0000:c5:00.0 was there" in finding.message
    assert statuses(ruled("ascend.npu_gone", before, earlier=before)) == [Status.PASS]


def test_what_was_not_asked_now_is_not_gone() -> None:
    assert ruled("ascend.npu_gone", facts_of({}), earlier=facts_of({"npu-smi info": eight()})) == []


def test_ids_that_differ_are_told_and_no_fault() -> None:
    (finding,) = ruled("ascend.ids_differ", facts_of({"npu-smi info": A3}))
    assert finding.status is Status.INFO
    assert "npu4 is card 2, chip 0" in finding.message
    assert ruled("ascend.ids_differ", of_cards(0, 1)) == []
