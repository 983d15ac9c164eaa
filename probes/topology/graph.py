"""The graph of a host: devices, what they hang at, and the link between any two of them.

May import: the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class LinkKind:
    """A word of the vendors' tools for how two devices reach each other; `order` 0 is the strongest."""

    order: int
    meaning: str


LINK_KINDS: Mapping[str, LinkKind] = {
    "NV#": LinkKind(0, "a bonded set of # NVLinks"),
    "HCCS": LinkKind(1, "HCCS, directly"),
    "XGMI": LinkKind(1, "XGMI, the Infinity Fabric between GPUs"),
    "UB": LinkKind(1, "UB, the unified bus"),
    "HCCS_SW": LinkKind(2, "HCCS through a switch"),
    "SIO": LinkKind(2, "the bus between two dies of a card"),
    "PIX": LinkKind(3, "PCIe, at most one bridge or switch"),
    "PXB": LinkKind(4, "PCIe, several bridges or switches but no host bridge"),
    "PHB": LinkKind(5, "PCIe and a host bridge, as a rule the CPU"),
    "PCIE": LinkKind(6, "PCIe; the tool does not say by which way"),
    "NODE": LinkKind(6, "PCIe and what joins the host bridges of one NUMA node"),
    "SYS": LinkKind(7, "PCIe and what joins NUMA nodes, such as UPI"),
}
"""Those of `nvidia-smi topo -m`, `npu-smi info -t topo` and `amd-smi topology`, strongest first."""

_UNKNOWN_ORDER = 8
_LAST_FABRIC_ORDER = 2
_NVLINKS = re.compile(r"NV([0-9]{1,3})")

Strength = tuple[int, int]
"""Smaller is stronger: the order of the kind, then fewer NVLinks than could be."""


def strength(kind: str) -> Strength:
    """A word that is not known is weaker than all that are."""
    if match := _NVLINKS.fullmatch(kind):
        return (LINK_KINDS["NV#"].order, -int(match[1]))
    known = LINK_KINDS.get(kind)
    return (_UNKNOWN_ORDER if known is None else known.order, 0)


def is_fabric(kind: str) -> bool:
    """A link that accelerators have among themselves, beside PCIe."""
    return strength(kind)[0] <= _LAST_FABRIC_ORDER


def is_near(kind: str) -> bool:
    """A path within a NUMA node."""
    return strength(kind) <= strength("NODE")


def meaning(kind: str) -> str:
    if match := _NVLINKS.fullmatch(kind):
        return LINK_KINDS["NV#"].meaning.replace("#", match[1])
    known = LINK_KINDS.get(kind)
    return "a word of the vendor's tool" if known is None else known.meaning


@dataclass(frozen=True, slots=True)
class Node:
    """`kind`: accelerator, rdma (a network card that can do RDMA), nic (one that cannot), switch (PCIe) or cpu (a NUMA
    node). `parent`: the node it hangs at. `numa` is None where it is not known."""

    name: str
    kind: str
    parent: str | None = None
    numa: int | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """How `a` and `b` reach each other. `source`: "matrix" of a vendor's tool, "pci" addresses, or "numa" nodes alone.
    `other`: what a matrix says of the other direction, where that differs; the kind is then the weaker one. `weak`: it
    breaks the symmetry."""

    a: str
    b: str
    kind: str
    source: str
    weak: bool = False
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """An accelerator whose links to `peers` are `kinds`, where links of its siblings are of the kind `usual`."""

    device: str
    peers: tuple[str, ...]
    kinds: tuple[str, ...]
    usual: str


@dataclass(frozen=True, slots=True)
class Nearest:
    """The network cards that an accelerator reaches by the strongest link; `source` as of an edge. `far`: they are
    beyond its NUMA node, while most of its siblings have near ones."""

    device: str
    nics: tuple[str, ...]
    kind: str
    source: str
    far: bool


@dataclass(frozen=True, slots=True)
class Graph:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    asymmetries: tuple[Asymmetry, ...]
    nearest: tuple[Nearest, ...]

    def of_kind(self, *kinds: str) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.kind in kinds)
