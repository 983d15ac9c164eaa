"""`amd-smi`: its questions about all GPUs, and the parsers of its answers, which are blocks that begin with `GPU: 0`.

May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from probes.amd.faults import MESSAGES, seeing_faults
from probes.amd.topology import parse_topology
from probes.by_device import about, pci_address
from probes.reading import Said
from probes.tool_text import lines, whole
from probes.visit import Query, Tool

TOOL = Tool("amd-smi", places=("/opt/rocm/bin/amd-smi", "/usr/bin/amd-smi"), messages=MESSAGES)

_GPU = re.compile(r"\s*GPU:\s*(\d{1,3})\s*")
_THROTTLE = re.compile(r"([A-Z0-9_]+?)(?:_VIOLATION)?_(ACCUMULATED|ACTIVE|STATUS|PERCENT|ACTIVITY)")
_ACTIVE: Mapping[str, bool] = {"ACTIVE": True, "NOT ACTIVE": False, "TRUE": True, "FALSE": False}
_VERSIONS: Mapping[str, str] = {
    "AMDSMI Tool": "tool", "AMDSMI Library version": "library", "ROCm version": "rocm", "amdgpu version": "driver",
}  # fmt: skip
_ECC: Mapping[str, str] = {
    "TOTAL_CORRECTABLE_COUNT": "correctable", "TOTAL_UNCORRECTABLE_COUNT": "uncorrectable",
    "TOTAL_DEFERRED_COUNT": "deferred", "CACHE_CORRECTABLE_COUNT": "cache_correctable",
    "CACHE_UNCORRECTABLE_COUNT": "cache_uncorrectable",
}  # fmt: skip
_PCIE: Mapping[str, str] = {
    "REPLAY_COUNT": "replays", "REPLAY_ROLL_OVER_COUNT": "replay_roll_overs", "L0_TO_RECOVERY_COUNT": "recoveries",
    "NAK_SENT_COUNT": "naks_sent", "NAK_RECEIVED_COUNT": "naks_received",
}  # fmt: skip
_PAGES: Mapping[str, str] = {"RETIRED": "retired", "PENDING": "pending", "UN_RES": "unreservable"}


Take = Callable[[Said, str, str, str, str], None]
"""Puts a field (GPU, key, value, line) into what is said, if it means anything."""


def _of_gpus(take: Take) -> Callable[[str], Said]:
    """A parser of blocks. A GPU that has a block is there, also when nothing but "N/A" stands in it."""

    def parse(text: str) -> Said:
        said = Said()
        for gpu, key, value, line in _fields(text):
            said.value(about(gpu, "present"), True)
            take(said, gpu, key, value, line)
        return said

    return parse


def _take_bus(said: Said, gpu: str, key: str, value: str, line: str) -> None:
    """What the GPU's place on PCIe is and could be; `amd-smi metric --pcie` tells how it is used."""
    if key == "BDF" and (bus := pci_address(value)):
        said.value(about(gpu, "bus"), bus, line)
    elif key == "MAX_PCIE_WIDTH" and (width := whole(value.lstrip("x"))):
        said.value(about(gpu, "width_max"), width, line)
    elif key == "MAX_PCIE_SPEED" and _says(value):
        said.value(about(gpu, "speed_max"), value, line)


def _take_driver(said: Said, gpu: str, key: str, value: str, line: str) -> None:
    if key in ("NAME", "VERSION") and _says(value):
        said.value(about(gpu, f"driver_{key.lower()}"), value, line)


def _take_asic(said: Said, gpu: str, key: str, value: str, line: str) -> None:
    if key == "MARKET_NAME" and _says(value):
        said.value(about(gpu, "name"), value, line)


def _take_pcie(said: Said, gpu: str, key: str, value: str, line: str) -> None:
    if key == "WIDTH" and (width := whole(value.lstrip("x"))):
        said.value(about(gpu, "width"), width, line)
    elif key == "SPEED" and _says(value):
        said.moment(about(gpu, "speed"), value, line)
    else:
        _count(said, gpu, _PCIE.get(key), value, line)


