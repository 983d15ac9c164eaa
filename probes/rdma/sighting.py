"""What has been seen of RDMA devices and ports, from whichever source: the first that tells a value counts.

May import: probes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes.rdma.words import natural
from probes.reading import Reading


@dataclass(slots=True)
class Sighting:
    """Of one device or port. `lines` and `sources`: value -> the line it stood in, and the file or command."""

    values: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: Any, line: str, source: str) -> None:
        if value is not None and name not in self.values:
            self.values[name] = value
            self.sources[name] = source
            if line.strip():
                self.lines[name] = line.strip()


class Sightings:
    """By place: a device `mlx5_0`, or a port `mlx5_0/1`."""

    def __init__(self) -> None:
        self._seen: dict[str, Sighting] = {}

    def of(self, place: str) -> Sighting:
        """What is known of a place, which from now on is one."""
        return self._seen.setdefault(place, Sighting())

    def take(self, reading: Reading) -> None:
        """The values of a tool that are named `PLACE VALUE`, as those of `probes.rdma.tools` are."""
        for key, value in reading.values.items():
            place, _, name = key.rpartition(" ")
            if place and name == PLACE:
                self.of(place)
            elif place:
                self.of(place).put(name, value, reading.lines.get(key, ""), reading.source)

    def devices(self) -> list[str]:
        return sorted({place.partition("/")[0] for place in self._seen}, key=natural)

    def ports(self, device: str) -> Iterator[int]:
        """Their numbers, ascending."""
        numbers = {place.partition("/")[2] for place in self._seen if place.startswith(f"{device}/")}
        yield from sorted(int(number) for number in numbers)


PLACE = "."
"""The name of a value that says no more than that there is such a place."""


def about_host(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a tool's values that are about no device."""
    return {key: value for key, value in values.items() if " " not in key}
