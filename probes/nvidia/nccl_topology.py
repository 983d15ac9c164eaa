"""The topology of a host as NCCL has it in XML: given to it (NCCL_TOPO_FILE), or written by it (NCCL_TOPO_DUMP_FILE).

Nested elements: a NUMA node (cpu), PCI bridges and devices (pci), and at the leaves GPUs (gpu) and network cards (nic,
net); see src/graph/xml.cc of NCCL. May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.by_device import pci_address
from probes.host import Host
from probes.nvidia.xml import elements
from probes.reading import Reading, Said, told
from probes.tool_text import number, whole

_VARIABLES = ("NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE")
_DEFAULT = "/var/run/nvidia-topologyd/virtualTopology.xml"
"""Where NCCL looks when it is told of no other."""
_GPU_CLASSES = ("0x0300", "0x0302")
_AMD = "0x1002"
"""The vendor of GPUs that RCCL writes of in the same way."""


def of_file(host: Host) -> Reading | None:
    """Of the first of the files that holds a topology; None where none does."""
    for path in (*(host.environ.get(name, "") for name in _VARIABLES), _DEFAULT):
        text = host.read(path) if path.startswith("/") else None
        if text is not None and (said := parse(text)):
            return told(path, said)
    return None


def parse(text: str) -> Said:
    """`numa`: ids of NUMA nodes; `gpus` and `cards`: each with what its PCI element says and `bridges` above it."""
    said = Said()
    numa: list[int] = []
    gpus: list[dict[str, Any]] = []
    cards: list[dict[str, Any]] = []
    path: list[tuple[str, Mapping[str, str]]] = []
    for event, element in elements(text):
        if event == "end":
            path.pop()
            continue
        path.append((element.tag, dict(element.attrib)))
        if element.tag == "cpu":
            node = number(element.get("numaid", ""))
            numa += [] if node is None else [int(min(node, 1 << 16))]
        elif element.tag == "gpu" or (element.tag == "pci" and element.get("class", "")[:6] in _GPU_CLASSES):
            _put_gpu(gpus, path)
        elif element.tag == "nvlink" and gpus and any(tag == "gpu" for tag, _ in path):
            gpus[-1]["nvlinks"] += whole(element.get("count", "")) or 0
        elif element.tag == "net":
            cards.append(_place(path) | {"name": element.get("name", "")[:32]} | _gdr(element.attrib))
            cards[-1]["speed"] = whole(element.get("speed", ""))
    for name, found in (("numa", numa), ("gpus", gpus), ("cards", cards)):
        if found:
            said.value(name, found)
    return said


def _put_gpu(gpus: list[dict[str, Any]], path: list[tuple[str, Mapping[str, str]]]) -> None:
    """A GPU is known by its PCI element, and more of it by the gpu in there."""
    place = _place(path)
    if any(attributes.get("vendor") == _AMD for _, attributes in path):
        return
    if not gpus or gpus[-1]["bus"] != place["bus"]:
        gpus.append(place | {"index": None, "architecture": None, "gdr": None, "nvlinks": 0})
    tag, attributes = path[-1]
    if tag == "gpu":
        gpus[-1] |= {"index": whole(attributes.get("dev", "")), "architecture": whole(attributes.get("sm", ""))}
        gpus[-1] |= _gdr(attributes)


def _place(path: list[tuple[str, Mapping[str, str]]]) -> dict[str, Any]:
    """What the innermost PCI element says, and how many there are above it."""
    devices = [attributes for tag, attributes in path if tag == "pci"]
    own = devices[-1] if devices else {}
    return {
        "bus": pci_address(own.get("busid", "")),
        "transfers": number(own.get("link_speed", "")),
        "width": whole(own.get("link_width", "")),
        "bridges": max(0, len(devices) - 1),
    }


def _gdr(attributes: Mapping[str, str]) -> dict[str, bool | None]:
    return {"gdr": {"0": False, "1": True}.get(attributes.get("gdr", ""))}
