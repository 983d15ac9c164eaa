"""Rules about variables that say where a job runs: its first node, HCCL's ports, the devices that ranks may use.

May import: rule, settings, equipment, allowed, sizes, report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suites.checks.environment.allowed import parse_ports
from suites.checks.environment.settings import nodes, number, settings
from suites.checks.equipment import accelerators
from suites.checks.rule import Case, Facts, Judged, Rule, Threshold, broken, ok
from suites.checks.sizes import binary
from suites.report import Status


def _master(case: Case) -> Iterator[Judged]:
    found = settings(case.facts)
    several = nodes(found)
    for setting in (found[name] for name in ("MASTER_ADDR", "CM_CHIEF_IP", "MS_SCHED_HOST") if name in found):
        if several is None or several < 2:
            continue
        value = setting.value.strip().lower()
        if value.startswith("127.") or value in ("localhost", "::1", "0.0.0.0", "::"):
            yield broken(
                f"{setting.text} is this host for every host, and the job has {several} nodes",
                setting.evidence("an address of the first node"),
                remedy=f"set {setting.name} to the first node's name or address: with Slurm "
                '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -1)',
            )
        else:
            yield ok()


def _reserved(case: Case) -> Iterator[Judged]:
    """HCCL listens on ports that the kernel may give to any outgoing connection, unless they are reserved."""
    kernel = case.facts["limits"]["kernel"]
    given, reserved = kernel["port_range"], kernel["reserved_ports"]
    wanted = _hccl_ports(case)
    if "ascend" not in accelerators(case.facts) or given is None or reserved is None or wanted is None:
        return
    open_ports = [
        port
        for first, last in wanted
        for port in range(max(first, 0), min(last, 65535) + 1)
        if given[0] <= port <= given[1] and not any(start <= port <= end for start, end in reserved)
    ]
    if not open_ports:
        yield ok()
        return
    text = ",".join(f"{first}-{last}" for first, last in wanted)
    yield broken(
        f"HCCL's ports {text} are not reserved: any outgoing connection may have taken one, and HCCL ends with EI0019",
        {
            "file": "/proc/sys/net/ipv4/ip_local_reserved_ports",
            "value": reserved,
            "threshold": text,
            "source": "HCCL user guide, HCCL_IF_BASE_PORT",
        },
        remedy=f"sysctl -w net.ipv4.ip_local_reserved_ports={text} (add what is reserved already), and the same in "
        "/etc/sysctl.d for good",
    )


def _hccl_ports(case: Case) -> Sequence[tuple[int, int]] | None:
    found = settings(case.facts)
    if chosen := found.get("HCCL_HOST_SOCKET_PORT_RANGE"):
        return None if chosen.value == "auto" else parse_ports(chosen.value)
    first = number(found, "HCCL_IF_BASE_PORT") or int(case.limits["first"])
    return ((first, first + int(case.limits["count"]) - 1),)


def _direct_post(case: Case) -> Iterator[Judged]:
    """With pages of 4 KiB the NPU's queues are written directly anyway."""
    page, name = case.facts["memory"]["page_bytes"], "HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT"
    setting = settings(case.facts).get(name)
    if page is None or "ascend" not in accelerators(case.facts):
        return
    if page == case.limits["page"] or (setting and setting.value.strip().upper() == "TRUE"):
        yield ok()
        return
    message = f"pages have {binary(page)} here, so that HCCL hands RDMA over through the driver: {name} is not TRUE"
    evidence = {"variable": name, "value": setting.value if setting else None, "threshold": "TRUE"}
    yield broken(message, evidence, remedy=f"on Atlas A2, across several servers: export {name}=TRUE on all ranks")


def _visible(case: Case) -> Iterator[Judged]:
    found, counts = settings(case.facts), accelerators(case.facts)
    for name, vendor in _VISIBLE.items():
        if name not in found or vendor not in counts:
            continue
        setting, count = found[name], counts[vendor]
        ids = _logical_ids(case.facts, vendor)
        listed = [int(part) for part in setting.value.split(",") if part.strip().isascii() and part.strip().isdigit()]
        strange = [number for number in listed if number not in ids]
        if strange:
            yield broken(
                f"{setting.text}: there is no device {strange[0]} here, which has {count}",
                setting.evidence(sorted(ids)),
                remedy=f"name devices that are here, 0 to {count - 1}, or unset {name}",
            )
            continue
        if len(set(listed)) < len(listed):
            yield broken(f"{setting.text}: a device is named twice", setting.evidence(), status=Status.WARN)
        local = number(found, "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
        if local and listed and local > len(set(listed)):
            message = f"{local} ranks start here, and {setting.text} shows them {len(set(listed))} devices"
            yield broken(message, setting.evidence(local), remedy=f"start fewer ranks here, or show more in {name}")
        yield ok()


_VISIBLE = {
    "CUDA_VISIBLE_DEVICES": "nvidia", "ASCEND_RT_VISIBLE_DEVICES": "ascend", "HIP_VISIBLE_DEVICES": "amd",
    "ROCR_VISIBLE_DEVICES": "amd",
}  # fmt: skip


def _logical_ids(facts: Facts, vendor: str) -> set[int]:
    """NPUs say which these are; others count from 0."""
    devices = facts["accelerators"][vendor]["devices"]
    logical = {device.get("logical") for device in devices}
    known = {number for number in logical if isinstance(number, int)}
    return known if len(known) == len(devices) else set(range(len(devices)))


RULES = (
    Rule(
        name="environment.master_loopback",
        summary="the first node of a job has an address that the others can reach",
        why="With loopback every host takes itself for the first one, and waits for ranks that wait elsewhere.",
        remedy="set MASTER_ADDR to the name or address of the first node",
        status=Status.FAIL,
        needs=("environment",),
        judge=_master,
    ),
    Rule(
        name="environment.ports_not_reserved",
        summary="the ports on which HCCL listens are kept from other connections",
        why="HCCL listens on fixed ports in the range from which the kernel gives ports to outgoing connections; one "
        "that is taken at that moment ends the job with EI0019.",
        remedy="reserve them: sysctl -w net.ipv4.ip_local_reserved_ports=60000-60031",
        status=Status.WARN,
        needs=("environment", "limits", "accelerators"),
        judge=_reserved,
        thresholds={
            "first": Threshold(60000, "port", "HCCL user guide, HCCL_IF_BASE_PORT"),
            "count": Threshold(32, "ports", "HCCL user guide, HCCL_IF_BASE_PORT"),
        },
    ),
    Rule(
        name="environment.direct_post",
        summary="HCCL hands RDMA to the NPU directly, whatever the size of pages",
        why="With pages of another size than 4 KiB HCCL goes through the driver for each transfer, which small "
        "messages between servers feel; it costs 1 MiB of large pages a link to do otherwise.",
        remedy="export HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT=TRUE on all ranks",
        status=Status.INFO,
        needs=("environment", "memory", "accelerators"),
        judge=_direct_post,
        thresholds={"page": Threshold(4096, "bytes", "HCCL user guide, HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT")},
    ),
    Rule(
        name="environment.visible_devices",
        summary="variables show devices that are here, and enough of them",
        why="A rank whose device is not shown ends with 'invalid device ordinal', or shares one with another rank.",
        remedy="name devices that are here, or unset the variable",
        status=Status.FAIL,
        needs=("environment", "accelerators"),
        judge=_visible,
    ),
)
