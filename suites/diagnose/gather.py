"""From paths to facts.

May import: evidence, facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from suites.diagnose.evidence import FILE_READERS, attribute, line_readers
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.names import who_of
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Evidence


def gather(paths: Sequence[str], progress: Callable[[str], None] | None = None) -> Evidence:
    """All that can be read there."""
    found = Evidence()
    for path in paths:
        for file in sorted(Path(path).rglob("*")) if Path(path).is_dir() else [Path(path)]:
            if file.is_file():
                _read(Source(str(file), partial(open, file, "rb"), who_of(str(file))), found)
    return found


def _read(source: Source, found: Evidence) -> None:
    with source.open() as stream:
        head = stream.read(1 << 16)
    for module in map(attribute, FILE_READERS.values()):
        if module.recognises(head, source.name):
            found.facts += module.read(source)
            return
    readers = line_readers()
    with source.open() as stream:
        for number, data in enumerate(stream, 1):
            line = Line(data.decode(errors="replace").rstrip("\r\n"), number, source.name, source.who)
            for reader in readers:
                if reader.awake or any(wake in line.text for wake in reader.wakes):
                    found.facts += reader.feed(line)
    for reader in readers:
        found.facts += reader.end()
