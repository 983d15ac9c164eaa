"""What NCCL is set up with: versions, network, devices, variables, how two ranks reach each other.

Hosts that say different things are compared by the engine; what one process says against itself is told here.
May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, HostAddress, Level, Place, Setting, Subject, Trouble, Who

_SETTINGS: Mapping[str, re.Pattern[str]] = {
    "nccl.version": re.compile(r"NCCL version (?P<value>[\w.+]{1,60})"),
    "nccl.network": re.compile(r"Using network (?P<value>[\w/ -]{1,40})"),
    "nccl.devices": re.compile(
        r"NET/IB ?: (?:Using (?P<value>\[0\].{1,600}?)(?: \[RO\])?(?:; OOB.*)?$|(?P<none>No device found))"
    ),
    "nccl.plugin": re.compile(r"NET/Plugin ?: (?P<value>Could not find|Plugin [Pp]ath|Loaded net plugin [\w-]{1,40})"),
}
"""Key -> where its value stands."""
_VARIABLE = re.compile(r"(?P<name>NCCL_[A-Z0-9_]{1,60}) set (?:by environment )?to (?P<value>.{1,200})")
_OWN = frozenset(("NCCL_DEBUG_FILE", "NCCL_COMM_ID", "NCCL_HOSTID"))
"""Variables that may well differ."""
_PORT = re.compile(r"\[\d+\]([\w-]+):\d+(/\w+)?")
_CHANNEL = re.compile(
    r"(?P<from>\d{1,9})\[\w{1,16}\] -> (?P<to>\d{1,9})\[\w{1,16}\] \[(?P<way>send|receive)\] via (?P<by>NET/\S{1,60})"
)
_ADDRESS = re.compile(r"(?:Bootstrap ?: Using |OOB )(?:interface )?[\w.@-]{1,32}:(?P<address>[0-9A-Fa-f.:]{3,45})<")
_LOOPBACK = re.compile(r"(?:Bootstrap|NET(?:/Socket)?) ?: Using (?:interface )?(?:\[0\])?lo:127\.")
_REFUSED = re.compile(r"[Cc]onnect.{0,160}(?:refused|timed? ?out|timeout)", re.IGNORECASE)
_LINK_LOCAL = r"(?P<address>fe80:[0-9A-Fa-f:]{1,45}|169\.254\.[\d.]{3,7})(?:%[\w.@-]{1,32})?<"
_OFFERED = re.compile(rf"(?P<interface>[A-Za-z][\w.@-]{{0,31}}):{_LINK_LOCAL}")
_FIRST = re.compile(rf"Bootstrap ?: Using (?:interface )?(?:\[0\])?{_OFFERED.pattern}")
_TRIED = re.compile(rf"[Cc]onnect.{{0,60}} to {_LINK_LOCAL}")
_LINK = re.compile(r"\+ (?P<kind>PCI|NET|NVL)\[(?P<rate>[\d.]{1,12})\]")
_MARKS = re.compile(
    r"NCCL version |Using network |NET/|NCCL_|Bootstrap ?: |lo:127\.|\+ PCI\[|GPU Direct RDMA Disabled for GPU|"
    r"Init COMPLETE"
)
"""One of them is in all of these texts."""
_LEAST_PCI = 0.6
"""GB/s: less than that no link of a card is; a bridge that a hypervisor made up says so."""


@dataclass(slots=True)
class Setup:
    """Of one source."""

    _channels: dict[tuple[int, int], dict[str, tuple[bool, Line]]] = field(default_factory=dict)
    _loopback: dict[str | None, Line] = field(default_factory=dict)
    _refused: bool = False
    """A connection was; ranks may tell their interface after that."""
    _blamed: set[str | None] = field(default_factory=set)
    _link_local: dict[str, tuple[str, Line]] = field(default_factory=dict)
    """Interface and who offers it, by address."""
    _tried: dict[str, Line] = field(default_factory=dict)
    """Link-local addresses that somebody could not connect to."""
    _doubtful: dict[str | None, tuple[str, Line]] = field(default_factory=dict)
    """Hosts that offer a link-local address first, and the interface, until a communicator is there."""
    _virtual: set[str | None] = field(default_factory=set)
    _far: set[str | None] = field(default_factory=set)
    """Hosts with a card that is too far from a GPU to read its memory: that is how they are built."""

    def read(self, line: Line, *, warns: bool) -> Iterable[Fact]:
        """`warns` where the line is a warning."""
        return self._read(line, warns=warns) if warns or _MARKS.search(line.text) else ()

    def _read(self, line: Line, *, warns: bool) -> Iterable[Fact]:
        yield from self._settings(line)
        if _LOOPBACK.search(line.text):
            self._loopback.setdefault(line.who.host, line)
            if self._refused:
                yield from self._unreachable()
        if warns and _REFUSED.search(line.text):
            self._refused = True
            yield from self._unreachable()
            if tried := _TRIED.search(line.text):
                self._tried.setdefault(tried["address"], line)
        self._note_link_local(line)
        if "+ PCI[" in line.text:
            yield from self._tree(line)
        if "GPU Direct RDMA Disabled for GPU" in line.text:
            self._far.add(line.who.host)
        if " via NET/" in line.text and (found := _CHANNEL.search(line.text)):
            pair = (int(found["from"]), int(found["to"]))
            self._channels.setdefault(pair, {})[found["way"]] = ("GDRDMA" in found["by"], line)

    def _note_link_local(self, line: Line) -> None:
        if "Init COMPLETE" in line.text:
            self._doubtful.pop(line.who.host, None)
        elif "Using " in line.text:
            for found in _OFFERED.finditer(line.text):
                self._link_local.setdefault(found["address"], (found["interface"], line))
            if first := _FIRST.search(line.text):
                self._doubtful.setdefault(line.who.host, (first["interface"], line))

    def end(self) -> Iterable[Fact]:
        yield from self._of_pairs()
        for address, line in self._tried.items():
            yield self._of_link(address, line)
        for interface, line in self._doubtful.values():
            yield Setting(line.who, line.place(), "nccl.link_local", interface)

    def _of_link(self, address: str, tried: Line) -> Trouble:
        """Who offers others an address that counts on one link only is why they cannot reach it."""
        interface, line = self._link_local.get(address, ("an interface", tried))
        host = line.who.host if address in self._link_local else None
        return Trouble(
            line.who, line.place(), Level.INITIATING,
            f"a link-local address of {interface} was offered, which other hosts did not reach", "config",
            (Subject("host", Who(host=host)),) if host else (),
            ("NCCL_SOCKET_IFNAME: name the interface that hosts reach each other by; NCCL_SOCKET_FAMILY=AF_INET",),
            "nccl.link_local",
        )  # fmt: skip

    def _of_pairs(self) -> Iterable[Fact]:
        """Pairs of which one end can let its card read the GPU's memory directly, and the other cannot. What the other
        end says may stand in a log of its own."""
        for (source, target), ways in self._channels.items():
            if len(ways) == 1:
                yield from self._one_end(source, target, *next(iter(ways.values())))
            elif ways["send"][0] != ways["receive"][0]:
                lacking, rank = ("receive", target) if ways["send"][0] else ("send", source)
                line = ways[lacking][1]
                if line.who.host in self._far:
                    continue
                who = replace(line.who, rank=rank)
                yield Trouble(
                    who, line.place(), Level.INITIATING,
                    f"rank {rank} reaches the network without GPUDirect RDMA, its peer with it", "config",
                    (Subject("host", Who(host=line.who.host)) if line.who.host else Subject("rank", who),),
                    ("`lsmod | grep -e nvidia_peermem -e nv_peer_mem` on that host; `modprobe nvidia-peermem`",),
                    "nccl.direct_on_one_end",
                )  # fmt: skip

    def _one_end(self, source: int, target: int, direct: bool, line: Line) -> Iterable[Fact]:
        if line.who.host not in self._far:
            yield Setting(line.who, line.place(), f"nccl.direct {source} -> {target}", "yes" if direct else "no")

    def _settings(self, line: Line) -> Iterable[Fact]:
        if line.who.host and (found := _ADDRESS.search(line.text)):
            yield HostAddress(Who(host=line.who.host, address=found["address"]), line.place())
        for key, pattern in _SETTINGS.items():
            if found := pattern.search(line.text):
                value = found["value"] or "none"
                if key == "nccl.devices":
                    value = " ".join(name + (kind or "") for name, kind in _PORT.findall(value)) or "none"
                yield Setting(line.who, line.place(), key, value.strip())
        if (found := _VARIABLE.search(line.text)) and found["name"] not in _OWN:
            yield Setting(line.who, line.place(), f"env.{found['name']}", found["value"].strip(" .'\""))

    def _unreachable(self) -> Iterable[Fact]:
        """Who offers others an address that is nobody's but its own is why they cannot reach it."""
        for host, line in self._loopback.items():
            if host not in self._blamed:
                self._blamed.add(host)
                yield Trouble(
                    line.who, line.place(), Level.INITIATING,
                    "the loopback interface was chosen, which no other host can reach", "config",
                    (Subject("host", Who(host=host)) if host else Subject("rank", line.who),),
                    ("NCCL_SOCKET_IFNAME: name the interface (`eth0`), or exclude lo too (`^docker0,lo`)",),
                    "nccl.loopback",
                )  # fmt: skip

    def _tree(self, line: Line) -> Iterable[Fact]:
        found = _LINK.search(line.text)
        if (
            found
            and found["kind"] == "PCI"
            and float(found["rate"]) < _LEAST_PCI
            and line.who.host not in self._virtual
        ):
            self._virtual.add(line.who.host)
            yield Trouble(
                line.who, Place(line.file, line.number, line.text[:400], line.time), Level.INITIATING,
                f"a PCI link of {found['rate']} GB/s, which no hardware has: a hypervisor's tree", "config",
                (Subject("host", Who(host=line.who.host)),) if line.who.host else (),
                ("NCCL_TOPO_FILE: give the true topology of the machine type",), "nccl.virtual_tree",
            )  # fmt: skip
