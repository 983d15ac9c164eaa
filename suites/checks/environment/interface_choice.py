"""How libraries name the interfaces they use: lists, beginnings of names, whole names after `=`, exclusions after `^`.

Pure. May import: the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Interface = Mapping[str, Any]

_BRIDGES = re.compile(
    r"docker|br-[0-9a-f]|veth|virbr|cni|flannel|cali|lxc|podman|weave|kube|dummy|ifb|tunl|vxlan|nerdctl"
)
"""Beginnings of names of what containers and virtual machines of this host are behind: no other host reaches it."""
_DOWN = frozenset({"down", "lowerlayerdown", "notpresent"})


@dataclass(frozen=True, slots=True)
class Choice:
    """What a variable asks for. `exact`: whole names, not beginnings."""

    tokens: tuple[str, ...]
    exclude: bool
    exact: bool

    def takes(self, name: str) -> bool:
        """Whether this choice lets something of that name be used."""
        return any(self.stands_for(token, name) for token in self.tokens) != self.exclude

    def stands_for(self, token: str, name: str) -> bool:
        return name == token if self.exact else name.startswith(token)


def parse(text: str) -> Choice | None:
    """NCCL's and HCCL's form: `eth`, `=eth0,eth1`, `^docker`, `^=docker0`. None for what has blanks, empty names or
    marks inside, which these libraries take as parts of names."""
    rest = text.removeprefix("^")
    tokens = tuple(rest.removeprefix("=").split(","))
    if any(not token or re.search(r"[\s^=]", token) for token in tokens):
        return None
    return Choice(tokens, exclude=text.startswith("^"), exact=rest.startswith("="))


def bridged(name: str) -> bool:
    return _BRIDGES.match(name) is not None


def loopback(interface: Interface) -> bool:
    return bool(interface["loopback"]) or interface["name"] == "lo"


def outward(interface: Interface) -> bool:
    """Whether other hosts may be reached over it, if it is up."""
    return not loopback(interface) and not bridged(interface["name"])


def is_down(interface: Interface) -> bool:
    return interface["state"] in _DOWN


def usable(interfaces: Sequence[Interface]) -> list[Interface]:
    """Those over which other hosts are reached: up, with an address as far as that is known."""
    return [each for each in interfaces if not is_down(each) and each["addresses"] != [] and outward(each)]
