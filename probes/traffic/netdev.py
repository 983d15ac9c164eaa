"""What network interfaces have carried, and what the host's TCP had to send again.

Source: /proc/net/dev, which has the counters of all interfaces in one reading (a host of containers has hundreds), else
/sys/class/net/*/statistics; and /proc/net/snmp. Drops are kept apart from errors: hosts drop what nobody listens to,
such as LLDP, all day long. May import: probes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from itertools import pairwise

from probes import network
from probes.host import Host
from probes.traffic import Clock, Look, Sighting, counter, known

SCOPE = "interfaces"
_INTERFACES = "/sys/class/net"
_TABLE = "/proc/net/dev"
_PROTOCOLS = "/proc/net/snmp"
_TRAFFIC = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
_ERRORS = ("rx_errors", "tx_errors")
_DROPS = ("rx_dropped", "tx_dropped")
_COLUMNS = {0: "rx_bytes", 1: "rx_packets", 2: "rx_errors", 3: "rx_dropped",
            8: "tx_bytes", 9: "tx_packets", 10: "tx_errors", 11: "tx_dropped"}  # fmt: skip

Found = tuple[str, float, str, Mapping[str, int]]
"""An interface, when it was read, from where, and its counters."""


class Interfaces:
    """The interfaces of a host. What a link carries is asked when it is first seen, and again after its carrier has
    come or gone: the kernel asks the driver for it, and holds a lock that others want meanwhile."""

    def __init__(self, host: Host, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._limits: dict[str, tuple[int | None, int | None, float | None]] = {}

    def look(self) -> Look:
        seen = tuple(self._sighting(*found) for found in self._from_table() or self._from_statistics())
        names = {sighting.link for sighting in seen}
        self._limits = {name: limit for name, limit in self._limits.items() if name in names}
        return Look(SCOPE, (*seen, *self._tcp()))

    def _from_table(self) -> list[Found]:
        time = self._clock()
        table = parse_table(self._host.read(_TABLE) or "")
        return [(name, time, _TABLE, counters) for name, counters in table.items()]

    def _from_statistics(self) -> list[Found]:
        return list(filter(None, map(self._statistics, self._host.listdir(_INTERFACES) or ())))

    def _statistics(self, name: str) -> Found | None:
        """None for a control file beside the interfaces, and for one that has just gone."""
        folder = f"{_INTERFACES}/{name}/statistics"
        time = self._clock()
        files = (*_TRAFFIC, *_ERRORS, *_DROPS)
        found = known({file: counter(self._host.read(f"{folder}/{file}")) for file in files})
        return (name, time, folder, found) if found else None

    def _sighting(self, name: str, time: float, source: str, found: Mapping[str, int]) -> Sighting:
        folder = f"{_INTERFACES}/{name}"
        changes = known({"carrier_changes": counter(self._host.read(f"{folder}/carrier_changes"))})
        index = counter(self._host.read(f"{folder}/ifindex"))
        return Sighting(
            name, "nic", time, source,
            traffic={key: found[key] for key in _TRAFFIC if key in found},
            errors={key: found[key] for key in _ERRORS if key in found} | changes,
            drops={key: found[key] for key in _DROPS if key in found},
            limit=self._limit(name, index, changes.get("carrier_changes")),
            incarnation=index,
        )  # fmt: skip

    def _limit(self, name: str, index: int | None, changes: int | None) -> float | None:
        cached = self._limits.get(name)
        if cached is None or cached[:2] != (index, changes):
            self._limits[name] = cached = (index, changes, self._read_limit(f"{_INTERFACES}/{name}"))
        return cached[2]

    def _read_limit(self, folder: str) -> float | None:
        place = self._host.link(folder)
        driver = posixpath.basename(self._host.link(f"{folder}/device/driver") or "") or None
        speed = network.parse_speed(self._host.read(f"{folder}/speed"))
        return network.link_rate(speed, driver, None if place is None else "/virtual/" in place)

    def _tcp(self) -> Iterator[Sighting]:
        time = self._clock()
        found = parse_protocols(self._host.read(_PROTOCOLS) or "").get("Tcp", {})
        if "RetransSegs" in found:
            names = {"rx_packets": found.get("InSegs"), "tx_packets": found.get("OutSegs")}
            yield Sighting(
                "tcp", "tcp", time, _PROTOCOLS, known(names),
                errors=known({"InErrs": found.get("InErrs")}), retransmits={"RetransSegs": found["RetransSegs"]},
            )  # fmt: skip


def parse_table(text: str) -> Mapping[str, Mapping[str, int]]:
    """Interface -> counters, of the lines `eth0: 1 2 3 ...`; the two lines of headings have no numbers."""
    table = {}
    for line in text.split("\n"):
        name, colon, numbers = line.rpartition(":")
        words = numbers.split()
        found = known({key: counter(words[at]) for at, key in _COLUMNS.items() if at < len(words)})
        if colon and found:
            table[name.strip()] = found
    return table


def parse_protocols(text: str) -> Mapping[str, Mapping[str, int]]:
    """Protocol -> counters, of pairs of lines: `Tcp: NAME NAME` and below it `Tcp: 1 2`."""
    found: dict[str, dict[str, int]] = {}
    for above, below in pairwise(text.split("\n")):
        protocol, colon, names = above.partition(":")
        same, _, numbers = below.partition(":")
        values = known(dict(zip(names.split(), map(counter, numbers.split()), strict=False)))
        if colon and same == protocol and values:
            found.setdefault(protocol, values)
    return found
