"""`nvidia-smi` without a question: the table of GPUs and of processes, and the list that -L gives.

A GPU has two or three lines, the first with its index, whose cells stand in the order of the header. Names are cut
short there ("NVIDIA GeForce ..."). May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from probes.by_device import about
from probes.nvidia import words
from probes.nvidia.faults import seeing_faults
from probes.nvidia.words import put
from probes.reading import Said
from probes.tool_text import cells, lines
from probes.visit import Query

_VERSIONS = (
    ("driver", re.compile(r"Driver Version: (\d[\d.]{0,20})")),
    ("cuda", re.compile(r"CUDA Version: (\d[\d.]{0,20})")),
    ("tool", re.compile(r"NVIDIA-SMI (\d[\d.]{0,20})")),
)
_FIRST = re.compile(r"(\d{1,3})\s+(\S.*?)(?:\s+(On|Off|N/A|ERR!))?")
_LISTED = re.compile(r"GPU (\d{1,3}): ([^()]{1,100}) \(UUID")
_PROCESS = re.compile(
    r"(\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(\d{1,10})\s+(C|G|C\+G|M\+C)\s+\S.*?\s(?:(\d{1,9})MiB|N/A)"
)
_TEMPERATURE = re.compile(r"(?<!\d)\d{1,3}C\b")
_STATE = re.compile(r"\bP\d{1,2}\b")
_MEMORY = re.compile(r"(\d{1,9})MiB\s*/\s*(\d{1,9})MiB")
_UTILIZATION = re.compile(r"(?<!\d)\d{1,3}%")


def parse(text: str) -> Said:
    said = Said()
    gpu = None
    processes: dict[str, list[dict[str, int | None]]] = {}
    for line in lines(text):
        for name, pattern in _VERSIONS:
            if match := pattern.search(line):
                said.value(name, match[1], line)
        if match := _LISTED.match(line.strip()):
            put(said, match[1], words.NAME, match[2], "")
        row = [" ".join(cell.split()) for cell in cells(line)]
        if len(row) == 3:
            gpu = _put_row(said, gpu, row, line)
        elif len(row) == 1 and (match := _PROCESS.fullmatch(row[0])):
            gpu = None
            if "C" in match[3]:
                process = {"pid": int(match[2]), "memory_mib": int(match[4]) if match[4] else None}
                processes.setdefault(match[1], []).append(process)
    for of, found in processes.items():
        said.moment(about(of, "processes"), found)
    return said


def _put_row(said: Said, gpu: str | None, row: list[str], line: str) -> str | None:
    """The GPU that the row is about."""
    if match := _FIRST.fullmatch(row[0]):
        gpu = match[1]
        put(said, gpu, words.BUS, row[1], line)
        put(said, gpu, words.NAME, match[2], line)
        put(said, gpu, words.PERSISTENCE, {"On": "Enabled", "Off": "Disabled"}.get(match[3] or "", ""), line)
        put(said, gpu, words.UNCORRECTED, row[2].rstrip("*"), line)
        return gpu
    if gpu is not None:
        for word, cell in _second_row(row):
            put(said, gpu, word, cell, line)
    return gpu


def _second_row(row: list[str]) -> Iterator[tuple[words.Word, str]]:
    """The sensors, and below them the mode of MIG."""
    if "ERR!" in row[0]:
        yield words.TEMPERATURE, "ERR!"
    for word, pattern, cell in (
        (words.TEMPERATURE, _TEMPERATURE, row[0]),
        (words.PERFORMANCE_STATE, _STATE, row[0]),
        (words.UTILIZATION, _UTILIZATION, row[2]),
    ):
        if match := pattern.search(cell):
            yield word, match[0]
    if match := _MEMORY.search(row[1]):
        yield words.MEMORY_USED, match[1]
        yield words.MEMORY, match[2]
        yield words.COMPUTE_MODE, row[2].rpartition("%")[2].removeprefix("N/A")
    elif not row[0] and not row[1]:
        yield words.MIG, row[2].rstrip("*")


QUERIES = (Query("table", "", seeing_faults(parse), quick=True),)
