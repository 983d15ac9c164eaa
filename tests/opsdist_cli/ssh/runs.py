"""Runs of `opsdist perf` on the hosts of a lab, over a real sshd."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.lab import Lab, LabHost, unavailable
from tests.leftovers import RunSpace, until
from tests.perf_process import Perf, perf

needs_lab = pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}")
HOSTS = ("--hosts", "node[1-2]", "--per-host", "1", "--bind", "none")
MARGIN = 20.0
"""Seconds beyond any deadline of a run, for a machine that is busy."""
_NONE: Mapping[str, str] = {}


def gone(host: LabHost) -> None:
    until(lambda: not host.processes(), MARGIN, f"the end of {host.processes()} on {host.name}")


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
