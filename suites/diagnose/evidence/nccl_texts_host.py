"""What NCCL and RCCL warn of that lies within a host: drivers, GPUs, NVLink, shared memory, limits, topology, usage.

Texts are those of NCCL's src (transport/p2p.cc, transport/nvls.cc, mnnvl.cc, misc/shmutils.cc, misc/nvmlwrap.cc,
misc/argcheck.cc, graph/xml.cc, graph/paths.cc, proxy.cc, init.cc), of RCCL's, and of CUDA. May import: facts, known.
"""

from __future__ import annotations

from collections.abc import Mapping

from suites.diagnose.evidence.known import About, Known
from suites.diagnose.facts import Class, Level

_MANAGER = (
    "`systemctl status nvidia-fabricmanager` there: it must run, in the version of the driver",
    "reset the GPUs, or reboot, if the fabric manager was started again",
)
_PEERS = (
    "each container must see all GPUs of its ranks' neighbours; `nvidia-smi topo -p2p r`; NCCL_P2P_DISABLE=1 as a test",
)
_TREE = ("/sys/class/pci_bus and /sys/devices inside the container; NCCL_TOPO_FILE for a machine that hides its tree",)
_SHM = ("`df -h /dev/shm` inside the worker; `--shm-size=1g` or more, for a container",)
_MULTICAST = "NVLink SHARP (NVLS) cannot be set up: the fabric manager, or the NVSwitches"


def _cuda(name: str, wakes: str, pattern: str, what: str, cause: Class, about: About, *remedy: str) -> Known:
    return Known(name, wakes, rf"(?i)(?:cuda|hip) failure.{{0,40}}(?:{pattern})", Level.INITIATING, what, cause, about,
                 remedy)  # fmt: skip


