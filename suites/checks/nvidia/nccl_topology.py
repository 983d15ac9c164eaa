"""Rules about single devices in the topology that NCCL has in XML: links that are less than they have to be.

May import: nvidia_facts, rdma_adapters, rdma_facts, rule, report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from suites.checks.nvidia.facts import host_readings
from suites.checks.rdma.adapters import pcie_rate
from suites.checks.rdma.facts import gigabits
from suites.checks.rule import Case, Facts, Judged, Rule, broken, ok
from suites.report import Status

_PEERS = 3


def _told(facts: Facts, what: str) -> tuple[str, list[Mapping[str, Any]]]:
    """The file, and its gpus or cards."""
    reading = host_readings(facts).get("nccl_topology")
    return (reading["source"], list(reading["values"].get(what) or ())) if reading else ("", [])


def _card_pcie(case: Case) -> Iterator[Judged]:
    """A card cannot send faster than PCIe brings it the data."""
    file, cards = _told(case.facts, "cards")
    for card in cards:
        carried, rate = pcie_rate(f"{card['transfers']} GT/s", card["width"]), (card["speed"] or 0) * 10**6
        if carried is None or not rate:
            continue
        if carried >= rate:
            yield ok(card["name"])
        else:
            link = f"{card['transfers']:g} GT/s and {card['width']} lanes"
            message = f"PCIe brings {card['name']} {gigabits(round(carried, -8))} ({link}), and its port sends "
            shown = {"file": file, "value": link, "threshold": gigabits(rate), "source": "its port"}
            yield broken(message + gigabits(rate), shown, card["name"])


def _fewer_links(case: Case) -> Iterator[Judged]:
    file, gpus = _told(case.facts, "gpus")
    counts = Counter(gpu["nvlinks"] for gpu in gpus)
    usual, times = counts.most_common(1)[0] if counts else (0, 0)
    if len(gpus) < _PEERS or 2 * times <= len(gpus):
        return
    for gpu in gpus:
        name = gpu["bus"] if gpu["index"] is None else f"gpu{gpu['index']}"
        if gpu["nvlinks"] < usual:
            message = f"{name} has {gpu['nvlinks']} NVLinks, and {times} of {len(gpus)} GPUs have {usual}"
            yield broken(message, {"file": file, "value": gpu["nvlinks"], "threshold": usual}, name)
        else:
            yield ok(name)


RULES = (
    Rule(
        name="nvidia.nccl_card_pcie",
        summary="in NCCL's topology PCIe carries what network cards send",
        why="NCCL plans with the slower of the two, and so does the data: with lanes lost a card is never full.",
        remedy="see `lspci -vvv -s SLOT | grep -E 'LnkCap|LnkSta'` of the card; reseat it, or correct a file that was "
        "written by hand",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_card_pcie,
    ),
    Rule(
        name="nvidia.nccl_nvlinks",
        summary="in NCCL's topology every GPU has as many NVLinks as the others",
        why="A ring over a GPU with fewer links is slower, and all wait for it.",
        remedy="see `nvidia-smi nvlink -s` for links that are down; reset all GPUs or restart the host",
        status=Status.WARN,
        needs=("accelerators",),
        judge=_fewer_links,
    ),
)
