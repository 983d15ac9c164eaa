"""`dcgmi`: the state of each NVLink as a letter (nvlink -s), the errors of a GPU's links (nvlink -e -g N), which GPUs
there are (discovery -l), and what its health watches have seen (health -g 0 -c; group 0 has all GPUs).

It asks DCGM's host engine, which does not run everywhere. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from probes.by_device import about
from probes.nvidia import words
from probes.nvidia.words import put
from probes.reading import Said, State
from probes.tool_text import cells, lines
from probes.visit import Query, Tool

TOOL = Tool(
    "dcgmi",
    messages=(
        (r"unable to (?:establish a )?connect", State.REFUSED),
        (r"watches not enabled|not supported|unsupported|Unknown argument", State.UNSUPPORTED),
        (r"permission|insufficient", State.REFUSED),
    ),
)
_OWNER = re.compile(r"(gpuId|physicalId)\s+(\d{1,4}):", re.IGNORECASE)
_STATES = re.compile(r"[UDX_](?:\s+[UDX_])*")
_LINK = re.compile(r"Link (\d{1,3})")
_ERRORS = re.compile(r"->\s*([A-Za-z][A-Za-z ]{0,40}?) Errors?")
_PROPERTY = re.compile(r"(Name|PCI Bus ID):\s*(\S.{0,100})")
_SICK = re.compile(r"(?:GPU(?: ID)?:?\s*)?(\d{1,3})", re.IGNORECASE)
_LETTERS = {"D": "down", "X": "disabled"}


def parse_states(text: str) -> Said:
    """Of each GPU `up`: how many, `down` and `disabled`: which links. Those of switches as `switch3_down`."""
    said = Said()
    owner: tuple[str, str] | None = None
    for line in lines(text):
        if match := _OWNER.match(line.strip()):
            owner = match[1].lower(), match[2]
        elif owner and _STATES.fullmatch(line.strip()):
            for name, value in _counted(line.split()):
                full = about(owner[1], name) if owner[0] == "gpuid" else f"switch{owner[1]}_{name}"
                said.value(full, value, line)
            owner = None
    return said


def parse_errors(text: str) -> Said:
    """Counters of the GPU that was asked about, as `link0_crc_flit`."""
    said = Said()
    link = ""
    for line in lines(text):
        row = cells(line)
        if row and (match := _LINK.fullmatch(row[0])):
            link = match[1]
        elif link and len(row) == 2 and (match := _ERRORS.fullmatch(row[0])) and row[1].isdecimal():
            said.counter(f"link{int(link)}_{match[1].lower().replace(' ', '_')}", int(row[1][:20]), line)
    return said


def parse_discovery(text: str) -> Said:
    """Of each GPU its name and PCI address: | 0 | Name: ... | and below | | PCI Bus ID: ... |."""
    said = Said()
    gpu = ""
    for line in lines(text):
        row = cells(line)
        if len(row) != 2 or not (match := _PROPERTY.match(row[1])):
            continue
        gpu = row[0] if row[0].isdecimal() else gpu
        if gpu:
            put(said, gpu, words.NAME if match[1] == "Name" else words.BUS, match[2], line)
    return said


def parse_health(text: str) -> Said:
    """`health` of all and of each GPU, and `problems`: what is said below a GPU that is not healthy."""
    said = Said()
    gpu = ""
    problems: dict[str, list[str]] = {}
    for line in lines(text):
        row = cells(line)
        if len(row) != 2:
            continue
        key = row[0].removeprefix("->").strip()
        if key.lower() == "overall health":
            said.value("health", row[1].split(":")[0], line)
        elif match := _SICK.fullmatch(key):
            gpu = match[1]
            said.value(about(gpu, "health"), row[1].split(":")[0], line)
        elif gpu and len(row[1]) > len("Warning"):
            problems.setdefault(gpu, []).append(row[1])
    for gpu, found in problems.items():
        said.value(about(gpu, "problems"), " ".join(found)[:400])
    return said


def _counted(states: list[str]) -> Iterator[tuple[str, int | list[int]]]:
    yield "up", states.count("U")
    for letter, name in _LETTERS.items():
        if letter in states:
            yield name, [link for link, state in enumerate(states) if state == letter]


HOST_QUERIES = (
    Query("dcgm_links", "nvlink -s", parse_states),
    Query("dcgm_discovery", "discovery -l", parse_discovery),
    Query("dcgm_health", "health -g 0 -c", parse_health),
)
DEVICE_QUERIES = (Query("dcgm_link_errors", "nvlink -e -g {gpu}", parse_errors),)
