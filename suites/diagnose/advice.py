"""What to collect of a hanging job, and how it is switched on: for torch, NCCL, HCCL, and for any process.

Names are those of PyTorch's source (ProcessGroupNCCL.hpp, FlightRecorder.hpp), of NVIDIA's documentation of NCCL
(environment variables, RAS), of torch_npu's source, and of the documentation of CANN. May import: the standard library.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """One kind of evidence."""

    of: str
    what: str
    """It tells."""
    how: tuple[str, ...]
    """What to set before the job starts, or to run while it hangs."""


TORCH, NCCL, HCCL, ANY = "torch", "NCCL", "HCCL", "any job"

ADVICE: tuple[Advice, ...] = (
    Advice(
        TORCH,
        "flight recorder dumps, one a rank: every collective that was asked for, and which of them ended",
        (
            "TORCH_FR_BUFFER_SIZE=2000 (older torch: TORCH_NCCL_TRACE_BUFFER_SIZE)",
            "TORCH_NCCL_DUMP_ON_TIMEOUT=1",
            "TORCH_FR_DUMP_TEMP_FILE=/shared/dumps/rank_ (older torch: TORCH_NCCL_DEBUG_INFO_TEMP_FILE)",
        ),
    ),
    Advice(TORCH, "what each rank entered, checked in every call; slow", ("TORCH_DISTRIBUTED_DEBUG=DETAIL",)),
    Advice(
        NCCL,
        "the log of each process: who has met whom over what, which calls were launched, what failed first",
        ("NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,COLL,NET", "NCCL_DEBUG_FILE=/shared/logs/nccl.%h.%p"),
    ),
    Advice(
        NCCL,
        "how many calls each rank has launched, while the job hangs (NCCL 2.24 and later); twice, a minute apart",
        ("ncclras -v > ras1.txt; sleep 60; ncclras -v > ras2.txt",),
    ),
    Advice(
        HCCL,
        "the logs of all hosts: ~/ascend/log whole (debug/plog, run/plog, device-*)",
        ("ASCEND_GLOBAL_LOG_LEVEL=1", "ASCEND_PROCESS_LOG_PATH=/shared/ascend"),
    ),
    Advice(HCCL, "every call of HCCL with its group, count and type, in the run log", ("HCCL_ENTRY_LOG_ENABLE=1",)),
    Advice(
        HCCL,
        "ranks that have left or are stuck, which their neighbours notice",
        ("HCCL_DFS_CONFIG=cluster_heartbeat:on,stuck_detection:on",),
    ),
    Advice(
        HCCL,
        "flight recorder dumps of torch_npu, one a rank",
        (
            "TORCH_HCCL_TRACE_BUFFER_SIZE=2000",
            "TORCH_HCCL_DUMP_ON_TIMEOUT=1",
            "TORCH_HCCL_DEBUG_INFO_TEMP_FILE=/shared/dumps/rank_",
        ),
    ),
    Advice(
        ANY,
        "where each process stands, while the job hangs; on every host",
        ("py-spy dump --nonblocking --pid PID > rank_N.stack",),
    ),
    Advice(ANY, "all that the ranks print, with the rank at each line", ("srun --label", "torchrun --tee 3")),
)
