"""What must stand in a frame, type by type: a peer that breaks this is named, before anything believes what it says.

Only what is used is looked at, so that a frame may carry more. Process ids are looked at most closely, since what has
one is ended with its run. May import: protocol.
"""

from __future__ import annotations

import ipaddress
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from suites.launch.protocol import BrokenFrame, Frame

Check = Callable[[Any], bool]
Shape = Mapping[str, Check]
"""field -> whether a value may stand there."""

_LARGEST_PID = 1 << 22
"""Of any Linux. 1 is the parent of all, and what is less means whole groups of processes."""


def text(value: Any) -> bool:
    return isinstance(value, str)


def integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def number(value: Any) -> bool:
    """A finite one."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def mapping(value: Any) -> bool:
    return isinstance(value, dict)


def pid(value: Any) -> bool:
    return integer(value) and 1 < value <= _LARGEST_PID


def port(value: Any) -> bool:
    return integer(value) and 0 < value < 1 << 16


def span(value: Any) -> bool:
    """Of time."""
    return number(value) and value > 0


def address(value: Any) -> bool:
    """Of IP, and no name: looking one up may take long."""
    return text(value) and _parses(ipaddress.ip_address, value)


def interface_address(value: Any) -> bool:
    return text(value) and _parses(ipaddress.ip_interface, value)


def optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def every(check: Check) -> Check:
    """A list of such."""
    return lambda value: isinstance(value, list) and all(map(check, value))


def by_name(check: Check) -> Check:
    """Such by names, or by numbers written as JSON has them for keys."""
    return lambda value: mapping(value) and all(map(check, value.values()))


def holds(shape: Shape) -> Check:
    return lambda value: mapping(value) and all(name in value and check(value[name]) for name, check in shape.items())


def exactly(shape: Shape) -> Check:
    return lambda value: holds(shape)(value) and len(value) == len(shape)


def _parses(parse: Callable[[str], Any], value: str) -> bool:
    try:
        parse(value)
    except ValueError:
        return False
    return True


HOST_FACTS: Shape = {
    "name": text, "core_cpus": every(integer), "cores": integer, "available": optional(integer), "cache": integer,
    "without_core": optional(text),
}  # fmt: skip
_INTERFACE: Shape = {
    "name": text, "addresses": optional(every(interface_address)), "mtu": optional(integer),
    "speed_bytes_per_second": optional(integer), "state": optional(text), "loopback": optional(flag),
}  # fmt: skip
STATUSES = ("pass", "info", "warn", "fail", "skip", "error")
_FINDING: Shape = {
    "check": text, "status": lambda value: value in STATUSES, "message": text, "subject": mapping,
    "remedy": optional(text), "evidence": mapping,
}  # fmt: skip
PLACEMENT: Shape = dict.fromkeys(
    ("rank", "world_size", "local_rank", "local_size", "node", "node_count"), integer
)  # fmt: skip

GREETING: Shape = {"facts": holds(HOST_FACTS), "interfaces": every(holds(_INTERFACE))}
"""What a `hello` of this version says beside its version."""

WANTED: Shape = {
    "sections": every(text), "devices": every(text), "hurry": flag, "identities": flag, "record": flag,
    "seconds": optional(span),
}  # fmt: skip
FROM_AGENTS: Mapping[str, Shape] = {
    "hello": {"version": text, "python": text},
    "looked": {"facts": mapping, "findings": every(exactly(_FINDING)), "texts": optional(by_name(text))},
    "asking": {"line": text},
    "clocked": {"nanoseconds": integer},
    "listening": {"port": port},
    "knocked": {"why": optional(text)},
    "started": {"rank": integer, "pid": pid},
    "serving": {"store": text},
    "helpers": {"pids": every(pid)},
    "waiting": {"address": text, "token": text},
    "rank": {"rank": integer, "content": holds({"type": text})},
    "output": {"rank": optional(integer), "stream": text, "text": text},
    "exit": {"rank": integer, "code": optional(integer), "signal": optional(integer), "stopped": flag},
    "alive": {"states": by_name(optional(text)), "cpu_seconds": by_name(number)},
    "recorded": {"rank": integer, "data": text},
    "broken": {"error": text, "message": text, "traceback": every(text)},
    "unheard": {"seconds": number},
}
FROM_RANKS: Mapping[str, Shape] = {
    "phase": {"phase": text},
    "ring": {"descriptor": integer},
    "failure": {
        "error": text, "message": text, "notes": every(text), "waiting_for": every(integer), "unanswered": every(text),
        "peer": optional(integer), "traceback": every(text),
    },
}  # fmt: skip
"""Contents of `rank`, those that are the launcher's own."""
FROM_CONTROLLERS: Mapping[str, Shape] = {
    "look": {"name": text, "wanted": holds(WANTED)},
    "clock": {},
    "listen": {"address": address, "secret": text},
    "knock": {"address": address, "port": port, "secret": text, "seconds": span},
    "job": {
        "job": text, "arguments": mapping, "placements": every(holds(PLACEMENT)),
        "cpus": every(optional(every(integer))), "token": text, "timeout": span, "store": optional(text),
        "address": optional(address), "starter": text, "lifeline": optional(span), "record": flag,
    },
    "go": {"store": text},
    "record": {},
}  # fmt: skip

ANSWERS: Mapping[str, str] = {"look": "looked", "clock": "clocked", "listen": "listening", "knock": "knocked"}
"""What is asked of an agent -> what it answers."""


def check(frame: Frame, table: Mapping[str, Shape]) -> None:
    """Raises BrokenFrame for a frame that does not hold what one of its type must."""
    kind = frame["type"]
    if not text(kind):
        raise BrokenFrame(f"a frame of type {reprlib.repr(kind)}")
    check_shape(kind, frame, table.get(kind, {}))
    if kind == "rank" and table is FROM_AGENTS:
        check(frame["content"], FROM_RANKS)


def check_shape(kind: str, frame: Frame, shape: Shape) -> None:
    for name, fits in shape.items():
        if name not in frame:
            raise BrokenFrame(f"a frame '{kind}' without {name}")
        if not fits(frame[name]):
            raise BrokenFrame(f"a frame '{kind}' whose {name} is {reprlib.repr(frame[name])}")


def check_turn(frame: Frame, *, greeted: bool, awaited: str, ranks: Sequence[int]) -> None:
    """Raises BrokenFrame for what an agent does not say now: `awaited` is the type of answer that it owes, `ranks` are
    those that it was given."""
    kind = frame["type"]
    if not greeted and kind not in ("hello", "broken"):
        raise BrokenFrame(f"'{kind}' before its greeting")
    if greeted and kind == "hello":
        raise BrokenFrame("a second greeting")
    if kind in ANSWERS.values() and kind != awaited:
        raise BrokenFrame(f"'{kind}', which nobody has asked for")
    if kind in ("started", "exit", "recorded") and frame["rank"] not in ranks:
        raise BrokenFrame(f"'{kind}' of rank {frame['rank']}, which is none of its ranks")
