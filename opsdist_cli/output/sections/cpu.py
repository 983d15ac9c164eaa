"""The section `cpu` as text: CPUs and caches. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import bytes_of, cpu_list, or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    caches = [_cache(cache) for cache in facts["caches"] or ()]
    flags = facts["flags"]
    return pairs([
        ("model", or_unknown(facts["model"])),
        ("architecture", or_unknown(facts["architecture"])),
        ("sockets", or_unknown(facts["sockets"])),
        ("cores", f"{or_unknown(facts['physical_cores'])} usable of {or_unknown(facts['installed_cores'])}"),
        ("threads per core", or_unknown(facts["threads_per_core"])),
        ("logical CPUs", f"{or_unknown(facts['logical_cpus'])}, allowed: {cpu_list(facts['allowed_cpus'])}"),
        *([("switched off", cpu_list(facts["offline_cpus"]))] if facts["offline_cpus"] else []),
        ("one CPU of each core", cpu_list(facts["core_cpus"])),
        ("caches", ", ".join(caches) or "unknown"),
        ("governor", or_unknown(facts["governor"], "no frequency scaling to be seen, as in virtual machines")),
        *([("frequency", _frequency(facts["frequency"]))] if facts["frequency"] else []),
        *([("virtual machine", facts["virtual_machine"])] if facts["virtual_machine"] else []),
        ("flags", "unknown" if flags is None else " ".join(flags) or "none of interest"),
    ])  # fmt: skip


def _frequency(facts: Facts) -> str:
    least, most, hardware = (_hertz(facts[name]) for name in ("least", "most", "hardware"))
    return f"{least} to {most} allowed, the processor can {hardware}"


def _hertz(frequency: int | None) -> str:
    return "unknown" if frequency is None else f"{frequency / 1e9:.2f} GHz"


def _cache(facts: Facts) -> str:
    name = f"L{facts['level']}" + {"data": "d", "instruction": "i"}.get(facts["type"], "")
    shared = f" shared by {facts['shared_by']}" if (facts["shared_by"] or 1) > 1 else ""
    return f"{name} {bytes_of(facts['size_bytes'])}{shared}"
