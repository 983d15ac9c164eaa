"""Rules about software: what must fit together on a host, and what must be the same on all of them.

May import: rule, alike, equipment, report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from suites.checks.alike import Trait, alike, at
from suites.checks.equipment import accelerators
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, broken, ok
from suites.report import Status

_NCCL_PACKAGES = ("nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13")
_FAMILIES = (
    ("Intel MPI", re.compile(r"Intel\(R\) MPI|I_MPI", re.IGNORECASE)),
    ("Open MPI", re.compile(r"Open ?MPI|Open ?RTE|PRTE|PRRTE", re.IGNORECASE)),
    ("MVAPICH", re.compile(r"MVAPICH", re.IGNORECASE)),
    ("MPICH", re.compile(r"HYDRA|MPICH", re.IGNORECASE)),
)
"""By what a launcher says of itself."""
_SONAMES = {"40": "Open MPI", "20": "Open MPI", "12": "MPICH or Intel MPI"}
"""First part of the version of libmpi.so."""


def _packages(facts: Facts) -> Mapping[str, str]:
    """Those that are installed."""
    return {name: version for name, version in (facts["software"]["packages"] or {}).items() if version}


def _minor(version: str) -> tuple[str, ...]:
    """Major and minor version of `2.1.0.post3+cpu`."""
    return tuple(re.split(r"[.+]", version)[:2])


def _torch_npu(case: Case) -> Iterator[Judged]:
    packages = _packages(case.facts)
    torch, torch_npu = packages.get("torch"), packages.get("torch_npu")
    if torch_npu is None or "torch" not in case.facts["software"]["packages"]:
        return
    evidence = {"command": "pip list", "value": {"torch": torch, "torch_npu": torch_npu}}
    if torch is None:
        yield broken(f"torch_npu {torch_npu} is installed and torch is not", evidence)
    elif _minor(torch) == _minor(torch_npu):
        yield ok()
    else:
        wanted = ".".join(_minor(torch_npu))
        message = f"torch_npu {torch_npu} is made for torch {wanted}, and torch {torch} is installed"
        yield broken(message, evidence, remedy=f"pip install torch=={wanted}.* , or the torch_npu of torch {torch}")


def _nccl(case: Case) -> Iterator[Judged]:
    """What programs find first, against what pip has installed beside PyTorch."""
    packages = _packages(case.facts)
    installed = {name: packages[name] for name in _NCCL_PACKAGES if name in packages}
    found = [each for each in case.facts["software"]["libraries"] if each["name"] == "nccl"]
    evidence: dict[str, Any] = {"value": installed | {each["path"]: each["version"] for each in found}}
    if len(installed) > 1:
        message = "NCCL is installed for several versions of CUDA: " + _listed(installed)
        yield broken(message, evidence, remedy="pip uninstall all but the one of PyTorch's CUDA")
    first = next((each for each in found if each["preferred"]), None)
    if first is None or not first["version"] or not (installed or len(found) > 1):
        return
    others = {**installed, **{each["path"]: each["version"] for each in found if each is not first}}
    odd = {name: version for name, version in others.items() if version and not _same(version, first["version"])}
    if odd:
        message = f"LD_PRELOAD or LD_LIBRARY_PATH leads to NCCL {first['version']} ({first['path']}); beside it: "
        yield broken(message + _listed(odd), evidence)
    else:
        yield ok()


def _same(version: str, other: str) -> bool:
    """As far as both are told: 2 is 2.21.5, too."""
    return all(one == two for one, two in zip(version.split("."), other.split("."), strict=False))


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _mpi(case: Case) -> Iterator[Judged]:
    software = case.facts["software"]
    launchers = {each["name"]: family for each in software["launchers"] if (family := _family(each["version"]))}
    evidence = {"value": {each["path"]: each["version"] for each in software["launchers"]}}
    if len(set(launchers.values())) > 1:
        named = ", ".join(f"{name} is {family}'s" for name, family in launchers.items())
        yield broken(f"the launchers that are found first are of different MPIs: {named}", evidence)
        return
    first = next((each for each in software["libraries"] if each["name"] == "mpi" and each["preferred"]), None)
    library = _SONAMES.get((first["version"] or "").split(".")[0]) if first else None
    if first and library and launchers:
        family = next(iter(launchers.values()))
        if family in library:
            yield ok()
        else:
            message = f"LD_LIBRARY_PATH leads to {library} ({first['path']}), and {next(iter(launchers))} is {family}'s"
            yield broken(message, evidence)
    elif launchers:
        yield ok()


def _family(said: str | None) -> str | None:
    return next((name for name, pattern in _FAMILIES if pattern.search(said or "")), None)


def _drivers(case: Case) -> Iterator[Judged]:
    loaded = case.facts["software"]["drivers"]
    with_devices = list(accelerators(case.facts))
    evidence = {"file": "/sys/module", "value": sorted(loaded or {})}
    if len(with_devices) > 1:
        named = " and ".join(with_devices)
        yield broken(f"accelerators of {named} are in this host: --backend says which of them are meant", evidence)
    elif loaded and len(loaded) > 1:
        yield broken(f"drivers of several accelerators are loaded: {', '.join(sorted(loaded))}", evidence)
    elif loaded:
        yield ok()


def _package(name: str) -> Callable[[Facts], Any]:
    def read(facts: Facts) -> Any:
        packages = facts["software"]["packages"] or {}
        return packages[name] or "not installed" if name in packages else None

    return read


def _nccl_version(facts: Facts) -> Any:
    """That of the system's library; packages are compared by themselves."""
    found = (each["version"] for each in facts["software"]["libraries"] if each["name"] == "nccl")
    return next(found, None)


