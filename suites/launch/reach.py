"""By which address each host is reached by the others: from its interfaces, by what they have in common.

Pure decisions; whether the addresses really reach each other is tried by the agents (see knock.py).
May import: probes, errors, report's Finding, verdict's Fault.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probes import network
from suites.errors import LaunchError, UsageError
from suites.report import Finding, Status
from suites.verdict import Fault

_INSIDE = re.compile(r"(lo|docker|veth|br-|virbr|cni|flannel|cali|cilium|kube|podman|lxc|lxd|vnet|tunl)")
"""Beginnings of names of interfaces that lead to something on the same host."""

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class Candidate:
    """An address of a host, and the interface that has it."""

    interface: str
    address: Interface
    mtu: int | None = None
    rate: int | None = None
    """Of the link, in bytes/second; None where that is not known."""


class Unreachable(LaunchError):
    """A host that others cannot reach, by all that is known of it."""

    def __init__(self, host: str, message: str) -> None:
        super().__init__(message)
        self.host = host


@dataclass(frozen=True, slots=True)
class Filter:
    """What `--interface` says: names that begin like one of `names`, that are or are not one, or a network."""

    names: tuple[str, ...] = ()
    exactly: bool = False
    others: bool = False
    """All but these."""
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None

    def takes(self, candidate: Candidate) -> bool:
        if self.network is not None:
            return candidate.address.version == self.network.version and candidate.address.ip in self.network
        name = candidate.interface
        named = name in self.names if self.exactly else name.startswith(self.names)
        return named != self.others


def parse_filter(text: str) -> Filter:
    """`eth` (a beginning), `=eth0`, `^docker`, `^=docker0`, several by commas, or `10.0.0.0/8`. Raises UsageError."""
    if "/" in text:
        try:
            return Filter(network=ipaddress.ip_network(text, strict=False))
        except ValueError as error:
            raise UsageError(f"--interface {text}: {error}") from None
    others, exactly = text.startswith("^"), text.lstrip("^").startswith("=")
    names = tuple(text.removeprefix("^").removeprefix("=").split(","))
    if not all(re.fullmatch(r"[\w.:@-]+", name) for name in names):
        raise UsageError(f"--interface {text}: give eth (a beginning), =eth0, ^docker, or a network like 10.0.0.0/8")
    return Filter(names, exactly, others)


def candidates(interfaces: Sequence[Mapping[str, Any]], only: Filter | None) -> list[Candidate]:
    """Addresses that others might reach, of interfaces as probes tell them: IPv4 first, then in the order of the
    interfaces. Without a filter those are left out that lead to something on the same host."""
    found = []
    for interface in interfaces:
        for text in interface["addresses"] or ():
            candidate = Candidate(
                interface["name"], ipaddress.ip_interface(text), interface["mtu"],
                network.link_rate(
                    interface["speed_bytes_per_second"], interface.get("driver"), interface.get("virtual")
                ),
            )  # fmt: skip
            if candidate.address.is_loopback or interface["loopback"] or interface["state"] == "down":
                continue
            if only.takes(candidate) if only else not _INSIDE.match(candidate.interface):
                found.append(candidate)
    return sorted(found, key=lambda candidate: candidate.address.version)


def choose(hosts: Mapping[str, Sequence[Candidate]]) -> dict[str, Candidate]:
    """One address of each host: in the network that most of them share, else the first; all of one IP version. What
    several hosts have, as every virtual machine behind a NAT of its own has, reaches none of them.

    Raises Unreachable for a host that has none.
    """
    owners = Counter(candidate.address.ip for found in hosts.values() for candidate in found)
    for host, found in hosts.items():
        if found and all(owners[candidate.address.ip] > 1 for candidate in found):
            same = ", ".join(str(candidate.address.ip) for candidate in found)
            raise Unreachable(host, f"{host} has no address of its own ({same}): is it named twice in the list?")
    hosts = {host: [c for c in found if owners[c.address.ip] == 1] for host, found in hosts.items()}
    for host, found in hosts.items():
        if not found:
            raise Unreachable(
                host, f"{host} has no address that other hosts could reach: loopback and what leads to containers "
                "does not count, nor what --interface leaves out",
            )  # fmt: skip
    shared = Counter(
        network for found in hosts.values() for network in {candidate.address.network for candidate in found}
    )
    version = next((v for v in (4, 6) if all(any(c.address.version == v for c in f) for f in hosts.values())), None)
    if version is None:
        told = "; ".join(f"{host}: {', '.join(str(c.address) for c in found)}" for host, found in hosts.items())
        first = next(iter(hosts))
        raise Unreachable(first, f"the hosts have no version of IP in common ({told})")
    chosen = {}
    for host, found in hosts.items():
        able = [candidate for candidate in found if candidate.address.version == version]
        chosen[host] = max(able, key=lambda candidate: shared[candidate.address.network])
    return chosen


def blame(hosts: Sequence[str], addresses: Sequence[str], why: Sequence[str | None]) -> list[Fault]:
    """What it means that in the ring of hosts some did not reach the next, with the reason of each.

    A host that neither is reached nor reaches anybody explains both failures; otherwise it is the one not reached.
    """
    failed = [reason is not None for reason in why]
    faults = []
    for number, reason in enumerate(why):
        following = (number + 1) % len(hosts)
        lonely = failed[number - 1] and not failed[following] and len(hosts) > 2
        if reason is not None and not lonely:
            host, address = hosts[following], addresses[following]
            message = f"{hosts[number]} cannot reach {host} at {address}: {reason}"
            advice = f"a firewall, routes, VLANs between them; `ping {address}` there; another network: --interface"
            faults.append(Fault(None, "launch", "addresses", message=message, notes=(advice,), host=host))
    return faults


def judge(links: Mapping[str, Candidate]) -> list[Finding]:
    """What is to be said of the links that were chosen, by host: a warning for those whose MTU is not that of most."""
    mtus = Counter(link.mtu for link in links.values() if link.mtu)
    if len(mtus) < 2:
        return []
    usual = mtus.most_common(1)[0][0]
    return [
        Finding(
            "perf.mtu",
            Status.WARN,
            f"{host}: the MTU of {link.interface} is {link.mtu}, and {usual} on most hosts",
            subject={"host": host, "device": link.interface},
            remedy=f"`ip link set {link.interface} mtu {usual}` on {host}, if the network carries it",
            evidence={"mtu": link.mtu, "usual": usual},
        )
        for host, link in links.items()
        if link.mtu and link.mtu != usual
    ]
