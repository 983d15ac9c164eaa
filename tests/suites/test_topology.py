"""The report of `opsdist topo`, and what is said of a topology beside other facts."""

from __future__ import annotations

from suites.hostinfo import Looked, Seen
from suites.report import Finding, Report, Status, now
from suites.topology import WANTED, report, summary
from tests.probes.topology.machines import Facts, laptop, machine, mesh
from tests.schema import validate


def told(looked: Looked) -> Report:
    found = report(["opsdist", "topo"], now(), looked)
    validate(found.record())
    return found


def far() -> Facts:
    """The third of four GPUs has no network card on its NUMA node."""
    facts = machine("nvidia", range(4), mesh("NV18"), cards=4, numa=4)
    for section, key in (("rdma", "devices"), ("network", "interfaces")):
        facts[section][key] = [row for row in facts[section][key] if not row["name"].endswith("2")]
    return facts


def test_each_host_has_its_graph() -> None:
    found = told(Looked([Seen("a", machine("ascend", range(8), mesh("HCCS", _5="SYS"))), Seen("b", laptop())]))
    first, second = found.body["hosts"]
    assert (first["name"], first["links"]) == ("a", {"HCCS": 21, "SYS": 7})
    assert [one["device"] for one in first["asymmetries"]] == ["npu5"]
    assert [node["name"] for node in second["nodes"]] == ["numa0", "eth0", "wlan0"]
    assert (found.exit_code, found.findings) == (0, [])


def test_a_far_card_is_a_warning_with_a_remedy() -> None:
    (finding,) = told(Looked([Seen("a", far())])).findings
    assert (finding.check, finding.status) == ("topology.nic_far", Status.WARN)
    assert finding.subject == {"host": "a", "device": "gpu2"}
    assert finding.remedy


def test_nothing_known_is_no_verdict() -> None:
    assert told(Looked([Seen("a", {})])).exit_code == 3
    assert told(Looked([])).exit_code == 3
    assert told(Looked([Seen("a", {}), Seen("b", laptop())])).exit_code == 0


def test_hosts_that_did_not_answer_are_told() -> None:
    unread = Finding("numa.read", Status.ERROR, "it broke", {"host": "a"})
    unreached = Finding("fleet.reach", Status.ERROR, "no route", {"host": "b"})
    found = told(Looked([Seen("a", laptop(), [unread])], unreached=[unreached]))
    assert found.findings == [unread, unreached]


def test_what_takes_long_is_not_asked() -> None:
    assert WANTED.hurry
    assert {"accelerators", "rdma", "network", "pcie", "numa", "cpu"} == set(WANTED.sections)


def test_a_summary_says_what_is_near_and_what_is_odd() -> None:
    said = summary(machine("ascend", range(8), mesh("HCCS", _5="SYS"), cards=8))
    assert said["nearest_nic"]["npu3"] == ["mlx5_3"]
    assert said["links"] == {"HCCS": 21, "SYS": 7}
    (odd,) = said["asymmetries"]
    assert (odd["device"], odd["usual"], odd["kinds"]) == ("npu5", "HCCS", ["SYS"])


def test_a_summary_of_nothing() -> None:
    assert summary({}) == {"nearest_nic": {}, "asymmetries": [], "links": {}}
