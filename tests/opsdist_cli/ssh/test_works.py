"""What must simply work across hosts over ssh."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from collectives import native
from suites.launch import deadlines
from tests.lab import Lab
from tests.leftovers import RunSpace
from tests.opsdist_cli.ssh.runs import HOSTS, MARGIN, needs_lab, ranks_and_agents, run
from tests.perf_process import ENDLESS, SMALL, Perf

pytestmark = needs_lab


def end(started: Perf) -> None:
    started.process.send_signal(signal.SIGINT)
    assert started.code() == 130


def test_a_row_across_two_hosts_and_where_everybody_was(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *SMALL, *HOSTS, "-v") as ended:
        assert ended.code() == 0, ended.stderr
    record = ended.record
    assert [node["name"] for node in record["world"]["nodes"]] == ["node1", "node2"]
    assert record["world"]["launcher"] == "ssh"
    assert [rank["addresses"] for rank in record["world"]["ranks"]] == [[host.address] for host in hosts.hosts]
    assert {rank["transport"]["network"] for rank in record["world"]["ranks"]} == {"tcp"}
    assert record["results"][0]["out_of_place"]["nwrong"] == 0
    assert [node["link"] for node in record["world"]["nodes"]] == [{"interface": "eth0", "rate": None}] * 2  # a veth
    inside = "shm" if native.core() else "zmq"
    assert f"rank 1 on node2: not pinned; transport {inside}, tcp by" in ended.stdout
    assert "suites.launch.far" in ended.stderr


def test_several_ranks_a_host_exchange_across_by_the_hierarchical_algorithm(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *SMALL, "--hosts", "node1:2,node2:2", "--bind", "none") as ended:
        assert ended.code() == 0, ended.stderr
    assert ended.record["world"]["size"] == 4
    assert [node["ranks"] for node in ended.record["world"]["nodes"]] == [[0, 1], [2, 3]]
    assert ended.record["results"][0]["algorithm"] == "hierarchical"


def test_hierarchical_puts_two_thirds_of_a_rings_bytes_on_the_link(hosts: Lab, space: RunSpace) -> None:
    """In the figure, and by the interface's own count. With a peak given, no ceiling is measured over the link, and one
    out of reach leaves nothing to be measured again."""
    figures, counted = [], []
    for algorithm in ("ring", "hierarchical"):
        before = hosts.hosts[0].counters()[1]
        with run(
            hosts, space, "allreduce", "--size", "4M", "--loop", "20", "--cache", "warm", "--no-check", "--bind=none",
            "--peak", "1TB/s", "--hosts", "node1:2,node2:2", "--algorithm", algorithm, name=algorithm,
        ) as ended:  # fmt: skip
            assert ended.code() == 0, ended.stderr
        figures.append(ended.record["results"][0]["wire_bytes_per_host"])
        counted.append(hosts.hosts[0].counters()[1] - before)
    assert figures == [6 << 20, 4 << 20]
    assert counted[0] > 20 * figures[0]
    assert counted[1] <= 0.7 * counted[0]


def test_by_ipv6(hosts: Lab, space: RunSpace) -> None:
    with run(
        hosts, space, *SMALL, "--hosts", "node1-v6,node2-v6", "--per-host", "1", "--interface", "fd00::/8"
    ) as ended:
        assert ended.code() == 0, ended.stderr
    assert [rank["addresses"] for rank in ended.record["world"]["ranks"]] == [[host.address6] for host in hosts.hosts]


@pytest.mark.parametrize("shell", ["tcsh", "fish"])
def test_a_login_shell_that_is_another(hosts: Lab, space: RunSpace, shell: str) -> None:
    hosts.hosts[1].remote_shell(shell)
    with run(hosts, space, *SMALL, *HOSTS) as ended:
        assert ended.code() == 0, ended.stderr


def test_noise_of_the_far_side_harms_nothing_and_is_shown_on_request(hosts: Lab, space: RunSpace) -> None:
    hosts.hosts[1].noise("welcome, {stranger}\n\x00 and more")
    hosts.hosts[1].banner("authorised use only")
    with run(hosts, space, *SMALL, *HOSTS) as ended:
        assert ended.code() == 0, ended.stderr
    assert "welcome" not in ended.stderr + ended.stdout
    with run(hosts, space, *SMALL, *HOSTS, "-v", name="verbose") as ended:
        assert ended.code() == 0, ended.stderr
    assert "[node2 agent] welcome, {stranger}" in ended.stderr
    assert "[node2 agent] authorised use only" in ended.stderr


def test_values_of_any_kind_reach_the_ranks(hosts: Lab, space: RunSpace) -> None:
    value = "two words, 'single' and \"double\",\nanother line, $HOME `id` \\ !x é"
    with run(
        hosts,
        space,
        *ENDLESS,
        *HOSTS,
        "-v",
        "--env",
        f"PLAIN={value}",
        "--env",
        "HERE",
        variables={"HERE": value, "NCCL_DEBUG": "INFO"},
    ) as started:
        started.until(lambda: "ranks started" in started.stderr, "the start of the ranks")
        for host in hosts.hosts:
            for pid in ranks_and_agents(host):
                environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                assert f"PLAIN={value}".encode() in environment
                assert f"HERE={value}".encode() in environment
                assert b"NCCL_DEBUG=INFO" in environment
        end(started)


def test_a_prologue_runs_before_the_interpreter(hosts: Lab, space: RunSpace, tmp_path: Path) -> None:
    script = tmp_path / "set_env.sh"
    script.write_text("export FROM_PROLOGUE=yes\n")
    with run(hosts, space, *ENDLESS, *HOSTS, "-v", "--prologue", f". {script}") as started:
        started.until(lambda: "ranks started" in started.stderr, "the start of the ranks")
        agents = ranks_and_agents(hosts.hosts[1])
        assert agents
        assert all(b"FROM_PROLOGUE=yes" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") for pid in agents)
        end(started)


def test_two_runs_at_once_on_the_same_hosts(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *SMALL, *HOSTS, name="one") as one, run(hosts, space, *SMALL, *HOSTS, name="two") as two:
        assert (one.code(), two.code()) == (0, 0), one.stderr + two.stderr


def test_this_host_and_another_for_longer_than_any_silence(hosts: Lab, space: RunSpace) -> None:
    """An agent takes its controller for gone that says nothing for ten seconds, with this deadline: none may."""
    mixed = ("--hosts", "localhost,node1", "--per-host", "1", "--bind", "none", "--timeout", "1s")
    with run(hosts, space, *ENDLESS, *mixed, "-v") as started:
        started.until_row(4096)
        silent = time.monotonic() + 1.2 * deadlines.GREETING_SECONDS
        started.until(lambda: time.monotonic() > silent, "the time in which an agent would have lost its patience")
        end(started)
    assert started.record["results"][0]["size"] == 4096


def test_a_host_whose_own_name_is_a_loopback_address(hosts: Lab, space: RunSpace) -> None:
    """As Debian writes it into /etc/hosts: whoever asks there for its own address gets one that nobody else reaches."""
    for host in hosts.hosts:
        host.configure("hosts", f"127.0.0.1 localhost\n127.0.1.1 {host.name}\n")
    asked = [*hosts.ssh, "node2", "getent hosts node2"]
    assert subprocess.run(asked, check=True, capture_output=True, text=True, timeout=MARGIN).stdout.startswith(
        "127.0.1.1"
    )
    with run(hosts, space, *SMALL, *HOSTS) as ended:
        assert ended.code() == 0, ended.stderr
    assert [rank["addresses"] for rank in ended.record["world"]["ranks"]] == [[host.address] for host in hosts.hosts]


def test_a_smaller_mtu_on_one_host_works_and_is_said(hosts: Lab, space: RunSpace) -> None:
    hosts.hosts[1].mtu(1400)
    try:
        with run(hosts, space, "allreduce", "--size", "1M", "--loop", "4", "--cache", "warm", *HOSTS) as ended:
            ended.measured()
    finally:
        hosts.hosts[1].mtu(1500)
    assert ended.record["results"][0]["out_of_place"]["nwrong"] == 0
    (finding,) = [finding for finding in ended.record["findings"] if finding["check"] == "perf.mtu"]
    assert (finding["status"], finding["subject"]) == ("warn", {"host": "node2", "device": "eth0"})
