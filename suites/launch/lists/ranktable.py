"""HCCL's rank table, the JSON file that RANK_TABLE_FILE names: read for its hosts, and written back.

The devices of a table of version 1.0 are kept; other versions have more in them, so of those only the hosts and their
numbers of devices are.
May import: the standard library, errors, nodeset's `quoted`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from suites.errors import UsageError
from suites.launch.lists.nodeset import quoted

_WRITTEN_VERSION = "1.0"
# Vendors' examples carry // comments. A string goes on to its end or to that of the text, so nothing is tried twice.
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+"?|//[^\n]*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Device:
    """A device by the keys of the table; all values are strings there."""

    device_id: str
    device_ip: str
    rank_id: str
    device_port: str | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """A host of the table. `devices` is empty where they cannot be written back."""

    name: str
    count: int
    devices: tuple[Device, ...] = ()


def read(text: str, file: str) -> list[Server]:
    """The hosts of a table, by their lowest rank. Raises UsageError.

    A host is called by its `host_ip` where there is one, for a `server_id` need not be a name. What would make a wrong
    list is refused: a table that is not complete, and ranks that are not 0 to n-1, each once. Whether the addresses of
    devices are right is not looked at.
    """
    table = _Place(_json(text, file), "", file)
    if table.has("status") and (status := table.text("status")) != "completed":
        raise UsageError(f"{file}: the status is {quoted(status)}; wait until the table is 'completed'")
    places = table.list("server_list")
    if table.has("server_count") and (count := table.text("server_count")) != str(len(places)):
        raise UsageError(f"{file}: server_count is {quoted(count)}, and server_list has {len(places)}: one is wrong")
    whole = table.has("version") and table.text("version") == _WRITTEN_VERSION
    servers: dict[int, Server] = {}
    ranks: list[int] = []
    for place in places:
        devices = place.list("device")
        mine = [int(device.text("rank_id", "[0-9]{1,9}")) for device in devices]
        ranks += mine
        kept = whole and all(device.has("device_id") and device.has("device_ip") for device in devices)
        name = place.text("host_ip" if place.has("host_ip") else "server_id")
        servers[min(mine)] = Server(name, len(devices), tuple(map(_device, devices)) if kept else ())
    _check_ranks(ranks, file)
    return [servers[rank] for rank in sorted(servers)]


def write(servers: Sequence[tuple[str, Sequence[Device]]]) -> str:
    """A table of version 1.0 of these hosts and their devices."""
    table = {
        "version": _WRITTEN_VERSION,
        "server_count": str(len(servers)),
        "server_list": [{"server_id": name, "device": list(map(_keys, devices))} for name, devices in servers],
        "status": "completed",
    }
    return json.dumps(table, indent=2) + "\n"


@dataclass(frozen=True, slots=True)
class _Place:
    """A value of the table that should be an object, and where it stands."""

    value: Any
    path: str
    file: str

    def has(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def text(self, key: str, pattern: str = r".+") -> str:
        """Some tables have numbers where strings belong; those are taken as written."""
        value = self.value[key] if self.has(key) else None
        if not isinstance(value, str | int) or not re.fullmatch(pattern, str(value), re.DOTALL):
            told = "missing" if value is None else f"{quoted(str(value))}, which cannot be"
            raise UsageError(f"{self.file}: {self._path(key)} is {told}; not a rank table of HCCL")
        return str(value)

    def list(self, key: str) -> list[_Place]:
        values = self.value[key] if self.has(key) else None
        if not isinstance(values, list) or not values:
            raise UsageError(f"{self.file}: {self._path(key)} is missing, empty or no list: not a rank table of HCCL")
        return [_Place(value, f"{self._path(key)}[{index}]", self.file) for index, value in enumerate(values)]

    def _path(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def _device(place: _Place) -> Device:
    port = place.text("device_port") if place.has("device_port") else None
    return Device(place.text("device_id"), place.text("device_ip"), place.text("rank_id"), port)


def _keys(device: Device) -> dict[str, str]:
    return {key: text for key, text in asdict(device).items() if text is not None}


def _json(text: str, file: str) -> Any:
    plain = _STRING_OR_COMMENT.sub(lambda match: "" if match[0].startswith("/") else match[0], text)
    try:
        return json.loads(plain)
    except json.JSONDecodeError as error:
        raise UsageError(f"{file}:{error.lineno}: begins like a rank table, and is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: begins like a rank table, and is none: {error}") from None


def _check_ranks(ranks: Sequence[int], file: str) -> None:
    for expected, rank in enumerate(sorted(ranks)):
        if rank != expected:
            wrong = f"rank_id {rank} is given twice" if rank < expected else f"rank_id {expected} is missing"
            raise UsageError(f"{file}: {wrong}; {len(ranks)} devices have the ranks 0 to {len(ranks) - 1}, each once")
