"""The flow of `opsdist info`: what is missing is told, what fails is told, and the rest goes on."""

from __future__ import annotations

from typing import Any

import pytest

from probes import PROBES
from probes.host import Host, Space
from suites.errors import UsageError
from suites.hostinfo import ALWAYS, SECTIONS, known, plain
from suites.report import Status
from tests.schema import validate
from tests.suites.reported import reported
from tests.tree_host import TreeHost


class Ready:
    name = "ready"
    summary = "always works"

    @staticmethod
    def unavailable() -> str | None:
        return None

    @staticmethod
    def caveat() -> str | None:
        return None


class Lame(Ready):
    @staticmethod
    def caveat() -> str | None:
        return "its leg is broken; get a crutch"


class Lacking(Ready):
    summary = "never works"

    @staticmethod
    def unavailable() -> str | None:
        return "quux is not installed; pip install quux; then try again"


class Broken(Ready):
    @staticmethod
    def unavailable() -> str | None:
        raise RuntimeError("it broke")


BACKENDS = {
    "ready": f"{__name__}:Ready",
    "lacking": f"{__name__}:Lacking",
    "broken": f"{__name__}:Broken",
    "absent": "no_such_module:backend",
}


def read(host: Host) -> None:
    """This module, as a probe that fails."""
    raise ZeroDivisionError("made up")


def facts_of(tree: TreeHost, *sections: str) -> dict[str, Any]:
    facts: dict[str, Any] = reported(tree, sections, backends=BACKENDS).body["hosts"][0]["facts"]
    return facts


def test_an_empty_host_is_a_valid_record_of_all_sections(tree: TreeHost) -> None:
    found = reported(tree, backends=BACKENDS)
    validate(found.record())
    assert tuple(found.body["hosts"][0]["facts"]) == (*SECTIONS, *ALWAYS)
    assert found.body["hosts"][0]["name"] == "unknown"
    assert {finding.status for finding in found.findings} == {Status.SKIP}
    assert found.exit_code == 0  # the backends could be told


def test_nothing_read_is_no_verdict(tree: TreeHost) -> None:
    found = reported(tree, ["cpu", "numa"])
    assert (found.exit_code, found.record()["status"]) == (3, "error")
    tree.write({"/proc/sys/kernel/numa_balancing": "0"})
    assert reported(tree, ["cpu", "numa"]).exit_code == 0


def test_no_variable_set_is_an_answer(tree: TreeHost) -> None:
    assert reported(tree, ["environment"]).exit_code == 0


def test_sections_come_in_the_order_of_the_table(tree: TreeHost) -> None:
    assert list(facts_of(tree, "limits", "cpu", "limits")) == ["cpu", "limits"]


@pytest.mark.parametrize("name", ["clocks", "rdmas", "CPU", ""])
def test_an_unknown_section_is_refused_with_the_known_ones(tree: TreeHost, name: str) -> None:
    with pytest.raises(UsageError, match=f"no section '{name}'; known: cpu, memory, .*backends"):
        reported(tree, ["cpu", name])


@pytest.mark.parametrize("section", PROBES)
def test_a_probe_that_fails_is_a_finding_and_the_rest_goes_on(
    tree: TreeHost, monkeypatch: pytest.MonkeyPatch, section: str
) -> None:
    monkeypatch.setitem(PROBES, section, __name__)
    found = reported(tree, backends=BACKENDS)
    validate(found.record())
    (error,) = [finding for finding in found.findings if finding.status is Status.ERROR]
    assert error.check == f"{section}.read"
    assert error.message.endswith("ZeroDivisionError: made up")
    assert "test_hostinfo.py:" in error.evidence["raised_at"]
    assert set(found.body["hosts"][0]["facts"]) == {*SECTIONS, *ALWAYS} - {section}
    assert found.exit_code == 0


def test_backends_say_whether_they_are_ready_why_not_and_what_to_do(tree: TreeHost) -> None:
    ready, lacking, broken, absent = facts_of(tree, "backends")["backends"]
    assert ready == {"name": "ready", "summary": "always works", "ready": True, "reason": None, "remedy": None}
    assert lacking == {
        "name": "lacking",
        "summary": "never works",
        "ready": False,
        "reason": "quux is not installed",
        "remedy": "pip install quux; then try again",
    }
    assert (broken["ready"], broken["reason"]) == (False, "RuntimeError: it broke")
    assert (absent["ready"], absent["reason"]) == (False, "ModuleNotFoundError: No module named 'no_such_module'")


def test_a_backend_that_is_ready_may_have_a_caveat(tree: TreeHost) -> None:
    found = reported(tree, ["backends"], backends={"lame": f"{__name__}:Lame"})
    (lame,) = found.body["hosts"][0]["facts"]["backends"]
    assert (lame["ready"], lame["reason"], lame["remedy"]) == (True, "its leg is broken", "get a crutch")
    assert [finding.status for finding in found.findings] == [Status.WARN]


def test_devices_narrow_the_network_section(tree: TreeHost) -> None:
    tree.network = {"eth0": (), "ib0": (), "lo": ()}
    found = reported(tree, ["network"], ["lo", "ib0"])
    names = [interface["name"] for interface in found.body["hosts"][0]["facts"]["network"]["interfaces"]]
    assert names == ["ib0", "lo"]


def test_an_unknown_device_is_refused_with_the_known_ones(tree: TreeHost) -> None:
    with pytest.raises(UsageError, match="no device 'eth9'; known: none, as far as was looked"):
        reported(tree, devices=["eth9"])
    tree.network = {"eth0": (), "lo": ()}
    with pytest.raises(UsageError, match="no device 'eth9'; known: eth0, lo"):
        reported(tree, devices=["eth0", "eth9"])


def test_findings_name_the_host(tree: TreeHost) -> None:
    tree.spaces["/dev/shm"] = Space(total=1 << 20, free=1 << 20)
    tree.write({"/proc/sys/kernel/hostname": "made-up"})
    (finding,) = reported(tree, ["memory"]).findings
    assert (finding.check, finding.subject) == ("memory.shm_small", {"host": "made-up"})


def test_plain_makes_json_values() -> None:
    assert plain({"a": (1, Space(2, 3)), "b": [None]}) == {"a": [1, {"total": 2, "free": 3}], "b": [None]}


@pytest.mark.parametrize(
    ("value", "learnt"),
    [
        (None, False),
        ({"a": None}, False),
        ([None, {"b": None}], False),
        ({}, True),
        ([], True),
        (0, True),
        (False, True),
    ],
)
def test_known(value: Any, learnt: bool) -> None:
    assert known(value) is learnt
