"""`info` and `suite smoke` on several hosts, over a real sshd."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Lab, LabHost, lab, unavailable
from tests.npus import without_npus
from tests.schema import validate

pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}"),
]

PATIENCE = 120.0


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(3, tmp_path_factory.mktemp("fleet")) as hosts:
        yield hosts
        assert not any(host.processes() for host in hosts.hosts)


def opsdist(hosts: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opsdist_cli", *arguments], env={**os.environ, "OPSDIST_SSH": shlex.join(hosts.ssh)},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def written(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text())
    validate(record)
    return record


def test_hosts_that_are_alike_share_a_text_and_differences_are_named(hosts: Lab, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    hosts.hosts[2].mtu(1400)
    try:
        arguments = ("info", "--hosts", "node[1-3]", "-t", "cpu", "-t", "network", "-i", "eth0", "--json", str(path))
        done = opsdist(hosts, *arguments)
    finally:
        hosts.hosts[2].mtu(1500)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# opsdist ")
    assert " info on node[1-3]\n\ncpu\n" in done.stdout  # one text for all
    assert "network on node3" in done.stdout
    record = written(path)
    assert [host["name"] for host in record["hosts"]] == ["node1", "node2", "node3"]
    assert {"key": "network.interfaces.eth0.mtu", "majority": 1500, "outliers": {"node3": 1400}} in record[
        "differences"
    ]
    assert "network.interfaces.eth0.mtu (most: 1500): node3: 1400" in done.stdout


def test_the_limits_are_those_of_a_login_there(hosts: Lab, tmp_path: Path) -> None:
    """Not what an agent has made of them."""
    path = tmp_path / "i.json"
    done = opsdist(hosts, "info", "--hosts", "node1", "-t", "limits", "--json", str(path))
    assert done.returncode == 0, done.stderr
    told = subprocess.run(
        [*hosts.ssh, "node1", "ulimit -S -n; ulimit -H -n"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stdout.split()
    limit = written(path)["hosts"][0]["facts"]["limits"]["nofile"]
    assert [str(limit["soft"]), str(limit["hard"])] == told


def test_a_host_that_is_not_there_is_a_finding_and_the_others_are_shown(hosts: Lab, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    done = opsdist(hosts, "info", "--hosts", "node1,nonesuch.invalid", "-t", "limits", "--json", str(path))
    assert done.returncode == 0, done.stderr
    record = written(path)
    assert [host["name"] for host in record["hosts"]] == ["node1"]
    (finding,) = [finding for finding in record["findings"] if finding["status"] == "error"]
    assert (finding["check"], finding["subject"]) == ("fleet.reach", {"host": "nonesuch.invalid"})
    assert finding["remedy"]


def test_no_host_at_all_is_no_answer(hosts: Lab) -> None:
    done = opsdist(hosts, "info", "--hosts", "nonesuch.invalid", "-t", "limits")
    assert done.returncode == 3
    assert "nothing could be read" in done.stdout


def test_an_unknown_section_is_refused_before_any_host_is_asked(hosts: Lab) -> None:
    done = opsdist(hosts, "info", "--hosts", "nonesuch.invalid", "-t", "nosuchsection")
    assert done.returncode == 2
    assert "no section 'nosuchsection'" in done.stderr


def addresses(host: LabHost, *last: int) -> None:
    """Have the host say that its NPUs have these addresses."""
    lines = [f"address_{npu}=192.0.2.{number}\nnetmask_{npu}=255.255.255.0\n" for npu, number in enumerate(last)]
    host.configure("hccn.conf", "".join(lines))


@without_npus
def test_a_rank_table_is_written_of_what_hosts_say(hosts: Lab, tmp_path: Path) -> None:
    addresses(hosts.hosts[0], 10, 11)
    addresses(hosts.hosts[1], 20, 21, 22)
    path = tmp_path / "table.json"
    done = opsdist(hosts, "hosts", "--hosts", "node1,root@node2:2", "--format", "rank-table")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert [table[key] for key in ("version", "status", "server_count")] == ["1.0", "completed", "2"]
    assert [server["server_id"] for server in table["server_list"]] == ["node1", "node2"]
    assert [
        (device["device_id"], device["device_ip"], device["rank_id"])
        for server in table["server_list"]
        for device in server["device"]
    ] == [("0", "192.0.2.10", "0"), ("1", "192.0.2.11", "1"), ("0", "192.0.2.20", "2"), ("1", "192.0.2.21", "3")]
    path.write_text(done.stdout)
    assert opsdist(hosts, "hosts", "--hostfile", str(path)).stdout == "# 2 hosts, 4 slots\nnode1  2\nnode2  2\n"


@without_npus
def test_no_rank_table_is_written_where_hosts_lack_what_it_needs(hosts: Lab) -> None:
    addresses(hosts.hosts[0], 10, 11)
    addresses(hosts.hosts[1], 11)
    done = opsdist(hosts, "hosts", "--hosts", "node[1-3]", "--format", "rank-table")
    assert (done.returncode, done.stdout) == (3, "")
    assert "  node3: no NPU: " in done.stderr
    done = opsdist(hosts, "hosts", "--hosts", "node[1-2]", "--format", "rank-table")
    assert (done.returncode, done.stdout) == (3, "")
    assert "  NPU 0 of node2 has the address of NPU 1 of node1, 192.0.2.11; give it another one" in done.stderr
    done = opsdist(hosts, "hosts", "--hosts", "node1,nonesuch.invalid", "--format", "rank-table")
    assert (done.returncode, done.stdout) == (3, "")
    assert "nonesuch.invalid" in done.stderr
    assert "1 of 2 hosts did not answer" in done.stderr


def test_smoke_on_all_hosts(hosts: Lab, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    done = opsdist(hosts, "suite", "smoke", "--hosts", "node[1-2]", "--budget", "90s", "--json", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    record = written(path)
    assert record["counts"]["pass"] + record["counts"]["warn"] == 5
    assert {finding["check"] for finding in record["findings"]} >= {
        "smoke.killed",
        "smoke.corrupt",
        "smoke.collectives",
    }


def test_smoke_on_hosts_that_are_not_there(hosts: Lab) -> None:
    done = opsdist(hosts, "suite", "smoke", "--hosts", "node1,nonesuch.invalid", "--budget", "60s")
    assert done.returncode == 3
    assert "(phase: name)" in done.stdout


def test_hosts_are_recorded_each_in_a_folder_of_its_own(hosts: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    done = opsdist(hosts, "info", "--hosts", "node[1-2]", "-t", "limits", "-t", "network", "--record", str(folder))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["node1", "node2"]
    path = tmp_path / "i.json"
    assert opsdist(hosts, "info", "--from", str(folder), "-t", "network", "--json", str(path)).returncode == 0
    told = {host["name"]: host["facts"]["network"]["interfaces"] for host in written(path)["hosts"]}
    assert {name: "eth0" in [each["name"] for each in found] for name, found in told.items()} == {
        "node1": True, "node2": True,
    }  # fmt: skip
    assert opsdist(hosts, "info", "--hosts", "node1", "-t", "limits", "--record", str(folder)).returncode != 0


def test_how_far_clocks_are_apart_is_known_to_within_the_error(hosts: Lab, tmp_path: Path) -> None:
    """Hosts of a lab have the same clock."""
    path = tmp_path / "i.json"
    done = opsdist(hosts, "info", "--hosts", "node[1-3]", "-t", "clock", "--json", str(path))
    assert done.returncode == 0, done.stderr
    for host in written(path)["hosts"]:
        clock = host["facts"]["clock"]["momentary"]
        assert abs(clock["ahead_seconds"]) <= clock["ahead_error_seconds"]


def test_a_device_that_only_some_have_is_an_error_of_the_others(hosts: Lab, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    opsdist(hosts, "info", "--hosts", "node1", "-t", "network", "-i", "nonesuch", "--json", str(path))
    (finding,) = [finding for finding in written(path)["findings"] if finding["status"] == "error"]
    assert (finding["check"], finding["subject"]) == ("info.device", {"host": "node1"})
    assert "no device 'nonesuch'; known: " in finding["message"]


def test_a_suite_of_checks_on_all_hosts(hosts: Lab, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    done = opsdist(hosts, "suite", "node", "--hosts", "node[1-2]", "--json", str(path))
    assert done.returncode in (0, 1), done.stderr
    passed = {finding["subject"].get("host") for finding in written(path)["findings"] if finding["status"] == "pass"}
    assert {"node1", "node2"} <= passed


def test_what_was_expected_of_hosts_is_asked_of_each(hosts: Lab, tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    assert opsdist(hosts, "info", "--hosts", "node1", "-t", "network", "--save-expect", str(good)).returncode == 0
    path = tmp_path / "i.json"
    hosts.hosts[1].mtu(1400)
    try:
        arguments = ("-t", "network", "--expect", str(good), "--json", str(path))
        opsdist(hosts, "info", "--hosts", "node[1-2]", *arguments)
    finally:
        hosts.hosts[1].mtu(1500)
    differs = [found for found in written(path)["findings"] if found["check"] == "expect.differs"]
    assert {"host": "node2", "device": "eth0"} in [found["subject"] for found in differs]
    assert "node1" not in [found["subject"]["host"] for found in differs]
