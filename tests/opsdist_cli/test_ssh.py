"""Runs across hosts over a real sshd: what must work, and what must end with a verdict that names host and phase.

The hosts are those of a lab. After every test nothing of a run may be left on any of them.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from collectives import native
from tests.lab import Lab, LabHost, lab, unavailable
from tests.leftovers import RunSpace, until
from tests.perf_process import ENDLESS, PROMISED, SMALL, Perf, perf

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}")

HOSTS = ("--hosts", "node[1-2]", "--per-host", "1", "--bind", "none")
MARGIN = 20.0
"""Seconds beyond any deadline of a run, for a machine that is busy."""
_NONE: Mapping[str, str] = {}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(2, tmp_path_factory.mktemp("cluster")) as hosts:
        yield hosts


@pytest.fixture
def hosts(cluster: Lab) -> Iterator[Lab]:
    """The cluster as it should be, before and after; at the end nothing of a run is on any host."""
    yield cluster
    for host in cluster.hosts:
        host.restore()
        host.up()
        host.plain()
        host.accept_key()
        host.know()
        gone(host)


def gone(host: LabHost) -> None:
    until(lambda: not host.processes(), MARGIN, f"the end of {host.processes()} on {host.name}")


def end(started: Perf) -> None:
    started.process.send_signal(signal.SIGINT)
    assert started.code() == 130


def end_hung(host: LabHost) -> None:
    """What a blocked rc file waits for outlives its session, whoever has started it."""
    for pid in host.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def ranks_and_agents(host: LabHost) -> dict[int, str]:
    """Processes of opsdist; a session of sshd may still be there."""
    return {pid: command for pid, command in host.processes().items() if "suites.launch" in command}


@contextmanager
def run(
    hosts: Lab, space: RunSpace, *arguments: str, variables: Mapping[str, str] = _NONE, **options: Any
) -> Iterator[Perf]:
    with perf(space, *arguments, variables={"OPSDIST_SSH": shlex.join(hosts.ssh), **variables}, **options) as started:
        yield started


def verdict(hosts: Lab, space: RunSpace, *arguments: str) -> tuple[int, str, list[str], str]:
    """Exit code, class, the hosts named, and the explanation."""
    with run(hosts, space, *arguments) as ended:
        code = ended.code()
    found = ended.record["verdict"]
    assert found, ended.stderr
    return code, found["class"], [culprit["host"] for culprit in found["culprits"]], found["explanation"]


# --- what must work


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
            "--peak", "1GB/s", "--hosts", "node1:2,node2:2", "--algorithm", algorithm, name=algorithm,
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
            assert ended.code() == 0, ended.stderr
    finally:
        hosts.hosts[1].mtu(1500)
    assert ended.record["results"][0]["out_of_place"]["nwrong"] == 0
    (finding,) = [finding for finding in ended.record["findings"] if finding["check"] == "perf.mtu"]
    assert (finding["status"], finding["subject"]) == ("warn", {"host": "node2", "device": "eth0"})


# --- what must end with a verdict that names host and phase


def test_an_unknown_host(hosts: Lab, space: RunSpace) -> None:
    code, kind, named, why = verdict(hosts, space, *SMALL, "--hosts", "node1,nonesuch.invalid", "--per-host", "1")
    assert (code, kind, named) == (3, "launch", ["nonesuch.invalid"])
    assert "(phase: name)" in why


def test_all_hosts_that_fail_are_named_at_once(hosts: Lab, space: RunSpace) -> None:
    hosts.hosts[0].stop_sshd()
    try:
        code, kind, named, why = verdict(
            hosts, space, *SMALL, "--hosts", "node[1-2],nonesuch.invalid", "--per-host", "1"
        )
    finally:
        hosts.hosts[0].start_sshd()
    assert (code, kind, sorted(named)) == (3, "launch", ["node1", "nonesuch.invalid"])
    assert "(phase: connection)" in why
    assert "(phase: name)" in why


def _wrong_key(host: LabHost) -> None:
    host.refuse_key()


def _changed_host_key(host: LabHost) -> None:
    host.new_host_key()


def _unknown_host_key(host: LabHost) -> None:
    host.forget()


def _hangs(host: LabHost) -> None:
    host.hang()


@pytest.mark.parametrize(
    ("harm", "phase", "advice"),
    [
        (_wrong_key, "authentication", "ssh node2 true"),
        (_changed_host_key, "host key", "ssh-keygen -R node2"),
        (_unknown_host_key, "host key", "ssh-keyscan node2"),
        (_hangs, "start", ""),
    ],
)
def test_ssh_that_does_not_lead_to_an_agent(hosts: Lab, space: RunSpace, harm: Any, phase: str, advice: str) -> None:
    harm(hosts.hosts[1])
    with run(hosts, space, *SMALL, *HOSTS, "--timeout", "1s") as ended:
        assert ended.code() == 3
    found = ended.record["verdict"]
    assert (found["class"], [culprit["host"] for culprit in found["culprits"]]) == ("launch", ["node2"])
    assert f"(phase: {phase})" in found["explanation"]
    assert advice in "; ".join(found["next_checks"])
    assert ended.record["world"]["size"] == 0
    end_hung(hosts.hosts[1])


BASE_PYTHON = os.path.realpath(sys.executable)
"""The interpreter without the environment that has opsdist."""


@pytest.mark.parametrize(
    ("python", "phase"), [("/no/such/python", "python"), (BASE_PYTHON, "opsdist")], ids=["no python", "no opsdist"]
)
def test_no_interpreter_or_no_opsdist_over_there(hosts: Lab, space: RunSpace, python: str, phase: str) -> None:
    code, kind, named, why = verdict(hosts, space, *SMALL, *HOSTS, "--python", python)
    assert (code, kind, sorted(named)) == (3, "launch", ["node1", "node2"])
    assert f"(phase: {phase})" in why


def test_another_version_over_there(hosts: Lab, space: RunSpace, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import importlib.metadata as m\nm.version = lambda name: '9.9.9'\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    code, kind, named, why = verdict(hosts, space, *SMALL, *HOSTS, "--python", str(python))
    assert (code, kind, sorted(named)) == (3, "launch", ["node1", "node2"])
    assert "9.9.9" in why


def test_no_address_in_common(hosts: Lab, space: RunSpace) -> None:
    code, kind, named, why = verdict(hosts, space, *SMALL, *HOSTS, "--interface", "docker")
    assert (code, kind, named) == (3, "launch", ["node1"])
    assert "(phase: addresses)" in why


@contextmanager
def rules(host: LabHost, text: str) -> Iterator[None]:
    """The host's packet filter."""
    host.run(["nft", f"add table inet gap; {text}"], check=True)
    try:
        yield
    finally:
        host.run(["nft", "delete table inet gap"], check=True)


