"""The text of /proc/cpuinfo, which every architecture writes its own way. May import: probes."""

from __future__ import annotations

from probes.kernel_text import fields

_IMPLEMENTERS = {"0x41": "Arm", "0x48": "HiSilicon", "0x4e": "NVIDIA", "0xc0": "Ampere"}
"""ARM machines write numbers where x86 writes names (Arm's MIDR_EL1 register)."""

_RELEVANT = (
    "hypervisor", "constant_tsc", "nonstop_tsc", "erms",
    "avx", "avx2", "f16c", "avx512f", "avx512bw", "avx512_bf16", "avx512_fp16", "amx_bf16",
    "asimd", "asimdhp", "atomics", "sve", "sve2", "bf16",
)  # fmt: skip
"""What decides how fast data is reduced and copied, and whether the clock can be trusted."""


def model(cpuinfo: str | None) -> str | None:
    """The name, or the maker and part number where there is no name."""
    rows = fields(cpuinfo)
    name = rows.get("model name") or rows.get("Model Name") or rows.get("Hardware")
    if name or "CPU part" not in rows:
        return name or None
    code = rows.get("CPU implementer", "")
    return f"{_IMPLEMENTERS.get(code, f'implementer {code}')} part {rows['CPU part']}"


def flags(cpuinfo: str | None) -> tuple[str, ...] | None:
    """The relevant instruction sets and features of the first CPU."""
    rows = fields(cpuinfo)
    text = rows.get("flags", rows.get("Features"))
    if text is None:
        return None
    present = set(text.split())
    return tuple(flag for flag in _RELEVANT if flag in present)
