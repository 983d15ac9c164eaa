"""What hosts are expected to be, from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probes import PROBES
from probes.host import LocalHost
from suites.errors import UsageError
from suites.expectation import Expectation, expected_of, read_expectation, unknown_keys, violations
from suites.hostinfo import Wanted, look
from suites.report import Status


def host(kernel: str, *mtu: int, **more: Any) -> dict[str, Any]:
    interfaces = [{"name": f"eth{n}", "mtu": each, "addresses": [f"192.0.2.{each % 7}"]} for n, each in enumerate(mtu)]
    return {"software": {"kernel": kernel}, "network": {"interfaces": interfaces}, **more}


def test_a_good_host_meets_what_is_written_of_it() -> None:
    facts = host("6.1", 9000, 1500)
    content = expected_of([("a", facts)])
    assert content == {
        "kind": "expect",
        "expect": {
            "network.interfaces.eth0.mtu": 9000, "network.interfaces.eth1.mtu": 1500, "software.kernel": "6.1",
        },
    }  # fmt: skip
    assert violations(Expectation("f", content["expect"]), {"b": facts}) == []


def test_of_several_hosts_the_majority_is_expected_and_what_has_none_is_left_open() -> None:
    hosts = [("a", host("6.1", 9000)), ("b", host("6.1", 1500)), ("c", host("5.4", 4200))]
    assert expected_of(hosts)["expect"] == {"software.kernel": "6.1"}


def test_what_is_not_so_names_host_device_and_both_values() -> None:
    (found,) = violations(Expectation("good.json", {"network.interfaces.eth0.mtu": 9000}), {"b": host("6.1", 1500)})
    assert (found.check, found.status, found.subject) == (
        "expect.differs", Status.FAIL, {"host": "b", "device": "eth0"},
    )  # fmt: skip
    assert "is 1500, and 9000 is expected" in found.message
    assert found.remedy is not None
    assert "good.json" in found.remedy


@pytest.mark.parametrize(
    ("key", "wanted", "found"),
    [
        ("network.interfaces.*.mtu", 9000, ["network.interfaces.eth1.mtu is 1500"]),
        ("network.interfaces.ib0.mtu", 9000, ["network.interfaces.ib0.mtu is unknown or not there"]),
        ("network.interfaces.*.speed", 1, ["network.interfaces.*.speed is unknown or not there"]),
        ("memory.total_bytes", 1, []),  # the section was not read
    ],
)
def test_keys(key: str, wanted: object, found: list[str]) -> None:
    said = violations(Expectation("f", {key: wanted}), {"b": host("6.1", 9000, 1500)})
    assert [each.message.split(",")[0] for each in said] == found


def test_an_npu_is_named_as_elsewhere() -> None:
    facts = {"accelerators": {"ascend": {"devices": [{"id": 3, "name": "910B3"}]}}}
    (found,) = violations(Expectation("f", {"accelerators.ascend.devices.3.name": "910B4"}), {"b": facts})
    assert found.subject == {"host": "b", "device": "npu3"}


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("software.kernel", True),
        ("network.interfaces.ib0.mtu", True),
        ("network.interfaces.*.mtu", True),
        ("accelerators.ascend.devices.3", True),
        ("accelerators.ascend.devices.3.readings.link.values.status", True),
        ("limits.memlock.soft", True),
        ("software.packages.torch", True),
        ("sofware.kernel", False),
        ("software.kernels", False),
        ("network.interfaces.ib0.mtus", False),
        ("accelerators.intel.devices", False),
        ("software.kernel.version", False),
        ("backends.mpi.ready", False),
    ],
)
def test_keys_that_no_host_can_have_are_known_without_one(key: str, known: bool) -> None:
    assert unknown_keys(Expectation("f", {key: 1})) == ([] if known else [key])


def test_all_that_is_written_of_this_machine_can_be_read_back() -> None:
    facts = look("h", LocalHost(), Wanted(tuple(PROBES))).facts
    assert unknown_keys(Expectation("f", expected_of([("h", facts)])["expect"])) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"kind": "info", "expect": {}}', '{"kind": "expect"}', "\xff", "[" * 99999]
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "e.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=r"--expect .*e\.json: no "):
        read_expectation(path)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    with pytest.raises(UsageError, match="No such file"):
        read_expectation(path)
    path.write_text(json.dumps({"kind": "expect", "expect": {"a.b": 1}}))
    assert read_expectation(path) == Expectation(str(path), {"a.b": 1})
