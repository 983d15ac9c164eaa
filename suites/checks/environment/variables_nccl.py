"""The variables of NCCL, which RCCL reads too. Source: the NCCL user guide, environment variables.

May import: allowed, suites.report.
"""

from __future__ import annotations

from suites.checks.environment.allowed import ANYTHING, Allowed, Variable, like, one_of, some_of, whole
from suites.report import Status

_GUIDE = "NCCL user guide, environment variables"
_IGNORED = "NCCL does not understand it and goes on with its default, or with another value than the one meant"
_PATHS = ("LOC", "NVL", "PIX", "PXB", "PXN", "P2C", "PHB", "SYS")
_SWITCH = one_of("0", "1")
_ALGORITHM = r"(?:ring|tree|collnet(?:chain|direct)?|nvls|nvlstree|pat)"
_PROTOCOL = r"(?:LL|LL128|Simple)"


def _nccl(name: str, allowed: Allowed, why: str = _IGNORED, status: Status = Status.WARN) -> Variable:
    return Variable(name, allowed, why, status, _GUIDE)


def _level() -> Allowed:
    kinds = one_of(*_PATHS)
    digits = whole(0)
    return Allowed(kinds.text, lambda value: kinds.allows(value) or digits.allows(value))


def _per_function(word: str, text: str) -> Allowed:
    words = rf"\^?{word}(?:,{word})*"
    return like(rf"(?:[a-z]+:)?{words}(?:;[a-z]+:{words})*;?", text)


_SWITCHES = (
    "NCCL_P2P_DISABLE", "NCCL_P2P_DIRECT_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_OOB_NET_ENABLE",
    "NCCL_IGNORE_CPU_AFFINITY", "NCCL_COLLNET_ENABLE", "NCCL_MULTI_RANK_GPU_ENABLE", "NCCL_SET_THREAD_NAME",
    "NCCL_CHECKS_DISABLE", "NCCL_CHECK_POINTERS", "NCCL_IB_RETURN_ASYNC_EVENTS", "NCCL_IB_EVENT_BASED_LB",
    "NCCL_IB_OOO_RQ", "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_ECE_ENABLE",
    "NCCL_MEM_SYNC_DOMAIN", "NCCL_CUMEM_ENABLE", "NCCL_CUMEM_HOST_ENABLE", "NCCL_NET_GDR_C2C", "NCCL_NET_GDR_READ",
    "NCCL_GDRCOPY_ENABLE", "NCCL_GDRCOPY_FIFO_ENABLE", "NCCL_GDRCOPY_SYNC_ENABLE", "NCCL_GDRCOPY_FLUSH_ENABLE",
    "NCCL_NET_SHARED_BUFFERS", "NCCL_NET_SHARED_COMMS", "NCCL_IGNORE_NET_MISMATCH", "NCCL_IGNORE_COLLNET_MISMATCH",
    "NCCL_NVB_DISABLE", "NCCL_PXN_DISABLE", "NCCL_PXN_C2C", "NCCL_RUNTIME_CONNECT", "NCCL_GRAPH_REGISTER",
    "NCCL_LOCAL_REGISTER", "NCCL_LEGACY_CUDA_REGISTER", "NCCL_WIN_ENABLE", "NCCL_SET_STACK_SIZE",
    "NCCL_GRAPH_MIXING_SUPPORT", "NCCL_GRAPH_STREAM_ORDERING", "NCCL_RMA_EAGER_INIT", "NCCL_DMABUF_ENABLE",
    "NCCL_ALLOC_P2P_NET_LL_BUFFERS", "NCCL_COMM_BLOCKING", "NCCL_IB_MERGE_NICS", "NCCL_RAS_ENABLE",
    "NCCL_LAUNCH_ORDER_IMPLICIT", "NCCL_LAUNCH_RACE_FATAL", "NCCL_IPC_USE_ABSTRACT_SOCKET",
    "NCCL_SYM_GIN_KERNELS_ENABLE",
)  # fmt: skip
_FREE = (
    "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_MAGIC", "NCCL_PSK", "NCCL_IB_HCA", "NCCL_IB_RAIL_POLICY", "NCCL_IB_ADDR_RANGE",
    "NCCL_IB_PKEY", "NCCL_IB_PKEY_VALUE", "NCCL_OOB_NET_IFNAME", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_GIN_PLUGIN",
    "NCCL_RMA_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN", "NCCL_CONF_FILE",
    "NCCL_DEBUG_LEVELS", "NCCL_DEBUG_FILE", "NCCL_DEBUG_TIMESTAMP_FORMAT", "NCCL_DEBUG_TIMESTAMP_LEVELS",
    "NCCL_CTA_POLICY", "NCCL_NETDEVS_POLICY", "NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE", "NCCL_NET_MERGE_POLICY",
    "NCCL_MNNVL_UUID", "NCCL_MNNVL_CLIQUE_ID", "NCCL_RAS_ADDR", "NCCL_RAS_TIMEOUT_FACTOR", "NCCL_COMM_ID",
    "NCCL_HOSTID", "NCCL_GRAPH_FILE", "NCCL_GRAPH_DUMP_FILE",
)  # fmt: skip
_COUNTS = (
    "NCCL_SOCKET_RETRY_CNT", "NCCL_SOCKET_RETRY_SLEEP_MSEC", "NCCL_UID_STAGGER_THRESHOLD", "NCCL_UID_STAGGER_RATE",
    "NCCL_NSOCKS_PERTHREAD", "NCCL_BUFFSIZE", "NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NRINGS",
    "NCCL_MIN_NRINGS", "NCCL_COLLNET_NODE_THRESHOLD", "NCCL_IB_AR_THRESHOLD", "NCCL_P2P_NET_CHUNKSIZE",
)  # fmt: skip