def test_hosts_that_ssh_reaches_and_others_do_not(hosts: Lab, space: RunSpace) -> None:
    chain = "add chain inet gap gap { type filter hook input priority 0; }; add rule inet gap gap tcp dport != 22"
    with rules(hosts.hosts[1], f"{chain} tcp flags syn / syn,ack drop"):
        code, kind, named, why = verdict(hosts, space, *SMALL, *HOSTS)
    assert (code, kind, named) == (3, "launch", ["node2"])
    assert f"node1 cannot reach node2 at {hosts.hosts[1].address}: no answer within 5 s" in why
    assert "(phase: addresses)" in why


def test_no_port_is_left(hosts: Lab, space: RunSpace) -> None:
    """The only port that the system would choose is taken."""
    host = hosts.hosts[1]
    holder = (
        "import socket, sys; all = [socket.create_server(('0.0.0.0', port)) for port in (40000, 40001)];"
        "print(flush=True); sys.stdin.read()"
    )
    host.run(["sysctl", "-q", "-w", "net.ipv4.ip_local_port_range=40000 40001"], check=True)
    with host.popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as taken:
        assert taken.stdout
        taken.stdout.readline()
        try:
            with run(hosts, space, *SMALL, *HOSTS) as ended:
                assert ended.code() == 3
        finally:
            host.run(["sysctl", "-q", "-w", "net.ipv4.ip_local_port_range=32768 60999"], check=True)
            taken.kill()
    found = ended.record["verdict"]
    assert (found["class"], [culprit["host"] for culprit in found["culprits"]]) == ("resource", ["node2"])
    assert "Address already in use" in found["explanation"]


def test_a_rank_killed_on_another_host(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *SMALL, *HOSTS, "--inject", "kill:rank=1") as ended:
        assert ended.code() == 3
    found = ended.record["verdict"]
    assert found["class"] == "crashed"
    assert found["culprits"] == [{"kind": "rank", "rank": 1, "host": "node2"}]


def test_an_agent_killed(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *ENDLESS, *HOSTS, "-v") as started:
        started.until_row(4096)
        os.kill(agent_of(hosts.hosts[1]), signal.SIGKILL)
        assert started.code() == 3
    found = started.record["verdict"]
    assert (found["class"], found["culprits"]) == ("crashed", [{"kind": "host", "host": "node2"}])
    assert started.record["results"][0]["size"] == 4096  # what was measured is kept


