"""XML as far as it goes: elements one after the other, up to where a text breaks off or is none.

A text that declares entities is not read at all, since what these stand for can be as large as it likes. No tool here
does that; nvidia-smi names a document type, which nobody looks up.
May import: the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import cast
from xml.etree import ElementTree

from probes.tool_text import clean

_PLAIN_TYPE = re.compile(r"<!DOCTYPE\s[^<>\[\]]{0,200}>")
Element = tuple[tuple[str, ...], Mapping[str, str], str]


def elements(text: str) -> Iterator[tuple[str, ElementTree.Element]]:
    """("start" or "end", element): at its start it has its attributes, at its end also its text."""
    plain = _PLAIN_TYPE.sub("", clean(text), count=1)
    if "<!DOCTYPE" in plain or "<!ENTITY" in plain:
        return
    parser: ElementTree.XMLPullParser[ElementTree.Element] = ElementTree.XMLPullParser(("start", "end"))
    # What is wrong is told when the events before it have been read.
    with suppress(ElementTree.ParseError, ValueError):
        parser.feed(plain[plain.find("<") :])
        yield from cast(Iterator[tuple[str, ElementTree.Element]], parser.read_events())


def leaves(text: str) -> Iterator[Element]:
    """(path of tags, identity of the innermost `gpu` around it, text) of every element that holds no other. A `gpu` is
    also given where it begins, with an empty text."""
    path: list[str] = []
    gpu: dict[str, str] = {}
    last_started = 0
    for count, (event, element) in enumerate(elements(text)):
        if event == "start":
            path.append(element.tag)
            last_started = count
            if element.tag == "gpu":
                gpu = {"gpu": element.get("id", "")}
                yield tuple(path), gpu, ""
            continue
        if count == last_started + 1 and element.tag != "gpu":
            yield tuple(path), gpu, (element.text or "").strip()
        path.pop()
