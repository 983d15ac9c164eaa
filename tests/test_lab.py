"""The lab of hosts: what the tests that use it rely on, shown by real ssh and real connections."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Lab, LabError, LabHost, lab, unavailable
from tests.lab.network import find, system
from tests.leftovers import until

pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}"),
]

PATIENCE = 20.0
MARK = "OPSDIST_TEST_LAB"
MARKED = 'a "quoted" \\ word'
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 22), timeout=float(sys.argv[2])).close()"
ASK = "import socket, sys; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', (sys.argv[1], 9))"
LISTEN = """\
import socket
server = socket.socket(socket.AF_UNIX)
server.bind("\\0opsdist-lab-test")
server.listen()
server.accept()
"""
CALL = 'import socket; socket.socket(socket.AF_UNIX).connect("\\0opsdist-lab-test")'


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(3, tmp_path_factory.mktemp("hosts"), {MARK: MARKED, "SECOND": "2"}) as hosts:
        yield hosts


@pytest.fixture
def host(hosts: Lab) -> Iterator[LabHost]:
    """One whose server a test may change."""
    host = hosts.hosts[1]
    yield host
    host.plain()
    host.accept_key()
    host.know()


def ssh(hosts: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*hosts.ssh, *arguments]
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True}
    return subprocess.run(command, check=False, text=True, timeout=PATIENCE, **options)


def said(hosts: Lab, *arguments: str) -> list[str]:
    """Lines that a command wrote; it must have gone well."""
    done = ssh(hosts, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def reached(address: str, seconds: float) -> bool:
    """Whether this machine gets a connection to there."""
    try:
        socket.create_connection((address, 22), timeout=seconds).close()
    except OSError:
        return False
    return True


def reached_from(host: LabHost, address: str, seconds: float) -> bool:
    return host.run([sys.executable, "-c", CONNECT, address, str(seconds)]).returncode == 0


def quiet(host: LabHost) -> None:
    until(lambda: not host.processes(), PATIENCE, f"the end of {host.processes()}")


def test_a_command_runs_on_each_host_under_its_own_name_and_address(hosts: Lab) -> None:
    names = [host.name for host in hosts.hosts]
    assert names == ["node1", "node2", "node3"]
    for host in hosts.hosts:
        for alias, address, own in (
            (host.name, host.address, hosts.address),
            (f"{host.name}-v6", host.address6, hosts.address6),
        ):
            name, connection, interfaces = said(
                hosts, alias, 'hostname; echo "$SSH_CONNECTION"; echo $(ls /sys/class/net)'
            )
            assert name == host.name
            assert connection.split()[0::2] == [own, address]
            assert interfaces == "eth0 lo"
            assert int(connection.split()[3]) == 22
    assert socket.gethostname() not in names


def test_remote_processes_inherit_what_the_lab_was_given(hosts: Lab) -> None:
    assert said(hosts, "node2", f"printenv {MARK} SECOND") == [MARKED, "2"]


def test_a_host_runs_commands_without_ssh_and_reaches_the_others_over_it(hosts: Lab) -> None:
    host = hosts.hosts[0]
    assert host.run(["hostname"]).stdout == "node1\n"
    assert host.run(["sh", "-c", "exit 3"]).returncode == 3
    for alias in ("node2", "node2-v6", "node1"):
        assert host.run([*hosts.ssh, alias, "hostname"]).stdout == f"{alias.removesuffix('-v6')}\n"


def test_the_processes_of_a_host_are_known(hosts: Lab) -> None:
    first, second = hosts.hosts[:2]
    quiet(first)
    process = first.popen(["sleep", "1000"])
    until(lambda: first.processes() == {process.pid: "sleep 1000"}, PATIENCE, "the start of a process")
    assert process.pid not in second.processes()
    process.kill()
    process.wait(PATIENCE)
    quiet(first)


def test_the_control_groups_are_seen_as_on_the_machine(hosts: Lab) -> None:
    groups = sorted(os.listdir("/sys/fs/cgroup"))
    assert hosts.hosts[0].run(["ls", "/sys/fs/cgroup"]).stdout.split() == groups


def test_abstract_sockets_are_of_one_host(hosts: Lab) -> None:
    first, second = hosts.hosts[:2]
    process = first.popen([sys.executable, "-c", LISTEN])
    table = Path(f"/proc/{process.pid}/net/unix")
    until(lambda: "@opsdist-lab-test" in table.read_text(), PATIENCE, "a listening socket")
    assert "ConnectionRefusedError" in second.run([sys.executable, "-c", CALL]).stderr
    assert first.run([sys.executable, "-c", CALL]).returncode == 0
    assert process.wait(PATIENCE) == 0


def test_a_pulled_cable_reaches_nobody(hosts: Lab) -> None:
    first, second = hosts.hosts[:2]
    carrier = ["cat", "/sys/class/net/eth0/carrier"]
    second.down()
    assert second.run(carrier).stdout == "0\n"
    assert not reached(second.address, 0.3)
    assert not reached_from(first, second.address6, 0.3)
    second.up()
    assert second.run(carrier).stdout == "1\n"
    assert reached(second.address, 10.0)
    assert reached_from(first, second.address6, 10.0)


def test_what_was_asked_in_vain_while_the_cable_was_pulled_is_forgotten(hosts: Lab) -> None:
    first, second = hosts.hosts[:2]

    def neighbour() -> str:
        return system("ip", "-netns", second.netns, "neigh", "show", "nud", "all", "to", first.address)

    second.down()
    second.run([sys.executable, "-c", ASK, first.address], check=True)
    until(lambda: bool(neighbour()), PATIENCE, "a question for the neighbour")
    second.up()
    assert not neighbour()
    assert reached_from(second, first.address, 10.0)


def test_in_a_black_hole_packets_vanish_while_the_link_is_up(hosts: Lab) -> None:
    first, second = hosts.hosts[:2]
    second.blackhole()
    assert second.run(["cat", "/sys/class/net/eth0/carrier"]).stdout == "1\n"
    done = ssh(hosts, "-o", "ConnectTimeout=1", second.name, "true")
    assert done.returncode == 255
    assert "Connection timed out" in done.stderr
    for source, address in ((first, second.address6), (second, first.address)):
        assert "TimeoutError" in source.run([sys.executable, "-c", CONNECT, address, "0.3"]).stderr
    assert reached_from(second, second.address, 10.0)
    second.restore()
    second.restore()
    assert said(hosts, second.name, "hostname") == [second.name]
    assert reached_from(first, second.address6, 10.0)
    assert reached_from(second, first.address, 10.0)


def test_counters_count_what_crosses_the_cable(hosts: Lab) -> None:
    host = hosts.hosts[2]
    received, sent = host.counters()
    said(hosts, host.name, "head -c 300000 /dev/zero")
    assert host.counters()[0] > received
    assert host.counters()[1] >= sent + 300_000


def test_a_shaped_cable_holds_packets_back_in_both_directions(hosts: Lab) -> None:
    host = hosts.hosts[2]
    host.shape(50_000_000)
    transfer = (
        f"head -c 1000000 /dev/zero | {shlex.join(hosts.ssh)} {host.name} 'cat >/dev/null; head -c 1000000 /dev/zero'"
    )
    done = subprocess.run(["sh", "-c", transfer], check=False, capture_output=True, timeout=PATIENCE)
    assert len(done.stdout) == 1_000_000
    for queue in host.queues():
        assert queue["kind"] == "tbf"
        assert queue["options"]["rate"] == 50_000_000 // 8
        assert queue["bytes"] > 1_000_000
        assert queue["overlimits"] > 0
    host.unshape()
    host.unshape()
    assert [queue["kind"] for queue in host.queues()] == ["noqueue", "noqueue"]


def test_a_host_has_the_interfaces_it_is_given(hosts: Lab) -> None:
    host = hosts.hosts[2]
    host.mtu(1400)
    host.add_interface("docker0", "172.17.0.1/16")
    host.add_interface("ib0", "10.0.0.1/24", "veth")
    shown = {row["ifname"]: row for row in json.loads(host.run(["ip", "-json", "addr"]).stdout)}
    assert shown["eth0"]["mtu"] == 1400
    assert {name: shown[name]["addr_info"][0]["local"] for name in ("docker0", "ib0")} == {
        "docker0": "172.17.0.1",
        "ib0": "10.0.0.1",
    }
    assert "NO-CARRIER" in shown["docker0"]["flags"]
    assert "LOWER_UP" in shown["ib0"]["flags"]
    assert "docker0" not in said(hosts, "node1", "ls /sys/class/net")
    host.mtu(1500)


def test_a_host_with_another_key_is_refused(hosts: Lab, host: LabHost) -> None:
    host.new_host_key()
    done = ssh(hosts, host.name, "true")
    assert done.returncode == 255
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.stderr
    host.know()
    assert said(hosts, host.name, "hostname") == [host.name]


def test_an_unknown_host_is_refused(hosts: Lab, host: LabHost) -> None:
    host.forget()
    done = ssh(hosts, host.name, "true")
    assert done.returncode == 255
    assert "Host key verification failed." in done.stderr
    assert said(hosts, "node3", "hostname") == ["node3"]
    host.know()
    assert said(hosts, f"{host.name}-v6", "hostname") == [host.name]


def test_a_key_that_is_not_accepted_lets_nobody_in(hosts: Lab, host: LabHost) -> None:
    host.refuse_key()
    done = ssh(hosts, host.name, "true")
    assert done.returncode == 255
    assert "Permission denied (publickey)" in done.stderr
    host.accept_key()
    assert said(hosts, host.name, "hostname") == [host.name]


def test_a_stopped_server_refuses_and_its_sessions_go_on(hosts: Lab, host: LabHost) -> None:
    with subprocess.Popen([*hosts.ssh, host.name, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as session:
        until(lambda: "cat" in host.processes().values(), PATIENCE, "the start of a session")
        host.stop_sshd()
        assert "Connection refused" in ssh(hosts, host.name, "true").stderr
        output, _ = session.communicate(b"still here", PATIENCE)
    assert output == b"still here"
    host.start_sshd("SetEnv SECOND=other")
    assert said(hosts, host.name, "echo $SECOND") == ["other"]
    host.stop_sshd()
    host.start_sshd()


def test_a_server_that_cannot_start_says_why(host: LabHost) -> None:
    host.stop_sshd()
    with pytest.raises(LabError, match="Bad configuration option"):
        host.start_sshd("NoSuchSetting yes")
    host.start_sshd()
    with pytest.raises(LabError, match="running already"):
        host.start_sshd()


@pytest.mark.parametrize("shell", ["tcsh", "fish"])
def test_commands_may_come_to_another_shell(hosts: Lab, host: LabHost, shell: str) -> None:
    if find(shell) is None:
        pytest.skip(f"there is no {shell}")
    host.remote_shell(shell)
    own = {"tcsh": "echo $tcsh", "fish": "echo $FISH_VERSION"}[shell]
    assert said(hosts, host.name, f"{own}; echo 'two  words'; printenv SHELL")[1:] == ["two  words", find(shell)]
    assert said(hosts, host.name, own)[0][0].isdigit()
    host.remote_shell(None)
    assert said(hosts, host.name, "echo 'two  words'; hostname") == ["two  words", host.name]


def test_noise_comes_before_what_a_command_writes(hosts: Lab, host: LabHost) -> None:
    host.noise("Welcome!\nIt's $HOME\n")
    host.banner("Authorised use only\n")
    done = ssh(hosts, host.name, "echo 'two  words'; echo $SECOND; exit 7")
    assert done.stdout == "Welcome!\nIt's $HOME\ntwo  words\n2\n"
    assert done.stderr == "Authorised use only\n"
    assert done.returncode == 7
    host.plain()
    done = ssh(hosts, host.name, "hostname")
    assert (done.stdout, done.stderr) == (f"{host.name}\n", "")


def test_a_command_may_never_begin(hosts: Lab, host: LabHost) -> None:
    quiet(host)
    host.noise("starting\n")
    host.hang()
    with subprocess.Popen([*hosts.ssh, host.name, "hostname"], stdout=subprocess.PIPE) as process:
        until(lambda: any("sleep" in command for command in host.processes().values()), PATIENCE, "what hangs")
        assert process.poll() is None
        process.kill()
        assert process.stdout
        assert process.stdout.read() in (b"starting\n", b"")
    for pid, command in host.processes().items():
        if "sleep" in command:
            os.kill(pid, signal.SIGKILL)
    quiet(host)


def test_labs_live_side_by_side(hosts: Lab, tmp_path: Path) -> None:
    with lab(1, tmp_path) as other:
        assert other.number != hosts.number
        assert said(other, "node1", "echo $SSH_CONNECTION")[0].split()[2] == other.hosts[0].address
        assert not reached_from(other.hosts[0], hosts.hosts[0].address, 0.3)
    assert said(hosts, "node1", "hostname") == ["node1"]
