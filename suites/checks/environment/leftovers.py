"""Values of variables that slow a job down, or make a library check and log more than a run needs. Data.

Sources: the user guides of NCCL and HCCL, which say of each what it turns off. May import: suites.report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from suites.report import Status


@dataclass(frozen=True, slots=True)
class Leftover:
    """`pattern`: the values meant, in any case. `effect` completes "NAME=value: ...". `rdma`: only where RDMA devices
    are, or may be. `unless` completes the remedy."""

    pattern: str
    effect: str
    status: Status = Status.WARN
    rdma: bool = False
    unless: str = ""
    source: str = "NCCL user guide, environment variables"

    def fits(self, value: str) -> bool:
        return re.fullmatch(self.pattern, value.strip(), re.IGNORECASE) is not None


_ON = r"[1-9][0-9]{0,9}"
_ANY = r".+"
_HCCL = "HCCL user guide, environment variables"
_CANN = "CANN reference of environment variables"
_TORCH = "PyTorch, torch.distributed"

LEFTOVERS: Mapping[str, tuple[Leftover, ...]] = {
    "NCCL_P2P_DISABLE": (
        Leftover(_ON, "GPUs of one host do not write to each other over NVLink or PCIe, but through host memory",
                 unless=": it is a work-around where the IOMMU or ACS breaks peer access"),
    ),
    "NCCL_P2P_LEVEL": (Leftover(r"LOC|0", "GPUs of one host never write to each other, but through host memory"),),
    "NCCL_SHM_DISABLE": (Leftover(_ON, "GPUs without peer access use the network inside a host"),),
    "NCCL_IB_DISABLE": (
        Leftover(_ON, "InfiniBand and RoCE are not used: traffic between hosts goes over TCP", rdma=True),
    ),
    "NCCL_NET": (Leftover(r"socket", "traffic between hosts goes over TCP and not over RDMA", rdma=True),),
    "NCCL_NET_GDR_LEVEL": (
        Leftover(r"LOC|0", "GPUDirect RDMA is off: traffic between hosts goes through host memory", rdma=True),
    ),
    "NCCL_DMABUF_ENABLE": (
        Leftover(r"0", "GPUDirect RDMA over dma-buf is off, and without nvidia_peermem it is off altogether",
                 Status.INFO, rdma=True),
    ),
    "NCCL_NVLS_ENABLE": (Leftover(r"0", "the NVSwitch does not add up by itself (NVLink SHARP)", Status.INFO),),
    "NCCL_NVB_DISABLE": (Leftover(_ON, "GPUs do not reach others over NVLink by way of a third one", Status.INFO),),
    "NCCL_PXN_DISABLE": (Leftover(_ON, "a GPU does not use the network card of another one", Status.INFO, rdma=True),),
    "NCCL_CUMEM_ENABLE": (Leftover(r"0", "buffers are not registered, and NVLink between hosts is off", Status.INFO),),
    "NCCL_ALGO": (Leftover(_ANY, "NCCL does not choose the algorithm by size and topology", Status.INFO),),
    "NCCL_PROTO": (Leftover(_ANY, "NCCL does not choose the protocol by size", Status.INFO),),
    "NCCL_MAX_NCHANNELS": (Leftover(r"[1-3]", "so few channels do not fill the links", Status.INFO),),
    "NCCL_MAX_CTAS": (Leftover(r"[1-3]", "so few channels do not fill the links", Status.INFO),),
    "NCCL_CHECK_POINTERS": (Leftover(_ON, "every call checks its pointers", Status.INFO),),
    "NCCL_CHECK_MODE": (Leftover(r"DEBUG_\w+", "every call checks its arguments", Status.INFO),),
    "NCCL_LAUNCH_MODE": (Leftover(r"GROUP", "kernels of one process are started together", Status.INFO),),
    "NCCL_DEBUG": (Leftover(r"INFO|TRACE", "every rank logs what it does", Status.INFO),),
    "HCCL_INTER_HCCS_DISABLE": (
        Leftover(r"TRUE", "servers of a super-pod talk over RoCE and not over HCCS", source=_HCCL),
    ),
    "HCCL_INTRA_ROCE_ENABLE": (
        Leftover(r"1", "NPUs of one server talk over RoCE and not over PCIe or HCCS", source=_HCCL,
                 unless=", as LLM-DataDist does"),
    ),
    "HCCL_ALGO": (Leftover(_ANY, "HCCL does not choose the algorithm by size", Status.INFO, source=_HCCL),),
    "HCCL_DETERMINISTIC": (
        Leftover(r"true|strict", "results are bitwise the same each time, at the cost of bandwidth", Status.INFO,
                 source=_HCCL),
    ),
    "HCCL_DIAGNOSE_ENABLE": (Leftover(r"1", "HCCL keeps details of every task", Status.INFO, source=_HCCL),),
    "HCCL_ENTRY_LOG_ENABLE": (Leftover(r"1", "every collective is logged", Status.INFO, source=_HCCL),),
    "HCCL_DFS_CONFIG": (
        Leftover(r".*:off.*", "HCCL does not look for the rank that hangs, so that a hang names nobody", Status.INFO,
                 source=_HCCL),
    ),
    "HCCL_EXEC_TIMEOUT": (
        Leftover(r"[1-9][0-9]{0,2}(?:\.[0-9]+)?", "a rank that writes a checkpoint for longer ends the job with EI0002",
                 Status.INFO, source=_HCCL),
    ),
    "ASCEND_GLOBAL_LOG_LEVEL": (Leftover(r"[01]", "CANN logs every step, which slows each call", source=_CANN),),
    "ASCEND_LAUNCH_BLOCKING": (
        Leftover(r"1", "operators run one after the other, communication with them", source=_CANN),
    ),
    "CUDA_LAUNCH_BLOCKING": (
        Leftover(r"1", "kernels run one after the other, communication with them", source="CUDA programming guide"),
    ),
    "TORCH_DISTRIBUTED_DEBUG": (
        Leftover(r"DETAIL", "every collective is first compared between all ranks", source=_TORCH),
    ),
    "TORCH_NCCL_BLOCKING_WAIT": (Leftover(r"1", "each collective blocks the process", Status.INFO, source=_TORCH),),
}  # fmt: skip
