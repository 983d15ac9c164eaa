"""Whom and what a diagnosis is about, in few words: ranks folded, culprits with their hosts, collectives.

May import: layout, and suites' lists of hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import ranges
from suites.launch.lists.nodeset import fold

Record = Mapping[str, Any]

_ROOM = 60
"""Letters for a list of ranks that do not fold."""


def folded(ranks: Iterable[int], room: int = _ROOM) -> str:
    """`[0-6,8-15]`, one rank as it is; of a long list its beginning and how many there are."""
    numbers = sorted(set(ranks))
    text = ranges(numbers)
    if len(text) > room:
        return f"[{text[: text.rindex(',', 0, room)]},... {len(numbers)} ranks]"
    return f"[{text}]" if len(numbers) > 1 else text


def called(ranks: Sequence[int]) -> str:
    """`rank 7`, or `ranks [0-6,8-15]`."""
    return f"rank{'s' * (len(ranks) != 1)} {folded(ranks)}"


def named(subjects: Sequence[Record]) -> list[str]:
    """Each host with its ranks, then what else is named."""
    by_host: dict[str | None, list[int]] = {}
    hosts: list[str] = []
    others: list[str] = []
    for subject in subjects:
        if subject["kind"] == "rank" and "rank" in subject:
            by_host.setdefault(subject.get("host"), []).append(subject["rank"])
        elif subject["kind"] == "host":
            hosts.append(str(subject.get("host", "unknown")))
        else:
            others.append(_thing(subject))
    found = [called(ranks) + (f" on {host}" if host else "") for host, ranks in by_host.items()]
    if hosts:
        found.append(f"host{'s' * (len(hosts) > 1)} {fold(hosts)}")
    return [*found, *dict.fromkeys(others)]


def _thing(subject: Record) -> str:
    """A device, a link, a file, or a rank of which only the place in its group is known."""
    rank = f"rank {subject['rank']}" if "rank" in subject else None
    if rank is None and "group_rank" in subject:
        rank = f"group rank {subject['group_rank']}"
    where, device, peer = subject.get("host"), subject.get("device"), subject.get("peer")
    if subject["kind"] == "file":
        return f"file {where or device or 'unknown'}"
    if subject["kind"] == "link":
        end = " ".join(str(part) for part in (where or rank, device) if part is not None) or "unknown"
        if peer is None:
            return f"link of {end}"
        return f"link {end} - {f'rank {peer}' if isinstance(peer, int) else peer}"
    kind = None if subject["kind"] == "rank" else subject["kind"]
    words = [str(part) for part in (kind, device, rank) if part is not None]
    return " ".join(words or [subject["kind"]]) + (f" on {where}" if where else "")


def collective(op: str | None, seq: int | None, group: str | None = None) -> str:
    """`allreduce #1234 of TENSOR_MODEL_PARALLEL`, as far as it is known."""
    text = " ".join(filter(None, (op, None if seq is None else f"#{seq}"))) or "a collective"
    return f"{text} of {group}" if group else text


def cut(text: str, most: int) -> str:
    """Its beginning, where it is longer."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 4].rstrip() + " ..."


def host_of(record: Record) -> dict[int, str]:
    """The hosts of ranks, as far as anything in the record names them."""
    verdict = record["verdict"]
    rows = (*record["stands"], *record["evidence"], *verdict["seen"], *verdict["suspects"], *verdict["culprits"])
    return {row["rank"]: row["host"] for row in rows if row.get("rank") is not None and row.get("host")}
