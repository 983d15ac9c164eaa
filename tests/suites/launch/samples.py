"""Frames as they should be, one of each type, and frames and bytes as nobody should say them."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from hypothesis import strategies as st

from suites.launch.frames import FROM_AGENTS, FROM_CONTROLLERS, Shape
from suites.launch.protocol import LARGEST, Frame, pack
from tests.suites.launch.agent_process import job

NOBODY = 1 << 22
"""The largest process id that a frame may hold; none of a running kernel gets that far."""

FACTS: Frame = {
    "name": "here",
    "core_cpus": [0, 1],
    "cores": 2,
    "available": None,
    "cache": 1 << 20,
    "without_core": None,
}
INTERFACE: Frame = {
    "name": "eth0", "state": "up", "speed_bytes_per_second": None, "duplex": None, "mtu": 1500, "driver": None,
    "pci_slot": None, "numa_node": None, "virtual": True, "loopback": False, "addresses": ["192.0.2.1/24"],
}  # fmt: skip
HELLO: Frame = {
    "type": "hello", "host": "here", "pid": NOBODY, "version": version("opsdist"), "python": "3.11.2", "facts": FACTS,
    "interfaces": [INTERFACE],
}  # fmt: skip
_FINDING: Frame = {"check": "c", "status": "warn", "subject": {}, "message": "m", "remedy": None, "evidence": {}}


def failure(rank: int = 0, **given: Any) -> Frame:
    content = {
        "type": "failure", "error": "TransportTimeout", "message": "m", "notes": ["n"], "waiting_for": [1],
        "unanswered": ["198.18.0.2"],
        "peer": None, "expected": True, "traceback": ["t"],
    }  # fmt: skip
    return {"type": "rank", "rank": rank, "content": {**content, **given}}


SAID: tuple[Frame, ...] = (
    HELLO,
    {"type": "asking", "line": "npu-smi info"},
    {"type": "looked", "facts": {"cpu": {}}, "findings": [_FINDING], "texts": {"host.json": "{}"}},
    {"type": "clocked", "nanoseconds": 1_700_000_000_000_000_000},
    {"type": "listening", "port": 40_000},
    {"type": "knocked", "why": None},
    {"type": "started", "rank": 0, "pid": NOBODY},
    {"type": "started", "rank": 1, "pid": NOBODY},
    {"type": "serving", "store": "ipc://@nowhere"},
    {"type": "helpers", "pids": [NOBODY]},
    {"type": "waiting", "address": "nowhere", "token": "t"},
    {"type": "rank", "rank": 0, "content": {"type": "phase", "phase": "start"}},
    {"type": "rank", "rank": 1, "content": {"type": "finished"}},
    {"type": "rank", "rank": 0, "content": {"type": "said"}},
    failure(),
    failure(1, error="MismatchError", waiting_for=[], peer=0),
    {"type": "output", "rank": None, "stream": "stderr", "text": "x\n"},
    {"type": "exit", "rank": 0, "code": 0, "signal": None, "stopped": False},
    {"type": "alive", "states": {"0": "S (sleeping)"}, "cpu_seconds": {"0": 0.5}},
    {"type": "recorded", "rank": 0, "data": base64.b64encode(zlib.compress(b"a ring")).decode()},
    {"type": "broken", "error": "E", "message": "m", "traceback": ["t"]},
    {"type": "unheard", "seconds": 10.0},
    {"type": "ended"},
)
"""By agents."""
SAID_OF_RANKS = tuple(
    frame for frame in SAID if frame["type"] not in ("hello", "asking", "looked", "clocked", "listening", "knocked")
)
"""By agents that run some, whatever else they have said."""
TOLD: tuple[Frame, ...] = (
    {
        "type": "look",
        "name": "here",
        "wanted": {
            "sections": ["environment"],
            "devices": [],
            "hurry": True,
            "identities": False,
            "record": False,
            "seconds": None,
        },
    },
    {"type": "listen", "address": "127.0.0.1", "secret": "s"},
    {"type": "knock", "address": "127.0.0.1", "port": 1, "secret": "s", "seconds": 0.1},
    job("report", 2),
    {"type": "go", "store": ""},
    {"type": "alive"},
    {"type": "stop"},
    {"type": "clock"},
    {"type": "record"},
)
"""By controllers."""


def shape_of(frame: Frame) -> Shape:
    """What is looked at in such a frame."""
    table: Mapping[str, Shape] = FROM_CONTROLLERS if frame in TOLD else FROM_AGENTS
    return table.get(frame["type"], {})


_numbers = st.integers(-2, 1) | st.integers(NOBODY, 1 << 70)
"""None that could be the id of a process that lives: what an agent names as its rank is ended with its run."""
_plain = st.none() | st.booleans() | _numbers | st.floats() | st.text(max_size=5)
anything = st.recursive(
    _plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
"""That JSON can say, NaN and infinity among it."""


@st.composite
def spoilt(draw: st.DrawFn, frames: tuple[Frame, ...]) -> Frame:
    """A frame with something else somewhere in it, its type included, or without a field."""
    frame = draw(st.sampled_from(frames))
    name = draw(st.sampled_from(sorted(frame)))
    if name != "type" and draw(st.integers(0, 4)) == 0:
        return {key: value for key, value in frame.items() if key != name}
    return {**frame, name: _spoil(draw, frame[name])}


def _spoil(draw: st.DrawFn, value: Any) -> Any:
    """The value with something else in its place, or in the place of something in it."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(anything)
    if isinstance(value, list):
        return [_spoil(draw, value[0]), *value[1:]]
    name = draw(st.sampled_from(sorted(value)))
    return {**value, name: _spoil(draw, value[name])}


def packed(value: Any) -> bytes:
    """Any JSON as the body of a frame."""
    body = json.dumps(value).encode()
    return struct.pack(">I", len(body)) + body


def pieces(frames: tuple[Frame, ...]) -> st.SearchStrategy[bytes]:
    """What may be said instead of a frame."""
    good = st.sampled_from(frames).map(pack)
    spoilt_frame = spoilt(frames).map(packed)
    return st.one_of(
        spoilt_frame,
        spoilt_frame,
        anything.map(packed),
        st.binary(max_size=40),
        st.integers(LARGEST + 1, (1 << 32) - 1).map(lambda length: struct.pack(">I", length) + b"{}"),
        st.integers(1, LARGEST).map(lambda length: struct.pack(">I", length)),
        good.flatmap(lambda whole: st.integers(0, len(whole) - 1).map(lambda end: whole[:end])),
    )


def streams(frames: tuple[Frame, ...]) -> st.SearchStrategy[bytes]:
    """Frames in any order, then something that is none or spoilt, then anything."""
    good = st.lists(st.sampled_from(frames).map(pack), max_size=6).map(b"".join)
    return st.tuples(good, pieces(frames), good).map(b"".join)
