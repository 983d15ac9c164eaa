"""Ascend NPUs: which there are, and what the vendor's tools say of them.

Which there are is told by the devices' files in /dev, by /etc/hccn.conf and by `npu-smi info -m`; see `identity`.
May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.ascend import hccn, npu_smi
from probes.ascend.config import CONFIGURATION, parse_addresses
from probes.ascend.identity import Identity, identities
from probes.reading import Reading
from probes.visit import Visit


@dataclass(frozen=True, slots=True)
class AscendDevice:
    """By its physical id. `present`: there is a file for it in /dev, where a container has but those it was given.
    `card`, `chip` and `logical` are its other ids, `bus` its PCI address."""

    id: int
    present: bool
    address: str | None
    card: int | None = None
    chip: int | None = None
    logical: int | None = None
    name: str | None = None
    bus: str | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AscendFacts:
    """Devices that anything knows of, by id; None where nothing could be asked. `configured`: there is an
    /etc/hccn.conf; None where it cannot be read. `readings`: what tools say of all devices together."""

    devices: tuple[AscendDevice, ...] | None
    configured: bool | None
    readings: Mapping[str, Reading] = field(default_factory=dict)


def read(visit: Visit) -> AscendFacts:
    text = visit.read(CONFIGURATION)
    addresses = parse_addresses(text or "")
    readings = npu_smi.of_host(visit)
    known = identities(visit, set(addresses), readings)
    absent = visit.listdir("/etc") is not None and not visit.exists(CONFIGURATION)
    return AscendFacts(
        devices=None
        if known is None
        else tuple(_device(visit, identity, addresses.get(identity.id)) for identity in known),
        configured=True if text is not None else False if absent else None,
        readings=readings,
    )


def _device(visit: Visit, identity: Identity, address: str | None) -> AscendDevice:
    readings = {**npu_smi.of_device(visit, identity), **hccn.of_device(visit, identity)}
    told = readings["ip"].values.get("address") if "ip" in readings else None
    return AscendDevice(
        identity.id, identity.present, address or told, identity.card, identity.chip, identity.logical, identity.name,
        identity.bus, readings,
    )  # fmt: skip
