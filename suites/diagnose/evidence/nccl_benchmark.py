"""What nccl-tests (and rccl-tests) say when they fail: the texts of its src/common.cu.

May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_HOST = r"(?:^|(?P<host>[\w.-]{1,255}): )Test (?:CUDA|HIP) failure \S{1,200}:\d{1,6} '"
ROWS = (
    Known("nccl_tests.ordinal", "invalid device ordinal", _HOST + "invalid device ordinal", Level.INITIATING,
          "more ranks than visible GPUs on a host", "config", "host",
          ("ranks a host times GPUs a rank (-g), and CUDA_VISIBLE_DEVICES, against `nvidia-smi -L`",)),
    Known("nccl_tests.memory", "out of memory", _HOST + "out of memory", Level.INITIATING,
          "the memory of a GPU is full", "resource", "host",
          ("`nvidia-smi` there: other processes on the GPU; then a smaller largest size (-e)",)),
    Known("nccl_tests.ecc", "uncorrectable ECC", _HOST + "uncorrectable ECC", Level.INITIATING,
          "memory of a GPU has failed (uncorrectable ECC error)", "device", "host",
          ("`nvidia-smi -q -d ECC,ROW_REMAPPER` there; reset the GPU, replace it if it comes again",)),
    Known("nccl_tests.fabric", "system not yet initialized", _HOST + "system not yet initialized", Level.INITIATING,
          "the NVSwitches of its host are not set up", "config", "host",
          ("`systemctl status nvidia-fabricmanager` on its host: it must run, in the version of the driver",)),
    Known("nccl_tests.driver", "driver", _HOST + "CUDA driver version is insufficient", Level.INITIATING,
          "the driver is too old for CUDA", "config", "host",
          ("`nvidia-smi` there: the driver's version against that of CUDA",)),
    Known("nccl_tests.none", "no CUDA-capable device", _HOST + "no CUDA-capable device", Level.INITIATING,
          "it sees no GPU", "config", "host",
          ("CUDA_VISIBLE_DEVICES, the container's devices, `nvidia-smi` there",)),
    Known("nccl_tests.build", " failure ", _HOST + "(?:no kernel image|named symbol not found|unsupported toolchain)",
          Level.INITIATING, "the program was not built for this GPU", "config", "host",
          ("the versions of CUDA and the GPU's compute capability",)),
    Known("nccl_tests.device", " failure ", _HOST + r"(?P<why>[^']{1,200})", Level.INITIATING,
          "a call of CUDA failed: {why}",
          "crashed", "host", ("`nvidia-smi` and `dmesg | grep -i xid` there",)),
    Known("nccl_tests.timeout", "Test timeout (", r"Test timeout \(\d{1,9}s\)", Level.TIMEOUT,
          "a test did not end in its time"),
    Known("nccl_tests.nccl", "Test NCCL failure", r"Test NCCL failure", Level.CASCADE, "a call of NCCL failed",
          remedy=("NCCL_DEBUG=WARN: the first WARN line says which call",)),
    Known("nccl_tests.code", ": Test failure ",
          r"\.\. (?P<host>[\w.-]{1,255}) pid (?P<pid>\d{1,10}): Test failure \S", Level.CASCADE,
          "an error on its way up"),
    Known("nccl_tests.wrong", "Out of bounds values", r"Out of bounds values : (?P<count>[1-9]\d{0,15})",
          Level.INITIATING, "{count} values were wrong after a collective", "corrupt", "nobody",
          ("run again with fewer ranks, to find the one",)),
)  # fmt: skip
