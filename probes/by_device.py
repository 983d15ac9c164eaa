"""Answers that tell of all GPUs at once, as one reading for the host and one for each GPU.

A parser puts what belongs to one GPU under `about(gpu, name)`; a GPU is named as the tool names it, by its index or its
PCI address, or "" where the text does not name it. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from probes.reading import Reading

_ADDRESS = re.compile(r"(?<![0-9A-Fa-f])(?:0000)?([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])(?!\d)")

_Parts = dict[str | None, dict[str, Any]]
"""GPU -> name -> what there is; None is the host."""


def about(gpu: str, name: str) -> str:
    return f"{gpu}/{name}"


def pci_address(text: str) -> str | None:
    """The first PCI address in a text, as the kernel writes it: `00000000:3B:00.0` is `0000:3b:00.0`."""
    match = _ADDRESS.search(text)
    return f"{match[1]}:{match[2]}:{match[3]}.{match[4]}".lower() if match else None


@dataclass(slots=True)
class Split:
    """`gpus`: by the tool's name for them, in the order in which it tells of them."""

    host: Reading
    gpus: dict[str, Reading] = field(default_factory=dict)


def split(reading: Reading) -> Split:
    """Without values a GPU has no reading; see `Reading.state` of the host's for why."""
    kinds = [_split(kind) for kind in (reading.values, reading.counters, reading.momentary, reading.lines)]
    named = dict.fromkeys(gpu for parts in kinds for gpu in parts if gpu is not None)
    host = replace(_part(reading, kinds, None), identities=reading.identities)
    return Split(host, {gpu: _part(reading, kinds, gpu) for gpu in named})


def _part(reading: Reading, kinds: list[_Parts], gpu: str | None) -> Reading:
    return Reading(reading.source, reading.state, reading.reason, *(parts.get(gpu, {}) for parts in kinds))


def _split(named: Mapping[str, Any]) -> _Parts:
    parts: _Parts = {}
    for key, value in named.items():
        gpu, slash, name = key.partition("/")
        parts.setdefault(gpu if slash else None, {})[name if slash else key] = value
    return parts
