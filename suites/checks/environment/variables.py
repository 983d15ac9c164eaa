"""What is known of the environment variables that steer communication: which values they take, and which names nobody
reads. The tables are data; each family has a file of its own.

May import: allowed, variables_hccl, variables_nccl, variables_launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from suites.checks.environment.allowed import Variable
from suites.checks.environment.variables_hccl import HCCL, HCCL_OTHERS
from suites.checks.environment.variables_launch import LAUNCH
from suites.checks.environment.variables_nccl import NCCL, NCCL_OTHERS

VARIABLES: Mapping[str, Variable] = {variable.name: variable for variable in (*HCCL, *NCCL, *LAUNCH)}

UNREAD: Mapping[str, str] = {
    "CANN_DIST_LOG_LEVEL": "ASCEND_GLOBAL_LOG_LEVEL=0..4 sets the log of CANN, HCCL_ENTRY_LOG_ENABLE=1 logs calls",
    "HCCL_DEBUG": "ASCEND_GLOBAL_LOG_LEVEL=1 logs more of CANN, HCCL_DEBUG_CONFIG=alg,task,resource more of HCCL",
    "HCCL_LOG_LEVEL": "ASCEND_GLOBAL_LOG_LEVEL=0..4 sets the log of CANN, HCCL's with it",
    "HCCL_TIMEOUT": "HCCL_CONNECT_TIMEOUT waits for links, HCCL_EXEC_TIMEOUT for the other ranks of a collective",
    "HCCL_IB_HCA": "an NPU has its own port, which nothing chooses; HCCL_SOCKET_IFNAME chooses the host's interface",
    "HCCL_IB_GID_INDEX": "the port of an NPU is set by hccn_tool; HCCL_RDMA_TC and HCCL_RDMA_SL set its traffic class",
    "HCCL_IB_DISABLE": "HCCL has no other way between servers than the NPUs' ports",
    "HCCL_IB_TIMEOUT": "HCCL_RDMA_TIMEOUT",
    "HCCL_IB_TC": "HCCL_RDMA_TC",
    "HCCL_IB_SL": "HCCL_RDMA_SL",
    "HCCL_RDMA_ENABLE": "HCCL uses RDMA between servers by itself",
    "HCCL_RDMA_DEVICE": "an NPU has its own port, which nothing chooses",
    "HCCL_IFNAME": "HCCL_SOCKET_IFNAME",
    "HCCL_NET_IFNAME": "HCCL_SOCKET_IFNAME",
    "HCCL_BUFFER_SIZE": "HCCL_BUFFSIZE, in MB",
    "HCCL_BUFFERSIZE": "HCCL_BUFFSIZE, in MB",
    "HCCL_PORT_RANGE": "HCCL_HOST_SOCKET_PORT_RANGE and HCCL_NPU_SOCKET_PORT_RANGE",
    "HCCL_BASE_PORT": "HCCL_IF_BASE_PORT",
    "HCCL_VISIBLE_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_LOG_LEVEL": "ASCEND_GLOBAL_LOG_LEVEL",
    "ASCEND_RANK_TABLE_FILE": "RANK_TABLE_FILE",
    "NCCL_DEBUG_LEVEL": "NCCL_DEBUG=VERSION|WARN|INFO|TRACE",
    "NCCL_LOG_LEVEL": "NCCL_DEBUG=VERSION|WARN|INFO|TRACE",
    "NCCL_DEBUG_SUBSYSTEM": "NCCL_DEBUG_SUBSYS",
    "NCCL_IFNAME": "NCCL_SOCKET_IFNAME",
    "NCCL_NET_IFNAME": "NCCL_SOCKET_IFNAME",
    "NCCL_IB_IFNAME": "NCCL_IB_HCA chooses RDMA devices, NCCL_SOCKET_IFNAME interfaces",
    "NCCL_SOCKET_INTERFACE": "NCCL_SOCKET_IFNAME",
    "NCCL_IB_DEVICE": "NCCL_IB_HCA",
    "NCCL_IB_DEVICES": "NCCL_IB_HCA",
    "NCCL_HCA": "NCCL_IB_HCA",
    "NCCL_GID_INDEX": "NCCL_IB_GID_INDEX",
    "NCCL_IB_ENABLE": "NCCL_IB_DISABLE=0, which is the default",
    "NCCL_P2P_ENABLE": "NCCL_P2P_DISABLE=0, which is the default",
    "NCCL_SHM_ENABLE": "NCCL_SHM_DISABLE=0, which is the default",
    "NCCL_BUFFER_SIZE": "NCCL_BUFFSIZE, in bytes",
    "NCCL_ALGORITHM": "NCCL_ALGO",
    "NCCL_PROTOCOL": "NCCL_PROTO",
    "NCCL_TIMEOUT": "the timeout is an argument of torch.distributed.init_process_group",
    "NCCL_IB_GDR_LEVEL": "NCCL_NET_GDR_LEVEL, its name since NCCL 2.4",
    "NCCL_IB_CUDA_SUPPORT": "NCCL_NET_GDR_LEVEL, since NCCL 2.4",
    "NCCL_LL_THRESHOLD": "nothing since NCCL 2.5, which chooses by itself; NCCL_PROTO restricts it",
    "NCCL_TREE_THRESHOLD": "nothing since NCCL 2.5, which chooses by itself; NCCL_ALGO restricts it",
    "NCCL_SINGLE_RING_THRESHOLD": "nothing since NCCL 2.3, which chooses by itself",
    "RCCL_DEBUG": "NCCL_DEBUG, which RCCL reads too",
    "RCCL_SOCKET_IFNAME": "NCCL_SOCKET_IFNAME, which RCCL reads too",
    "RCCL_IB_HCA": "NCCL_IB_HCA, which RCCL reads too",
    "RCCL_ALGO": "NCCL_ALGO, which RCCL reads too",
    "RCCL_P2P_DISABLE": "NCCL_P2P_DISABLE, which RCCL reads too",
    "GLOO_IFNAME": "GLOO_SOCKET_IFNAME",
    "GLOO_SOCKET_NAME": "GLOO_SOCKET_IFNAME",
    "GLOO_DEBUG": "TORCH_DISTRIBUTED_DEBUG",
}
"""Names that people set and no library reads -> what works instead. Neither is among the variables of HCCL's, CANN's,
NCCL's and Gloo's documentation, or it says since when they are gone."""

_FAMILIES = frozenset({"ASCEND", "CUDA", "GLOO", "HCCL", "HCOMM", "HIP", "MASTER", "NCCL", "ROCR", "TORCH"})
"""Beginnings of names of which nearly all are known here. Of MPI's and UCX's there are hundreds more."""
_SHORTEST = 10
_LONG = 16
"""From that length on a name may have two mistakes and still be recognised."""


def meant(name: str) -> str | None:
    """The variable that a misspelt name was probably meant to be; None for one that is known, or like no other."""
    known_elsewhere = name in NCCL_OTHERS or name in HCCL_OTHERS or name.partition("_")[0] not in _FAMILIES
    if name in VARIABLES or known_elsewhere or len(name) < _SHORTEST:
        return None
    most = 2 if len(name) >= _LONG else 1
    near = [(distance(name, known, most), known) for known in _alike(name, most)]
    best = min(near, default=(most + 1, ""))
    return best[1] if 0 < best[0] <= most else None


def _alike(name: str, most: int) -> Iterator[str]:
    family = name.partition("_")[0]
    for known in VARIABLES:
        if abs(len(known) - len(name)) <= most and known.partition("_")[0] == family and not _numbered(name, known):
            yield known


def _numbered(name: str, known: str) -> bool:
    """Names that differ in digits only are a series, and no mistake."""
    return name.rstrip("0123456789") == known.rstrip("0123456789")


def distance(first: str, second: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that make one of the other; `most` + 1 for more."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for index, letter in enumerate(first, 1):
        older, before, row = before, row, [index]
        for place, other in enumerate(second, 1):
            cost = min(before[place] + 1, row[place - 1] + 1, before[place - 1] + (letter != other))
            if older and place > 1 and letter == second[place - 2] and first[index - 2] == other:
                cost = min(cost, older[place - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
