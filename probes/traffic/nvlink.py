"""Traffic and errors of NVLinks, by `nvidia-smi nvlink`.

`-gt d` counts what was carried, in KiB for each link and direction; `-e` counts errors, and from Blackwell on packets
too; `-s` tells the rate of each link. Some drivers and virtual machines answer N/A. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from probes.reading import Reading, Said, State
from probes.tool_text import lines, number, whole
from probes.traffic import MOST, Clock, Look, Sighting, blind
from probes.visit import Query, Tool, Visit

TOOL = Tool(
    "nvidia-smi",
    messages=(
        (r"insufficient permissions", State.REFUSED),
        (r"not supported|not a valid|invalid (?:argument|option|combination)", State.UNSUPPORTED),
    ),
)
_GPU = re.compile(r"GPU (\d{1,4}):")
_LINK = re.compile(r"Link (\d{1,4}): (\S.*)")
_UNITS = {"b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_TRAFFIC = {"data tx": "tx_bytes", "data rx": "rx_bytes"}
_COUNTED = {
    "tx packets": "tx_packets", "rx packets": "rx_packets",
    "replay errors": "replay", "recovery errors": "recovery", "crc errors": "crc", "crc flit errors": "crc_flit",
    "crc data errors": "crc_data", "malformed packet errors": "malformed_packet", "rx errors": "rx_errors",
    "buffer overrun errors": "buffer_overrun", "rx remote errors": "rx_remote_errors",
    "rx general errors": "rx_general_errors", "local link integrity errors": "local_link_integrity",
    "link recovery failed events": "link_recovery_failed", "effective errors": "effective_errors",
    "tx discards": "tx_discards",
}  # fmt: skip
"""Not symbol errors and not the bins of FEC, which count what was put right; and no bytes, which `-gt d` has."""
_CARRIED = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
_DROPS = ("tx_discards",)
_RETRANSMITS = ("replay",)
_GIGABYTE = 1e9


def _links(text: str) -> Iterator[tuple[str, str, str]]:
    """(link, words after it, line) of every line of a link below its GPU."""
    gpu = None
    for line in lines(text):
        words = line.strip()
        if heading := _GPU.match(words):
            gpu = heading[1]
        elif gpu is not None and (link := _LINK.match(words)):
            yield f"gpu{gpu}/nvlink{link[1]}", link[2], line


def parse_throughput(text: str) -> Said:
    """Counters as "gpu0/nvlink3 tx_bytes"."""
    said = Said()
    for link, words, line in _links(text):
        key, _, amount = words.partition(":")
        found, _, unit = amount.strip().replace(",", "").partition(" ")
        value, name = whole(found), _TRAFFIC.get(key.strip().lower())
        if name and value is not None and (factor := _UNITS.get(unit.strip().lower())):
            said.counter(f"{link} {name}", value * factor, line)
    return said


def parse_errors(text: str) -> Said:
    """Counters as "gpu0/nvlink3 crc"."""
    said = Said()
    for link, words, line in _links(text):
        key, _, amount = words.partition(":")
        name, value = _COUNTED.get(key.strip().lower()), whole(amount)
        if name and value is not None:
            said.counter(f"{link} {name}", value, line)
    return said


def parse_rates(text: str) -> Said:
    """GB/s in one direction, as "gpu0/nvlink3"; a link that is down has none."""
    said = Said()
    for link, words, line in _links(text):
        rate, unit = number(words), words.rpartition(" ")[2]
        if rate and 0 < rate < MOST and unit.lower() == "gb/s":
            said.moment(link, rate, line)
    return said


RATES = Query("nvlink -s", "nvlink -s", parse_rates)
THROUGHPUT = Query("nvlink -gt d", "nvlink -gt d", parse_throughput)
ERRORS = Query("nvlink -e", "nvlink -e", parse_errors)
_ONCE_MORE = frozenset({State.TOLD, State.REFUSED})
"""Answers after which it is worth asking again."""


class NvLinks:
    """The NVLinks of a host's GPUs. A question that brought nothing is not put again."""

    def __init__(self, visit: Visit, clock: Clock) -> None:
        self._visit = visit
        self._clock = clock
        self._limits: Mapping[str, float] | None = None
        self._queries = [THROUGHPUT, ERRORS]

    def looks(self) -> Iterator[Look]:
        """One for each question, as it is answered."""
        if self._limits is None:
            self._limits = self._visit.ask(TOOL, RATES).momentary
        for query in list(self._queries):
            reading = self._visit.ask(TOOL, query)
            if reading.state not in _ONCE_MORE:
                self._queries.remove(query)
            told = reading.state is State.TOLD
            yield Look(query.name, tuple(self._sightings(reading))) if told else blind(query.name, reading)

    def _sightings(self, reading: Reading) -> Iterator[Sighting]:
        time = self._clock()
        found: dict[str, dict[str, int]] = {}
        for name, value in reading.counters.items():
            link, _, what = name.partition(" ")
            found.setdefault(link, {})[what] = value
        for link, counters in found.items():
            special = (*_CARRIED, *_DROPS, *_RETRANSMITS)
            rate = (self._limits or {}).get(link)
            yield Sighting(
                link, "nvlink", time, reading.source,
                traffic={name: counters[name] for name in _CARRIED if name in counters},
                errors={name: value for name, value in counters.items() if name not in special},
                drops={name: counters[name] for name in _DROPS if name in counters},
                retransmits={name: counters[name] for name in _RETRANSMITS if name in counters},
                limit=None if rate is None else rate * _GIGABYTE,
            )  # fmt: skip
