"""Which rule names the cause of what others see too: one fault is one finding, where several tools tell of it.

May import: report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from suites.report import Finding, Status

EFFECTS: Mapping[str, tuple[str, ...]] = {
    "ascend.npu_missing": (
        "ascend.card_lost", "ascend.port_gone", "ascend.npu_count_differs", "pcie.accelerators_differ",
    ),
    "ascend.npu_count_differs": ("pcie.accelerators_differ",),
    "ascend.npu_gone": ("pcie.device_gone",),
    "ascend.topology_weak": ("ascend.topology_differs",),
    "ascend.hccs_lane_lost": ("ascend.hccs_bad",),
    "ascend.link_down": ("ascend.net_health",),
    "ascend.optics_missing": ("ascend.optics_signal", "ascend.optics_light"),
    "ascend.optics_signal": ("ascend.optics_light",),
    "ascend.clock_throttled": ("ascend.temperature_high",),
    "ascend.port_errors_grew": ("ascend.port_errors", "ascend.port_errors_outlier"),
    "ascend.port_errors": ("ascend.port_errors_outlier",),
    "nvidia.gpu_lost": ("log.gpu_lost", "nvidia.unreadable", "nvidia.count_differs", "pcie.accelerators_differ"),
    "nvidia.count_differs": ("pcie.accelerators_differ",),
    "nvidia.errors_grew": ("nvidia.ecc_uncorrectable",),
    "nvidia.nvlink_inactive": ("nvidia.nvlink_down",),
    "nvidia.pcie_width": ("log.pcie_bandwidth_limited",),
    "nvidia.slowed_down": ("nvidia.hot",),
    "nvidia.topology_weaker": ("nvidia.topology_differs",),
    "amd.device_count": ("pcie.accelerators_differ",),
    "amd.pcie_width": ("amd.pcie_width_differs", "log.pcie_bandwidth_limited"),
    "amd.xgmi_lost": ("amd.links_differ",),
    "network.speed_siblings": ("network.speed_below_peers", "network.speed_below_supported"),
    "network.speed_below_peers": ("network.speed_below_supported",),
    "rdma.pcie_width": ("rdma.pcie_bandwidth", "log.pcie_bandwidth_limited"),
    "pcie.card_speed_low": ("rdma.pcie_bandwidth", "log.pcie_bandwidth_limited"),
    "pcie.width_low": ("pcie.width_differs", "log.pcie_bandwidth_limited"),
    "log.xid": ("log.gpu_lost",),
    "cgroup.oom_killed": ("cgroup.oom_kills", "memory.oom_kill"),
    "clock.slow_source": ("clock.sources_differ",),
    "container.devices_hidden": ("nvidia.no_devices",),
    "limits.nofile_low": ("limits.nofile_below_advice",),
}  # fmt: skip
"""Cause -> what is only said of a device where its cause is not found there."""

_FOUND = (Status.ERROR, Status.FAIL, Status.WARN, Status.INFO)


def attributed(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without effects whose cause is found on the same host, of the same device where both name one. The
    cause's evidence says in `seen_by` which rules saw it too."""
    causes: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.check in EFFECTS and finding.status in _FOUND:
            causes.setdefault(finding.check, []).append(finding)
    seen_by: dict[int, list[str]] = {}
    kept = []
    for finding in findings:
        found = [cause for name in _CAUSES.get(finding.check, ()) for cause in causes.get(name, ())]
        same = [cause for cause in found if _same_place(cause, finding)]
        if same and finding.status in _FOUND:
            seen_by.setdefault(id(same[0]), []).append(finding.check)
        else:
            kept.append(finding)
    return [
        replace(each, evidence={**each.evidence, "seen_by": seen_by[id(each)]}) if id(each) in seen_by else each
        for each in kept
    ]


def _causes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for cause, effects in EFFECTS.items():
        for effect in effects:
            found.setdefault(effect, []).append(cause)
    return found


_CAUSES = _causes()


def _same_place(cause: Finding, effect: Finding) -> bool:
    devices = {finding.subject["device"] for finding in (cause, effect) if "device" in finding.subject}
    return cause.subject.get("host") == effect.subject.get("host") and len(devices) <= 1
