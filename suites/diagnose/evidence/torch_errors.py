"""What PyTorch prints of errors: of its process groups, its store, NCCL below it, and the device.

Rows of known texts, from torch/csrc/distributed/c10d/{ProcessGroupNCCL,NCCLUtils,socket,TCPStore,reducer}.cpp,
torch/csrc/cuda and c10/cuda of PyTorch, and of the server of vLLM. What NCCL says itself below "Last error:" is read
by the reader of NCCL's texts.
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level


def _of_nccl(wakes: str, pattern: str) -> Known:
    """As vLLM, CuPy, XLA and PyTorch of old tell it."""
    return Known(
        "torch.nccl_error", wakes, pattern, Level.CASCADE, "a call of NCCL failed: {why}",
        remedy=("NCCL_DEBUG=WARN on all ranks: the first WARN line says which call",), unless="NCCL WARN",
    )  # fmt: skip


GROUPS = (
    Known(
        "torch.heartbeat", "'s watchdog got stuck for", r"watchdog got stuck for (?P<seconds>\d{1,9}) seconds",
        Level.TIMEOUT,
        "its watchdog did nothing for {seconds} s: a call into the device, Python's lock, or what follows from a peer",
        remedy=("py-spy dump --nonblocking --pid PID of this rank, before it ends",),
    ),
    Known(
        "torch.heartbeat", "Heartbeat monitor timed out", r"Heartbeat monitor timed out", Level.TIMEOUT,
        "its watchdog did nothing: a call into the device, Python's lock, or what follows from a peer",
    ),
    Known(
        "torch.gil", "Could not acquire GIL within", r"Could not acquire GIL within", Level.TIMEOUT,
        "another thread of it held Python's lock",
        remedy=("py-spy dump --nonblocking --pid PID of this rank: the thread marked active+gil",),
    ),
    Known(
        "torch.watchdog_ended", "watchdog thread terminated with exception",
        r"watchdog thread terminated with exception", Level.TEARDOWN,
        "its watchdog ends the process after what it said before",
    ),
    Known(
        "torch.taking_down", "have failed or timed out. Due to the asynchronous nature",
        r"operations have failed or timed out", Level.TEARDOWN, "calls have failed before: the process is ended",
    ),
    Known(
        "torch.taking_down", "taking the entire process down", r"taking the entire process down", Level.TEARDOWN,
        "calls have failed before: the process is ended",
    ),
    Known(
        "torch.dump_signal", "Received a dump signal due to", r"Received a dump signal due to",
        Level.CASCADE, "it is told to write a flight recorder dump, since a rank has timed out",
        remedy=("collect the flight recorder dumps of all ranks: TORCH_NCCL_DEBUG_INFO_TEMP_FILE says where they are",),
    ),
    Known(
        "torch.dump_signal", "Observed flight recorder dump signal from another rank",
        r"Observed flight recorder dump signal", Level.CASCADE,
        "it is told to write a flight recorder dump, since a rank has timed out",
    ),
    Known(
        "torch.terminating", "Terminating the process after attempting to dump debug info",
        r"Terminating the process after attempting to dump", Level.TEARDOWN, "the process is ended after a time-out",
    ),
    Known(
        "torch.aborted", "communicator was aborted", r"[NHXM]CCL communicator was aborted", Level.CASCADE,
        "its communicator was given up after an error",
    ),
    Known(
        "torch.remote_error", "remote process exited or there was",
        r"[NHXM]CCL error in.{0,400}remote process exited or there was a network error", Level.CASCADE,
        "a peer of it is gone, or not reached",
    ),
    Known(
        "torch.remote_error", "ncclRemoteError", r"ncclRemoteError", Level.CASCADE,
        "a peer has ended, or the way to it",
    ),
    Known(
        "torch.nccl_system", "ncclSystemError", r"ncclSystemError", Level.CASCADE,
        "a call of NCCL into the system, or to a peer, failed",
        remedy=("NCCL_DEBUG=WARN on all ranks: the first WARN line says which call",),
    ),
    Known(
        "torch.nccl_invalid", "ncclInvalidUsage", r"ncclInvalidUsage", Level.CASCADE,
        "NCCL refused how it was called",
        remedy=("NCCL_DEBUG=WARN on all ranks: two ranks on one device, or different versions, are frequent reasons",),
    ),
    Known(
        "torch.nccl_device", "ncclUnhandledCudaError", r"ncclUnhandledCudaError", Level.CASCADE,
        "a call of NCCL into CUDA failed",
        remedy=("NCCL_DEBUG=WARN on all ranks: the WARN line before it names the CUDA error",),
    ),
    _of_nccl("NCCL error: ", r"\bNCCL error: (?P<why>[\w ]{3,80})"),
    _of_nccl("NCCL Error ", r"\bNCCL Error \d{1,2}: (?P<why>[\w ]{3,80})"),
    _of_nccl("NCCL operation ", r"\bNCCL operation .{1,300} failed: (?P<why>[\w ]{3,80})"),
    _of_nccl("NCCL_ERROR_", r"\bNCCL_ERROR_(?P<why>[A-Z_]{3,60})"),
    Known(
        "torch.ddp_sizes", "appears not to match",
        r"in this process with (?:sizes|strides) \[.{0,300}appears not to match",
        Level.CASCADE,
        "DDP's check of the parameters differs from rank 0's: it may have read what never came",
        remedy=("if no time-out stands before it: compare the model on this rank with rank 0's",),
    ),
    Known(
        "torch.ddp_counts", "DDP expects same model across all ranks",
        r"Rank (?P<one>\d{1,7}) has (?P<own>[1-9]\d{0,5}) params, while rank (?P<other>\d{1,7}) has inconsistent "
        r"(?P<its>[1-9]\d{0,5}) params", Level.INITIATING,
        "ranks have different models: rank {one} has {own} parameters for DDP, rank {other} has {its}", "mismatch",
        remedy=("what depends on the rank where the model is built, or which of its parameters are trained",),
    ),
    Known(
        "torch.ddp_parameters", "DDP expects same model across all ranks", r"DDP expects same model across all ranks",
        Level.CASCADE, "DDP's check of the parameters differs from rank 0's: it may have read what never came",
    ),
    Known(
        "vllm.engine", "EngineDeadError", r"\bEngineDeadError\b", Level.CASCADE, "vLLM's engine has ended",
        remedy=("the first error that EngineCore and its workers tell, before this",),
    ),
    Known(
        "vllm.custom_allreduce", "custom_all_reduce.cuh",
        r"Cuda error \S{0,200}custom_all_reduce\.cuh:\d{1,6} '(?P<why>(?:invalid|peer|operation not) [\w ]{3,60})'",
        Level.TRANSPORT, "GPUs of its host cannot open each other's memory: {why}", "transport",
        "speaker",
        ("--disable-custom-all-reduce as a test; `nvidia-smi topo -p2p r` there",
         "no expandable_segments in PYTORCH_CUDA_ALLOC_CONF: such memory cannot be shared so"),
    ),
    Known(
        "vllm.no_block", "No available shared memory broadcast block", r"No available shared memory broadcast block",
        Level.CASCADE, "a worker has not taken what the engine gave it: it hangs, or is busy",
        remedy=("look for the worker that makes no progress: py-spy dump --nonblocking of each",),
    ),
)  # fmt: skip
"""Of process groups, and of who uses them. All but the counts of DDP are consequences; a count of none, or of more than
a model has, has come from a call that failed."""


def _in_use(wakes: str, pattern: str) -> Known:
    return Known(
        "torch.port_in_use", wakes, pattern, Level.INITIATING, "the port of the store, {port}, is used already",
        "resource", "speaker",
        ("`ss -ltnp | grep {port}`: end what is left of an earlier job, or choose another MASTER_PORT",),
        unless="ignoring the error",
    )  # fmt: skip


STORE = (
    _in_use("EADDRINUSE", r"port: (?P<port>\d{1,6}).{0,300}EADDRINUSE"),
    _in_use("EADDRINUSE", r":(?P<port>\d{1,6})\b.{0,300}EADDRINUSE"),
    _in_use("another process is utilizing it", r"communication on port `?(?P<port>\d{1,6})`?, but another process"),
    Known(
        "torch.port_in_use", "Address already in use",
        r"^(?:RuntimeError|OSError): (?:\[Errno 98\] )?Address already in use", Level.INITIATING,
        "the port that it should listen on is used already", "resource", "speaker",
        ("`ss -ltnp`: end what is left of an earlier job, or choose another MASTER_PORT",),
    ),
    _in_use("server socket has failed to bind to", r"failed to bind to \S{1,100}:(?P<port>\d{1,6}) \(errno: 98"),
    Known(
        "torch.store_gone", "Connection was likely closed. Did the remote server shutdown",
        r"Connection was likely closed\. Did the remote server", Level.CASCADE,
        "the store is gone, and with it the process of rank 0", remedy=("why the process of rank 0 has ended",),
    ),
    Known(
        "torch.store_gone", "sendBytes failed on", r"sendBytes failed on SocketImpl\(.{0,300}(?:Broken pipe|reset)",
        Level.CASCADE, "the store is gone, and with it the process of rank 0",
    ),
    Known(
        "torch.store_gone", "got error: Connection reset by peer", r"store->get\(.{0,100}Connection reset by peer",
        Level.CASCADE, "the store is gone, and with it the process of rank 0",
    ),
    Known(
        "torch.store_gone", "got error: Broken pipe", r"store->get\(.{0,100}Broken pipe", Level.CASCADE,
        "the store is gone, and with it the process of rank 0",
    ),
    Known(
        "torch.store_wait", "waitForInput: socket", r"waitForInput: socket .{0,300}timed out after", Level.TIMEOUT,
        "an answer of the store did not come in time",
    ),
    Known(
        "torch.store_wait", "Socket Timeout", r"(?:RuntimeError|DistStoreError|DistNetworkError): Socket Timeout",
        Level.TIMEOUT, "an answer of the store did not come in time",
    ),
    Known(
        "torch.rendezvous_late", "RendezvousTimeoutError", r"\bRendezvousTimeoutError\b", Level.TIMEOUT,
        "not enough nodes came to torchrun's rendezvous in time",
        remedy=("on which hosts torchrun runs, against its --nnodes; the same --rdzv-id and --rdzv-endpoint on all",),
    ),
    Known(
        "torch.rendezvous_lost", "RendezvousConnectionError", r"\bRendezvousConnectionError\b", Level.CASCADE,
        "the store of torchrun's rendezvous cannot be reached, or is gone with the node that held it",
        remedy=("whether torchrun runs on the host of --rdzv-endpoint, and why it ended; `nc -vz` to it from here",),
    ),
    Known(
        "torch.rendezvous_closed", "RendezvousClosedError", r"\bRendezvousClosedError\b", Level.CASCADE,
        "torchrun's rendezvous was closed: on other nodes the job had failed or ended before",
        remedy=("which node failed first: the log of torchrun on each",),
    ),
    Known(
        "torch.clients", "clients joined", r"waiting for clients\. (?P<came>\d{1,7})/(?P<size>\d{1,7}) clients joined",
        Level.TIMEOUT, "{came} of {size} processes came to the store",
        remedy=("which hosts have not started their ranks: one log a rank, from the launcher",),
    ),
)  # fmt: skip
"""Of the store."""

DEVICE = (
    Known(
        "cuda.ecc", "uncorrectable ECC error", r"CUDA error: uncorrectable ECC error", Level.INITIATING,
        "the memory of its GPU has failed", "device", "device",
        ("`nvidia-smi -q -d ECC`, `dmesg | grep -i xid` on its host", "take the GPU out of service"),
    ),
    Known(
        "cuda.unknown", "CUDA error: unknown error", r"CUDA error: unknown error", Level.INITIATING,
        "its GPU, or the driver of it, has failed", "device", "device",
        ("`dmesg | grep -i -e xid -e nvrm` and `nvidia-smi` on its host",),
    ),
    Known(
        "cuda.fabric", "system not yet initialized", r"CUDA error: system not yet initialized", Level.INITIATING,
        "the NVSwitches of its host are not set up", "config", "host",
        ("`systemctl status nvidia-fabricmanager` on its host: it must run, in the version of the driver",),
    ),
    Known(
        "cuda.busy", "busy or unavailable", r"CUDA-capable device(?:\(s\) is/|s )are busy or unavailable",
        Level.INITIATING,
        "its GPU is held by another process, or has failed", "resource", "speaker",
        ("`nvidia-smi` there: processes, and the compute mode (exclusive)",),
        "NCCL WARN",  # which tells its process too
    ),
    Known(
        "cuda.nvlink", "uncorrectable NVLink error", r"CUDA error: uncorrectable NVLink error", Level.INITIATING,
        "an NVLink of its GPU has failed", "device", "device", ("`nvidia-smi nvlink -e` on its host",),
    ),
    Known(
        "cuda.assert", "device-side assert triggered", r"device-side assert triggered", Level.INITIATING,
        "a kernel of the program stopped: an index out of range, for instance", "crashed", "speaker",
        ("run again with CUDA_LAUNCH_BLOCKING=1: the traceback then names the operation",),
    ),
    Known(
        "cuda.access", "an illegal memory access was encountered", r"an illegal memory access was encountered",
        Level.INITIATING, "a kernel read or wrote where it must not", "crashed", "speaker",
        ("run again with CUDA_LAUNCH_BLOCKING=1",
         "`dmesg | grep -i xid` on its host: Xid 31 is the program, others the GPU"),
        "NCCL WARN",  # which tells its process too
    ),
    Known(
        "torch.assert", "INTERNAL ASSERT FAILED at", r"INTERNAL ASSERT FAILED at", Level.INITIATING,
        "PyTorch met what it holds to be impossible: a fault of its own", "crashed", "speaker",
        ("other versions of PyTorch; what it was asked to trace or check (TORCH_NCCL_DESYNC_DEBUG and the like)",),
    ),
    Known(
        "cuda.launch", "unspecified launch failure", r"CUDA error: unspecified launch failure", Level.INITIATING,
        "a kernel broke down", "crashed", "speaker", ("`dmesg | grep -i xid` on its host",),
    ),
    Known(
        "cuda.ordinal", "invalid device ordinal", r"CUDA error: invalid device ordinal", Level.INITIATING,
        "it was given a GPU that its host does not have", "config", "speaker",
        ("ranks on this host against `nvidia-smi -L` and CUDA_VISIBLE_DEVICES",),
    ),
    Known(
        "cuda.none", "no CUDA-capable device is detected", r"no CUDA-capable device is detected", Level.INITIATING,
        "it sees no GPU", "config", "speaker", ("CUDA_VISIBLE_DEVICES, the container's devices, `nvidia-smi` there",),
        " failure ",  # of NCCL, or its benchmark, which tell the host too
    ),
    Known(
        "cuda.memory_absurd", "CUDA out of memory", r"Tried to allocate (?:\d{5,}(?:\.\d+)? GiB|\d{4,}\.\d+ GiB|"
        r"[\d.]+ [TPE]iB)", Level.CASCADE,
        "it wanted more memory than any GPU has: a size that was received is wrong",
        remedy=("the sizes that ranks tell each other before this: they come from a call that failed, or differ",),
    ),
    Known(
        "cuda.memory_overcome", "CUDA out of memory",
        r"(?i)\bcaught\b.{0,200}CUDA out of memory|CUDA out of memory.{0,400}(?:\bskip(?:ping|ped)|\bretry(?:ing)?)\b",
        Level.TRANSPORT, "the memory of its GPU was full, and its program means to go on", "resource", "speaker",
        ("what skips a batch on one rank alone leaves the others waiting: a smaller batch",),
    ),
    Known(
        "cuda.memory", "CUDA out of memory", r"CUDA out of memory", Level.INITIATING, "the memory of its GPU is full",
        "resource", "speaker", ("`nvidia-smi` there: other processes on the GPU; then a smaller batch",),
    ),
    Known(
        "cuda.memory", "CUDA error: out of memory", r"CUDA error: out of memory", Level.INITIATING,
        "the memory of its GPU is full", "resource", "speaker",
        ("`nvidia-smi` there: other processes on the GPU; then a smaller batch",),
    ),
    Known(
        "npu.memory", "NPU out of memory", r"NPU out of memory", Level.INITIATING, "the memory of its NPU is full",
        "resource", "speaker", ("`npu-smi info` there: other processes on the NPU; then a smaller batch",),
    ),
    Known(
        "torch.loader_bus_error", "DataLoader worker",
        r"DataLoader worker \(pid(?:\(s\))? \d[\d, ]{0,80}\) is killed by signal: Bus error",
        Level.INITIATING, "a worker of its data loader found /dev/shm full", "resource", "speaker",
        ("`df -h /dev/shm` inside the worker; `--shm-size=1g` or more, for a container",),
    ),
    Known(
        "torch.loader_ended", "DataLoader worker",
        r"DataLoader worker \(pid(?:\(s\))? \d[\d, ]{0,80}\) "
        r"(?:is killed by signal: (?P<why>[\w ]{1,40})|exited unexpectedly)",
        Level.INITIATING, "a worker of its data loader has ended", "crashed", "speaker",
        ("`dmesg | grep -i oom` on its host; num_workers=0 shows what the worker raised",),
    ),
)  # fmt: skip
"""Of the device of the speaker, and of what feeds it."""
