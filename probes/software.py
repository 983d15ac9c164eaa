"""Software: system, Python, the packages and libraries that matter and the launchers; nothing is loaded to find out.

Importing torch takes seconds and importing mpi4py starts MPI, so versions come from the installed metadata.
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import word
from probes.libraries import Library, drivers, libraries, toolkits
from probes.printed import printed

_PACKAGES = (
    "opsdist", "numpy", "ml_dtypes", "pyzmq", "torch", "torch_npu", "mpi4py", "mindspore", "nvidia-nccl-cu11",
    "nvidia-nccl-cu12", "nvidia-nccl-cu13", "openmpi", "mpich", "impi-rt", "horovod", "deepspeed",
)  # fmt: skip
_LAUNCHERS = ("mpiexec", "mpirun", "srun", "torchrun", "msrun")
_TELL_VERSION = frozenset({"mpiexec", "mpirun", "srun"})
"""The others import a framework before they answer."""
_VERSION_SECONDS = 0.5
_LISTS = (["pip", "list"], ["pip3", "list"], ["pip", "freeze"], ["pip3", "freeze"])


@dataclass(frozen=True, slots=True)
class Launcher:
    """A program that starts ranks. `version` is the first line it says of itself: it tells Open MPI from MPICH."""

    name: str
    path: str
    version: str | None


@dataclass(frozen=True, slots=True)
class SoftwareFacts:
    """`packages` maps a distribution to its version, None where it is not installed; those that are not among them are
    unknown. `cuda` and `rocm`: the toolkits'
    versions. `drivers`: those of accelerators that the kernel has loaded."""

    system: str | None
    kernel: str | None
    c_library: str | None
    python: str | None
    packages: Mapping[str, str | None] | None
    launchers: tuple[Launcher, ...]
    libraries: tuple[Library, ...]
    cuda: str | None
    rocm: str | None
    drivers: Mapping[str, str | None] | None


def read(host: Host) -> SoftwareFacts:
    runtime = host.runtime()
    kits = toolkits(host)
    return SoftwareFacts(
        system=parse_os_release(host.read("/etc/os-release") or host.read("/usr/lib/os-release")),
        kernel=word(host.read("/proc/sys/kernel/osrelease")) or parse_uname(printed(host, ["uname", "-a"])),
        c_library=runtime.c_library if runtime else None,
        python=runtime.python if runtime else None,
        packages=host.packages(_PACKAGES) or parse_packages(printed(host, *_LISTS)),
        launchers=tuple(_launcher(host, name, path) for name in _LAUNCHERS if (path := _on_path(host, name))),
        libraries=libraries(host),
        cuda=kits.cuda,
        rocm=kits.rocm,
        drivers=drivers(host),
    )


def parse_os_release(text: str | None) -> str | None:
    """PRETTY_NAME of os-release(5)."""
    for line in (text or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return word(line.partition("=")[2].strip().strip("\"'"))
    return None


def parse_uname(text: str | None) -> str | None:
    """The release in `Linux node7 5.10.0-60.18 #1 SMP ...`."""
    words = (text or "").split()
    return words[2] if len(words) > 3 and words[0] == "Linux" else None


def parse_packages(text: str | None) -> Mapping[str, str | None] | None:
    """The packages that matter, of lines `name  1.2` (pip list) or `name==1.2` (pip freeze). Only of a list with its
    header is known that it is whole, and so what is not installed: others may have gone through grep."""
    rows = (line.replace("==", " ").split() for line in (text or "").splitlines())
    told = {_normal(row[0]): row[1] for row in rows if len(row) >= 2}
    whole = told.get("package") == "Version"
    known = {name: told.get(_normal(name)) for name in _PACKAGES if whole or _normal(name) in told}
    return known or None


def _normal(name: str) -> str:
    """As packages are compared: `torch-npu` and `torch_npu` are one."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _on_path(host: Host, name: str) -> str | None:
    folders = host.environ.get("PATH", "").split(":")
    return next((f"{folder}/{name}" for folder in folders if folder and host.exists(f"{folder}/{name}")), None)


def _launcher(host: Host, name: str, path: str) -> Launcher:
    answer = host.run([path, "--version"], _VERSION_SECONDS) if name in _TELL_VERSION else None
    lines = [line.strip() for line in answer.stdout.splitlines() if line.strip()] if answer else []
    return Launcher(name, path, lines[0] if lines else None)
