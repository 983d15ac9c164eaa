"""The variables of launchers, frameworks and the libraries below them: torchrun, MPI, UCX, Gloo, devices.

May import: allowed, suites.report.
"""

from __future__ import annotations

from suites.checks.environment.allowed import ANYTHING, Allowed, Variable, an_address, like, one_of, whole
from suites.report import Status

_TORCH = "PyTorch, torch.distributed"
_NO_JOB = "the ranks do not find each other with it"
_IGNORED = "it is not understood, and the default is used instead"


def _rank(name: str, allowed: Allowed, source: str = _TORCH) -> Variable:
    return Variable(name, allowed, _NO_JOB, Status.FAIL, source)


def _other(name: str, allowed: Allowed, source: str) -> Variable:
    return Variable(name, allowed, _IGNORED, Status.WARN, source)


LAUNCH: tuple[Variable, ...] = (
    _rank("RANK", whole(0)), _rank("LOCAL_RANK", whole(0)), _rank("WORLD_SIZE", whole(1)),
    _rank("LOCAL_WORLD_SIZE", whole(1)), _rank("GROUP_RANK", whole(0)), _rank("NODE_RANK", whole(0)),
    _rank("NNODES", like(r"[1-9][0-9]{0,6}(?::[1-9][0-9]{0,6})?", "a number of nodes, or MIN:MAX")),
    _rank("MASTER_ADDR", like(r"[^\s:/]+|[0-9A-Fa-f:.]+(?:%\w+)?", "a host name or an address, without a port")),
    _rank("MASTER_PORT", whole(0, 65535)),
    _rank("RANK_ID", whole(0), "HCCL user guide"), _rank("RANK_SIZE", whole(1), "HCCL user guide"),
    _rank("DEVICE_ID", whole(0), "HCCL user guide"),
    _rank("CM_CHIEF_IP", an_address(), "HCCL user guide"), _rank("CM_WORKER_IP", an_address(), "HCCL user guide"),
    _rank("CM_CHIEF_PORT", whole(0, 65520), "HCCL user guide"),
    _rank("CM_CHIEF_DEVICE", whole(0), "HCCL user guide"),
    _rank("CM_WORKER_SIZE", whole(0, 32768), "HCCL user guide"),
    _rank("SLURM_NNODES", whole(1), "srun manual"), _rank("SLURM_PROCID", whole(0), "srun manual"),
    _rank("SLURM_NTASKS", whole(1), "srun manual"),
    _rank("OMPI_COMM_WORLD_RANK", whole(0), "Open MPI"), _rank("OMPI_COMM_WORLD_SIZE", whole(1), "Open MPI"),
    _rank("OMPI_COMM_WORLD_LOCAL_RANK", whole(0), "Open MPI"),
    _rank("OMPI_COMM_WORLD_LOCAL_SIZE", whole(1), "Open MPI"),
    _rank("PMI_RANK", whole(0), "MPICH"), _rank("PMI_SIZE", whole(1), "MPICH"),
    _other("OMP_NUM_THREADS", like(r"\s*[1-9][0-9]{0,5}(?:\s*,\s*[1-9][0-9]{0,5})*\s*", "1 or more"), "OpenMP"),
    _other("CUDA_DEVICE_MAX_CONNECTIONS", whole(1, 32), "CUDA programming guide"),
    _other("CUDA_LAUNCH_BLOCKING", one_of("0", "1"), "CUDA programming guide"),
    _other("CUDA_DEVICE_ORDER", one_of("FASTEST_FIRST", "PCI_BUS_ID"), "CUDA programming guide"),
    _other("CUDA_VISIBLE_DEVICES", ANYTHING, "CUDA programming guide"),
    _other("HIP_VISIBLE_DEVICES", ANYTHING, "HIP documentation"),
    _other("ROCR_VISIBLE_DEVICES", ANYTHING, "ROCm documentation"),
    _other("HSA_FORCE_FINE_GRAIN_PCIE", one_of("0", "1"), "RCCL documentation"),
    _other("TORCH_DISTRIBUTED_DEBUG", one_of("OFF", "INFO", "DETAIL"), _TORCH),
    _other("TORCH_CPP_LOG_LEVEL", one_of("INFO", "WARNING", "ERROR", "FATAL", "0", "1", "2", "3"), _TORCH),
    _other("TORCH_NCCL_ASYNC_ERROR_HANDLING", whole(0, 3), _TORCH),
    _other("TORCH_NCCL_BLOCKING_WAIT", one_of("0", "1"), _TORCH),
    _other("TORCH_NCCL_TRACE_BUFFER_SIZE", whole(0), _TORCH),
    _other("GLOO_SOCKET_IFNAME", ANYTHING, _TORCH), _other("TP_SOCKET_IFNAME", ANYTHING, _TORCH),
    _other("UCX_LOG_LEVEL", one_of(
        "fatal", "error", "warn", "diag", "info", "debug", "trace", "req", "data", "async", "func", "poll",
    ), "UCX documentation"),
    _other("UCX_NET_DEVICES", ANYTHING, "UCX documentation"), _other("UCX_TLS", ANYTHING, "UCX documentation"),
    _other("UCX_IB_GID_INDEX", like(r"auto|[0-9]{1,3}", "auto, or the number of a GID"), "UCX documentation"),
    _other("UCX_IB_TRAFFIC_CLASS", like(r"auto|[0-9]{1,3}", "auto, or 0 to 255"), "UCX documentation"),
    _other("FI_PROVIDER", ANYTHING, "libfabric"),
    _other("FI_LOG_LEVEL", one_of("warn", "trace", "info", "debug"), "libfabric"),
    _other("I_MPI_FABRICS", like(r"shm|(?:shm:)?(?:ofi|dapl|tcp|tmi|ofa)", "shm:ofi, ofi or shm"), "Intel MPI"),
    _other("I_MPI_DEBUG", ANYTHING, "Intel MPI"),
    _other("OMPI_MCA_btl_tcp_if_include", ANYTHING, "Open MPI"),
    _other("OMPI_MCA_oob_tcp_if_include", ANYTHING, "Open MPI"),
    _other("OMPI_MCA_btl_tcp_if_exclude", ANYTHING, "Open MPI"),
    *(
        _other(name, like(r"\^?[a-z0-9_]+(?:,[a-z0-9_]+)*", "a list of components, ^ before all or none"), "Open MPI")
        for name in ("OMPI_MCA_btl", "OMPI_MCA_pml")
    ),
)  # fmt: skip
