"""Ascend NPUs: which there are, and what the vendor's tools say of them.

Which there are is told by the devices' files in /dev, by /etc/hccn.conf and by npu-smi; see `identity`.
May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from probes.ascend import config, hccn, npu_smi, ranktable, versions
from probes.ascend.config import CONFIGURATION, parse_addresses
from probes.ascend.identity import Identity, identities
from probes.reading import Reading, silent
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
    """Devices that anything knows of, by id; None where nothing could be asked, or nobody told anything. `configured`:
    there is an /etc/hccn.conf; None where it cannot be read. `unclaimed`: PCI addresses of NPUs that lspci lists and
    that are of none of the devices, as far as their addresses are known. `readings`: what tools say of all devices
    together."""

    devices: tuple[AscendDevice, ...] | None
    configured: bool | None
    readings: Mapping[str, Reading] = field(default_factory=dict)
    unclaimed: tuple[str, ...] | None = None


def read(visit: Visit) -> AscendFacts:
    text = visit.read(CONFIGURATION)
    addresses = parse_addresses(text or "")
    smi = npu_smi.of_host(visit)
    readings = {
        **npu_smi.without_rows(smi), **config.of_host(text), **versions.of_host(visit), **ranktable.of_host(visit)
    }  # fmt: skip
    known = identities(visit, set(addresses), smi)
    absent = visit.listdir("/etc") is not None and not visit.exists(CONFIGURATION)
    devices = [_device(visit, smi, identity, addresses.get(identity.id)) for identity in known or ()]
    unheard = not devices and silent(reading for reading in smi.values() if reading.source.startswith("npu-smi"))
    return AscendFacts(
        devices=None if known is None or unheard else tuple(devices),
        configured=True if text is not None else False if absent else None,
        readings=readings,
        unclaimed=_unclaimed(smi, [device.bus for device in devices]),
    )


def _unclaimed(smi: Mapping[str, Reading], claimed: Sequence[str | None]) -> tuple[str, ...] | None:
    """None where it cannot be said, since somebody does not tell PCI addresses."""
    if "lspci" not in smi or not any(claimed):
        return None
    return tuple(bus for bus in smi["lspci"].momentary.get("buses", ()) if bus not in claimed)


def _device(visit: Visit, smi: Mapping[str, Reading], identity: Identity, address: str | None) -> AscendDevice:
    readings = {
        **npu_smi.row_of(smi, identity), **npu_smi.of_device(visit, identity), **hccn.of_device(visit, identity)
    }  # fmt: skip
    told = readings["ip"].values.get("address") if "ip" in readings else None
    return AscendDevice(
        identity.id, identity.present, address or told, identity.card, identity.chip, identity.logical, identity.name,
        identity.bus, readings,
    )  # fmt: skip
