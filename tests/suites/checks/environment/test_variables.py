"""The tables of variables: they agree with each other, and values are judged on both sides of each bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.checks.environment.allowed import parse_ports
from suites.checks.environment.leftovers import LEFTOVERS
from suites.checks.environment.variables import UNREAD, VARIABLES, distance, meant
from suites.checks.environment.variables_hccl import HCCL, HCCL_OTHERS
from suites.checks.environment.variables_launch import LAUNCH
from suites.checks.environment.variables_nccl import NCCL, NCCL_OTHERS


def test_no_name_is_in_two_tables() -> None:
    known = [variable.name for variable in (*HCCL, *NCCL, *LAUNCH)]
    assert len(known) == len(set(known))
    others = NCCL_OTHERS | HCCL_OTHERS
    assert not others & set(known)
    assert not set(UNREAD) & (set(known) | others)
    assert set(LEFTOVERS) <= set(known)


def test_every_variable_says_which_values_it_takes_why_and_who_says_so() -> None:
    for variable in VARIABLES.values():
        assert variable.allowed.text
        assert variable.why
        assert variable.source


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("HCCL_CONNECT_TIMEOUT", ("120", "7200", " 600 "), ("119", "7201", "", "2m", "1e3", "120.5")),
        ("HCCL_EXEC_TIMEOUT", ("0", "1836", "0.05", "2147483647"), ("-1", "2147483648", "abc", "")),
        ("HCCL_BUFFSIZE", ("1", "2048"), ("0", "200MB")),
        ("HCCL_RDMA_TC", ("0", "132", "252"), ("130", "256", "-4")),
        ("HCCL_RDMA_SL", ("0", "7"), ("8",)),
        ("HCCL_RDMA_TIMEOUT", ("5", "20"), ("4", "25")),
        ("HCCL_RDMA_RETRY_CNT", ("1", "7"), ("0", "8")),
        ("HCCL_RDMA_QPS_PER_CONNECTION", ("1", "32"), ("0", "33")),
        ("HCCL_MULTI_QP_THRESHOLD", ("1", "8192"), ("0", "8193")),
        ("HCCL_IF_BASE_PORT", ("1024", "65520"), ("1023", "65521")),
        ("HCCL_IF_IP", ("192.0.2.1", "2001:db8::1"), ("eth0", "192.0.2.1/24", "")),
        ("HCCL_HOST_SOCKET_PORT_RANGE", ("auto", "60000-60050", "60000,60050-60100"), ("60050-60000", "5-9,7", "x")),
        ("HCCL_SOCKET_FAMILY", ("AF_INET", "AF_INET6"), ("IPv4", "inet")),
        ("HCCL_INTRA_ROCE_ENABLE", ("0", "1"), ("TRUE", "2")),
        ("HCCL_INTER_HCCS_DISABLE", ("TRUE", "false"), ("1", "yes")),
        ("HCCL_OP_EXPANSION_MODE", ("HOST", "AI_CPU", "AICPU_TS", "CCU_SCHED", "AICPU_CacheDisable"), ("CPU", "AICPU")),
        ("HCCL_DETERMINISTIC", ("true", "FALSE", "strict"), ("1",)),
        (
            "HCCL_ALGO",
            ("level0:NA;level1:ring", "level0:NA;level1:H-D_R;level2:NHR",
             "allreduce=level0:NA;level1:ring/allgather=level0:NA;level1:H-D_R"),
            ("ring", "level1:ring", "level0:NA;level1:tree", "allreduce:level0:NA"),
        ),
        ("HCCL_OP_RETRY_ENABLE", ("L1:0,L2:0", "L0:1, L1:1, L2:0"), ("1", "L1:2", "L3:1")),
        ("HCCL_OP_RETRY_PARAMS", ("MaxCnt:3,HoldTime:5000,IntervalTime:1000",), ("MaxCnt:3,HoldTime:1",)),
        ("HCCL_DFS_CONFIG", ("cluster_heartbeat:on;stuck_detection:off",), ("off", "cluster_heartbeat=on")),
        ("HCCL_DEBUG_CONFIG", ("ALG", "^task,alg"), ("alg, task", "^", "all")),
        ("ASCEND_RT_VISIBLE_DEVICES", ("", "0", "0,1,7"), ("0-7", "npu0", "0, 1")),
        ("ASCEND_GLOBAL_LOG_LEVEL", ("0", "4"), ("5", "ERROR")),
        ("NCCL_DEBUG", ("INFO", "warn", "VERSION"), ("DEBUG", "1", "")),
        ("NCCL_P2P_DISABLE", ("0", "1"), ("true", "yes", "")),
        ("NCCL_P2P_LEVEL", ("NVL", "sys", "0", "5"), ("NVLINK", "-1")),
        ("NCCL_IB_TIMEOUT", ("1", "31"), ("0", "32")),
        ("NCCL_IB_RETRY_CNT", ("0", "7"), ("8",)),
        ("NCCL_IB_GID_INDEX", ("-1", "3"), ("auto",)),
        ("NCCL_ALGO", ("Ring", "ring,tree", "^nvls", "ring;allreduce:tree;broadcast:ring"), ("rings", "LL")),
        ("NCCL_PROTO", ("LL,Simple", "^LL128", "allreduce:Simple"), ("LL64", "")),
        ("NCCL_DEBUG_SUBSYS", ("INIT,NET", "^COLL", "all"), ("NETWORK", "INIT;NET")),
        ("NCCL_SOCKET_NTHREADS", ("1", "16"), ("0", "17")),
        ("NCCL_CROSS_NIC", ("0", "2"), ("3",)),
        ("NCCL_MAX_CTAS", ("1", "64"), ("0", "65")),
        ("RANK", ("0", "511"), ("-1", "first")),
        ("WORLD_SIZE", ("1",), ("0",)),
        ("MASTER_ADDR", ("node1", "192.0.2.1", "2001:db8::1"), ("node1:29500", "tcp://node1", "")),
        ("MASTER_PORT", ("0", "29500", "65535"), ("65536", "http")),
        ("NNODES", ("2", "1:4"), ("0", "two")),
        ("OMP_NUM_THREADS", ("1", "4,2"), ("0", "many")),
        ("TORCH_DISTRIBUTED_DEBUG", ("DETAIL", "off"), ("DEBUG",)),
        ("OMPI_MCA_btl", ("self,tcp", "^openib"), ("self, tcp", "tcp,^sm")),
    ],
)  # fmt: skip
def test_values(name: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    allows = VARIABLES[name].allowed.allows
    assert [value for value in right if not allows(value)] == []
    assert [value for value in wrong if allows(value)] == []


@given(st.sampled_from(sorted(VARIABLES)), st.text(max_size=40))
def test_no_value_is_too_strange(name: str, value: str) -> None:
    assert VARIABLES[name].allowed.allows(value) in (True, False)


@given(st.sampled_from(sorted(VARIABLES)))
def test_a_name_that_is_known_is_not_misspelt(name: str) -> None:
    assert meant(name) is None


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("HCCL_CONECT_TIMEOUT", "HCCL_CONNECT_TIMEOUT"),
        ("HCCL_CONNECTION_TIMEOUT", None),
        ("HCCL_SOCKET_IFNAMES", "HCCL_SOCKET_IFNAME"),
        ("NCCL_SOCKET_IFNMAE", "NCCL_SOCKET_IFNAME"),
        ("NCCL_DEBUGG", "NCCL_DEBUG"),
        ("NCCL_DEBUGGG", None),  # a short name may have but one mistake
        ("NCCL_SOKET_IFNAM", "NCCL_SOCKET_IFNAME"),
        ("NCCL_IB_HCAS", "NCCL_IB_HCA"),
        ("ASCEND_RT_VISIBLE_DEVICE", "ASCEND_RT_VISIBLE_DEVICES"),
        ("CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES"),
        ("MASTER_ADR", "MASTER_ADDR"),
        ("NCCL_NVLS_NCHANNELS", None),  # read, though nowhere documented
        ("NCCL_QUUX_SIZE", None),  # like nothing that is known
        ("NCCL_NET_PLUGIN2", None),
        ("OMPI_MCA_mtl", None),  # one letter from another of its hundreds
        ("UCX_NET_DEVICE", None),
    ],
)
def test_misspelt_names(name: str, known: str | None) -> None:
    assert meant(name) == known


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "abx", 1), ("abc", "ab", 1), ("abc", "xyz", 3), ("", "ab", 2)],
)
def test_distance(first: str, second: str, apart: int) -> None:
    assert distance(first, second, 3) == apart
    assert distance(second, first, 3) == apart


@given(st.text("ab", max_size=6), st.text("ab", max_size=6), st.integers(0, 3))
def test_distance_is_symmetric_and_bounded(first: str, second: str, most: int) -> None:
    assert distance(first, second, most) == distance(second, first, most) <= most + 1
    assert (distance(first, second, most) == 0) == (first == second)


def test_ranges_of_ports() -> None:
    assert parse_ports("7,90-95") == [(7, 7), (90, 95)]
    assert parse_ports("90-95,95") is None
    assert parse_ports("70000") is None
