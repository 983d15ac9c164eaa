"""Several hosts on one machine, for tests of what goes over ssh and a network: `with lab(2, tmp_path) as hosts`.

A host is a network namespace with a cable to a switch, a host name, a /sys with its own interfaces and an sshd; files,
processes and /dev/shm are the machine's. The machine itself is on the switch too. Needs root; no container engine.
`python -m tests.lab up 4` keeps one for use by hand.
"""

from __future__ import annotations

import functools
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.lab import registry
from tests.lab.network import PATIENCE, LabError, Plan, build, find, system
from tests.lab.server import LabHost, make_key, write_client_config

__all__ = ["Lab", "LabError", "LabHost", "lab", "unavailable"]

_TOOLS = ("ip", "mount", "nft", "nsenter", "sh", "ssh", "ssh-keygen", "sshd", "tc", "unshare")
_LARGEST = 250
_NONE: Mapping[str, str] = {}

# All in namespaces that end with the trial.
_TRIAL = """\
mount -t sysfs sysfs /sys &&
ip link add bridge type bridge && ip link add port type veth peer name far && ip addr add fd00::1/64 dev port nodad &&
tc qdisc add dev port root tbf rate 1gbit burst 64kb latency 50ms &&
nft 'add table netdev gap; add chain netdev gap gap { type filter hook ingress device port priority 0; policy drop; }'
"""


@dataclass(frozen=True)
class Lab:
    """A lab that runs. `address` and `address6` are those by which its hosts reach the machine itself."""

    number: int
    folder: Path
    hosts: list[LabHost]
    ssh_config: Path
    address: str
    address6: str

    @property
    def ssh(self) -> list[str]:
        """The ssh that knows the hosts by their names, on the machine as on each host."""
        return ["ssh", "-F", str(self.ssh_config)]


@contextmanager
def lab(count: int, folder: Path, environment: Mapping[str, str] = _NONE, *, standing: bool = False) -> Iterator[Lab]:
    """Hosts node1 to node`count`, whose files lie in a folder made below `folder`. Processes started over ssh inherit
    the `environment`. When it is left, every process on a host is killed and nothing of the lab remains."""
    if not 1 <= count <= _LARGEST:
        raise LabError(f"a lab has 1 to {_LARGEST} hosts, not {count}")
    claim = registry.claim(folder.resolve(), standing)
    hosts: list[LabHost] = []
    try:
        yield _start(claim, count, environment, hosts)
    finally:
        with _uninterrupted():
            _stop(claim, hosts)


def _start(claim: registry.Claim, count: int, environment: Mapping[str, str], hosts: list[LabHost]) -> Lab:
    plan, folder = Plan(claim.number), Path(claim.folder)
    # What is there is of a dead lab: the number, and so the name, is nobody else's.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for index in range(1, count + 1):
        name = f"node{index}"
        addresses = plan.addresses(index)
        hosts.append(LabHost(name, plan.space(name), plan.switch, *addresses, folder=folder, environment=environment))
    build(plan, hosts)
    make_key(folder / "user_key")
    for host in hosts:
        host.accept_key()
        host.launch_sshd()
        host.know()
    for host in hosts:
        host.await_sshd()
    return Lab(plan.number, folder, hosts, write_client_config(folder, hosts), *plan.own_addresses)


def _stop(claim: registry.Claim, hosts: list[LabHost]) -> None:
    for host in hosts:
        for process in host.started:
            # One that has not yet entered its host would not be found there.
            process.kill()
            process.wait(PATIENCE)
    claim.remove()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Who is told to end a second time ends when it has cleaned up."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@functools.cache
def unavailable() -> str | None:
    """Why there can be no lab here; None if there can."""
    if not hasattr(os, "geteuid") or os.geteuid():
        return "needs root"
    missing = [tool for tool in _TOOLS if find(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    with suppress(OSError):
        if any(line.startswith("root:!") for line in Path("/etc/shadow").read_text().splitlines()):
            return "sshd lets nobody in: root's account is locked"
    try:
        system("unshare", "--net", "--mount", "--uts", "sh", "-s", text=_TRIAL)
    except LabError as error:
        return f"the kernel or the container does not let us: {error}"
    return None
