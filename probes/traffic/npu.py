"""Traffic of Ascend NPUs: of their HCCS links by npu-smi, and of their network ports by hccn_tool.

`npu-smi info -t hccs-bw` measures for a moment and tells rates; `-t hccs` counts errors, and what was carried, which is
of use where the first is not known. `hccn_tool -stat` counts, and where it has no count of octets, `-bandwidth`
measures. Measuring takes about a second a device. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from probes.ascend import hccn, npu_smi
from probes.ascend.config import CONFIGURATION, parse_addresses
from probes.ascend.identity import Identity, identities
from probes.reading import Reading, Said, State
from probes.tool_text import lines, number
from probes.traffic import MOST, Clock, Look, Sighting, blind
from probes.visit import Query, Tool, Visit

_GIGABYTE = 1e9
_MEGABYTE = 1e6
_MEGABIT = 125_000
_OCTETS = {
    "rx_bytes": "mac_rx_total_oct_num", "tx_bytes": "mac_tx_total_oct_num",
    "rx_packets": "mac_rx_total_pkt_num", "tx_packets": "mac_tx_total_pkt_num",
}  # fmt: skip
_ERRORS = (
    "mac_rx_bad_pkt_num", "mac_tx_bad_pkt_num", "mac_rx_fcs_err_pkt_num", "roce_rx_err_pkt_num", "roce_tx_err_pkt_num",
    "roce_verification_err_num", "roce_qp_status_err_num",
)  # fmt: skip
_RETRANSMITS = ("roce_new_pkt_rty_num",)
_LINK = re.compile(r"link(\d{1,4})_([a-z_]+)")
_HCCS_TRAFFIC = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
_HCCS_ERRORS = ("error_count",)
_HCCS_RETRANSMITS = ("retry_count",)
_GIGABIT = 125_000_000
_ONCE_MORE = frozenset({State.TOLD, State.REFUSED})
"""Answers after which it is worth asking again."""


def parse_hccs_bandwidth(text: str) -> Said:
    """Rates as "3 tx_bytes": a table with a line of headings, in whatever order, a line a link, and one of totals."""
    said = Said()
    headings: list[str] = []
    for line in lines(text):
        cells = line.replace("|", " ").lower().split()
        found = [name for name in (_direction(cell) for cell in cells) if name]
        if len(found) == 2:
            headings = found
        elif headings and len(cells) == 3 and cells[0].isascii() and cells[0].isdigit() and len(cells[0]) < 4:
            for name, cell in zip(headings, cells[1:], strict=True):
                if (rate := number(cell)) is not None and 0 <= rate < MOST:
                    said.moment(f"{cells[0]} {name}", rate * _GIGABYTE, line)
    return said


def _direction(heading: str) -> str | None:
    if not heading.endswith("_bandwidth(gb/s)"):
        return None
    return {"tx": "tx_bytes", "rx": "rx_bytes"}.get(heading.partition("_")[0])


def parse_bandwidth(text: str) -> Said:
    """`Bandwidth TX: 12.50 MB/sec`; not the peak, which other builds print besides."""
    said = Said()
    for line in lines(text):
        words = line.lower().replace(":", " ").split()
        if len(words) != 4 or words[0] != "bandwidth" or words[1] not in ("tx", "rx") or words[3] != "mb/sec":
            continue
        if (rate := number(words[2])) is not None and 0 <= rate < MOST:
            said.moment(f"{words[1]}_bytes", rate * _MEGABYTE, line)
    return said


HCCS = Query("hccs-bw", "info -t hccs-bw {chip} -time 200", parse_hccs_bandwidth, seconds=15.0)
BANDWIDTH = Query("bandwidth", "-i {device} -bandwidth -g", parse_bandwidth, seconds=15.0)
_PORT = {query.name: query for query in hccn.QUERIES}
_CHIP = {query.name: query for query in npu_smi.CHIP_QUERIES}


class Npus:
    """The NPUs of a host. Which there are is found out at the first look; what a device does not know, it is not asked
    again."""

    def __init__(self, visit: Visit, clock: Clock) -> None:
        self._visit = visit
        self._clock = clock
        self._known: tuple[Identity, ...] | None = None
        self._given_up: set[tuple[str, int]] = set()
        self._limits: dict[int, float | None] = {}
        self._counting: set[int] = set()
        self._numbers: dict[int, list[str]] = {}
        """Of HCCS links as hccs-bw has them: the lists of `-t hccs` are in the same order, and have none."""

    def looks(self) -> Iterator[Look]:
        """One for each question, as it is answered."""
        if self._known is None:
            configured = set(parse_addresses(self._visit.read(CONFIGURATION) or ""))
            self._known = identities(self._visit, configured, npu_smi.of_host(self._visit)) or ()
        for npu in self._known:
            if npu.card is not None:
                yield from self._ask(npu, npu_smi.TOOL, HCCS, self._hccs)
                if npu.id in self._numbers or (HCCS.name, npu.id) in self._given_up:
                    yield from self._ask(npu, npu_smi.TOOL, _CHIP["hccs"], self._hccs_counted)
            yield from self._ask(npu, hccn.TOOL, _PORT["stat"], self._counted)
            if npu.id not in self._counting:
                yield from self._ask(npu, hccn.TOOL, BANDWIDTH, self._measured)

    def _ask(
        self, npu: Identity, tool: Tool, query: Query, tell: Callable[[Identity, Reading], Iterator[Sighting]]
    ) -> Iterator[Look]:
        if (query.name, npu.id) in self._given_up:
            return
        chip = ["-i", npu.card, *(() if npu.chip is None else ("-c", npu.chip))]
        reading = self._visit.ask(tool, query, device=npu.id, chip=chip)
        if reading.state not in _ONCE_MORE:
            self._given_up.add((query.name, npu.id))
        scope = f"npu{npu.id} {query.name}"
        told = reading.state is State.TOLD
        yield Look(scope, tuple(tell(npu, reading))) if told else blind(scope, reading)

    def _hccs(self, npu: Identity, reading: Reading) -> Iterator[Sighting]:
        time = self._clock()
        rates: dict[str, dict[str, float]] = {}
        for name, rate in reading.momentary.items():
            link, _, direction = name.partition(" ")
            rates.setdefault(link, {})[direction] = rate
        self._numbers[npu.id] = list(rates)
        for link, found in rates.items():
            yield Sighting(f"npu{npu.id}/hccs{link}", "hccs", time, reading.source, rates=found)

    def _hccs_counted(self, npu: Identity, reading: Reading) -> Iterator[Sighting]:
        time = self._clock()
        numbers, speeds = self._numbers.get(npu.id, []), reading.values.get("link_speed", [])
        counts: dict[int, dict[str, int]] = {}
        for match, count in ((_LINK.fullmatch(name), count) for name, count in reading.counters.items()):
            if match:
                counts.setdefault(int(match[1]), {})[match[2]] = count
        for at, found in counts.items():
            yield Sighting(
                f"npu{npu.id}/hccs{numbers[at] if at < len(numbers) else at}", "hccs", time, reading.source,
                traffic={} if numbers else _named(found, _HCCS_TRAFFIC), errors=_named(found, _HCCS_ERRORS),
                retransmits=_named(found, _HCCS_RETRANSMITS),
                limit=speeds[at] * _GIGABIT if at < len(speeds) else None,
            )  # fmt: skip

    def _counted(self, npu: Identity, reading: Reading) -> Iterator[Sighting]:
        time = self._clock()
        traffic = {name: reading.counters[key] for name, key in _OCTETS.items() if key in reading.counters}
        if "rx_bytes" in traffic:
            self._counting.add(npu.id)
        yield Sighting(
            f"npu{npu.id}/port", "npu port", time, reading.source, traffic,
            errors=_named(reading.counters, _ERRORS), retransmits=_named(reading.counters, _RETRANSMITS),
            limit=self._limit(npu),
        )  # fmt: skip

    def _measured(self, npu: Identity, reading: Reading) -> Iterator[Sighting]:
        rates = dict(reading.momentary)
        yield Sighting(
            f"npu{npu.id}/port", "npu port", self._clock(), reading.source, rates=rates, limit=self._limit(npu)
        )

    def _limit(self, npu: Identity) -> float | None:
        if npu.id not in self._limits:
            speed = self._visit.ask(hccn.TOOL, _PORT["speed"], device=npu.id).values.get("mbps")
            self._limits[npu.id] = speed * _MEGABIT if speed else None
        return self._limits[npu.id]


def _named(counters: Mapping[str, int], names: tuple[str, ...]) -> dict[str, int]:
    return {name: counters[name] for name in names if name in counters}
