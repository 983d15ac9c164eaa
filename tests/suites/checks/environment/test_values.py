"""Rules about variables: values, names, contradictions, leftovers, and hosts that differ."""

from __future__ import annotations

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, NPUS, adapters, found_on, host, set_here, silent
from tests.suites.checks.ruled import fleet, ruled, statuses

SLOW = "environment.slows_down"


def test_a_value_out_of_range_is_named_with_what_it_may_be() -> None:
    (finding,) = found_on("environment.invalid_value", set_here(HCCL_CONNECT_TIMEOUT="60", HCCL_RDMA_SL="4"))
    assert finding.status is Status.FAIL
    assert finding.message.startswith("HCCL_CONNECT_TIMEOUT=60: it may be a whole number, 120 to 7200; HCCL refuses")
    assert finding.evidence["value"] == "60"
    assert finding.remedy is not None
    assert "120 to 7200" in finding.remedy


def test_values_that_are_understood_pass() -> None:
    facts = set_here(HCCL_CONNECT_TIMEOUT="600", NCCL_DEBUG="WARN", NCCL_UNKNOWN_TO_US="x")
    assert statuses(ruled("environment.invalid_value", facts)) == [Status.PASS]
    assert ruled("environment.invalid_value", set_here()) == []
    assert ruled("environment.invalid_value", set_here(NCCL_P2P_DISABLE="", HCCL_BUFFSIZE=" ")) == []


def test_nccls_file_counts_where_the_variable_is_not_set() -> None:
    files = {"/etc/nccl.conf": "NCCL_IB_RETRY_CNT=99\nNCCL_CROSS_NIC=9\n"}
    facts = host("environment", files=files, NCCL_CROSS_NIC="1")
    (finding,) = found_on("environment.invalid_value", facts)
    assert finding.message.startswith("NCCL_IB_RETRY_CNT=99 in /etc/nccl.conf: ")
    assert finding.evidence["file"] == "/etc/nccl.conf"
    assert (finding.remedy or "").endswith("or take NCCL_IB_RETRY_CNT out of /etc/nccl.conf")


def test_a_hidden_value_is_not_judged() -> None:
    assert silent("environment.invalid_value", set_here(NCCL_IB_PKEY="secret"))


@pytest.mark.parametrize(
    ("name", "works"),
    [
        ("HCCL_DEBUG", "ASCEND_GLOBAL_LOG_LEVEL"),
        ("CANN_DIST_LOG_LEVEL", "ASCEND_GLOBAL_LOG_LEVEL"),
        ("NCCL_DEBUG_LEVEL", "NCCL_DEBUG="),
        ("HCCL_BUFFERSIZE", "HCCL_BUFFSIZE"),
        ("NCCL_SOCKET_IFNMAE", "set NCCL_SOCKET_IFNAME instead"),
        ("HCCL_CONECT_TIMEOUT", "set HCCL_CONNECT_TIMEOUT instead"),
    ],
)
def test_names_nobody_reads(name: str, works: str) -> None:
    (finding,) = found_on("environment.unread_name", set_here(**{name: "1"}))
    assert finding.status is Status.WARN
    assert name in finding.message
    assert works in (finding.remedy or "")


def test_names_that_are_read_or_of_somebody_elses_pass() -> None:
    assert silent("environment.unread_name", set_here(NCCL_DEBUG="WARN", NCCL_ASYNC_ERROR_HANDLING="1", NCCL_QUUX="1"))


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("NCCL_P2P_DISABLE", "1", Status.WARN),
        ("NCCL_SHM_DISABLE", "1", Status.WARN),
        ("NCCL_IB_DISABLE", "1", Status.WARN),
        ("NCCL_NET", "Socket", Status.WARN),
        ("NCCL_P2P_LEVEL", "LOC", Status.WARN),
        ("HCCL_INTER_HCCS_DISABLE", "TRUE", Status.WARN),
        ("HCCL_INTRA_ROCE_ENABLE", "1", Status.WARN),
        ("CUDA_LAUNCH_BLOCKING", "1", Status.WARN),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", Status.WARN),
        ("NCCL_ALGO", "Ring", Status.INFO),
        ("HCCL_DETERMINISTIC", "true", Status.INFO),
        ("NCCL_DEBUG", "INFO", Status.INFO),
    ],
)
def test_leftovers(name: str, value: str, status: Status) -> None:
    (finding,) = found_on(SLOW, set_here(**{name: value}))
    assert (finding.status, finding.evidence["variable"]) == (status, name)
    assert finding.remedy is not None
    assert finding.remedy.startswith(f"unset {name}")


