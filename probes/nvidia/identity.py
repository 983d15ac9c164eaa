"""Which GPUs there are, by index: some answers name them by index, some by PCI address, and some by both.

NVML counts GPUs in the order of their PCI addresses, and so do the outputs that name no index; that decides where
nothing else does. Pure functions. May import: probes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes.reading import Reading

_TRUSTED = ("state", "details", "nvlink", "dcgm_discovery", "table")
"""Answers that name models, the one that never cuts them short first."""


@dataclass(slots=True)
class Gpu:
    """What is known of one GPU by name of the question."""

    id: int
    bus: str | None = None
    readings: dict[str, Reading] = field(default_factory=dict)

    @property
    def name(self) -> str | None:
        told: Iterable[Any] = (self.readings[of].values.get("name") for of in _TRUSTED if of in self.readings)
        return next((name for name in told if name), None)


def joined(answers: Mapping[str, Mapping[str, Reading]], minors: Iterable[int], buses: Iterable[str]) -> list[Gpu]:
    """`answers`: question -> GPU as the tool names it -> reading. `minors` and `buses`: what the kernel's files tell.
    They count only where no tool tells anything: a container can have the files of GPUs that it may not use.

    Answers with indices are placed first, then those with PCI addresses, and what names no GPU is the first one's.
    """
    gpus: dict[int, Gpu] = {}
    named = [(question, gpu, reading) for question, told in answers.items() for gpu, reading in told.items()]
    for question, gpu, reading in named:
        if gpu.isdecimal():
            place = gpus.setdefault(int(gpu), Gpu(int(gpu)))
            place.bus = place.bus or reading.values.get("bus")
            place.readings[question] = reading
    for question, told in answers.items():
        for order, (gpu, reading) in enumerate(told.items()):
            if gpu and not gpu.isdecimal():
                _of_bus(gpus, gpu, order).readings.setdefault(question, reading)
            elif not gpu:
                first = min(gpus, default=0)
                gpus.setdefault(first, Gpu(first)).readings.setdefault(question, reading)
    if not gpus:
        for order, bus in enumerate(sorted(buses)):
            _of_bus(gpus, bus, order)
        for minor in () if gpus else minors:
            gpus[minor] = Gpu(minor)
    return [gpus[index] for index in sorted(gpus)]


def _of_bus(gpus: dict[int, Gpu], bus: str, order: int) -> Gpu:
    """The GPU with this PCI address; a new one has its place in the order as its index, if that is free."""
    for gpu in gpus.values():
        if gpu.bus == bus:
            return gpu
    places = (order, *range(len(gpus) + 1))
    free = next(index for index in places if index not in gpus or gpus[index].bus is None)
    found = gpus.setdefault(free, Gpu(free))
    found.bus = bus
    return found
