"""Dumps of PyTorch's flight recorder, one a rank: pickle or JSON, of every back-end (nccl, gloo, xccl, hccl).

A pickle is read by an unpickler that refuses every class, so that nothing in it can run. What a dump holds is told in
torch/csrc/distributed/c10d/FlightRecorder*.hpp of PyTorch; versions 2.0 to 2.10 differ by keys that are there or not.
May import: facts, batches, json_values, operations, shapes, source, ranks.
"""

from __future__ import annotations

import gc
import io
import json
import pickle
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from suites.diagnose.evidence import shapes
from suites.diagnose.evidence.batches import Batches, Entry, ended, group_name
from suites.diagnose.evidence.fr_messages import PEERS, called, numbered, overwritten
from suites.diagnose.evidence.json_values import mapping, mappings, natural, word
from suites.diagnose.evidence.operations import EQUAL_INPUTS, operation
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Call, Fact, Group, Place, Seen, Signature, State, Track, Unread, Who
from suites.diagnose.ranks import listed, runs

_LARGEST = 1 << 30
_MOST_PENDING = 64
_LATEST = 32
_KEYS = (b"pg_config", b"entries", b"pg_status", b"comm_lib_version")
_TORCH = re.compile(r"/torch(?:_npu)?/|/(?:typing_extensions|contextlib|functools)\.py$")
"""In the path of a file of torch's own, or of what wraps its functions; folders of users are called torchtitan, or
torch_jobs."""
_LAST_NUMBER = re.compile(r"(?:^|[^0-9.])(?P<rank>\d{1,6})(?:\.[A-Za-z]\w*)*$")
"""At the end of a file's name, before its endings: writers of dumps put the rank there, whatever else they call it."""


class NoDump(Exception):
    """What is there cannot be read as a dump."""


