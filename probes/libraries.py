"""Libraries and toolkits of communication, found by the names and small files of their folders; nothing is loaded.

May import: probes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import word

_SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib")
_VENDOR = ("/usr/local/cuda/lib64", "/opt/rocm/lib")
_LIBRARY = re.compile(r"lib(nccl|rccl|mpi|mpich|ucp|nccl-net)\.so(?:\.([0-9][0-9.]*))?")
_MODULES = ("nvidia", "amdgpu", "drv_devmng", "drv_davinci_intf", "davinci")
"""Kernel modules of accelerators, as /sys/module names them."""
_ASCEND = ("drv_devmng", "drv_davinci_intf", "davinci")


@dataclass(frozen=True, slots=True)
class Library:
    """`version` is as far as the file's name tells it: 2 where there is but libnccl.so.2. `preferred`: programs find it
    before those of the system, since LD_PRELOAD or LD_LIBRARY_PATH names it."""

    name: str
    version: str | None
    path: str
    preferred: bool


@dataclass(frozen=True, slots=True)
class Toolkits:
    """Versions; None where it is not installed or does not tell."""

    cuda: str | None
    rocm: str | None


def libraries(host: Host) -> tuple[Library, ...]:
    """One of each name and folder, the one that tells its version best; the preferred first, in their order."""
    found = [*_preloaded(host)]
    searched = [folder for folder in host.environ.get("LD_LIBRARY_PATH", "").split(":") if folder.startswith("/")]
    for folder in dict.fromkeys([*searched, *_VENDOR, *_SYSTEM]):
        found += _in_folder(host, folder.rstrip("/"), folder in searched)
    return tuple(found)


def _preloaded(host: Host) -> Iterator[Library]:
    for path in re.split(r"[ :]+", host.environ.get("LD_PRELOAD", "")):
        if match := _LIBRARY.fullmatch(path.rpartition("/")[2]):
            yield Library(match[1], match[2], path, True)


def _in_folder(host: Host, folder: str, preferred: bool) -> Iterator[Library]:
    best: dict[str, tuple[str, str]] = {}
    for name in host.listdir(folder) or ():
        match = _LIBRARY.fullmatch(name)
        if match and len(match[2] or "") >= len(best.get(match[1], ("", ""))[1]):
            best[match[1]] = name, match[2] or ""
    for library, (name, version) in sorted(best.items()):
        yield Library(library, version or None, f"{folder}/{name}", preferred)


def toolkits(host: Host) -> Toolkits:
    cuda = host.read("/usr/local/cuda/version.json")
    return Toolkits(
        cuda=parse_cuda(cuda) or parse_cuda_text(host.read("/usr/local/cuda/version.txt")),
        rocm=word(host.read("/opt/rocm/.info/version")),
    )


def parse_cuda(text: str | None) -> str | None:
    """`{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, ...}`."""
    try:
        told = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    entry = told.get("cuda") if isinstance(told, dict) else None
    version = entry.get("version") if isinstance(entry, dict) else None
    return word(version) if isinstance(version, str) else None


def parse_cuda_text(text: str | None) -> str | None:
    """`CUDA Version 10.2.89`, before CUDA 11."""
    match = re.search(r"CUDA Version ([0-9.]+)", text or "")
    return match[1] if match else None


def drivers(host: Host) -> Mapping[str, str | None] | None:
    """The drivers of accelerators that are loaded, with their versions where they tell; None where that is unknown."""
    loaded = host.listdir("/sys/module")
    if loaded is None:
        return None
    found = {name: word(host.read(f"/sys/module/{name}/version")) for name in _MODULES if name in loaded}
    ascend = [name for name in _ASCEND if name in found]
    kept = {name: version for name, version in found.items() if name not in ascend}
    return kept | ({"ascend": None} if ascend else {})
