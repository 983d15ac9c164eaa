"""`rocm-smi`, where amd-smi is not there or does not tell: the links between GPUs, and their PCI addresses.

Its indices are those of DRM, and only where amd-smi tells none are they the GPUs' own. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from probes.amd.faults import MESSAGES, seeing_faults
from probes.amd.topology import parse_topology
from probes.by_device import Split, about, pci_address
from probes.reading import Reading, Said
from probes.tool_text import lines
from probes.visit import Query, Tool

TOOL = Tool("rocm-smi", places=("/opt/rocm/bin/rocm-smi", "/usr/bin/rocm-smi"), messages=MESSAGES)

_BUS = re.compile(r"\s*GPU\s?\[?(\d{1,3})\]?\s*:\s*PCI Bus:\s*(\S+)\s*")


_ROW = re.compile(r"\s*(\d{1,3})\s[^°\n]{1,80}?\s(\d{1,3}\.\d)°C")


def parse_bus(text: str) -> Said:
    said = Said()
    for line in lines(text):
        if (match := _BUS.fullmatch(line)) and (bus := pci_address(match[2])):
            said.value(about(match[1], "bus"), bus, line)
    return said


def parse_table(text: str) -> Said:
    """`temperature` of each GPU's hottest spot, where the table says that it is that one."""
    said = Said()
    junction = False
    for line in lines(text):
        junction |= "(junction)" in line.lower()
        if junction and (match := _ROW.match(line)):
            said.moment(about(match[1], "temperature"), float(match[2]), line)
    return said


def renumbered(answers: Mapping[str, Split], by_bus: Mapping[str, str]) -> Split | None:
    """The links with the indices that `by_bus` gives for PCI addresses; None where they cannot be told for all GPUs."""
    if not answers.keys() >= {"topology", "bus"}:
        return None
    told = {gpu: by_bus.get(reading.values.get("bus", "")) for gpu, reading in answers["bus"].gpus.items()}
    numbers = {gpu: number for gpu, number in told.items() if number is not None}
    links = answers["topology"]
    if not links.gpus or not links.gpus.keys() <= numbers.keys():
        return None
    return Split(links.host, {numbers[gpu]: _renumbered(reading, numbers) for gpu, reading in links.gpus.items()})


def _renumbered(reading: Reading, numbers: Mapping[str, str]) -> Reading:
    links = {numbers[other]: link for other, link in reading.values.get("links", {}).items() if other in numbers}
    return replace(reading, values={**reading.values, "links": links})


TOPOLOGY = Query("topology", "--showtopo", seeing_faults(parse_topology), seconds=30.0, quick=True)
TABLE = Query("table", "", seeing_faults(parse_table), seconds=30.0)
BUS = Query("bus", "--showbus", seeing_faults(parse_bus), seconds=30.0, quick=True)