def agent_of(host: LabHost) -> int:
    """The oldest of them, from which the ranks were forked."""
    return min(ranks_and_agents(host))


@pytest.mark.parametrize("harm", ["down", "blackhole"])
def test_the_way_to_a_host_breaks_in_the_middle(hosts: Lab, space: RunSpace, harm: str) -> None:
    host = hosts.hosts[1]
    with run(hosts, space, *ENDLESS, *HOSTS, "-v", "--timeout", "3s") as started:
        started.until_row(4096)
        getattr(host, harm)()
        assert started.code() == 3
    found = started.record["verdict"]
    assert (found["class"], [culprit["host"] for culprit in found["culprits"]]) == ("transport", ["node2"])
    assert "not known to have ended" in started.stdout
    # Nobody can tell them, yet they end: their controller is silent.
    until(lambda: not ranks_and_agents(host), 10.0 + MARGIN, "the end of ranks that cannot be reached")


def test_a_controller_that_was_suspended_for_long_learns_why_its_run_is_over(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *ENDLESS, *HOSTS, "-v", "--timeout", "1s") as started:
        started.until_row(4096)
        started.process.send_signal(signal.SIGSTOP)
        until(lambda: not any(map(ranks_and_agents, hosts.hosts)), 10.0 + MARGIN, "the end of ranks that hear nothing")
        started.process.send_signal(signal.SIGCONT)
        assert started.code() == 3
    found = started.record["verdict"]
    assert (found["class"], found["culprits"]) == ("undecided", [])
    assert "has heard nothing of this controller for 10 s" in found["explanation"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(hosts: Lab, space: RunSpace, number: int, code: int) -> None:
    with run(hosts, space, *ENDLESS, *HOSTS, "-v") as started:
        started.until_row(4096)
        started.process.send_signal(number)
        assert started.code() == code
    assert started.record["results"][0]["size"] == 4096
    assert not ranks_and_agents(hosts.hosts[1])


def test_interrupted_before_the_hosts_are_there(hosts: Lab, space: RunSpace) -> None:
    hosts.hosts[1].hang()
    with run(hosts, space, *SMALL, *HOSTS, "-v") as started:
        started.until(lambda: re.search(r"^# node2: ", started.stderr, re.MULTILINE) is not None, "the start of ssh")
        until(lambda: bool(hosts.hosts[1].processes()), MARGIN, "a session")
        started.process.send_signal(signal.SIGINT)
        assert started.code() == 130
    assert started.record["status"] == "error"
    end_hung(hosts.hosts[1])


def test_the_controller_killed(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *ENDLESS, *HOSTS, "-v") as started:
        started.until_row(4096)
        started.process.kill()
        started.code()
        for host in hosts.hosts:
            until(lambda host=host: not ranks_and_agents(host), PROMISED, f"the end of all on {host.name}")  # type: ignore[misc]
        space.gone(within=PROMISED)


# --- what is refused before anything starts


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--hosts", "node1", "--hostfile", "f"), "exclude each other"),
        (("--hostfile", "/no/such/file"), "/no/such/file"),
        (("--hosts", "node[1-2", "--per-host", "1"), "node[1-2"),
        (("--launcher", "ssh"), "no hosts"),
        (("--launcher", "local", "--hosts", "node1"), "not this host: node1"),
        (("--hosts", "node1", "--interface", "10.0.0.0/99"), "--interface"),
        (("--hosts", "node1", "--ssh", "ssh 'x"), "No closing quotation"),
        (("--hosts", "node1", "--ssh", "/no/such/ssh"), "there is no such program here"),
        (("--hosts", "node1", "--ssh", " "), "there is no such program here"),
        (("--hosts", "node1", "--env", "NO_SUCH_NAME_HERE"), "not set here"),
    ],
)
def test_refused(space: RunSpace, arguments: tuple[str, ...], wanted: str) -> None:
    with perf(space, *SMALL, *arguments) as ended:
        assert ended.code() == 2
    assert wanted in ended.stderr


def test_a_dry_run_shows_ranks_and_commands_and_starts_nothing(space: RunSpace) -> None:
    with perf(space, *SMALL, "--hosts", "a:2,b:1,u@c:2", "--dry-run", "--ssh", "ssh -F my_config") as ended:
        assert ended.code() == 0
    assert re.findall(r"^\w+  ranks? [\d-]+$", ended.stdout, re.MULTILINE) == [
        "a  ranks 0-1",
        "b  rank 2",
        "c  ranks 3-4",
    ]
    assert re.search(
        r"^# c: ssh -F my_config .*BatchMode=yes.* -- u@c 'exec .*suites.launch.far'$", ended.stdout, re.MULTILINE
    )
