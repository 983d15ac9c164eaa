"""What an Xid of NVIDIA's driver means for a node: whose fault it is, and what has to be done.

By NVIDIA's Xid catalogue, in the classes that the GPU health checks of AWS (awsome-distributed-training) derive from
it. May import: report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suites.report import Status

SOURCE = "NVIDIA's Xid catalogue, and the policy of AWS's GPU health checks"


@dataclass(frozen=True, slots=True)
class Meaning:
    """`what`: words for a sentence "Xid 79: ..."."""

    what: str
    status: Status
    remedy: str


_APPLICATION = (
    "look at the program that ran then: most often it is its own fault; on another GPU the same should happen"
)
_RESET = "stop what runs there and `nvidia-smi --gpu-reset -i GPU`; reboot the host if that fails or it comes again"
_REBOOT = "take the host out of service and reboot it; if it comes again the GPU, its slot or power has to be looked at"
_ISOLATE = "take the host out of service: power or cables of this GPU have to be looked at"
_REMARK = "no need to act now; see that it stays rare"
_NVLINK = "look at `nvidia-smi nvlink -s` and -e of all GPUs and at the fabric manager's log; reset all GPUs together"

_GROUPS = (
    ("the GPU's power cable is not connected", Status.FAIL, _ISOLATE, (54,)),
    ("the GPU is lost until a reboot", Status.FAIL, _REBOOT, (79, 151, 168)),
    (
        "the GPU has to be reset",
        Status.FAIL,
        _RESET,
        (48, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158),
    ),
    ("NVLink failed", Status.FAIL, _NVLINK, (74, *range(144, 151))),
    ("most often a program's own fault", Status.INFO, _APPLICATION, (13, 31, 43, 45, 94, 126)),
    ("a remark of the driver, which has acted", Status.INFO, _REMARK, (63, 92, 121, 162, 163)),
)  # fmt: skip

MEANINGS: Mapping[int, Meaning] = {
    code: Meaning(what, status, remedy) for what, status, remedy, codes in _GROUPS for code in codes
}
_UNKNOWN = Meaning(
    "not in the table of opsdist",
    Status.WARN,
    "look it up in NVIDIA's Xid catalogue, docs.nvidia.com/deploy/xid-errors",
)
_RECOVERY = 154
"""This one says what has to be done in its own words."""


def meaning(code: int, detail: str | None) -> Meaning:
    """Of a code, and of what the line says behind it."""
    said = (detail or "").lower()
    if code == _RECOVERY:
        asked = not said.rstrip(" .").endswith("(none)")
        what = (
            "the driver says what has to be done" if asked else "the driver says that nothing has to be done any more"
        )
        return Meaning(what, Status.FAIL if asked else Status.INFO, "do what the line says: reset the GPU, or reboot")
    found = MEANINGS.get(code, _UNKNOWN)
    if found.remedy == _NVLINK and "nonfatal" in said.replace("-", ""):
        return Meaning("NVLink had an error from which it recovered", Status.WARN, _NVLINK)
    return found
