"""What ROCm's runtime says when a GPU of AMD fails under a program, whatever it runs.

Texts are those of ROCR-Runtime (VMFaultHandler, HwExceptionHandler in its runtime.cpp) and of HIP.
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

ROWS = (
    Known(
        "rocm.fault", "Memory access fault by GPU", r"Memory access fault by GPU node-\d{1,4}\b(?:.{0,120}Reason: "
        r"(?P<why>[^.]{1,80}))?", Level.INITIATING, "a kernel read or wrote where it must not", "crashed", "speaker",
        ("AMD_SERIALIZE_KERNEL=3 HIP_LAUNCH_BLOCKING=1: the kernel that did it", "`dmesg | grep -i amdgpu` there"),
    ),
    Known(
        "rocm.hang", "HW Exception by GPU",
        r"HW Exception by GPU node-\d{1,4}\b.{0,120}reason ?:\s?(?P<why>[\w ]{1,40})",
        Level.INITIATING, "the GPU has failed: {why}", "device", "host",
        ("`dmesg | grep -i amdgpu` there: a reset, its reason; firmware and driver",),
    ),
    Known(
        "rocm.queue", "HSA_STATUS_ERROR", r"aborting with error : HSA_STATUS_ERROR_(?P<why>\w{1,60})", Level.INITIATING,
        "a queue of the GPU was given up: {why}", "crashed", "speaker",
        ("AMD_SERIALIZE_KERNEL=3: the kernel that did it", "`dmesg | grep -i amdgpu` there"),
    ),
)  # fmt: skip
