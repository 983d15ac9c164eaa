"""`nvidia-smi nvlink`: the state and speed of each link (-s), and the errors that it has counted (-e).

A line names the GPU, then there is a line for each link. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from probes.by_device import about
from probes.nvidia import words
from probes.nvidia.faults import seeing_faults
from probes.nvidia.words import put
from probes.reading import Said
from probes.tool_text import lines, number
from probes.visit import Query

_GPU = re.compile(r"GPU (\d{1,3}): ([^()]{1,100})(?:\(UUID|$)")
_LINK = re.compile(r"Link (\d{1,3}):\s*(.*)")
_ERRORS = re.compile(r"([A-Za-z][A-Za-z /]{0,40}?) Errors?:\s*(\d{1,20})")
_ALL = re.compile(r"all links are inactive", re.IGNORECASE)


def parse_states(text: str) -> Said:
    """Of each GPU `active` and `inactive`: its links; `speed`: of the slowest active one in GB/s."""
    said = Said()
    inactive: dict[str, list[tuple[int, str]]] = {}
    active: dict[str, list[tuple[int, float, str]]] = {}
    for gpu, name, line in _by_gpu(text):
        if name is not None:
            put(said, gpu, words.NAME, name, "")
        elif _ALL.search(line):
            said.value(about(gpu, "all_inactive"), True, line)
        elif match := _LINK.match(line.strip()):
            speed = number(match[2]) if "B/s" in match[2] else None  # else the line was cut
            if "inactive" in match[2].lower():
                inactive.setdefault(gpu, []).append((int(match[1]), line))
            elif speed is not None:
                active.setdefault(gpu, []).append((int(match[1]), min(speed, 1e6), line))
    for gpu, down in inactive.items():
        said.value(about(gpu, "inactive"), [link for link, _ in down], down[0][1])
    for gpu, up in active.items():
        slowest = min(up, key=lambda link: link[1])
        said.value(about(gpu, "active"), [link for link, _, _ in up], up[0][2])
        said.value(about(gpu, "speed"), slowest[1], slowest[2])
    return said


def parse_errors(text: str) -> Said:
    """Of each GPU counters as `link0_replay`."""
    said = Said()
    for gpu, name, line in _by_gpu(text):
        if name is None and (link := _LINK.match(line.strip())) and (errors := _ERRORS.match(link[2])):
            kind = errors[1].lower().replace(" ", "_").replace("/", "_")
            said.counter(about(gpu, f"link{int(link[1])}_{kind}"), int(errors[2]), line)
    return said


def _by_gpu(text: str) -> Iterator[tuple[str, str | None, str]]:
    """(index, name where the line is the one that names it, line)"""
    gpu = ""
    for line in lines(text):
        if match := _GPU.match(line.strip()):
            gpu = match[1]
            yield gpu, match[2].strip(), line
        else:
            yield gpu, None, line


QUERIES = (
    Query("nvlink", "nvlink -s", seeing_faults(parse_states)),
    Query("nvlink_errors", "nvlink -e", seeing_faults(parse_errors)),
)
