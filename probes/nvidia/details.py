"""`nvidia-smi -q`, as text and, with -x, as XML: everything about every GPU.

Both are read as entries (GPU, path of sections and key, value). The text has its sections by indentation; where it
breaks off, what was read so far counts. Pre-Ampere GPUs count errors as single and double bit, later ones by memory.
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from probes.by_device import about, pci_address
from probes.nvidia import words, xml
from probes.nvidia.faults import seeing_faults
from probes.nvidia.words import Word, put, text_of
from probes.reading import Said
from probes.tool_text import lines, whole
from probes.visit import Query

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """`gpu`: its PCI address, "" where the text begins within one, None for what is of the host. `path`: sections and
    the key, in small letters and with blanks, in XML without what the tags repeat."""

    gpu: str | None
    path: Path
    value: str
    line: str


WORDS: Mapping[Path, Word] = {
    ("product name",): words.NAME,
    ("vbios version",): words.VBIOS,
    ("persistence mode",): words.PERSISTENCE,
    ("performance state",): words.PERFORMANCE_STATE,
    ("compute mode",): words.COMPUTE_MODE,
    ("mig mode", "current"): words.MIG,
    ("gpu reset status", "reset required"): Word("needs_reset", words.yes_or_no),
    ("gpu reset status", "drain and reset recommended"): Word("reset_recommended", words.yes_or_no),
    ("gpu recovery action",): words.RECOVERY_ACTION,
    ("pcie generation", "current"): words.GENERATION,
    ("pcie generation", "max"): words.GENERATION_MAX,
    ("link width", "current"): words.WIDTH,
    ("link width", "max"): words.WIDTH_MAX,
    ("replays since reset",): words.REPLAYS,
    ("ecc mode", "current"): words.ECC,
    ("ecc mode", "pending"): words.ECC_PENDING,
    ("channel repair pending",): Word("channel_repair_pending", words.yes_or_no),
    ("tpc repair pending",): Word("tpc_repair_pending", words.yes_or_no),
    ("unrepairable memory",): Word("unrepairable_memory", words.yes_or_no),
    ("volatile", "single bit", "total"): words.CORRECTED,
    ("volatile", "double bit", "total"): words.UNCORRECTED,
    ("aggregate", "double bit", "total"): words.UNCORRECTED_EVER,
    ("aggregate", "sram threshold exceeded"): Word("sram_threshold_exceeded", words.yes_or_no),
    ("retired pages", "single bit ecc"): words.RETIRED_SINGLE,
    ("retired pages", "double bit ecc"): words.RETIRED_DOUBLE,
    ("single bit ecc", "retired count"): words.RETIRED_SINGLE,
    ("double bit ecc", "retired count"): words.RETIRED_DOUBLE,
    ("retired pages", "pending page blacklist"): words.RETIRED_PENDING,
    ("retired pages", "pending retirement"): words.RETIRED_PENDING,
    ("remapped rows", "correctable error"): words.REMAPPED_CORRECTABLE,
    ("remapped rows", "uncorrectable error"): words.REMAPPED,
    ("remapped rows", "pending"): words.REMAP_PENDING,
    ("remapped rows", "remapping failure occurred"): words.REMAP_FAILED,
    ("temperature", "gpu current temp"): words.TEMPERATURE,
    ("temperature", "gpu slowdown temp"): words.SLOWDOWN_TEMPERATURE,
    ("temperature", "memory current temp"): words.MEMORY_TEMPERATURE,
    ("temperature", "memory max operating temp"): words.MEMORY_MAX_TEMPERATURE,
    ("gpu power readings", "current power limit"): words.POWER_LIMIT,
    ("gpu power readings", "default power limit"): words.POWER_LIMIT_DEFAULT,
    ("utilization", "gpu"): words.UTILIZATION,
    ("fb memory usage", "total"): words.MEMORY,
    ("fb memory usage", "used"): words.MEMORY_USED,
    ("fabric", "state"): words.FABRIC_STATE,
    ("fabric", "status"): words.FABRIC_STATUS,
    ("health", "bandwidth"): Word("fabric_bandwidth"),
    ("health", "summary"): Word("fabric_health"),
    ("health", "route unhealthy"): Word("route_unhealthy", words.yes_or_no),
    ("health", "access timeout recovery"): Word("access_timeout_recovery", words.yes_or_no),
    ("health", "route recovery in progress"): Word("route_recovery", words.yes_or_no),
}
"""The end of a path -> what it says."""

HOST_WORDS: Mapping[Path, str] = {
    ("driver version",): "driver",
    ("cuda version",): "cuda",
    ("attached gpus",): "attached",
}

_SUMS: Mapping[tuple[str, str], Word] = {
    ("volatile", "correctable"): words.CORRECTED,
    ("volatile", "uncorrectable"): words.UNCORRECTED,
    ("aggregate", "uncorrectable"): words.UNCORRECTED_EVER,
}
"""(section, second word of the key) -> what the sum of such keys is: `SRAM Uncorrectable SEC-DED` and the like."""

_REASONS: Mapping[str, str] = {
    "idle": "idle", "gpu idle": "idle", "applications clocks setting": "application_clocks",
    "sw power cap": "software_power_cap", "hw slowdown": "hardware_slowdown", "sync boost": "sync_boost",
    "sw thermal slowdown": "software_thermal", "hw thermal slowdown": "hardware_thermal",
    "hw power brake slowdown": "hardware_power_brake", "hw power braking": "hardware_power_brake",
    "display clock setting": "display_clocks", "display clocks setting": "display_clocks",
}  # fmt: skip
_REASON_SECTIONS = ("clocks event reasons", "clocks throttle reasons")
_HEADER = re.compile(r"GPU\s+(?=[0-9A-Fa-f]{4,8}:)")


def parse(text: str) -> Said:
    """Of text or XML, with which word of it being told."""
    said = Said()
    gpus: dict[str, list[Entry]] = {}
    for entry in entries(text):
        if entry.gpu is None:
            _put_host(said, entry)
        elif not entry.path[0].startswith("mig device"):  # a part of a GPU
            gpus.setdefault(entry.gpu, []).append(entry)
    for gpu, told in gpus.items():
        _put_gpu(said, gpu, told)
    return said


def entries(text: str) -> Iterator[Entry]:
    return _xml_entries(text) if "<nvidia_smi_log" in text else _text_entries(text)


def _text_entries(text: str) -> Iterator[Entry]:
    gpu: str | None = None
    sections: list[tuple[int, str]] = []
    for line in lines(text):
        if _HEADER.match(line):
            gpu, sections = pci_address(line), []
            if gpu:
                yield Entry(gpu, ("bus",), gpu, line)
            continue
        indent = len(line) - len(line.lstrip())
        while sections and sections[-1][0] >= indent:
            sections.pop()
        key, colon, value = (part.strip() for part in line.partition(":"))
        path = (*(name for _, name in sections), key.lower())
        if gpu is None and indent and path[-1] not in ("driver version", "cuda version"):
            gpu = ""  # the text begins within a GPU
        if colon:
            yield Entry(gpu, path, value, line)
        if not colon or not value:
            sections.append((indent, key.lower()))


def _put_host(said: Said, entry: Entry) -> None:
    name = HOST_WORDS.get(entry.path[-1:])
    if name is not None and (value := text_of(entry.value)) is not None:
        said.value(name, whole(value) if name == "attached" else value, entry.line)


def _put_gpu(said: Said, gpu: str, told: list[Entry]) -> None:
    if _breaks_off(told):
        said.value(about(gpu, "breaks_off"), f"after {told[-1].path[-1]!r}")
        if not told[-1].line.startswith("<"):
            told = told[:-1]  # a line that may have been cut itself: 1 of 16x
    for entry in told:
        if entry.path == ("bus",):
            said.value(about(gpu, "bus"), entry.value)
        for length in (1, 2, 3):
            if word := WORDS.get(entry.path[-length:]):
                put(said, gpu, word, entry.value, entry.line)
        if entry.path[-1].startswith("invalid "):
            said.value(about(gpu, "odd"), entry.path[-1], entry.line)
    _put_errors(said, gpu, told)
    _put_reasons(said, gpu, told)


def _put_errors(said: Said, gpu: str, told: list[Entry]) -> None:
    """Errors that are counted apart, by memory: their sum, with the line of the first that is not zero."""
    for (section, kind), word in _SUMS.items():
        alike = [entry for entry in told if entry.path[-2:-1] == (section,) and entry.path[-1].split()[1:2] == [kind]]
        counts = [(count, entry.line) for entry in alike if (count := whole(entry.value)) is not None]
        if counts:
            line = next((line for count, line in counts if count), counts[0][1])
            said.counter(about(gpu, word.name), sum(count for count, _ in counts), line)


def _put_reasons(said: Said, gpu: str, told: list[Entry]) -> None:
    seen = [
        (_REASONS[entry.path[-1]], entry)
        for entry in told
        if entry.path[-1] in _REASONS and any(section in _REASON_SECTIONS for section in entry.path)
    ]
    active = [(reason, entry.line) for reason, entry in seen if entry.value.lower() == "active"]
    if seen:
        worst = max(active, key=lambda one: words.REASONS[one[0]], default=("", ""))
        said.moment(about(gpu, words.REASONS_ACTIVE.name), [reason for reason, _ in active], worst[1])


def _breaks_off(told: list[Entry]) -> bool:
    """A full answer about a GPU has its name near the beginning and its processes at the end."""
    keys = {entry.path[0] for entry in told}
    return "product name" in keys and not any("processes" in key for key in keys)


def _xml_entries(text: str) -> Iterator[Entry]:
    for path, gpu, value in xml.leaves(text):
        line = f"<{path[-1]}>{value}</{path[-1]}>"
        bus = pci_address(gpu.get("gpu", ""))
        if path[:2] != ("nvidia_smi_log", "gpu"):
            yield Entry(None, (_plain(path[-1]),), value, line)
        elif bus and len(path) == 2:
            yield Entry(bus, ("bus",), bus, "")
        elif bus:
            yield Entry(bus, tuple(map(_plain, path[2:])), value, line)


_PLAIN: Mapping[str, str] = {
    "current mig": "current", "pcie gen": "pcie generation", "max link gen": "max", "current link gen": "current",
    "link widths": "link width", "max link width": "max", "current link width": "current",
    "replay counter": "replays since reset", "current ecc": "current", "pending ecc": "pending",
    "route recovery": "route recovery in progress", "gpu temp max mem threshold": "memory max operating temp",
    "multiple single bit retirement": "single bit ecc", "double bit retirement": "double bit ecc",
    "pending blacklist": "pending page blacklist",
    "remapped row corr": "correctable error", "remapped row unc": "uncorrectable error",
    "remapped row pending": "pending", "remapped row failure": "remapping failure occurred",
    "gpu temp": "gpu current temp", "gpu temp slow threshold": "gpu slowdown temp",
    "memory temp": "memory current temp", "gpu util": "gpu",
}  # fmt: skip
"""Words of tags -> those of the text, where they differ."""
_REASON = re.compile(r"clocks (?:event|throttle) reason ")


def _plain(tag: str) -> str:
    named = _REASON.sub("", tag.replace("_", " ").lower())
    return _PLAIN.get(named, named)


PARSE = seeing_faults(parse)
QUERIES = (Query("details", "-q", PARSE, seconds=60.0), Query("details", "-q -x", PARSE, seconds=60.0))
"""The second is asked where the first tells nothing."""
