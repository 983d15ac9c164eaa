"""Software: system, Python, the packages that matter and the MPI launchers; nothing is imported to find out.

Importing torch takes seconds and importing mpi4py starts MPI, so versions come from the installed metadata.
May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import word

_PACKAGES = ("opsdist", "numpy", "ml_dtypes", "pyzmq", "torch", "torch_npu", "mpi4py", "mindspore")
_LAUNCHERS = ("mpiexec", "mpirun", "srun", "torchrun", "msrun")
_TELL_VERSION = frozenset({"mpiexec", "mpirun", "srun"})
"""The others import a framework before they answer."""
_VERSION_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Launcher:
    """A program that starts ranks. `version` is the first line it says of itself: it tells Open MPI from MPICH."""

    name: str
    path: str
    version: str | None


@dataclass(frozen=True, slots=True)
class SoftwareFacts:
    """`packages` maps a distribution to its version, None where it is not installed."""

    system: str | None
    kernel: str | None
    c_library: str | None
    python: str | None
    packages: Mapping[str, str | None] | None
    launchers: tuple[Launcher, ...]


def read(host: Host) -> SoftwareFacts:
    runtime = host.runtime()
    return SoftwareFacts(
        system=parse_os_release(host.read("/etc/os-release") or host.read("/usr/lib/os-release")),
        kernel=word(host.read("/proc/sys/kernel/osrelease")),
        c_library=runtime.c_library if runtime else None,
        python=runtime.python if runtime else None,
        packages=host.packages(_PACKAGES),
        launchers=tuple(_launcher(host, name, path) for name in _LAUNCHERS if (path := _on_path(host, name))),
    )


def parse_os_release(text: str | None) -> str | None:
    """PRETTY_NAME of os-release(5)."""
    for line in (text or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return word(line.partition("=")[2].strip().strip("\"'"))
    return None


def _on_path(host: Host, name: str) -> str | None:
    folders = host.environ.get("PATH", "").split(":")
    return next((f"{folder}/{name}" for folder in folders if folder and host.exists(f"{folder}/{name}")), None)


def _launcher(host: Host, name: str, path: str) -> Launcher:
    answer = host.run([path, "--version"], _VERSION_SECONDS) if name in _TELL_VERSION else None
    lines = [line.strip() for line in answer.stdout.splitlines() if line.strip()] if answer else []
    return Launcher(name, path, lines[0] if lines else None)
