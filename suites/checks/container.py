"""Rules about what a container does not show of its host. May import: rule, equipment, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.equipment import accelerators, rdma_devices
from suites.checks.rule import Case, Judged, Rule, broken, ok
from suites.report import Status

_DRIVERS = {
    "nvidia": ("nvidia", "docker run --gpus all, or a pod with nvidia.com/gpu"),
    "amdgpu": ("amd", "docker run --device /dev/kfd --device /dev/dri, or a pod with amd.com/gpu"),
    "ascend": (
        "ascend",
        "Ascend's docker runtime with ASCEND_VISIBLE_DEVICES, or docker run --device for each of /dev/davinci*",
    ),
}
"""The kernel's driver -> the maker, and how a container gets its devices. The kernel is the host's, so that drivers are
seen in a container that was given no device."""


def _hidden_devices(case: Case) -> Iterator[Judged]:
    kind, drivers = case.facts["cgroup"]["container"], case.facts["software"]["drivers"]
    if kind is None or not drivers:
        return
    counts = accelerators(case.facts)
    for driver, (vendor, remedy) in _DRIVERS.items():
        if driver not in drivers:
            continue
        if vendor in counts:
            yield ok()
            continue
        evidence = {"file": f"/sys/module/{driver}", "value": 0}
        message = f"the host has {vendor}'s driver loaded, and this {kind} container was given none of its devices"
        yield broken(message, evidence, remedy=f"if this job needs them: {remedy}")


def _no_rdma(case: Case) -> Iterator[Judged]:
    """A container's own network has none of the host's interfaces, and so none of its RDMA devices' addresses."""
    kind, interfaces = case.facts["cgroup"]["container"], case.facts["network"]["interfaces"]
    if kind is None or interfaces is None or not accelerators(case.facts):
        return
    devices = rdma_devices(case.facts)
    real = [each["name"] for each in interfaces if each["virtual"] is False]
    if not devices or real:
        yield ok()
        return
    message = f"this {kind} container sees RDMA devices ({', '.join(devices[:3])}) and none of the host's interfaces"
    evidence = {"value": [each["name"] for each in interfaces], "file": "/sys/class/net"}
    yield broken(message, evidence)


RULES = (
    Rule(
        name="container.devices_hidden",
        summary="a container on a host with accelerators was given some",
        why="A container sees only the devices it was given; a job in it then ends with 'no device', though the host "
        "has all of them.",
        remedy="start the container with the devices",
        status=Status.INFO,
        needs=("cgroup", "software", "accelerators"),
        judge=_hidden_devices,
    ),
    Rule(
        name="container.own_network",
        summary="a container that uses RDMA is in the network of its host",
        why="The addresses of RoCE belong to the host's interfaces: in a network of its own a container finds no GID "
        "that it could use, and NCCL takes TCP over the bridge.",
        remedy="docker run --network host, hostNetwork: true in the pod, or a device plugin that moves an RDMA "
        "interface into it",
        status=Status.WARN,
        needs=("cgroup", "network", "rdma", "accelerators"),
        judge=_no_rdma,
    ),
)
