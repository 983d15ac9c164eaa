"""How fast the processor may run: the governor of its CPUs and the bounds of their frequency.

Source: /sys/devices/system/cpu/cpu*/cpufreq; virtual machines have none. May import: probes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import count, word

_CPUS = "/sys/devices/system/cpu"


@dataclass(frozen=True, slots=True)
class Frequency:
    """In Hz. `least` and `most` are what the settings allow, over all CPUs; `hardware` is what the processor can do.
    `governors`: governor -> how many CPUs it rules."""

    governors: dict[str, int] | None
    least: int | None
    most: int | None
    hardware: int | None


UNKNOWN = Frequency(None, None, None, None)


def read(host: Host, cpus: Sequence[int]) -> Frequency:
    named = [word(host.read(f"{_CPUS}/cpu{cpu}/cpufreq/scaling_governor")) for cpu in cpus]
    governors = Counter(name for name in named if name)
    return Frequency(
        governors=dict(sorted(governors.items())) or None,
        least=min(_all(host, cpus, "scaling_min_freq"), default=None),
        most=min(_all(host, cpus, "scaling_max_freq"), default=None),
        hardware=min(_all(host, cpus, "cpuinfo_max_freq"), default=None),
    )


def _all(host: Host, cpus: Sequence[int], name: str) -> list[int]:
    """What the CPUs say, kHz in the kernel's files, in Hz."""
    said = (count(host.read(f"{_CPUS}/cpu{cpu}/cpufreq/{name}")) for cpu in cpus)
    return [kilohertz * 1000 for kilohertz in said if kilohertz is not None]