class _Refusing(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise NoDump(f"it asks for {module}.{name}: a dump holds plain data only, and nothing of it was run")

    def persistent_load(self, pid: Any) -> Any:
        raise NoDump("it refers to something outside: a dump holds plain data only")


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like one."""
    pickled = len(head) > 1 and head[0] == 0x80 and head[1] <= 5
    return (pickled or head.lstrip()[:1] == b"{") and any(key in head for key in _KEYS)


def read(source: Source) -> Iterable[Fact]:
    """The groups of the rank, what it was at in each, and whose dump it is."""
    try:
        dump = _load(source)
        return list(_Dump(dump, source).facts())
    except NoDump as error:
        return [Unread(source.name, str(error))]


def _load(source: Source) -> Mapping[str, Any]:
    with source.open() as stream:
        data = stream.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise NoDump(f"a dump of more than {_LARGEST >> 30} GiB")
    collecting = gc.isenabled()
    gc.disable()  # thousands of entries are made and none is garbage: looking for it takes half of the time
    try:
        loaded = json.loads(data) if data.lstrip()[:1] == b"{" else _Refusing(io.BytesIO(data)).load()
    except NoDump:
        raise
    except MemoryError:
        raise NoDump("it does not fit into memory") from None
    except Exception as error:  # unpickling raises whatever it likes
        raise NoDump(f"cut off or damaged ({type(error).__name__}: {str(error)[:80]})") from None
    finally:
        if collecting:
            gc.enable()
    if not isinstance(loaded, dict):
        raise NoDump("not a flight recorder dump")
    return loaded


class _Dump:
    """One rank's. Whatever is not as it should be is left out."""

    def __init__(self, dump: Mapping[str, Any], source: Source) -> None:
        self._source = source
        self._version = str(dump.get("version", "unknown version"))
        self._place = Place(source.name)
        self._configs = {
            str(name): config for name, config in mapping(dump.get("pg_config")).items() if isinstance(config, dict)
        }
        self._status = mapping(dump.get("pg_status"))
        self._entries = mappings(dump.get("entries"))
        self._batches = Batches(self._entries)
        self._messages = numbered(self._entries)
        self._full = overwritten(self._entries)
        # What a device is at may be overwritten where the oldest that is there is not over.
        self._starts = any(
            entry.get("state") == "started" or entry.get("time_discovered_started_ns") for entry in self._entries
        ) and not (self._full and self._state(self._entries[0]) == "pending")
        self._members = {name: _ranks(config.get("ranks")) for name, config in self._configs.items()}
        self._signatures: dict[tuple[Any, ...], Signature] = {}
        self._who = Who()

    def facts(self) -> Iterator[Fact]:
        if not (self._configs or self._entries):
            raise NoDump("a flight recorder dump without process groups and entries: the recorder was off")
        told = self._source.who
        rank = self._own_rank() if told.rank is None else told.rank
        if rank is None:
            raise NoDump("neither its name nor what is in it tells whose dump it is: call it like nccl_trace_rank_3")
        # A name that was taken for host and process, as of a log, is none of a host here.
        self._who = Who(rank=rank, host=told.host if told.pid is None else None)
        back_end = next((str(entry.get("profiling_name", "")).partition(":")[0] for entry in self._entries), "")
        kind = f"flight recorder dump ({', '.join(part for part in (self._version, back_end) if part)})"
        by_group: dict[str, list[Entry]] = defaultdict(list)
        for entry in self._entries:
            by_group[group_name(entry)].append(entry)
        ids = self._ids(by_group)
        # What was recorded first is lost where much was; a status is kept of each group with calls.
        all_groups = bool(self._status) and set(map(str, self._status)) <= set(ids.values())
        yield Seen(self._place, kind, self._who, verbose=True, all_groups=all_groups)
        for name in dict.fromkeys((*self._configs, *by_group)):
            ranks = self._members.get(name) or None
            heads = None if ranks else self._heads(by_group.get(name, ()))
            title, size = self._title(name), len(ranks) if ranks else None
            yield Group(self._key(name), self._place, title, size, ranks, heads=heads)
        for name in dict.fromkeys((*self._configs, *by_group)):
            entries, status = by_group.get(name, ()), self._status_of(ids.get(name))
            self._batches.through(name, entries, status[2])
            yield self._track(name, entries, status)

    def _own_rank(self) -> int | None:
        """Where the name of the file does not tell: by a message's own end, or as the only one in all of its groups;
        else by the number that the name ends in, where that is one of them."""
        for entry in self._entries:
            found = PEERS.search(called(entry))
            ranks = self._members.get(group_name(entry), ())
            if found and int(found["own"]) < len(ranks):
                return ranks[int(found["own"])]
        common = [set(ranks) for ranks in self._members.values() if ranks]
        shared = set.intersection(*common) if common else set()
        if len(shared) == 1:
            return shared.pop()
        found = _LAST_NUMBER.search(re.split("[/!]", self._source.name)[-1])
        number = int(found["rank"]) if found else None
        return number if not common or number in shared else None

    def _key(self, name: str) -> str:
        """The same name may stand for several groups of disjoint ranks."""
        ranks = self._members.get(name, ())
        return f"{name}@{','.join(runs(ranks))}" if ranks else name

    def _title(self, name: str) -> str:
        if (desc := word(self._configs.get(name, {}).get("desc"))) not in ("", "undefined"):
            return desc
        return next((_group_title(entry) for entry in self._entries if group_name(entry) == name), "") or name

    def _heads(self, entries: Iterable[Entry]) -> int | None:
        """How many a group has whose members no status lists, as with gloo: what all of its calls agree on."""
        told = {
            shapes.members(operation(called(entry)), entry.get("input_sizes"), entry.get("output_sizes"))
            for entry in entries
        } - {None}
        return told.pop() if len(told) == 1 else None

    def _ids(self, by_group: Mapping[str, Sequence[Entry]]) -> dict[str, str]:
        """Group name -> the number that this process's status knows it by. Both rise in the order of creation."""
        told = {name: str(entries[0]["pg_id"]) for name, entries in by_group.items() if "pg_id" in entries[0]}
        names, numbers = sorted(self._configs, key=_number), sorted(map(str, self._status), key=_number)
        if len(names) == len(numbers):
            ordered = dict(zip(names, numbers, strict=True))
            if all(ordered.get(name, number) == number for name, number in told.items()):
                return {**ordered, **told}
        return told

    def _status_of(self, number: str | None) -> tuple[int | None, int | None, int | None]:
        status = mapping(self._status.get(number)) if number is not None else {}
        if not status and number is not None and number.isdecimal():
            status = mapping(self._status.get(int(number)))
        names = ("enqueued", "started", "completed")
        enqueued, started, completed = (natural(status.get(f"last_{name}_collective")) for name in names)
        return enqueued, started, completed

    def _track(self, name: str, entries: Sequence[Entry], status: tuple[int | None, int | None, int | None]) -> Track:
        key = self._key(name)
        open_ones = [entry for entry in entries if self._state(entry) == "pending"]
        history: dict[int, Signature] = {}
        for entry in entries:
            seq = natural(entry.get("collective_seq_id"))
            if seq is not None and not entry.get("is_p2p"):
                # Several entries of one number are one coalesced call.
                signature = self._signature(entry)
                history[seq] = signature if seq not in history else Signature("coalesced")
        enqueued, started, completed = status
        cut = self._full and _is_cut(entries, enqueued, completed)
        # A status counts collectives and messages of a group by turns, so beside messages it tells nothing. Where none
        # are under way, that more are over than can be shows it. What is recorded tells the last collective too.
        most = min((natural(e.get("collective_seq_id")) or 0 for e in open_ones), default=(enqueued or 0) + 1) - 1
        by_turns = any(e.get("is_p2p") for e in entries) or min(most, enqueued or 0) < (completed or 0)
        if by_turns:
            last = max((natural(entry.get("collective_seq_id")) or 0 for entry in entries), default=0)
            enqueued, started, completed = last or None, None, None
        return Track(
            self._who, self._place, key, enqueued, started, completed,
            pending=tuple(self._call(e, key) for e in open_ones[:_MOST_PENDING] if not self._batches.closes(e)),
            whole=len(open_ones) < len(entries),
            history=tuple(sorted(history.items())),
            latest=tuple(self._call(entry, key) for entry in entries[-_LATEST:]),
            failures_end=any(e.get("retired") is True and e.get("state") != "completed" for e in entries),
            by_turns=by_turns, counted=status[2], cut=cut,
            # Of one that is left out of those under way it would seem that it is over.
            messages=self._messages.counts(name) if self._messages and len(open_ones) <= _MOST_PENDING else None,
            starts=self._starts,
        )  # fmt: skip

    def _call(self, entry: Entry, key: str) -> Call:
        peer, sends = None, False
        if found := PEERS.search(called(entry)):
            peer, sends = Who(group=key, group_rank=int(found["peer"])), found["way"] == "send"
        seq = natural(entry.get("p2p_seq_id" if entry.get("is_p2p") else "collective_seq_id"))
        return Call(
            self._who, self._place, key, None if peer else seq, self._signature(entry), self._state(entry), peer, sends,
            _frame(entry), _seconds(entry.get("time_created_ns")),
            _seconds(entry.get("time_discovered_completed_ns")),
            batch=self._batches.number(entry), nth=self._messages.nth(entry) if self._messages and peer else None,
            running=self._batches.running(entry),
        )  # fmt: skip

    def _state(self, entry: Entry) -> State:
        return "done" if ended(entry) or self._batches.ended(entry) else "pending"

    def _signature(self, entry: Entry) -> Signature:
        """Interned, since a dump has thousands of calls of few kinds."""
        sizes, dtypes = entry.get("input_sizes"), entry.get("input_dtypes")
        outputs, op = entry.get("output_sizes"), operation(called(entry).partition(" ")[0])
        key = (op, repr(sizes), repr(outputs), repr(dtypes))
        if (known := self._signatures.get(key)) is not None:
            return known
        count = None
        if op in EQUAL_INPUTS and shapes.even(outputs):
            count = shapes.elements(sizes)
        elif op == "reduce_scatter" and shapes.even(sizes):
            count = shapes.elements(outputs)
        dtype = dtypes[0] if isinstance(dtypes, list) and dtypes and isinstance(dtypes[0], str) else None
        made = self._signatures[key] = Signature(op, count, dtype.lower() if dtype else None)
        return made


def _is_cut(entries: Sequence[Entry], enqueued: int | None, completed: int | None) -> bool:
    """Whether calls of a group are under way by its status that come before all that is recorded of it. One status
    counts its collectives and its messages, so that it does not tell where there are both."""
    of_messages = {bool(entry.get("is_p2p")) for entry in entries} == {True}
    collectives = max((natural(entry.get("collective_seq_id")) or 0 for entry in entries if of_messages), default=0)
    if completed is None or enqueued is None or not collectives < completed < enqueued:
        return False
    numbers = [natural(entry.get("p2p_seq_id" if of_messages else "collective_seq_id")) or 0 for entry in entries]
    return completed + 1 < min(numbers, default=enqueued + 1)


def _ranks(value: Any) -> tuple[int, ...]:
    """A list, or the text of one."""
    if isinstance(value, list):
        return tuple(rank for rank in value if isinstance(rank, int))
    return listed(value) if isinstance(value, str) else ()


def _number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (1 << 62, text)


def _seconds(nanoseconds: Any) -> float | None:
    return nanoseconds / 1e9 if isinstance(nanoseconds, int) and nanoseconds > 0 else None


def _group_title(entry: Entry) -> str:
    group = entry.get("process_group")
    title = word(group[1]) if isinstance(group, tuple | list) and len(group) > 1 else ""
    return title if title != "undefined" else ""


def _frame(entry: Entry) -> str | None:
    """The innermost one outside torch."""
    told = mappings(entry.get("frames"))
    own = [frame for frame in told if not _TORCH.search(str(frame.get("filename", "")))] or told
    return f"{own[0].get('filename')}:{own[0].get('line')} {own[0].get('name')}" if own else None
