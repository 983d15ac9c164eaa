"""Stacks of living processes in the form of `py-spy dump --json`: one or several such answers in a file.

The fields are those of py-spy's `StackTrace`.
May import: facts, json_values, line, pyspy, source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from suites.diagnose.evidence.json_values import mapping, mappings, natural, word
from suites.diagnose.evidence.line import merged
from suites.diagnose.evidence.pyspy import no_rank, rank_of
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Fact, Frame, Place, Seen, Stack, Unread, Who

_LONGEST = 256 << 20
_MARKS = (b'"thread_id"', b'"owns_gil"', b'"frames"')


def recognises(head: bytes, name: str) -> bool:
    """`name` tells nothing: such files are called anything."""
    return head.lstrip()[:1] == b"[" and all(mark in head for mark in _MARKS)


def read(source: Source) -> Iterable[Fact]:
    with source.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    answers, broken = _answers(text)
    place = Place(source.name)
    for threads in answers:
        # Where several processes are in a file its name belongs to one of them only.
        alone = len({natural(thread.get("pid")) for thread in threads}) == 1 and len(answers) == 1
        told = source.who if alone else Who(host=source.who.host)
        seen: set[Who] = set()
        for thread in threads:
            if (stack := _stack(thread, told, place)) is not None:
                if stack.who not in seen:
                    seen.add(stack.who)
                    yield Seen(place, "py-spy dump", stack.who)
                yield stack
    if broken:
        yield Unread(source.name, "the JSON of py-spy breaks off, or has other things in it")


def _answers(text: str) -> tuple[list[list[Mapping[str, Any]]], bool]:
    """Threads of each, and whether anything else stands there."""
    found: list[list[Mapping[str, Any]]] = []
    decoder, at = json.JSONDecoder(), 0
    while (start := text.find("[", at)) >= 0:
        try:
            answer, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return found, True
        found.append(mappings(answer))
    return found, not found


def _stack(thread: Mapping[str, Any], told: Who, place: Place) -> Stack | None:
    process = mapping(thread.get("process_info"))
    command, parent = word(process.get("command_line")), mapping(process.get("parent"))
    found = [_frame(frame) for frame in mappings(thread.get("frames"))]
    if not found or no_rank(command, word(parent.get("command_line"))):
        return None
    who = merged(merged(told, Who(pid=natural(thread.get("pid")))), rank_of(command))
    name = word(thread.get("thread_name")) or str(thread.get("thread_id"))
    return Stack(who, place, name, tuple(found), _truth(thread.get("active")), _truth(thread.get("owns_gil")))


def _frame(frame: Mapping[str, Any]) -> Frame:
    return Frame(word(frame.get("name")), word(frame.get("filename")), natural(frame.get("line")) or None)


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
