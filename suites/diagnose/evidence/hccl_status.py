"""Status files that torch_npu and MindSpore write of HCCL: the last call of each group, of one rank.

torch_npu: torch_hccl_status-<rank>_<address>_<device>_<size>_<pid>_<time>.log (TORCH_HCCL_STATUS_SAVE_ENABLE, in its
ProcessGroupHCCL); MindSpore's have the rank inside.
May import: facts, json_values, line, operations, source, hccl_log, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from suites.diagnose.evidence.hccl_log import HcclLog
from suites.diagnose.evidence.json_values import mappings, natural, whole, word
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.evidence.operations import operation
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Call, Fact, Group, Place, Seen, Signature, State, Track, Unread, Who
from suites.diagnose.ranks import MOST_RANKS, listed

_NAME = re.compile(
    r"hccl_status-(?P<rank>\d{1,7})_(?P<host>[^_/]{1,80})_(?P<device>\d{1,4})_(?P<size>\d{1,7})_(?P<pid>\d{1,10})_\d"
)
_ENDED = ("end", "finish", "complete", "done", "success")
_BEGUN = ("start", "run", "pending", "working")


def recognises(head: bytes, name: str) -> bool:
    """Whether it begins like one."""
    return head.lstrip()[:1] == b"{" and b'"exception_message"' in head and b'"is_master"' in head


def read(source: Source) -> Iterable[Fact]:
    """Where the rank stood in each group."""
    status = whole(source, "a status file of HCCL")
    return [status] if isinstance(status, Unread) else _facts(status, source)


def _facts(status: Mapping[str, Any], source: Source) -> Iterator[Fact]:
    place, who = Place(source.name), merged(source.who, _who(status, source.name))
    yield Seen(place, "HCCL status file", who, verbose=True)
    told = status.get("last_comm_op")
    for last in mappings(told if isinstance(told, list) else [told]):
        yield from _track(last, who, place)
    reader = HcclLog()
    for count, text in enumerate(word(status.get("exception_message")).splitlines(), 1):
        if any(wake in text for wake in reader.wakes):
            yield from reader.feed(Line(text[:65536], count, source.name, who))
    yield from reader.end()


def _who(status: Mapping[str, Any], name: str) -> Who:
    found = _NAME.search(name)
    rank, local = natural(status.get("global_rank")), natural(status.get("local_rank"))
    if found:
        device, pid = f"npu{found['device']}", int(found["pid"])
        return Who(rank=int(found["rank"]), host=found["host"], pid=pid, device=device, local_rank=local)
    return Who(rank=rank, host=word(status.get("node_ip")) or None, local_rank=local)


def _track(last: Mapping[str, Any], who: Who, place: Place) -> Iterator[Fact]:
    seq, group = natural(last.get("seq")), str(last.get("pg_id") or last.get("comm_ids") or "")
    if seq is None or not group:
        return
    ranks = listed(str(last.get("comm_ids") or ""))[:MOST_RANKS]
    yield Group(group, place, ranks=ranks or None)
    sign, state = Signature(operation(str(last.get("op_type") or ""))), str(last.get("status") or "").lower()
    if state.startswith(_ENDED):
        done = Call(who, place, group, seq, sign, "done")
        yield Track(who, place, group, seq, completed=seq, history=((seq, sign),), latest=(done,))
    else:
        begun: State = "pending" if state.startswith(_BEGUN) else "entered"
        call = Call(who, place, group, seq, sign, begun)
        yield Track(who, place, group, seq, completed=seq - 1, pending=(call,), history=((seq, sign),), latest=(call,))
