"""Small readers of evidence, named in tables in place of the real ones.

May import: suites.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Call, Fact, Level, Place, Seen, Signature, Trouble


def recognises(head: bytes, name: str) -> bool:
    return head.startswith(b"FAKE")


def read(source: Source) -> Iterable[Fact]:
    with source.open() as stream:
        text = stream.read().decode()
    if "DIE" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "RAISE" in text:
        raise KeyError("of the fake")
    return [Seen(Place(source.name), f"fake of {len(text)}")]


@dataclass
class Complaints:
    """Of what says `sorry`; `Call 7` and `Called 7` are calls."""

    wakes: tuple[str, ...] = ("sorry", "Call")
    awake: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        if "sorry" in line.text:
            yield Trouble(line.who, line.place(), Level.CASCADE, "it is sorry", known_as="fake.sorry")
        for word in line.text.split("Call")[1:]:
            state, _, number = word.partition(" ")
            seq = int(number.split()[0])
            yield Call(line.who, line.place(), "0", seq, Signature("allreduce"), "done" if state else "pending")

    def end(self) -> Iterable[Fact]:
        return ()


@dataclass
class Whole:
    """Everything from BEGIN to END, as it comes."""

    wakes: tuple[str, ...] = ("BEGIN",)
    awake: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        self.awake = "END" not in line.text
        yield Seen(line.place(), line.text, line.who)

    def end(self) -> Iterable[Fact]:
        yield from [Seen(Place("end"), "unended")] if self.awake else []


@dataclass
class Raising:
    wakes: tuple[str, ...] = ("sorry",)
    awake: bool = False

    def feed(self, line: Line) -> Iterable[Fact]:
        raise IndexError("too far")

    def end(self) -> Iterable[Fact]:
        return ()
