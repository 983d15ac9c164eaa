"""The variables of HCCL and of CANN below it. Source: the HCCL user guide (hicann/hccl, docs/zh/user_guide/hccl_env),
and for ASCEND_* the CANN reference of environment variables. May import: allowed, suites.report.
"""

from __future__ import annotations

from suites.checks.environment.allowed import (
    ANYTHING,
    Allowed,
    Variable,
    an_address,
    like,
    number,
    one_of,
    ports,
    some_of,
    whole,
)
from suites.report import Status

_GUIDE = "HCCL user guide, environment variables"
_CANN = "CANN reference of environment variables"
_REFUSED = "HCCL refuses it with EI0001 when the communicator is made"
_DEFAULT = "it is not understood, and the default is used instead"
_ALGORITHM = r"(?:NA|null|ring|H-D_R|NHR|NHR_V1|NB|AHC|pipeline|pairwise|fullmesh|doublering|star)"
_LEVELS = rf"level0:{_ALGORITHM}(?:;level1:{_ALGORITHM})?(?:;level2:{_ALGORITHM})?"
_OPERATIONS = r"(?:allgather|reducescatter|allreduce|broadcast|reduce|scatter|alltoall|others)"


def _hccl(name: str, allowed: Allowed, why: str = _REFUSED, status: Status = Status.FAIL) -> Variable:
    return Variable(name, allowed, why, status, _GUIDE)


def _cann(name: str, allowed: Allowed, status: Status = Status.WARN) -> Variable:
    return Variable(name, allowed, _DEFAULT, status, _CANN)


