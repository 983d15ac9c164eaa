"""`nvidia-smi --query-...=FIELDS --format=csv`: a line of names, then a line for each GPU or process.

One unknown field and the whole answer is missing, so there are several lists of fields, the newest first. Drivers
before R535 say clocks_throttle_reasons for clocks_event_reasons (`nvidia-smi --help-query-gpu`).
May import: probes.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping

from probes.by_device import about, pci_address
from probes.nvidia import words
from probes.nvidia.faults import seeing_faults
from probes.nvidia.words import Word, put
from probes.reading import Said
from probes.tool_text import lines, whole
from probes.visit import Query

WORDS: Mapping[str, Word] = {
    "name": words.NAME,
    "gpu_name": words.NAME,
    "pci.bus_id": words.BUS,
    "gpu_bus_id": words.BUS,
    "driver_version": words.DRIVER,
    "vbios_version": words.VBIOS,
    "persistence_mode": words.PERSISTENCE,
    "pstate": words.PERFORMANCE_STATE,
    "pcie.link.gen.current": words.GENERATION,
    "pcie.link.gen.gpucurrent": words.GENERATION,
    "pcie.link.gen.max": words.GENERATION_MAX,
    "pcie.link.width.current": words.WIDTH,
    "pcie.link.width.max": words.WIDTH_MAX,
    "ecc.mode.current": words.ECC,
    "ecc.mode.pending": words.ECC_PENDING,
    "gpu_recovery_action": words.RECOVERY_ACTION,
    "ecc.errors.corrected.volatile.total": words.CORRECTED,
    "ecc.errors.uncorrected.volatile.total": words.UNCORRECTED,
    "ecc.errors.uncorrected.aggregate.total": words.UNCORRECTED_EVER,
    "clocks_event_reasons.active": words.REASONS_ACTIVE,
    "clocks_throttle_reasons.active": words.REASONS_ACTIVE,
    "temperature.gpu": words.TEMPERATURE,
    "temperature.memory": words.MEMORY_TEMPERATURE,
    "power.draw": words.POWER,
    "power.limit": words.POWER_LIMIT,
    "power.default_limit": words.POWER_LIMIT_DEFAULT,
    "utilization.gpu": words.UTILIZATION,
    "memory.total": words.MEMORY,
    "memory.used": words.MEMORY_USED,
    "mig.mode.current": words.MIG,
    "compute_mode": words.COMPUTE_MODE,
    "fabric.state": words.FABRIC_STATE,
    "fabric.status": words.FABRIC_STATUS,
    "retired_pages.single_bit_ecc.count": words.RETIRED_SINGLE,
    "retired_pages.double_bit.count": words.RETIRED_DOUBLE,
    "retired_pages.pending": words.RETIRED_PENDING,
    "remapped_rows.correctable": words.REMAPPED_CORRECTABLE,
    "remapped_rows.uncorrectable": words.REMAPPED,
    "remapped_rows.pending": words.REMAP_PENDING,
    "remapped_rows.failure": words.REMAP_FAILED,
}
"""Field -> what it says. A field has its unit behind it, as in `memory.used [MiB]`."""


def rows(text: str) -> Iterator[dict[str, str]]:
    """{field: cell} of every line behind the one that has the names."""
    fields: list[str] = []
    for line in lines(text):
        cells = [cell.strip() for cell in _cells(line)]
        if not fields:
            named = _fields([line])
            fields = named if _is_header(named) else []
        elif len(cells) < len(fields):  # the line was cut, and perhaps within its last cell
            yield dict(zip(fields, cells[:-1], strict=False))
        else:
            yield dict(zip(fields, cells, strict=False))


def parse_gpus(text: str) -> Said:
    """Of each GPU what WORDS know; a GPU is named by its index, else by its PCI address."""
    said = Said()
    for cells in rows(text):
        index, bus = cells.get("index", ""), _bus(cells)
        gpu = index if whole(index) is not None and len(index) < 4 else bus
        if gpu is not None:
            for field, cell in cells.items():
                if field in WORDS:
                    put(said, gpu, WORDS[field], cell, f"{field} {cell} ({gpu})")
    return said


def parse_processes(text: str) -> Said:
    """`processes` of each GPU that has any; `count`: of all."""
    said = Said()
    found: dict[str, list[dict[str, int | None]]] = {}
    for cells in rows(text):
        process, bus = whole(cells.get("pid", "")), _bus(cells)
        if process is not None:
            memory = whole(cells.get("used_memory", cells.get("used_gpu_memory", "")))
            found.setdefault(bus or "", []).append({"pid": process, "memory_mib": memory})
    for bus, processes in found.items():
        said.moment(about(bus, "processes"), processes)
    if found or _is_header(_fields(lines(text)[:1])):
        said.moment("count", sum(map(len, found.values())))
    return said


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return []


def _fields(header: list[str]) -> list[str]:
    """The names in a line of names, without units."""
    return [cell.partition("[")[0].strip() for line in header for cell in _cells(line)]


def _is_header(fields: list[str]) -> bool:
    return any(field in WORDS or field in ("index", "pid") for field in fields)


def _bus(cells: Mapping[str, str]) -> str | None:
    return pci_address(cells.get("pci.bus_id", cells.get("gpu_bus_id", "")))


_FIELDS = (
    "index", "name", "pci.bus_id", "driver_version", "persistence_mode", "pstate", "pcie.link.gen.current",
    "pcie.link.gen.max", "pcie.link.width.current", "pcie.link.width.max", "temperature.gpu", "utilization.gpu",
    "memory.total", "memory.used", "compute_mode",
)  # fmt: skip
_MORE = (
    "vbios_version", "ecc.mode.current", "ecc.errors.corrected.volatile.total",
    "ecc.errors.uncorrected.volatile.total", "ecc.errors.uncorrected.aggregate.total", "power.draw", "power.limit",
    "mig.mode.current",
)  # fmt: skip


def _query(name: str, what: str, fields: tuple[str, ...], parse: Callable[[str], Said], quick: bool = False) -> Query:
    return Query(name, f"--query-{what}={','.join(fields)} --format=csv", seeing_faults(parse), quick=quick)


STATES = tuple(
    _query("state", "gpu", (*_FIELDS, *more), parse_gpus, quick=True)
    for more in (
        (*_MORE, "clocks_event_reasons.active", "fabric.state", "fabric.status"),
        (*_MORE, "clocks_throttle_reasons.active"),
        (),
    )
)
"""The same question with fewer and fewer fields: the next is asked where the tool does not know a field."""
REMAPPED_ROWS = _query(
    "remapped_rows", "remapped-rows",
    ("gpu_bus_id", "remapped_rows.correctable", "remapped_rows.uncorrectable", "remapped_rows.pending",
     "remapped_rows.failure"),
    parse_gpus,
)  # fmt: skip
PROCESSES = _query("processes", "compute-apps", ("gpu_bus_id", "pid", "used_memory"), parse_processes)