NCCL: tuple[Variable, ...] = (
    *(_nccl(name, _SWITCH) for name in _SWITCHES),
    *(_nccl(name, whole(1)) for name in _COUNTS),
    *(_nccl(name, ANYTHING) for name in _FREE),
    _nccl("NCCL_SOCKET_FAMILY", one_of("AF_INET", "AF_INET6")),
    _nccl("NCCL_SOCKET_POLL_TIMEOUT_MSEC", whole(0)),
    _nccl("NCCL_SOCKET_NTHREADS", whole(1, 16)),
    _nccl("NCCL_CROSS_NIC", whole(0, 2)),
    _nccl("NCCL_IB_TIMEOUT", whole(1, 31), "0, or more than 31, is no deadline at all: a broken link shows as a hang"),
    _nccl("NCCL_IB_RETRY_CNT", whole(0, 7)),
    _nccl("NCCL_IB_GID_INDEX", whole(-1, 255)),
    _nccl("NCCL_IB_ADDR_FAMILY", one_of("AF_INET", "AF_INET6")),
    _nccl("NCCL_IB_ROCE_VERSION_NUM", whole(1, 2)),
    _nccl("NCCL_IB_SL", whole(0, 15)),
    _nccl("NCCL_IB_TC", whole(0, 255)),
    _nccl("NCCL_IB_FIFO_TC", whole(0, 255)),
    _nccl("NCCL_IB_QPS_PER_CONNECTION", whole(1, 128)),
    _nccl("NCCL_IB_PCI_RELAXED_ORDERING", whole(0, 2)),
    _nccl("NCCL_DEBUG", one_of("VERSION", "WARN", "ATTN", "INFO", "ABORT", "TRACE", "NONE"), "NCCL is silent then"),
    _nccl("NCCL_DEBUG_SUBSYS", some_of(
        "INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALLOC_HOST", "CALL", "PROXY", "NVLS",
        "BOOTSTRAP", "REG", "PROFILE", "RAS", "DESTROY", "VERBS", "ALL", mark="^",
    )),
    _nccl("NCCL_P2P_LEVEL", _level()),
    _nccl("NCCL_NET_GDR_LEVEL", _level()),
    _nccl("NCCL_NTHREADS", one_of("64", "128", "256", "512")),
    _nccl("NCCL_CHECK_MODE", one_of("DEFAULT", "DEBUG_LOCAL", "DEBUG_GLOBAL")),
    _nccl("NCCL_LAUNCH_MODE", one_of("PARALLEL", "GROUP")),
    _nccl(
        "NCCL_ALGO",
        _per_function(_ALGORITHM, "a list of Ring, Tree, CollnetChain, CollnetDirect, NVLS, NVLSTree, PAT, perhaps "
                      "for one function as allreduce:Ring"),
        "from 2.24 on NCCL fails with it, before that it ignores it", Status.FAIL,
    ),
    _nccl(
        "NCCL_PROTO", _per_function(_PROTOCOL, "a list of LL, LL128, Simple, perhaps for one function"),
        "from 2.24 on NCCL fails with it, before that it ignores it", Status.FAIL,
    ),
    _nccl("NCCL_P2P_PXN_LEVEL", whole(0, 2)),
    _nccl("NCCL_P2P_LL_THRESHOLD", whole(0)),
    _nccl("NCCL_CGA_CLUSTER_SIZE", whole(0, 8)),
    _nccl("NCCL_MAX_CTAS", whole(1, 64)),
    _nccl("NCCL_MIN_CTAS", whole(1, 64)),
    _nccl("NCCL_NVLS_ENABLE", whole(0, 2)),
    _nccl("NCCL_MNNVL_ENABLE", whole(0, 2)),
)  # fmt: skip

