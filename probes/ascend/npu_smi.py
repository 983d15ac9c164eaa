"""`npu-smi`: its questions. The parsers of its answers are in npu_table, npu_lists, npu_topo and npu_details.

It is asked by card (-i) and chip (-c). May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from probes.ascend.identity import Identity, rows_of
from probes.ascend.npu_details import (
    parse_board,
    parse_common,
    parse_counters,
    parse_events,
    parse_health,
    parse_links,
    parse_memory,
    parse_super_pod,
    parse_temperature,
    parse_usages,
)  # fmt: skip
from probes.ascend.npu_lists import parse_list, parse_lspci, parse_map
from probes.ascend.npu_table import ROWS, parse_table
from probes.ascend.npu_topo import parse_topology
from probes.ascend.npu_words import FAULTS, note_fault
from probes.reading import Reading, Said, State, told
from probes.visit import Query, Tool, Visit

TOOL = Tool(
    "npu-smi",
    places=("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi"),
    messages=(
        (r"do[es]+ not support|not supported|Error parameter of -t|must input profiling_time", State.UNSUPPORTED),
        (r"permi(?:ssion|tted)|because the device is used|\bbusy\b", State.REFUSED),
        (FAULTS, State.FAILED),
    ),
)
LSPCI = Tool("lspci", places=("/usr/sbin/lspci", "/sbin/lspci"))

HOST_QUERIES = (
    Query("info", "info", parse_table, quick=True),
    Query("topology", "info -t topo", parse_topology, quick=True),
    Query("list", "info -l", parse_list),
    Query("map", "info -m", parse_map),
)
LSPCI_QUERIES = (Query("lspci", "", parse_lspci, quick=True),)
CARD_QUERIES = (Query("board", "info -t board -i {card}", parse_board),)
CHIP_QUERIES = (
    Query("health", "info -t health {chip}", parse_health, quick=True),
    Query("events", "info -t current-fault-event {chip}", parse_events),
    Query("chip_board", "info -t board {chip}", parse_board),
    Query("common", "info -t common {chip}", parse_common),
    Query("usages", "info -t usages {chip}", parse_usages),
    Query("memory", "info -t memory {chip}", parse_memory),
    Query("temperature", "info -t temp {chip}", parse_temperature),
    Query("ecc", "info -t ecc {chip}", parse_counters),
    Query("hccs", "info -t hccs {chip}", parse_links),
    Query("sio", "info -t sio-info {chip}", parse_counters),
    Query("pcie_errors", "info -t pcie-err {chip}", parse_counters),
    Query("super_pod", "info -t spod-info {chip}", parse_super_pod),
)
LINKS = Query("xlink", "info -t xlink {chip}", parse_links)
"""How some builds say hccs."""


def of_host(visit: Visit) -> dict[str, Reading]:
    """Questions about all devices together. What lspci says is only kept where it lists accelerators."""
    listed = visit.ask_all(LSPCI, LSPCI_QUERIES)
    of_use = {name: reading for name, reading in listed.items() if reading.state in (State.TOLD, State.LATE)}
    return {**_heard(visit.ask_all(TOOL, HOST_QUERIES)), **of_use}


def of_device(visit: Visit, identity: Identity) -> dict[str, Reading]:
    """Questions about one device. A chip that has no number of its own is not named (npu-smi of 950)."""
    if identity.card is None:
        return {}
    chip = ["-i", identity.card, *(() if identity.chip is None else ("-c", identity.chip))]
    readings = {
        **visit.ask_all(TOOL, CARD_QUERIES, card=identity.card),
        **visit.ask_all(TOOL, CHIP_QUERIES, chip=chip),
    }
    if "hccs" not in readings or readings["hccs"].state is State.UNSUPPORTED:
        named_otherwise = visit.ask_all(TOOL, (LINKS,), chip=chip)
        readings |= {name: said for name, said in named_otherwise.items() if said.state is not State.UNSUPPORTED}
    return _heard(readings)


def without_rows(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """The same, after what is said of each chip was given to it."""
    return {name: replace(reading, momentary=_rest(reading)) for name, reading in readings.items()}


def row_of(readings: Mapping[str, Reading], identity: Identity) -> dict[str, Reading]:
    """The device's own part of the big table, as a reading of it."""
    own = [row for row in rows_of(readings, "info") if (row.card, row.chip or 0) == (identity.card, identity.chip or 0)]
    table = readings.get("info")
    if not own or table is None:
        return {}
    said = own[0].said
    return {"info": replace(table, values=said.values, momentary=said.momentary, lines=said.lines)}


def _heard(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """The same, with what was said of a fault on the error output, which no parser sees."""
    return {name: _with_fault(reading) for name, reading in readings.items()}


def _with_fault(reading: Reading) -> Reading:
    said = Said()
    if reading.state is State.FAILED:
        note_fault(reading.reason or "", said)
    return told(reading.source, said) if said else reading


def _rest(reading: Reading) -> dict[str, object]:
    return {name: value for name, value in reading.momentary.items() if name != ROWS}
