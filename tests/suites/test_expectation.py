"""What hosts are expected to be, from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probes import PROBES
from probes.host import Answer, LocalHost
from probes.recorded.texthost import TextHost
from suites.errors import UsageError
from suites.expectation import Expectation, expected_of, read_expectation, unknown_keys, violations
from suites.hostinfo import Wanted, look
from suites.report import Status
from tests.made_up.npu_host import NpuHost


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
        ("network.interfaces.ib0.mtu", 9000, ["network.interfaces.ib0 is not there"]),
        ("network.interfaces.*.speed", 1, ["network.interfaces.*.speed is not there"]),
        ("memory.total_bytes", 1, ["of what f expects 1 facts are unknown: memory.total_bytes"]),
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
        ("accelerators.ascend.devices.3", False),
        ("cpu", False),
        ("accelerators.*.devices.*.name", True),
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


def test_what_a_quick_look_leaves_out_is_unknown_and_no_violation() -> None:
    whole, quick = (looked_at(hurry) for hurry in (False, True))
    content = expected_of([("a", whole)])["expect"]
    assert violations(Expectation("f", content), {"a": whole}) == []
    (found,) = violations(Expectation("f", content), {"a": quick})
    assert (found.check, found.status, found.subject) == ("expect.unknown", Status.SKIP, {"host": "a"})


def looked_at(hurry: bool) -> dict[str, Any]:
    host = TextHost(NpuHost().files(), {line: Answer(0, text, "") for line, text in NpuHost().commands().items()})
    return look("a", host, Wanted(tuple(PROBES), hurry=hurry)).facts


def test_a_device_that_is_gone_is_one_violation() -> None:
    content = expected_of([("a", looked_at(False))])["expect"]
    facts = looked_at(False)
    facts["accelerators"]["ascend"]["devices"] = facts["accelerators"]["ascend"]["devices"][:7]
    (found,) = violations(Expectation("f", content), {"a": facts})
    assert (found.status, found.subject) == (Status.FAIL, {"host": "a", "device": "npu7"})
    assert found.message == "accelerators.ascend.devices.7 is not there"


def test_names_with_dots_are_names() -> None:
    facts = {"network": {"interfaces": [{"name": "eth0.100", "mtu": 1500}]}}
    (found,) = violations(Expectation("f", {"network.interfaces.*.mtu": 9000}), {"a": facts})
    assert "eth0.100.mtu is 1500" in found.message


def test_what_is_expected_does_not_depend_on_who_comes_first() -> None:
    hosts = [("a", {}), ("b", host("6.1", 9000)), ("c", host("6.1", 9000))]
    assert expected_of(hosts) == expected_of(hosts[::-1]) == expected_of(hosts[1:])


def test_words_that_are_no_values_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"kind": "expect", "expect": {"memory.total_bytes": NaN}}')
    with pytest.raises(UsageError, match="NaN is no value"):
        read_expectation(tmp_path / "f")