HCCL: tuple[Variable, ...] = (
    _hccl("HCCL_CONNECT_TIMEOUT", whole(120, 7200)),
    _hccl("HCCL_EXEC_TIMEOUT", number(0, 2147483647)),
    _hccl("HCCL_ALGO", like(
        rf"{_LEVELS}|{_OPERATIONS}={_LEVELS}(?:/{_OPERATIONS}={_LEVELS})*",
        "of the form level0:NA;level1:ALGORITHM;level2:ALGORITHM, or OPERATION=... separated by /",
    )),
    _hccl("HCCL_BUFFSIZE", whole(1)),
    _hccl("HCCL_INTRA_PCIE_ENABLE", one_of("0", "1")),
    _hccl("HCCL_INTRA_ROCE_ENABLE", one_of("0", "1")),
    _hccl("HCCL_INTER_HCCS_DISABLE", one_of("TRUE", "FALSE")),
    _hccl(
        "HCCL_OP_EXPANSION_MODE",
        one_of("HOST", "HOST_TS", "AI_CPU", "AICPU_TS", "AICPU_CacheDisable", "AIV", "CCU_MS", "CCU_SCHED"),
        "950 refuses it with EI0001, A2 and A3 use their default instead", Status.WARN,
    ),
    _hccl("HCCL_DETERMINISTIC", one_of("false", "true", "strict")),
    _hccl("HCCL_LOGIC_SUPERPOD_ID", like(r".{0,127}", "shorter than 128 letters")),
    _hccl("HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", one_of("TRUE", "FALSE")),
    _hccl("HCCL_RDMA_QPS_PER_CONNECTION", whole(1, 32)),
    _hccl("HCCL_RDMA_QP_PORT_CONFIG_PATH", ANYTHING),
    _hccl("HCCL_MULTI_QP_THRESHOLD", whole(1, 8192)),
    _hccl("HCCL_IF_IP", an_address()),
    _hccl("HCCL_IF_BASE_PORT", whole(1024, 65520)),
    _hccl("HCCL_HOST_SOCKET_PORT_RANGE", ports()),
    _hccl("HCCL_NPU_SOCKET_PORT_RANGE", ports()),
    _hccl("HCCL_SOCKET_IFNAME", ANYTHING),
    _hccl("HCCL_SOCKET_FAMILY", one_of("AF_INET", "AF_INET6")),
    _hccl("HCCL_RDMA_TC", whole(0, 255, 4)),
    _hccl("HCCL_RDMA_SL", whole(0, 7)),
    _hccl("HCCL_RDMA_TIMEOUT", whole(5, 24)),
    _hccl("HCCL_RDMA_RETRY_CNT", whole(1, 7)),
    _hccl("HCCL_DIAGNOSE_ENABLE", one_of("0", "1")),
    _hccl("HCCL_ENTRY_LOG_ENABLE", one_of("0", "1")),
    _hccl(
        "HCCL_DEBUG_CONFIG", some_of("alg", "task", "resource", "aiv_ops_exc", mark="^"),
        "it has no effect; a blank after a comma is enough for that", Status.WARN,
    ),
    _hccl("HCCL_DFS_CONFIG", like(
        r"(?:[a-z_]{1,60}:[A-Za-z0-9_]{1,20})(?:[;,][a-z_]{1,60}:[A-Za-z0-9_]{1,20})*[;,]?",
        "of the form cluster_heartbeat:on;stuck_detection:on;connection_fault_detection_time:20",
    )),
    _hccl("HCCL_OP_RETRY_ENABLE", like(r"L[012]:[01](?:, ?L[012]:[01]){0,2}", "of the form L1:0,L2:0")),
    _hccl("HCCL_OP_RETRY_PARAMS", like(
        r"MaxCnt:(?:[1-9]|10),HoldTime:[0-9]{1,5},IntervalTime:[0-9]{1,5}",
        "of the form MaxCnt:1..10,HoldTime:0..60000,IntervalTime:0..60000",
    )),
    _hccl("HCCL_WHITELIST_DISABLE", one_of("0", "1")),
    _hccl("HCCL_WHITELIST_FILE", ANYTHING),
    _hccl("HCCL_UB_MULTI_CHANNEL_NUM", ANYTHING),
    _hccl("HCCL_HOST_RDMA_UDP_PORTS_LIST", ANYTHING),
    _hccl("HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO", ANYTHING),
    _hccl("HCOMM_DEBUG_CONFIG", ANYTHING),
    _cann("ASCEND_GLOBAL_LOG_LEVEL", whole(0, 4)),
    _cann("ASCEND_GLOBAL_EVENT_ENABLE", one_of("0", "1")),
    _cann("ASCEND_SLOG_PRINT_TO_STDOUT", whole(0, 2)),
    _cann("ASCEND_MODULE_LOG_LEVEL", ANYTHING),
    _cann("ASCEND_PROCESS_LOG_PATH", ANYTHING),
    _cann("ASCEND_WORK_PATH", ANYTHING),
    _cann("ASCEND_LAUNCH_BLOCKING", one_of("0", "1")),
    _cann(
        "ASCEND_RT_VISIBLE_DEVICES", like(r"\s*|[0-9]{1,4}(?:,[0-9]{1,4})*", "ids of devices separated by commas"),
        Status.FAIL,
    ),
    _cann("ASCEND_VISIBLE_DEVICES", ANYTHING),
    _cann("ASCEND_DEVICE_ID", whole(0)),
    _cann("ASCEND_HOME_PATH", ANYTHING),
    _cann("ASCEND_TOOLKIT_HOME", ANYTHING),
    _cann("ASCEND_OPP_PATH", ANYTHING),
    _cann("ASCEND_AICPU_PATH", ANYTHING),
)  # fmt: skip

HCCL_OTHERS = frozenset({
    "HCCL_ALLTOALL_Z_COPY", "HCCL_HOST_RDMA_ENABLE", "HCCL_P2P_DISABLE", "HCCL_ASYNC_ERROR_HANDLING",
    "HCCL_BLOCKING_WAIT", "HCCL_DESYNC_DEBUG", "HCCL_EVENT_TIMEOUT", "HCCL_STATUS_SAVE_PATH",
    "HCCL_STATUS_SAVE_INTERVAL", "HCCL_TEST_USE_DEVS", "HCCL_TEST_PROFILING", "HCCL_OVER_OFI", "HCCL_COMM_ID",
    "HCCL_SINGLE_NODE", "HCCL_LOOKUP_ENABLE", "HCCL_HOME", "HCCL_PATH", "HCCL_ROOT",
})  # fmt: skip
"""Names that older versions, torch_npu, hccl_test or another maker's library of the same prefix read."""
