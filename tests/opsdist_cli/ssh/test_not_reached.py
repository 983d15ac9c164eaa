"""Hosts on which no rank can be started: the verdict names each with the phase and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Lab, LabHost
from tests.leftovers import RunSpace
from tests.opsdist_cli.ssh.runs import HOSTS, end_hung, needs_lab, run, verdict
from tests.perf_process import SMALL

pytestmark = [pytest.mark.any_engine, needs_lab]


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
