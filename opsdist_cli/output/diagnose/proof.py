"""Why a diagnosis says what it says: lines of evidence, what was seen and what was not, what could not be read.

May import: from this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opsdist_cli.output.diagnose.entries import REMARK, entry, first, listed, more
from opsdist_cli.output.diagnose.naming import Record, cut, folded

_LINES = 4
_UNREAD = 5
_KINDS = 4
_ROLES = {"initiating": "began with", "supporting": "shown by"}
"""Of evidence that is quoted, in the order in which it is."""
_COUNTED = {
    "cascade": ("line that follows from it", "lines that follow from it"),
    "teardown": ("line of the end of the job", "lines of the end of the job"),
}


def proof(record: Record) -> list[str]:
    """What began it, what shows it, and only the number of what followed."""
    quoted = [line for role in _ROLES for line in record["evidence"] if line["role"] == role]
    lines = [text for line in first(quoted, _LINES) for text in _quoted(line)]
    lines += more(quoted, _LINES, "lines that show it (--json has them)")
    numbers = {role: sum(line["role"] == role for line in record["evidence"]) for role in _COUNTED}
    numbers["cascade"] = max(numbers["cascade"], record["verdict"]["cascade_count"])
    for role, (one, many) in _COUNTED.items():
        if numbers[role]:
            lines += entry("", f"and {numbers[role]} {one if numbers[role] == 1 else many}")
    return lines


def _quoted(line: Record) -> Iterator[str]:
    place = line["file"] if line["line"] is None else f"{line['file']}:{line['line']}"
    yield from entry(_ROLES[line["role"]], f"{place}  {cut(line['text'], REMARK)}")
    who = "" if line["rank"] is None else f" (rank {line['rank']}{_on(line['host'])})"
    if line["means"]:
        yield from entry("", f"= {cut(line['means'], REMARK)}{who}")


def _on(host: str | None) -> str:
    return f" on {host}" if host else ""


def what_was_seen(record: Record) -> list[str]:
    """Of which ranks there is evidence, of what kinds, and what is missing."""
    sources, verdict = record["sources"], record["verdict"]
    seen, size = sorted(set(sources["ranks"]["seen"])), sources["ranks"]["size"]
    kinds = [f"{count} x {kind}" if count > 1 else kind for kind, count in sources["kinds"].items()]
    of = f"{len(seen)} rank{'s' * (len(seen) != 1)}" if size is None else f"{len(seen)} of {size} ranks"
    lines = entry("seen", of + (f" ({listed(kinds, _KINDS)})" if kinds else ""))
    absent = [] if size is None else sorted(set(range(size)) - set(seen))
    if absent and seen:
        lines += entry("not seen", f"no evidence from: {folded(absent)}")
    told = {f"{one['file']}: {one['why']}" for one in sources["unread"]}  # these have lines of their own
    missing = [text for text in verdict["missing_evidence"] if text not in told]
    for text in first(missing, _LINES):
        lines += entry("missing", cut(text, REMARK))
    return lines + more(missing, _LINES, "things that are missing")


def unread(files: Sequence[Record]) -> list[str]:
    """What nothing was taken from, and why."""
    told = ((one["file"], cut(one["why"], REMARK)) for one in first(files, _UNREAD))
    lines = [text for file, why in told for text in entry("not read", f"{file}: {why}")]
    return lines + more(files, _UNREAD, "files that could not be read")