def _take_ecc(said: Said, gpu: str, key: str, value: str, line: str) -> None:
    _count(said, gpu, _ECC.get(key), value, line)


def _take_throttle(said: Said, gpu: str, key: str, value: str, line: str) -> None:
    """By what limits: prochot, ppt (the power cap), socket_thermal, vr_thermal, hbm_thermal. Whether it does now, how
    much of the time in percent, and how often it did."""
    match = _THROTTLE.fullmatch(key)
    if match is None:
        return
    limit, what = match[1].lower(), match[2]
    if what == "ACCUMULATED":
        _count(said, gpu, limit, value, line)
    elif what in ("ACTIVE", "STATUS") and value.upper() in _ACTIVE:
        said.moment(about(gpu, f"{limit}_active"), _ACTIVE[value.upper()], line)
    elif what in ("PERCENT", "ACTIVITY") and (percent := whole(value)) is not None:
        said.moment(about(gpu, f"{limit}_percent"), percent, line)


parse_bus = _of_gpus(_take_bus)
parse_driver = _of_gpus(_take_driver)
parse_asic = _of_gpus(_take_asic)
parse_pcie = _of_gpus(_take_pcie)
parse_ecc = _of_gpus(_take_ecc)
parse_throttle = _of_gpus(_take_throttle)


def parse_bad_pages(text: str) -> Said:
    """How many pages of memory are retired, are to be, and could not be."""
    said = Said()
    counts: dict[tuple[str, str], tuple[int, str]] = {}
    part = ""
    for gpu, key, value, line in _fields(text):
        if key in _PAGES:
            part = _PAGES[key]
            if value.lower().startswith("no bad pages"):
                counts[gpu, part] = (0, line)
        elif key == "PAGE_ADDRESS" and part:
            count, _ = counts.get((gpu, part), (0, ""))
            counts[gpu, part] = (count + 1, line)
    for (gpu, name), (count, line) in counts.items():
        said.value(about(gpu, name), count, line)
    return said


def parse_version(text: str) -> Said:
    said = Said()
    for line in lines(text):
        for part in line.split("|"):
            name, colon, value = part.partition(":")
            if colon and name.strip() in _VERSIONS and _says(value.strip()):
                said.value(_VERSIONS[name.strip()], value.strip(), line)
    return said


def _fields(text: str) -> Iterator[tuple[str, str, str, str]]:
    """(index of the GPU, key, value, line) of every field in a block of a GPU."""
    gpu = ""
    for line in lines(text):
        if match := _GPU.fullmatch(line):
            gpu = match[1]
        elif gpu:
            key, colon, value = line.partition(":")
            if colon:
                yield gpu, key.strip(" \t-"), value.strip(), line


def _count(said: Said, gpu: str, name: str | None, value: str, line: str) -> None:
    count = whole(value) if name else None
    if name and count is not None:
        said.counter(about(gpu, name), count, line)


def _says(value: str) -> bool:
    return bool(value) and value.upper() != "N/A"


def _query(name: str, words: str, parse: Callable[[str], Said], quick: bool = False) -> Query:
    return Query(name, words, seeing_faults(parse), seconds=30.0, quick=quick)


QUERIES = (
    _query("list", "list", parse_bus, True),
    _query("version", "version", parse_version),
    _query("driver", "static --driver", parse_driver),
    _query("asic", "static --asic", parse_asic),
    _query("bus", "static --bus", parse_bus),
    _query("pcie", "metric --pcie", parse_pcie, True),
    _query("ecc", "metric --ecc", parse_ecc, True),
    _query("throttle", "metric --throttle", parse_throttle),
    _query("bad_pages", "bad-pages", parse_bad_pages),
)
TOPOLOGY = _query("topology", "topology", parse_topology, True)
