"""The machines of a lab and their cables: network namespaces, joined by pairs of veth to a bridge in one of their own.

The bridge is not in the machine's own namespace, because rules found there (Docker's, for one: it drops what it did not
ask for) would be applied to what crosses it. The machine itself hangs on the bridge by a cable, as the hosts do.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from pathlib import Path
from typing import Any

from tests.leftovers import until

PATIENCE = 20.0
"""Seconds after which something that takes milliseconds counts as hung, whatever the machine is busy with."""
PORT = "eth0"
"""A host's end of its cable; the switch's end has the host's name."""
_SPACES = Path("/run/netns")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
_COUNT = 512
_BRIDGE_ADDRESS = "02:42:00:00:00:01"
_FIRST_INDEX = 1000
_GATEWAY = 254

# Names and /sys come with namespaces of their own. The groups mounted below the old /sys are carried over to the new
# one: they are reached through a descriptor, since by then their path means the new one.
_ENTER = """\
echo "$0" >/proc/sys/kernel/hostname || exit
( if [ -d /sys/fs/cgroup ]; then exec 9</sys/fs/cgroup; fi
  mount -t sysfs sysfs /sys || exit
  if [ -e /proc/self/fd/9 ]; then mount --no-canonicalize --rbind /proc/self/fd/9 /sys/fs/cgroup; fi ) || exit
exec "$@"
"""

# Neighbours still find each other, or the sender would soon be told that there is no route to the host.
_GAP = """\
table netdev {table} {{
    chain gap {{
        type filter hook ingress device {device} priority 0; policy drop
        ether type arp accept
        icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert }} accept
    }}
}}
"""


class LabError(Exception):
    """The lab could not do what it was told; the message says which command said what."""


def find(program: str) -> str | None:
    """Where a program lies, also when it is one for administrators and the PATH has none of those."""
    return shutil.which(program, path=_PATH)