@pytest.mark.parametrize(
    ("name", "value"),
    [("NCCL_P2P_DISABLE", "0"), ("NCCL_NET", "IB"), ("HCCL_INTER_HCCS_DISABLE", "FALSE"), ("NCCL_DEBUG", "WARN")],
)
def test_switches_in_their_usual_place(name: str, value: str) -> None:
    assert silent(SLOW, set_here(**{name: value}))


def test_tcp_is_no_leftover_where_there_is_no_rdma() -> None:
    assert silent(SLOW, {**set_here(NCCL_IB_DISABLE="1"), "rdma": {"devices": []}})
    assert not silent(SLOW, set_here("rdma", commands=adapters(0), NCCL_IB_DISABLE="1"))


def test_a_leftover_of_accelerators_is_a_remark_on_a_host_without() -> None:
    plain = set_here("accelerators", NCCL_P2P_DISABLE="1")
    assert statuses(found_on(SLOW, plain)) == [Status.INFO]
    assert statuses(found_on(SLOW, set_here("accelerators", commands=GPUS, NCCL_P2P_DISABLE="1"))) == [Status.WARN]
    npus = host("environment", "accelerators", files=NPUS, NCCL_P2P_DISABLE="1", HCCL_INTER_HCCS_DISABLE="TRUE")
    assert statuses(found_on(SLOW, npus)) == [Status.WARN, Status.INFO]


@pytest.mark.parametrize(
    ("ranks", "seconds", "found"),
    [
        ("3000", None, [Status.WARN]),
        ("2999", None, []),
        ("3000", "240", []),
        ("5000", "240", [Status.WARN]),
        ("5000", "600", []),
        ("64", None, []),
    ],
)
def test_hccl_waits_long_enough_for_a_large_job(ranks: str, seconds: str | None, found: list[Status]) -> None:
    environ = {"RANK_SIZE": ranks} | ({"HCCL_CONNECT_TIMEOUT": seconds} if seconds else {})
    facts = host("environment", "accelerators", files=NPUS, **environ)
    assert statuses(found_on("environment.connect_timeout", facts)) == found


def test_nothing_is_said_of_a_job_of_unknown_size_or_without_npus() -> None:
    assert ruled("environment.connect_timeout", host("environment", "accelerators", files=NPUS)) == []
    assert ruled("environment.connect_timeout", set_here("accelerators", commands=GPUS, WORLD_SIZE="9999")) == []


def test_a_variable_that_one_host_has_otherwise_names_that_host() -> None:
    usual = set_here(NCCL_IB_TC="106", RANK="1")
    (finding,) = fleet("environment.differs", a=usual, b=set_here(NCCL_IB_TC="0", RANK="2"), c=usual)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b"})
    assert finding.message == "NCCL_IB_TC is 0, and 106 on 2 of 3"


def test_a_variable_that_one_host_lacks() -> None:
    usual = set_here(HCCL_BUFFSIZE="400")
    (finding,) = fleet("environment.differs", a=usual, b=set_here(HOME="/made"), c=usual)
    assert finding.message == "HCCL_BUFFSIZE is not set, and 400 on 2 of 3"


def test_a_host_of_which_no_environment_was_recorded_is_not_compared() -> None:
    assert fleet("environment.differs", a=set_here(HCCL_BUFFSIZE="400"), b=set_here()) == []


def test_of_two_hosts_none_is_the_culprit() -> None:
    (finding,) = fleet("environment.differs", a=set_here(NCCL_PROTO="LL"), b=set_here(NCCL_PROTO="Simple"))
    assert "host" not in finding.subject


@pytest.mark.parametrize(
    "name",
    ["RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "SLURM_NODEID", "HCCL_IF_IP", "OMPI_COMM_WORLD_RANK", "RANK_ID",
     "DEVICE_ID", "SLURM_JOB_ID", "MS_NODE_ID"],
)  # fmt: skip
def test_what_every_rank_has_for_itself_may_differ(name: str) -> None:
    assert fleet("environment.differs", a=set_here(**{name: "1"}), b=set_here(**{name: "2"})) == []