ROWS: tuple[Known, ...] = (
    _cuda("cuda.fabric", "not yet initialized", "system not yet initialized", "the NVSwitches are not set up", "config",
          "host", *_MANAGER),
    _cuda("cuda.driver", "driver", "driver version is insufficient|unsupported display driver|driver/library version|"
          "driver is a stub|not supported in the installed CUDA driver",
          "the driver is too old, or another one than its library", "config", "host",
          "`nvidia-smi` there: the driver's version against that of CUDA; reload it after an update"),
    _cuda("cuda.platform", "", "forward compatibility was attempted|OS call failed or operation not supported",
          "the driver, or the operating system, does not support what NCCL asks for", "config", "host",
          "`nvidia-smi` there: the driver's version against that of CUDA; NCCL_CUMEM_ENABLE=0 as a test"),
    _cuda("cuda.build", "", "no kernel image|named symbol not found|unsupported toolchain|invalid device function",
          "NCCL was not built for this GPU", "config", "host",
          "the versions of NCCL and CUDA against the GPU's compute capability"),
    _cuda("cuda.none", "no CUDA-capable device", "no CUDA-capable device", "it sees no GPU", "config", "speaker",
          "CUDA_VISIBLE_DEVICES, the container's devices, `nvidia-smi` there"),
    _cuda("cuda.busy", "busy or unavailable", "busy or unavailable",
          "its GPU is held by another process, or has failed", "resource", "speaker",
          "`nvidia-smi` there: processes, and the compute mode (exclusive)"),
    _cuda("cuda.peers", "peer ", "peer (?:access is not supported|mapping resources)",
          "GPUs cannot reach each other's memory", "transport", "host", *_PEERS),
    _cuda("cuda.nvlink", "NVLink error", "uncorrectable NVLink error", "an NVLink of its GPU has failed", "device",
          "device", "`nvidia-smi nvlink -e` there"),
    _cuda("cuda.unknown", "unknown error", "unknown error", "its GPU, or the driver of it, has failed", "device",
          "device", "`dmesg | grep -i -e xid -e nvrm` and `nvidia-smi` there"),
    Known("nccl.peer_memory", "pen ", r"failed to open \w{3,5} IPC handle ?: (?:\d{1,4} )?(?P<why>[\w ]{1,80})",
          Level.TRANSPORT, "the memory of a neighbour's GPU cannot be opened: {why}", "transport", "host", _PEERS),
    Known("nccl.peer_memory", "IpcGetMemHandle", r"IpcGetMemHandle\w*(?:\(\))? failed ?: (?P<why>[\w ]{1,80})",
          Level.TRANSPORT, "the memory of a GPU cannot be shared with a neighbour: {why}", "transport", "host", _PEERS),
    Known("nccl.multicast", "Multicast", r"Failed to (?:bind|\w{3,12}) NVLink SHARP", Level.INITIATING,
          _MULTICAST, "config", "host", (*_MANAGER, "NCCL_NVLS_ENABLE=0 does without")),
    Known("nccl.imex", "MNNVL", r"MNNVL .{0,60}(?:not working|not supported)", Level.INITIATING,
          "NVLink between hosts cannot be used: IMEX", "config", "host",
          ("`nvidia-imex-ctl -N`, and /dev/nvidia-caps-imex-channels inside the container",
           "NCCL_MNNVL_ENABLE=0 does without")),
    Known("nccl.shm_full", "ftruncate", r"ftruncate failed.{0,40}No space left", Level.INITIATING, "/dev/shm is full",
          "resource", "host", _SHM),
    Known("nccl.shm_full", "failed to extend /dev/shm",
          r"failed to extend /dev/shm/\S{1,100} to \d{1,20} bytes(?:\s*$|, error: (?:Cannot allocate|Disk quota))",
          Level.INITIATING, "/dev/shm is full", "resource", "host", _SHM),
    Known("nccl.shm_closed", "shared memory segment", r"Error while creating shared memory .{0,300}Permission denied",
          Level.INITIATING, "/dev/shm may not be written to", "config", "host",
          ("`ls -ld /dev/shm` inside the worker; files there that an earlier job of another user has left",)),
    Known("nccl.shm_gone", "attaching to shared memory", r"Error while attaching to shared memory segment",
          Level.TRANSPORT, "what a rank of the same host put into /dev/shm is not there", "config", "host",
          ("containers of one host: one /dev/shm for all (`--ipc=host`), or host names that differ",
           "whether that rank is still there")),
    Known("nccl.threads", "pthread_create", r"pthread_create\w* failed", Level.INITIATING,
          "no thread can be started: a limit of processes is reached", "resource", "host",
          ("`ulimit -u` and the cgroup's pids.max inside the worker",)),
    Known("nccl.memory", "ailed", r"(?:Call to (?:mmap|malloc|calloc|posix_memalign|shm_open) failed.{0,40}(?:Cannot "
          r"allocate|No space)|Failed to (?:malloc|calloc|mmap) \d)", Level.INITIATING, "no memory is left on the host",
          "resource", "host", ("`free -g`, the cgroup's memory.max, `dmesg | grep -i oom` there",)),
    Known("nccl.tree", "", r"Could not find real path of|Failed to find reverse path from|Attribute \w{1,40} of node "
          r"\w{1,40} not found|unable to find GPU/CPU for|Could not find (?:NET|GPU|CPU|NIC) with id",
          Level.INITIATING, "NCCL does not find out how GPUs and cards are attached", "config", "host",
          _TREE),
    Known("nccl.nvml", "ersion mismatch", r"(?i)nvml.{0,60}failed ?: Driver/library version mismatch", Level.INITIATING,
          "the driver is another one than its library", "config", "host", ("reboot, or reload the driver",)),
    Known("nccl.no_driver", "Failed to open lib", r"Failed to open lib(?:nvidia-ml|cuda|amdhip64|rocm_smi64)\b",
          Level.INITIATING, "a library of the driver is not found", "config", "host",
          ("the container's runtime (`--gpus all`), LD_LIBRARY_PATH",)),
    Known("nccl.argument", " : ", r"^(?:WARN )?(?P<op>\w{3,40}) : (?:invalid (?P<what>root|type|reduction operation)\b|"
          r"\w{1,40} (?:argument is NULL|is not a valid pointer))", Level.INITIATING,
          "{op} was called with an argument that cannot be", "crashed", "speaker",
          ("the call: rank, root and type of it, against the communicator's size",)),
    Known("nccl.config", "NCCL_CONFIG_INITIALIZER", r"not initialized via NCCL_CONFIG_INITIALIZER", Level.INITIATING,
          "the program was built for another NCCL than it loads", "config", "speaker",
          ("`ldd` of the program, LD_LIBRARY_PATH: one NCCL",)),
    Known("nccl.destroyed", "comm", r"comm \S{3,40} has already been destroyed|corrupted comm object detected",
          Level.CASCADE, "a communicator was used after its end"),
    Known("nccl.proxy", "[Service thread]", r"\[Service thread\] (?:Accept failed|Could not|Error)", Level.CASCADE,
          "what was asked of a proxy failed, for a reason said before"),
    Known("nccl.proxy", "Proxy Call to rank", r"Proxy Call to rank \d{1,9} failed", Level.CASCADE,
          "what was asked of a proxy failed, for a reason said before"),
    Known("nccl.proxy", "Socket recv failed", r"Socket recv failed", Level.CASCADE,
          "what was asked of a proxy failed, for a reason said before"),
    Known("nccl.accept", "Accept failed", r"Accept failed", Level.CASCADE, "a connection was not taken"),
    Known("nccl.no_gpu_memory", "Failed to C", r"Failed to (?:CUDA|Cuda) (?:\w{1,6} )?(?:calloc|malloc|alloc)",
          Level.CASCADE, "memory of a GPU could not be had, for the reason said before"),
    Known("rccl.setting", "Missing ",
          r'Missing "(?P<setting>[^"]{1,60})" from (?P<where>kernel command line|environment)',
          Level.INITIATING, "RCCL asks for {setting} in the {where}", remedy=("set {setting} in the {where}",)),
    Known("rccl.balancing", "NUMA auto", r"NUMA auto \w{5,12} enabled", Level.INITIATING,
          "NUMA balancing is on", remedy=("`sysctl kernel.numa_balancing=0`",)),
)  # fmt: skip

BY_SOURCE: Mapping[str, tuple[Known, ...]] = {
    "nvls": (
        _cuda("nccl.multicast", "", r"invalid (?:argument|value)|operation not (?:supported|permitted)|present state",
              _MULTICAST, "config", "host", *_MANAGER, "NCCL_NVLS_ENABLE=0 does without"),
    ),
    "p2p": (
        _cuda("nccl.peer_memory", "", "invalid (?:argument|device ordinal|resource handle)|operation not (?:supported|"
              "permitted)", "the memory of a neighbour's GPU cannot be opened", "transport", "host", *_PEERS),
    ),
}  # fmt: skip
"""What a text that says little means in the file of NCCL's source that it comes from."""

HARMLESS = (
    "Failed to open libibverbs.so", "Cannot get incoming CPU", "Maximum retry reached for", "GID table change",
    "port active", "client reregistration", "LID change", "SM change", "last WQE reached", "communication established",
)  # fmt: skip
"""Warnings of what is as it may be: a host without InfiniBand, an event that needs nothing."""
