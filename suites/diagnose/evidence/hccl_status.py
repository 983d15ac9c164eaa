"""Status files that torch_npu and MindSpore write of HCCL: the last call of each group, of one rank.

torch_npu: torch_hccl_status-<rank>_<address>_<device>_<size>_<pid>_<time>.log (TORCH_HCCL_STATUS_SAVE_ENABLE, in its
ProcessGroupHCCL); MindSpore's have the rank inside. May import: facts, known, line, operations, source, hccl_log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from suites.diagnose.evidence.hccl_log import HcclLog
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.evidence.operations import operation
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Call, Fact, Group, Place, Seen, Signature, State, Track, Unread, Who

_LARGEST = 1 << 24
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
    with source.open() as stream:
        data = stream.read(_LARGEST + 1)
    try:
        status = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return [Unread(source.name, "cut off or damaged, as a status file of HCCL")]
    if not isinstance(status, dict):
        return [Unread(source.name, "not a status file of HCCL")]
    return list(_facts(status, source))


def _facts(status: Mapping[str, Any], source: Source) -> Iterator[Fact]:
    place, who = Place(source.name), merged(source.who, _who(status, source.name))
    yield Seen(place, "HCCL status file", who, verbose=True)
    told = status.get("last_comm_op")
    for last in told if isinstance(told, list) else [told]:
        if isinstance(last, dict):
            yield from _track(last, who, place)
    if isinstance(message := status.get("exception_message"), str):
        reader = HcclLog()
        for number, text in enumerate(message.splitlines(), 1):
            line = Line(text[:65536], number, source.name, who)
            if any(wake in text for wake in reader.wakes):
                yield from reader.feed(line)
        yield from reader.end()


def _who(status: Mapping[str, Any], name: str) -> Who:
    found = _NAME.search(name)
    rank, local = _number(status.get("global_rank")), _number(status.get("local_rank"))
    if found:
        device, pid = f"npu{found['device']}", int(found["pid"])
        return Who(rank=int(found["rank"]), host=found["host"], pid=pid, device=device, local_rank=local)
    host = status.get("node_ip")
    return Who(rank=rank, host=host if isinstance(host, str) and host else None, local_rank=local)


def _track(last: Mapping[str, Any], who: Who, place: Place) -> Iterator[Fact]:
    seq, group = _number(last.get("seq")), str(last.get("pg_id") or last.get("comm_ids") or "")
    if seq is None or not group:
        return
    ranks = tuple(int(text) for text in re.findall(r"\d{1,9}", str(last.get("comm_ids") or ""))[: 1 << 17])
    yield Group(group, place, ranks=ranks or None)
    sign, state = Signature(operation(str(last.get("op_type") or ""))), str(last.get("status") or "").lower()
    if state.startswith(_ENDED):
        done = Call(who, place, group, seq, sign, "done")
        yield Track(who, place, group, seq, completed=seq, history=((seq, sign),), latest=(done,))
    else:
        begun: State = "pending" if state.startswith(_BEGUN) else "entered"
        call = Call(who, place, group, seq, sign, begun)
        yield Track(who, place, group, seq, completed=seq - 1, pending=(call,), history=((seq, sign),), latest=(call,))


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value) if isinstance(value, str) or abs(value) < 1 << 63 else ""
    return int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) else None
