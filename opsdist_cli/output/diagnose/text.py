"""A diagnosis as text for people, one screen: the verdict first, who waits, where the culprits stand, why it is known.

Letters of ASCII only, apart from what is quoted. May import: from this package, and layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opsdist_cli.output.diagnose.collect import advice
from opsdist_cli.output.diagnose.entries import REMARK, entry, first, listed, more
from opsdist_cli.output.diagnose.naming import Record, called, collective, cut, folded, named
from opsdist_cli.output.diagnose.proof import proof, unread, what_was_seen
from opsdist_cli.output.layout import wrapped

_GROUPS = _SIDES = _STANDS = _NOTES = 3
_NEXT = 5
_SENTENCE = 480
"""Letters, of which a screen can hold so many."""


def render(record: Record) -> str:
    """The whole text, without a line end after the last line, which is the verdict."""
    paragraphs = (
        [*_sentence(record["verdict"]), *_named(record["verdict"])],
        list(_groups(record["groups"])),
        [*_sides(record["verdict"]["sides"]), *_stands(record["stands"])],
        proof(record),
        [*what_was_seen(record), *_notes(record["notes"]), *unread(record["sources"]["unread"])],
        advice() if nothing_read(record) else list(_next(record["verdict"]["next_checks"])),
    )
    lines = [line for paragraph in paragraphs if paragraph for line in (*paragraph, "")]
    return "\n".join([*lines, closing(record)])


def nothing_read(record: Record) -> bool:
    """There was nothing to judge by."""
    verdict = record["verdict"]
    heard = (verdict["seen"], verdict["waiting"], verdict["initiating"], verdict["cascade_count"])
    return record["mode"] == "recorded" and not record["sources"]["kinds"] and not any(heard)


def closing(record: Record) -> str:
    """The verdict line."""
    verdict = record["verdict"]
    if verdict["class"] == "none":
        return "# nothing wrong in what was seen"
    if verdict["class"] == "undecided":
        why = "there was no evidence to read" if nothing_read(record) else "the evidence does not tell"
        return f"# undecided: {why}"
    who = "; ".join(named(verdict["culprits"]))
    at = verdict["collective"]
    where = f" at {collective(at['op'], at['seq'], at['group'])}" if at else ""
    return f"# fault found: {verdict['class']} ({verdict['confidence']}){': ' * bool(who)}{cut(who, 160)}{where}"


def _sentence(verdict: Record) -> list[str]:
    sure = "" if verdict["class"] in ("none", "undecided") else f" ({verdict['confidence']})"
    return wrapped(f"{verdict['class']}{sure}: {cut(verdict['explanation'], _SENTENCE)}", "", "  ")


def _named(verdict: Record) -> Iterator[str]:
    if verdict["culprits"]:
        yield from entry("culprit" + "s" * (len(verdict["culprits"]) > 1), listed(named(verdict["culprits"])))
    if verdict["suspects"]:
        text = f"{listed(named(verdict['suspects']))} (cannot be excluded: no evidence that clears them)"
        yield from entry("suspect" + "s" * (len(verdict["suspects"]) > 1), text)
    waiting = verdict["waiting"]
    if waiting and verdict["culprits"]:
        one = len(waiting) == 1
        yield from entry("victim" + "s" * (not one), f"{called(waiting)}, which only wait{'s' * one}")
    elif waiting:  # any of them may be why
        yield from entry("waiting", called(waiting))


def _groups(groups: Sequence[Record]) -> Iterator[str]:
    for group in groups[:_GROUPS]:
        size = "" if group["size"] is None else f" ({group['size']} ranks)"
        yield from wrapped(f"{group['name']}{size}", "  ", "    ")
        yield from wrapped("; ".join(_standing(group)), "    ", "      ")
    if len(groups) > _GROUPS:
        others = [group["name"] for group in groups[_GROUPS:]]
        yield from wrapped(f"and {len(others)} more groups: {listed(others, 5)}", "  ", "    ")


def _standing(group: Record) -> Iterator[str]:
    at = collective(group["op"], group["seq"])
    if group["waiting"]:
        yield f"waiting: {folded(group['waiting'])} in {at}"
    words = {"absent": "", "behind": " (in an earlier one)", "done": f" with {at}", "unseen": " (no evidence)"}
    yield from (f"{key}: {folded(group[key])}{meaning}" for key, meaning in words.items() if group[key])


def _sides(sides: Sequence[Record]) -> Iterator[str]:
    for side in first(sides, _SIDES):
        yield from entry("entered", f"{cut(side['signature'], REMARK)}: {called(side['ranks'])}")
    yield from more(sides, _SIDES, "signatures")


def _stands(stands: Sequence[Record]) -> Iterator[str]:
    for stand in first(stands, _STANDS):
        yield from entry("stands", _stand(stand))
    yield from more(stands, _STANDS, "ranks whose places are known")


def _stand(stand: Record) -> str:
    who = "a process" if stand["rank"] is None else f"rank {stand['rank']}"
    who += f" on {stand['host']}" if stand["host"] else ""
    who += "" if stand["pid"] is None else f" (pid {stand['pid']})"
    known = stand["op"] is not None or stand["seq"] is not None
    at = f", {collective(stand['op'], stand['seq'], stand['group'])}" if known else ""
    step = "" if stand["step"] is None else f", step {stand['step']}"
    frame = "" if stand["frame"] is None else f", at {cut(str(stand['frame']), REMARK)}"
    return f"{who}: {cut(stand['state'], REMARK)}{at}{step}{frame}"


def _notes(notes: Sequence[str]) -> Iterator[str]:
    for note in first(notes, _NOTES):
        yield from entry("note", cut(note, REMARK))
    yield from more(notes, _NOTES, "notes")


def _next(checks: Sequence[str]) -> Iterator[str]:
    for number, check in enumerate(first(checks, _NEXT), 1):
        yield from wrapped(cut(check, REMARK), f"  {number}. ", "     ")
    yield from more(checks, _NEXT, "things to look at")
