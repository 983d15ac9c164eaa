"""Where findings are: hosts and devices, folded. May import: suites' lists of hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from suites.launch.lists.nodeset import fold

Record = Mapping[str, Any]

_MOST = 6


def several_hosts(findings: Iterable[Record]) -> bool:
    """Whether findings have to say whom they are about."""
    return len({finding["subject"]["host"] for finding in findings if "host" in finding["subject"]}) > 1


def alike(findings: Iterable[Record]) -> Iterator[list[Record]]:
    """Findings that say the same of several hosts or devices, together."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for finding in findings:
        groups.setdefault((finding["status"], finding["check"], finding["message"]), []).append(finding)
    yield from groups.values()


def where(findings: Sequence[Record], several: bool) -> str:
    """`node[1-3] npu5`: on which hosts, where there are several, and which devices of theirs, where the message of the
    findings, which is one, does not say so."""
    by_host: dict[str, list[str]] = {}
    for finding in findings:
        subject = finding["subject"]
        devices = by_host.setdefault(subject.get("host", "") if several else "", [])
        device = subject.get("device")
        if device and device not in devices and not re.search(rf"\b{re.escape(device)}\b", finding["message"]):
            devices.append(device)
    by_devices: dict[tuple[str, ...], list[str]] = {}
    for host, devices in by_host.items():
        by_devices.setdefault(tuple(devices), []).append(host)
    places = [" ".join(filter(None, (fold(hosts), fold(devices)))) for devices, hosts in by_devices.items()]
    told = ", ".join(filter(None, places[:_MOST]))
    return f"{told} and {len(places) - _MOST} more" if len(places) > _MOST else told
