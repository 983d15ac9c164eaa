"""A host list with the devices that its hosts say they have, which is what a rank table needs.

Facts in, entries out. May import: errors, hosts, ranktable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any

from suites.errors import LaunchError
from suites.launch.lists.hosts import HostEntry
from suites.launch.lists.ranktable import Device

SECTION = "accelerators"
"""The facts that are needed."""
_FILE = "/etc/hccn.conf"


@dataclass(frozen=True, slots=True)
class Probed:
    """`remarks` are for who uses the list."""

    entries: tuple[HostEntry, ...]
    remarks: tuple[str, ...]


def with_devices(entries: Sequence[HostEntry], facts: Sequence[Mapping[str, Any]]) -> Probed:
    """The entries with as many devices as they have slots, or all, in the order of their physical ids; `facts` has the
    Ascend facts of each host. Ranks go from host to host. Raises LaunchError with all that is wrong.
    """
    wrong: list[str] = []
    remarks: list[str] = []
    found: list[HostEntry] = []
    rank = 0
    for entry, known in zip(entries, facts, strict=True):
        host = entry.name.rpartition("@")[2]
        devices = known["devices"] or []
        present = [device for device in devices if device["present"]]
        chosen = (present or devices)[: entry.slots]
        wrong += [f"{host}: {problem}" for problem in _problems(entry, known, chosen)]
        if chosen and not present:
            remarks.append(f"{host} has no /dev/davinci* now; its devices are those of {_FILE}")
        seats = tuple(
            Device(str(device["id"]), device["address"], str(number)) for number, device in enumerate(chosen, rank)
        )
        rank += len(seats)
        found.append(replace(entry, name=host, slots=len(seats), devices=seats))
    wrong += [] if wrong else _clashes(found)
    if wrong:
        raise _lacking(wrong)
    return Probed(tuple(found), tuple(remarks))


def _problems(entry: HostEntry, known: Mapping[str, Any], chosen: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why these cannot be the devices of the host."""
    unread = {None: f"{_FILE} cannot be read by this user", False: f"there is no {_FILE} (in a container: mount it)"}
    if not chosen:
        yield f"no NPU: no /dev/davinci*, and {unread.get(known['configured'], f'no address in {_FILE}')}"
    elif len(chosen) < (entry.slots or 0):
        yield f"{entry.slots} slots, and {len(chosen)} NPUs; give it {len(chosen)} slots"
    elif known["configured"] is not True:
        yield unread[known["configured"]]
    else:
        for device in chosen:
            if device["address"] is None:
                npu = device["id"]
                yield f"NPU {npu} has no address in {_FILE}; set one: hccn_tool -i {npu} -ip -s address A netmask M"


def _clashes(entries: Sequence[HostEntry]) -> list[str]:
    """What may be right on each host, and is not in one table."""
    wrong: list[str] = []
    holders: dict[str, str] = {}
    for entry in entries:
        for device in entry.devices:
            here = f"NPU {device.device_id} of {entry.name}"
            holder = holders.setdefault(device.device_ip, here)
            if holder != here:
                wrong.append(f"{here} has the address of {holder}, {device.device_ip}; give it another one")
    versions = {ip_address(address).version: holder for address, holder in holders.items()}
    if len(versions) > 1:
        wrong.append(f"{versions[6]} has an IPv6 address, and {versions[4]} an IPv4 one; HCCL takes one kind")
    return wrong


def _lacking(wrong: Sequence[str]) -> LaunchError:
    error = LaunchError("no rank table can be written for these hosts:")
    for problem in wrong:
        error.add_note(problem)
    return error
