"""What NVIDIA's fabric manager logs of NVSwitches, in /var/log/fabricmanager.log.

    [Mar 01 2026 10:00:01] [ERROR] [tid 4711] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id ...

The text is one that its user guide lists. May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_BUS = r"pci bus id (?P<device>[\da-fA-F:.]{7,20})"
_LOOK = ("`nvidia-smi nvlink -e` and `dmesg | grep -i sxid` there; reset all GPUs and switches, or reboot",)

ROWS = (
    Known("fabric.switch", "NVSwitch fatal error",
          rf"detected NVSwitch fatal error (?P<code>\d{{1,6}})\b.{{0,80}}{_BUS}",
          Level.INITIATING, "an NVSwitch has failed (SXid {code})", "device", "device", _LOOK),
)  # fmt: skip