NCCL_OTHERS = frozenset({
    "NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT", "NCCL_DESYNC_DEBUG", "NCCL_TRACE_BUFFER_SIZE",
    "NCCL_LL_BUFFSIZE", "NCCL_LL128_BUFFSIZE", "NCCL_P2P_PCI_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE", "NCCL_NCHANNELS",
    "NCCL_NCHANNELS_PER_NET_PEER", "NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS", "NCCL_NVLS_NCHANNELS",
    "NCCL_NVLS_CHUNKSIZE", "NCCL_NVLSTREE_MAX_CHUNKSIZE", "NCCL_NVB_PRECONNECT", "NCCL_P2P_READ_ENABLE",
    "NCCL_P2P_USE_CUDA_MEMCPY", "NCCL_SHM_USE_CUDA_MEMCPY", "NCCL_SHM_MEMCPY_MODE", "NCCL_SHM_LOCALITY",
    "NCCL_IB_USE_INLINE", "NCCL_IB_MERGE_VFS", "NCCL_IB_ASYNC_EVENTS", "NCCL_IB_DATA_DIRECT",
    "NCCL_IB_WARN_RAIL_LOCAL", "NCCL_IB_ROUTABLE_FLID_GID_INDEX", "NCCL_NET_DISABLE_INTRA", "NCCL_NET_FORCE_FLUSH",
    "NCCL_NET_FORCE_MERGE", "NCCL_NET_MERGE_LEVEL", "NCCL_NET_OVERHEAD", "NCCL_GDR_FLUSH_DISABLE",
    "NCCL_IGNORE_DISABLED_P2P", "NCCL_GRAPH_HELPER_DISABLE", "NCCL_PROXY_CPUSET",
    "NCCL_PROXY_DUMP_SIGNAL", "NCCL_PROXY_APPEND_BATCH_SIZE", "NCCL_PROGRESS_APPENDOP_FREQ", "NCCL_WORK_FIFO_DEPTH",
    "NCCL_WORK_FIFO_BYTES", "NCCL_WORK_ARGS_BYTES", "NCCL_CREATE_THREAD_CONTEXT", "NCCL_L1_SHARED_MEMORY_CARVEOUT",
    "NCCL_PAT_ENABLE", "NCCL_CHUNK_SIZE", "NCCL_SOCKET_INLINE", "NCCL_SOCKET_MIN_TASKSIZE", "NCCL_WIN_STRIDE",
    "NCCL_SYM_CTAS", "NCCL_SYM_KERNEL", "NCCL_TOPO_DUMP_FILE_RANK", "NCCL_GRAPH_DUMP_FILE_RANK", "NCCL_NVTX_DISABLE",
    "NCCL_DISABLE_GRAPH_HELPER", "NCCL_THREAD_THRESHOLDS", "NCCL_REPORT_CONNECT_PROGRESS", "NCCL_NO_CACHE",
    "NCCL_SINGLE_PROC_MEM_REG_ENABLE", "NCCL_MNNVL_SCATTER_NETS_ENABLE", "NCCL_SET_CPU_STACK_SIZE", "NCCL_ROOT",
    "NCCL_HOME", "NCCL_VERSION", "NCCL_INCLUDE_DIR", "NCCL_LIB_DIR", "NCCL_CONNECT_ROUND_MAX_PEERS",
    "NCCL_TUNER_CONFIG_PATH", "NCCL_FASTRAK_IFNAME", "NCCL_MIN_ZCOPY_SIZE",
})  # fmt: skip
"""Names that NCCL's sources, PyTorch, or build scripts read without their being documented."""
