"""What nvidia-smi and NVML say of a GPU or driver that cannot be used, and NVSHMEM of memory and of cards.

The texts are those of nvidia-smi, of nvmlErrorString and its Python binding, and of src/modules/transport of NVSHMEM.
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_OWN = Level.INITIATING
_BUS = r"GPU(?:\d{1,4}:)? ?(?P<device>[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F]{2}\.\d)"
_HANDLE = "Unable to determine the device handle"
_LOST = ("`dmesg | grep -i -e xid -e 'fallen off'` there; reboot, and take the GPU out of service if it comes again",)
_DRIVER = ("`cat /proc/driver/nvidia/version` against `modinfo nvidia` there; reload the driver after an update",)

ROWS = (
    Known("nvidia.lost", _HANDLE, rf"{_HANDLE} for {_BUS}: (?P<why>[\w ]{{3,40}})", _OWN,
          "the GPU {device} does not answer: {why}", "device", "device", _LOST),
    Known("nvidia.lost", "GPU is lost", r"\bGPU is lost\b", _OWN, "a GPU does not answer any more",
          "device", "device", _LOST, unless=_HANDLE),
    Known("nvidia.version", "version mismatch",
          r"(?i)(?:NVML: Driver/library version mismatch|detected an NVML/RM version mismatch)", _OWN,
          "the driver is another one than its library", "config", "host", _DRIVER),
    Known("nvidia.driver", "NVIDIA-SMI has failed", r"couldn't communicate with the NVIDIA driver", _OWN,
          "the driver of the GPUs is not there", "config", "host", _DRIVER),
    Known("nvidia.driver", "NVMLError_DriverNotLoaded", r"NVMLError_DriverNotLoaded", _OWN,
          "the driver of the GPUs is not there", "config", "host", _DRIVER),
    Known("nvshmem.registration", "mem registration failed", r"NULL value mem registration failed", _OWN,
          "memory of a GPU cannot be registered with the card", "config", "host",
          ("`lsmod | grep -e peermem -e gdrdrv`; `ulimit -l` inside the worker",)),
    Known("nvshmem.devices", "get_device_list failed", r"NULL value get_device_list failed", _OWN,
          "NVSHMEM sees no RDMA device", "config", "host",
          ("`ls -l /dev/infiniband` and `ibv_devinfo` inside the container",)),
)  # fmt: skip
