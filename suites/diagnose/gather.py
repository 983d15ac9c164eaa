"""All evidence that paths lead to: each source to the reader whose it is, logs to all line readers, in many processes.

A source that cannot be read, or whose reader fails, is told of and never ends the diagnosis.
May import: compact, facts, evidence.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import chain, islice

from suites.diagnose.compact import Kept
from suites.diagnose.evidence import FILE_READERS, LINE_READERS, attribute, line_reader
from suites.diagnose.evidence.archive import DAMAGED
from suites.diagnose.evidence.log import read_log
from suites.diagnose.evidence.names import owner
from suites.diagnose.evidence.source import Source, sources
from suites.diagnose.evidence.text import looks_like_text
from suites.diagnose.facts import NOBODY, Evidence, Fact, Identity, Place, Unread, Who

_HEAD = 1 << 16
_FEW = 16
"""Sources below which no processes are started."""
_MOST_PROCESSES = 8
_AHEAD = 4
"""Sources under way for each process: members of archives are held in memory."""


@dataclass(frozen=True, slots=True)
class Readers:
    """The tables of evidence/, or others in their place."""

    of_files: Mapping[str, str]
    of_lines: Mapping[str, str]


READERS = Readers(FILE_READERS, LINE_READERS)


def gather(paths: Sequence[str], progress: Callable[[str], None] | None = None, readers: Readers = READERS) -> Evidence:
    """Of all that the paths lead to. `progress` is told the name of each source that has been read."""
    gathered = Evidence()
    for name, evidence in _all_read(sources(paths), readers):
        gathered.facts += evidence.facts
        for text, count in evidence.repeats.items():
            gathered.repeats[text] = gathered.repeats.get(text, 0) + count
        if progress:
            progress(name)
    return gathered


def read(source: Source | Unread, readers: Readers) -> Evidence:
    """One of them. Never raises. Of what cannot be read the name may still tell that there is such a rank."""
    kept = Kept()
    who, found = (owner(source.file), [source]) if isinstance(source, Unread) else (source.who, _facts(source, readers))
    is_understood = False
    for fact in found:
        is_understood |= not isinstance(fact, Unread)
        kept.add(_owned(fact, who))
    if who != NOBODY and not is_understood:
        kept.add(Identity(who, Place(_name(source))))
    return kept.evidence()


def _facts(source: Source, readers: Readers) -> Iterator[Fact]:
    try:
        with source.open() as stream:
            head = stream.read(_HEAD)
    except DAMAGED as error:
        yield Unread(source.name, str(error))
        return
    if not head:
        yield Unread(source.name, "empty")
        return
    for name, path in readers.of_files.items():
        try:
            if attribute(f"{path}:recognises")(head, source.name):
                yield from attribute(f"{path}:read")(source)
                return
        except Exception as error:
            yield Unread(source.name, f"the reader of {name} failed: {type(error).__name__}: {error}")
            return
    yield from _of_log(source, head, readers)


def _of_log(source: Source, head: bytes, readers: Readers) -> Iterator[Fact]:
    if not looks_like_text(head):
        yield Unread(source.name, "no text, and nothing that is known")
        return
    understood = False
    for fact in read_log(source, head, {name: line_reader(path) for name, path in readers.of_lines.items()}):
        understood = True
        yield fact
    if not understood:
        yield Unread(source.name, "text, but nothing in it is known")


def _owned(fact: Fact, who: Who) -> Fact:
    """A fact that says nothing of whose it is belongs to whom the source's name tells."""
    if who != NOBODY and getattr(fact, "who", None) == NOBODY:
        return replace(fact, who=who)  # type: ignore[arg-type]
    return fact


def _all_read(found: Iterator[Source | Unread], readers: Readers) -> Iterator[tuple[str, Evidence]]:
    """In their order, each with its name."""
    first = list(islice(found, _FEW))
    processes = min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)
    if len(first) < _FEW or processes < 2:
        for source in chain(first, found):
            yield _name(source), read(source, readers)
        return
    yield from _by_processes(chain(first, found), readers, processes)


def _by_processes(found: Iterable[Source | Unread], readers: Readers, processes: int) -> Iterator[tuple[str, Evidence]]:
    pool = _pool(processes)
    under_way: deque[tuple[Source | Unread, Future[Evidence]]] = deque()
    remaining = iter(found)
    try:
        while True:
            for source in islice(remaining, processes * _AHEAD - len(under_way)):
                under_way.append((source, _submitted(pool, source, readers)))
            if not under_way:
                return
            source, future = under_way.popleft()
            try:
                yield _name(source), future.result()
            except BrokenProcessPool:
                # Whose fault it was is not known, so all that were under way are read again, each by itself.
                again = [source, *(one for one, _ in under_way)]
                under_way.clear()
                _end(pool)
                for source in again:
                    yield _name(source), _alone(source, readers)
                pool = _pool(processes)
    finally:
        _end(pool)


def _submitted(pool: ProcessPoolExecutor, source: Source | Unread, readers: Readers) -> Future[Evidence]:
    """A pool that broke while nobody waited for it says so only now, and this source is read again with the others."""
    try:
        return pool.submit(read, source, readers)
    except BrokenProcessPool as error:
        broken: Future[Evidence] = Future()
        broken.set_exception(error)
        return broken


def _alone(source: Source | Unread, readers: Readers) -> Evidence:
    pool = _pool(1)
    try:
        return pool.submit(read, source, readers).result()
    except BrokenProcessPool:
        return Evidence([Unread(_name(source), "the process that read it died, for want of memory perhaps")])
    finally:
        _end(pool)


def _pool(processes: int) -> ProcessPoolExecutor:
    """Of forked processes, or fresh ones where this one has threads. Ctrl-C is for this process, which ends them."""
    context = multiprocessing.get_context("fork" if threading.active_count() == 1 else "spawn")
    return ProcessPoolExecutor(processes, context, _settle)


def _settle() -> None:
    """A worker is ended without a word."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(pool: ProcessPoolExecutor) -> None:
    """At once: what is not needed any more must not be waited for."""
    workers = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()


def _name(source: Source | Unread) -> str:
    return source.file if isinstance(source, Unread) else source.name
