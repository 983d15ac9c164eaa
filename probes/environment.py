"""The environment variables that steer communication, as they are set here; secrets by name only. And what
NCCL's file of settings has for those that are not set.

May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes.host import Host

HIDDEN = "(hidden)"

NCCL_FILE = "/etc/nccl.conf"
_PREFIXES = (
    "NCCL_", "HCCL_", "HCOMM_", "RCCL_", "ASCEND_", "GLOO_", "UCX_", "OMPI_", "PRTE_", "MPICH_", "I_MPI_", "MV2_",
    "FI_", "HSA_", "ROCR_", "TORCH_NCCL_", "TORCH_HCCL_", "TORCH_GLOO_", "CM_CHIEF_", "CM_WORKER_", "CANN_",
    "OFI_NCCL_", "MASTER_", "CUDA_VISIBLE", "HIP_VISIBLE",
)  # fmt: skip
_NAMES = frozenset({
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "NNODES", "NPROC_PER_NODE",
    "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "RANK_ID", "RANK_SIZE", "DEVICE_ID", "RANK_TABLE_FILE", "OMP_NUM_THREADS",
    "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "TORCH_DISTRIBUTED_DEBUG", "TORCH_CPP_LOG_LEVEL", "TP_SOCKET_IFNAME",
    "MS_WORKER_NUM", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_ROLE", "MS_NODE_ID", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES",
    "SLURM_NNODES", "SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE", "SLURM_JOB_NODELIST", "SLURM_JOB_CPUS_PER_NODE", "SLURM_CPUS_PER_TASK",
    "SLURM_GPUS_ON_NODE", "SLURM_MEM_PER_NODE", "SLURM_CPU_BIND",
})  # fmt: skip
_SECRET = re.compile("TOKEN|SECRET|PASSW|PASSPHRASE|PSK|KEY|CREDENTIAL|AUTH", re.IGNORECASE)
_USER_OF_URL = re.compile(r"://[^/\s@]*(?:@[^/\s@]*)*@")
"""Up to the last @ before the path, since a password may hold one."""


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """`variables` by name, sorted. `told`: a process has an environment, whatever is in it, while a recording may have
    none. `nccl_file`: what /etc/nccl.conf sets for every process that does not set it itself;
    None where there is no such file."""

    variables: Mapping[str, str]
    told: bool
    nccl_file: Mapping[str, str] | None


def read(host: Host) -> EnvironmentFacts:
    text = host.read(NCCL_FILE)
    environ = host.environ
    return EnvironmentFacts(relevant(environ), bool(environ), None if text is None else parse_settings(text))


def parse_settings(text: str) -> dict[str, str]:
    """Lines `NAME=value`, sorted by name; those that begin with `#` are comments."""
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    found = {name.strip(): value.strip() for name, equals, value in pairs if equals and name.strip()}
    return {name: shown(name, found[name]) for name in sorted(found)}


def relevant(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: shown(name, environ[name]) for name in sorted(environ) if is_relevant(name)}


def is_relevant(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES)


def shown(name: str, value: str) -> str:
    """The value as it may be printed and recorded: nothing of a secret, and no user of a URL."""
    if _SECRET.search(name):
        return HIDDEN
    return _USER_OF_URL.sub(f"://{HIDDEN}@", value)