def system(*argv: str, text: str = "") -> str:
    """Run a program to its end, with some text as its input; returns what it wrote."""
    environment = {**os.environ, "PATH": _PATH, "LC_ALL": "C"}
    done = subprocess.run(
        argv, check=False, timeout=PATIENCE, env=environment, input=text, text=True, capture_output=True
    )
    if done.returncode:
        raise LabError(f"{shlex.join(argv)}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout


@dataclass(frozen=True)
class Plan:
    """Names and networks of the lab of a number. Its networks are of the range kept for benchmarks of networks, which
    nobody routes, and of one for private use."""

    number: int

    @property
    def uplink(self) -> str:
        """The machine's own end of its cable, an interface in the machine's own namespace."""
        return f"odlab-{self.number}"

    @property
    def switch(self) -> str:
        """The namespace of the bridge."""
        return self.space("switch")

    def space(self, name: str) -> str:
        return f"{self.uplink}-{name}"

    @property
    def network(self) -> IPv4Network:
        return IPv4Network((int(IPv4Address("198.18.0.0")) + 256 * self.number, 24))

    @property
    def network6(self) -> IPv6Network:
        return IPv6Network((int(IPv6Address("fd6f:7073:6469::")) + (self.number << 64), 64))

    def addresses(self, index: int) -> tuple[str, str]:
        return str(self.network[index]), str(self.network6[index])

    @property
    def own_addresses(self) -> tuple[str, str]:
        """Those of the machine itself."""
        return self.addresses(_GATEWAY)

    def spaces(self) -> list[str]:
        """The namespaces that are there."""
        return [name for name in namespaces() if name.startswith(f"{self.uplink}-")]

    def remove(self) -> None:
        """End every process in the lab's namespaces, then delete them and the uplink."""
        spaces = self.spaces()
        end_processes(spaces)
        # Interfaces go with their namespace, but some time later; this one should be seen to be gone.
        _delete(Path("/sys/class/net", self.uplink), "ip", "link", "delete", self.uplink)
        for space in spaces:
            _delete(_SPACES / space, "ip", "netns", "delete", space)


def namespaces() -> list[str]:
    with suppress(FileNotFoundError):
        return sorted(os.listdir(_SPACES))
    return []


def known_numbers() -> set[int]:
    """Numbers of labs of which a namespace or an uplink is there."""
    names = [*namespaces(), *os.listdir("/sys/class/net")]
    parts = [name.split("-") for name in names]
    return {int(part[1]) for part in parts if part[0] == "odlab" and len(part) > 1 and part[1].isdigit()}


def free_plans() -> list[Plan]:
    """Plans whose names and networks nobody uses now, in any order: a lab that ended is not mistaken for the next."""
    taken = known_numbers()
    routes = _routes()
    plans = [Plan(number) for number in random.sample(range(_COUNT), _COUNT) if number not in taken]
    return [plan for plan in plans if not any(map(plan.network.overlaps, routes))]


def _routes() -> list[IPv4Network]:
    """What the machine has routes to, apart from everything, or half of it."""
    rows = json.loads(system("ip", "-4", "-json", "route", "show", "table", "all") or "[]")
    found = [ip_network(row["dst"]) for row in rows if row["dst"] != "default"]
    return [net for net in found if isinstance(net, IPv4Network) and net.prefixlen >= 8]


def build(plan: Plan, nodes: Sequence[Node]) -> None:
    """Make the namespaces of a lab, and put cables between them."""
    names = [plan.switch, *(node.netns for node in nodes)]
    links = []
    for index, node in enumerate(nodes, _FIRST_INDEX):
        # Both ends by the same index would look like none of a pair to the kernel, which then takes up to a second to
        # act on a change of the link.
        peer = f"peer name {PORT} netns {node.netns}"
        links.append(f"link add {node.name} index {index} netns {plan.switch} type veth {peer}")
    links.append(f"link add {plan.uplink} type veth peer name uplink netns {plan.switch}")
    _batch(None, [*(f"netns add {name}" for name in names), *links])
    ports = [*(node.name for node in nodes), "uplink"]
    bridge = ["link add bridge type bridge mcast_snooping 0", "link set bridge up"]
    _batch(plan.switch, [*bridge, *(f"link set {port} master bridge up" for port in ports)])
    _batch(None, _configure(plan.uplink, *plan.own_addresses))
    for node in nodes:
        _batch(node.netns, ["link set lo up", *_configure(PORT, node.address, node.address6)])
    for node in nodes:
        node.await_link(True)
    state = Path("/sys/class/net", plan.uplink, "operstate")
    until(lambda: state.read_text() == "up\n", PATIENCE, f"the link of {plan.uplink}")


def _configure(device: str, address: str, address6: str) -> list[str]:
    return [
        f"addr add {address}/24 dev {device}",
        f"addr add {address6}/64 dev {device} nodad",
        f"link set {device} up",
    ]


def _batch(space: str | None, lines: Iterable[str]) -> None:
    system("ip", *(("-netns", space) if space else ()), "-batch", "-", text="".join(f"{line}\n" for line in lines))


def _delete(place: Path, *argv: str) -> None:
    """Run a command that makes `place` vanish, which somebody else may do at the same time."""
    try:
        if place.exists():
            system(*argv)
    except LabError:
        if place.exists():
            raise


def processes_in(spaces: Iterable[str]) -> dict[int, str]:
    """Pids of the processes in some network namespaces, with their command lines. Zombies are in none."""
    wanted = set()
    for space in spaces:
        with suppress(FileNotFoundError):
            wanted.add(_identity(_SPACES / space))
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # gone meanwhile
                if _identity(entry / "ns/net") in wanted:
                    found[int(entry.name)] = (entry / "cmdline").read_text(errors="replace").replace("\0", " ").strip()
    return found


def _identity(namespace: Path) -> tuple[int, int]:
    status = namespace.stat()
    return status.st_dev, status.st_ino


def end_processes(spaces: Iterable[str]) -> None:
    """Kill until none is left: one may have forked meanwhile."""
    kept = list(spaces)

    def ended() -> bool:
        left = processes_in(kept)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    until(ended, PATIENCE, "the end of the processes of a lab")


@dataclass
class Node:
    """A machine of the lab with its cable to the switch."""

    name: str
    netns: str
    switch: str
    address: str
    address6: str
    started: list[subprocess.Popen[Any]] = field(default_factory=list, repr=False)

    def enter(self, argv: Sequence[str]) -> list[str]:
        """A command that becomes `argv` on this host: in its network, under its name, with its /sys."""
        spaces = ("nsenter", f"--net={_SPACES / self.netns}", "unshare", "--mount", "--propagation", "slave", "--uts")
        return [*spaces, "sh", "-c", _ENTER, self.name, *argv]

    def popen(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a process on this host; its pid is that of the command itself."""
        process = subprocess.Popen(self.enter(argv), **options)
        self.started.append(process)
        return process

    def run(
        self, argv: Sequence[str], timeout: float = PATIENCE, check: bool = False, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on this host to its end, capturing what it writes."""
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, **options}
        return subprocess.run(self.enter(argv), check=check, text=True, timeout=timeout, **options)

    def down(self) -> None:
        """Pull the cable: neither end has a carrier."""
        system("ip", "-netns", self.switch, "link", "set", self.name, "down")
        self.await_link(False)

    def up(self) -> None:
        """Plug it in again."""
        system("ip", "-netns", self.switch, "link", "set", self.name, "up")
        self.await_link(True)
        self._forget_neighbours()

    def _forget_neighbours(self) -> None:
        """Let everybody ask anew where the others are. A question that was asked in vain while the cable was pulled may
        be given up only now, and whoever connects meanwhile would be told that there is no route."""
        uplink = self.switch.removesuffix("-switch")
        for space in namespaces():
            if space.startswith(f"{uplink}-"):
                system("ip", "-netns", space, "neigh", "flush", "all")
        system("ip", "neigh", "flush", "dev", uplink)

    def await_link(self, up: bool) -> None:
        """Wait until the host's kernel has acted on a change of the link: IPv6, for one, does nothing before."""
        what = f"the host's note of the cable of {self.name} {'plugged in' if up else 'pulled'}"
        until(lambda: (self._port()["operstate"] == "UP") == up, PATIENCE, what)

    def blackhole(self) -> None:
        """Packets in both directions vanish, and nobody is told: the links stay up, neighbours stay known."""
        for space, device, table in self._ends():
            _nft(space, _GAP.format(table=table, device=device))

    def restore(self) -> None:
        for space, _device, table in self._ends():
            # Adding what may be there, in one go with deleting it: that works either way.
            _nft(space, f"add table netdev {table}\ndelete table netdev {table}\n")

    def shape(self, bits_per_second: int) -> None:
        """Bound the rate of each direction."""
        # Two milliseconds' worth may pass at once; with less, the kernel's timers are late too often to keep the rate.
        burst = max(bits_per_second // 8 // 500, 16 * 1024)
        bucket = ("tbf", "rate", f"{bits_per_second}bit", "burst", f"{burst}b", "latency", "50ms")
        for space, device, _ in self._ends():
            system("tc", "-netns", space, "qdisc", "replace", "dev", device, "root", *bucket)

    def unshape(self) -> None:
        for space, device, _ in self._ends():
            system("tc", "-netns", space, "qdisc", "replace", "dev", device, "root", "noqueue")

    def queues(self) -> list[dict[str, Any]]:
        """What `tc -s qdisc` says of both directions, that from the host first."""
        shown = [system("tc", "-n", space, "-s", "-j", "qdisc", "show", "dev", port) for space, port, _ in self._ends()]
        return [json.loads(text)[0] for text in shown]

    def mtu(self, size: int) -> None:
        """Set the largest packet, at both ends of this host's cable."""
        for space, device, _ in self._ends():
            system("ip", "-netns", space, "link", "set", device, "mtu", str(size))

    def add_interface(self, name: str, address: str, kind: str = "bridge") -> None:
        """Give the host one more interface, up, with an address such as 172.17.0.1/16. A bridge has nobody on it and so
        no carrier, as docker0 where no container runs; a veth has one. Other kinds are the kernel's, if it has them."""
        far = f"{name[:13]}-p"
        lines = [f"addr add {address} dev {name}", f"link set {name} up"]
        if kind == "veth":
            lines = [f"link add {name} type veth peer name {far}", *lines, f"link set {far} up"]
        elif kind == "bridge":
            # A bridge that has never had anybody on it counts as connected.
            visitor = [f"link add {far} type veth", f"link set {far} master {name}", f"link delete {far}"]
            lines = [f"link add {name} address {_BRIDGE_ADDRESS} type bridge", *visitor, *lines]
        else:
            lines.insert(0, f"link add {name} type {kind}")
        _batch(self.netns, lines)

    def counters(self) -> tuple[int, int]:
        """Bytes that the host's end of the cable has received and sent."""
        counted = self._port()["stats64"]
        return counted["rx"]["bytes"], counted["tx"]["bytes"]

    def _port(self) -> dict[str, Any]:
        """What `ip link` says of the host's end of the cable."""
        rows: list[dict[str, Any]] = json.loads(
            system("ip", "-netns", self.netns, "-json", "-stats", "link", "show", "dev", PORT)
        )
        return rows[0]

    def _ends(self) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
        """Both ends of the cable: namespace, interface, and a name for a table of rules."""
        return (self.netns, PORT, "gap"), (self.switch, self.name, f"gap_{self.name}")


def _nft(space: str, rules: str) -> None:
    system("nsenter", f"--net={_SPACES / space}", "nft", "-f", "-", text=rules)