def _launcher(facts: Facts) -> Any:
    found = (each["version"] for each in facts["software"]["launchers"] if each["name"] in ("mpirun", "mpiexec"))
    return next((version for version in found if version), None)


_COMPARED = (
    "opsdist", "numpy", "torch", "torch_npu", "mpi4py", "mindspore", *_NCCL_PACKAGES, "horovod", "deepspeed",
)  # fmt: skip

RULES = (
    Rule(
        name="software.torch_npu_mismatch",
        summary="torch_npu is made for the torch that is installed",
        why="torch_npu is built against one version of torch; with another its import fails on a missing symbol, or it "
        "runs wrong.",
        remedy="install the pair that the table of torch_npu's release notes names",
        status=Status.FAIL,
        needs=("software",),
        judge=_torch_npu,
    ),
    Rule(
        name="software.two_nccl",
        summary="programs find one NCCL",
        why="PyTorch brings its own NCCL; a path to another one puts that before it, so that the version is not the "
        "one PyTorch was tested with, and differs from host to host.",
        remedy="take the folder out of LD_LIBRARY_PATH, or unset LD_PRELOAD, where the job does not need it",
        status=Status.WARN,
        needs=("software",),
        judge=_nccl,
    ),
    Rule(
        name="software.two_mpi",
        summary="launcher and library are of one MPI",
        why="A program of one MPI that another one's launcher starts is a world of one rank each: every rank believes "
        "to be rank 0.",
        remedy="put the folder of one MPI first in PATH and LD_LIBRARY_PATH (module load), and start with its mpirun",
        status=Status.WARN,
        needs=("software",),
        judge=_mpi,
    ),
    Rule(
        name="software.several_drivers",
        summary="the accelerators of this host are of one maker",
        why="Frameworks and benchmarks choose one of them, not always the one that is meant.",
        remedy="name the backend (--backend) and the devices (--devices) that are meant",
        status=Status.INFO,
        needs=("software",),
        judge=_drivers,
    ),
    Rule(
        name="software.system_differs",
        summary="hosts run the same system and kernel, with the same CUDA and ROCm",
        why="Drivers and their speed depend on the kernel; a host that was not updated with the others is the first to "
        "suspect when only it is slow.",
        remedy="bring the host to the versions of the others, and restart it",
        status=Status.WARN,
        needs=("software",),
        judge=alike(
            Trait("the kernel", at("software", "kernel"), "/proc/sys/kernel/osrelease"),
            Trait("the system", at("software", "system"), "/etc/os-release"),
            Trait("CUDA", at("software", "cuda"), "/usr/local/cuda/version.json"),
            Trait("ROCm", at("software", "rocm"), "/opt/rocm/.info/version"),
        ),
        scope=Scope.FLEET,
    ),
    Rule(
        name="software.packages_differ",
        summary="hosts have the same versions of what ranks are made of",
        why="Ranks of different versions may not understand each other: HCCL ends with EI0008, NCCL with a mismatch, "
        "Python with whatever comes first.",
        remedy="install the same versions everywhere: one image, or one environment on a shared file system",
        status=Status.WARN,
        needs=("software",),
        judge=alike(
            *(Trait(name, _package(name), "pip list") for name in _COMPARED),
            Trait("Python", at("software", "python"), "python --version"),
            Trait("the C library", at("software", "c_library"), "ldd --version"),
            Trait("NCCL", _nccl_version, "libnccl.so"),
            Trait("MPI's launcher", _launcher, "mpirun --version"),
        ),
        scope=Scope.FLEET,
    ),
)
