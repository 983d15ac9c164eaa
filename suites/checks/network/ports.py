"""What rules need of network interfaces: which of them matter, and where their facts are from. May import: rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suites.checks.rule import Facts

Interface = Mapping[str, Any]

_LOCAL = (
    "lo", "docker", "br-", "virbr", "veth", "cni", "cali", "flannel", "kube", "nodelocaldns", "tunl", "dummy", "vxlan",
    "lxc", "lxd", "podman", "weave", "cilium", "ovs-", "ifb", "vnet", "tap", "tun", "tailscale",
)  # fmt: skip
"""Beginnings of names of interfaces that lead to containers and virtual machines of the same host, and alike on every
host."""
_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME")

RATE = "rate_bits_per_second"
"""The fact of an RDMA port that is the speed of its interface."""


def interfaces(facts: Facts) -> list[Interface]:
    """None of them where they are unknown."""
    return list((facts.get("network") or {}).get("interfaces") or ())


def spoken(name: str) -> bool:
    """Whether it may lead to other hosts."""
    return not name.startswith(_LOCAL)


def is_physical(interface: Interface) -> bool:
    """A device stands behind it, as far as is known."""
    return not interface["virtual"] and not interface["loopback"] and spoken(interface["name"])


def of_rdma(facts: Facts, fact: str = "name") -> set[str]:
    """Interfaces that are a port of an RDMA device of which this fact is known: the rules of RDMA tell of it."""
    adapters = (facts.get("rdma") or {}).get("devices") or ()
    both = ({**device, **port} for device in adapters for port in device["ports"] if port["netdev"])
    return {each["netdev"] for each in both if each.get(fact)}


def names_for_collectives(facts: Facts) -> dict[str, str]:
    """Interface -> the variable that names it exactly; NCCL takes a bare word for the beginning of a name."""
    variables = (facts.get("environment") or {}).get("variables") or {}
    found: dict[str, str] = {}
    for variable in _VARIABLES:
        value = variables.get(variable, "")
        for name in ("" if value.startswith("^") else value.removeprefix("=")).split(","):
            found.setdefault(name.strip(), variable)
    return found


def evidence(facts: Facts, interface: Interface, fact: str, threshold: Any) -> dict[str, Any]:
    """The file or command that told a fact of an interface."""
    source = facts["network"]["source"] or ""
    file = source.startswith("/")
    name = "speed" if fact == "speed_bytes_per_second" else fact
    where = f"{source}/{interface['name']}/{name}" if file else source
    return {"file" if file else "command": where, "value": interface.get(fact), "threshold": threshold}


def gigabits(bytes_per_second: int) -> str:
    return f"{bytes_per_second * 8 / 1e9:g} Gb/s"
