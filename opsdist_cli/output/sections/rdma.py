"""The section `rdma` as text: a table of ports, and what is known of them all. May import: from this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opsdist_cli.output.layout import pairs, table
from opsdist_cli.output.sections.words import or_unknown
from opsdist_cli.units import bits_per_second

Facts = Mapping[str, Any]

_WIDEST_NAME = 20
_HEADER = ("port", "state", "link", "rate", "layer", "MTU", "interface, firmware")


def render(facts: Facts) -> list[str]:
    devices = facts["devices"]
    if not devices:
        return pairs([("devices", "unknown" if devices is None else "none")])
    lines = table(_HEADER, [row for device in devices for row in _rows(device)])
    return lines + pairs(_more(facts))


def _rows(device: Facts) -> Iterator[tuple[str, ...]]:
    if not device["ports"]:
        yield device["name"][:_WIDEST_NAME], "no port is known", "-", "-", "-", "-", device["kind"] or "unknown"
    for port in device["ports"]:
        rate = port["rate_bits_per_second"]
        yield (
            f"{device['name'][:_WIDEST_NAME]}/{port['id']}",
            port["state"] or "unknown",
            port["physical_state"] or "unknown",
            bits_per_second(rate // 8) if rate else "-",
            port["link_layer"] or "unknown",
            str(port["active_mtu"] or "-"),
            _of_device(device, port),
        )


def _of_device(device: Facts, port: Facts) -> str:
    kind = " ".join(filter(None, (device["kind"], device["firmware"])))
    return ", ".join(filter(None, (port["netdev"], kind, device["virtual"]))) or "unknown"


def _more(facts: Facts) -> Iterator[tuple[str, str]]:
    told = facts["readings"].get("ofed_info")
    if told and told["values"]:
        yield "driver", or_unknown(told["values"].get("version"))
    if facts["user_access"] is False:
        yield "for programs", "nothing in /dev/infiniband to open"
