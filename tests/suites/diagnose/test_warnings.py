"""What each warning of NCCL, and each failure that nccl-tests tell, leads to: a class and who is at fault."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from suites.diagnose.evidence import nccl_benchmark
from suites.diagnose.evidence.nccl_texts import CORE
from suites.diagnose.offline import diagnose
from tests.suites.diagnose.cases.case import label

NCCL = "node01:4711:4720 [2] src/some.cc:88 NCCL WARN {}\n"
FAILED_BEFORE = "node09:812:820 [1] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1\n"
HOST, LINK, PROCESS = "host node01", "link node01", "process of node01"

OWN = {
    "nccl.memlock": ("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "resource", HOST),
    "nccl.registration": ("Call to ibv_reg_mr failed with error Bad address", "config", HOST),
    "nccl.shm_full": ("Call to posix_fallocate failed: No space left on device", "resource", HOST),
    "nccl.duplicate_gpu": (
        "Duplicate GPU detected : rank 3 and rank 5 both on CUDA device 3b000", "config", "rank 3, rank 5",
    ),
    "nccl.version_mismatch": (
        "Mismatched NCCL version detected : rank 3 version 22105 rank 0 version 21805", "config", "rank 3",
    ),
    "nccl.checked_in": ("bootstrapRoot: rank 3 of 8 ranks has already checked in", "config", "rank 3"),
    "nccl.root_mismatch": ("bootstrapRoot: mismatch in info from procs, 16 vs 8", "config", ""),
    "nccl.no_interface": ("Bootstrap : no socket interface found", "config", HOST),
    "nccl.device_unopened": ("NET/IB : Unable to open device mlx5_7", "config", "device mlx5_7 of node01"),
    "nccl.mismatched_call": ("Mismatched collective detected, please check your calls at rank 3", "mismatch", ""),
    "nccl.ecc": ("Cuda failure 'uncorrectable ECC error encountered'", "device", "device gpu2 of node01"),
    "nccl.ordinal": ("Cuda failure 101 'invalid device ordinal'", "config", HOST),
    "nccl.invalid_rank": ("Invalid rank requested : 2/2", "config", PROCESS),
    "nccl.illegal_access": ("Cuda failure 700 'an illegal memory access was encountered'", "crashed", PROCESS),
    "nccl.launch_failure": ("Cuda failure 719 'unspecified launch failure'", "crashed", PROCESS),
    "nccl.no_gpu_memory": ("Cuda failure 2 'out of memory'", "resource", PROCESS),
    "nccl.cuda": ("Cuda failure 1 'invalid argument'", "crashed", PROCESS),
}  # fmt: skip
"""Who says these is at fault whatever a transfer of others said before."""
OF_PATHS = {
    "nccl.qp_unreachable": (
        "Call to ibv_modify_qp failed with 101 Network is unreachable, on dev mlx5_2:1, curr state INIT", HOST,
    ),
    "nccl.qp_refused": ("Call to ibv_modify_qp failed with error Invalid argument", HOST),
    "nccl.completion_12": ("NET/IB : Got completion from peer 192.0.2.8<4100> with error 12, len 0",
                           f"{LINK} - 192.0.2.8"),
    "nccl.completion_4": ("NET/IB : Got completion with error 4, opcode 0, len 0, vendor err 81", HOST),
    "nccl.completion_1": ("NET/IB : Got completion from peer 192.0.2.8<4100> with status=1 len=32",
                          f"{LINK} - 192.0.2.8"),
    "nccl.completion": ("NET/IB : Got completion from peer 192.0.2.8<4100> with status=9 len=32",
                        f"{LINK} - 192.0.2.8"),
    "nccl.refused": ("Call to connect to 192.0.2.8<40012> failed : Connection refused", f"{LINK} - 192.0.2.8"),
}  # fmt: skip
FOLLOWS = {
    "nccl.completion_5": "NET/IB : Got completion with error 5, opcode 0, len 0, vendor err 249",
    "nccl.shm_failed": "Error while creating shared memory segment /dev/shm/nccl-AbCdEf (size 9637888)",
    "nccl.closed": "socketProgress: Connection closed by remote peer node07<41222>",
    "nccl.received_nothing": "socketProgressOpt: Call to recv from 192.0.2.8<40012> failed : Broken pipe",
    "nccl.proxy": "[Proxy Service 1] Failed to execute operation Connect from rank 1, retcode 2",
    "nccl.reset": "socketPoll: Connection reset by peer",
    "nccl.aborted": "comm 0x55aa rank 1 - Abort COMPLETE",
    "nccl.code": "transport/net.cc:415 -> 2",
}
"""They follow from what was said before, and name nobody."""
OF_BENCHMARKS = {
    "nccl_tests.ordinal": ("node01: Test CUDA failure common.cu:963 'invalid device ordinal'", "config", HOST),
    "nccl_tests.memory": ("node01: Test CUDA failure common.cu:963 'out of memory'", "resource", HOST),
    "nccl_tests.ecc": ("node01: Test HIP failure common.cu:963 'uncorrectable ECC error encountered'", "device", HOST),
    "nccl_tests.fabric": ("node01: Test CUDA failure common.cu:941 'system not yet initialized'", "config", HOST),
    "nccl_tests.driver": (
        "node01: Test CUDA failure common.cu:941 'CUDA driver version is insufficient for CUDA runtime version'",
        "config",
        HOST,
    ),
    "nccl_tests.none": ("node01: Test CUDA failure common.cu:941 'no CUDA-capable device is detected'", "config", HOST),
    "nccl_tests.build": ("node01: Test CUDA failure all_reduce.cu:7 'no kernel image is available'", "config", HOST),
    "nccl_tests.device": ("node01: Test CUDA failure common.cu:963 'unknown error'", "crashed", HOST),
}
MAY_FOLLOW = {
    "nccl_tests.timeout": "node01: Test timeout (60s) common.cu:431",
    "nccl_tests.nccl": "node01: Test NCCL failure common.cu:1012 'unhandled system error'",
    "nccl_tests.code": " .. node01 pid 4711: Test failure common.cu:415",
}


def told(folder: Path, text: str) -> tuple[str, str]:
    """Class, and culprits in words."""
    (folder / "job.log").write_text(text)
    verdict = diagnose([str(folder)], [], datetime(2026, 1, 2, tzinfo=UTC)).body["verdict"]
    assert isinstance(verdict, dict)
    return verdict["class"], ", ".join(sorted(map(label, verdict["culprits"])))


@pytest.mark.parametrize("name", OWN)
def test_what_is_ones_own_comes_before_a_failed_transfer(tmp_path: Path, name: str) -> None:
    text, right, culprits = OWN[name]
    assert told(tmp_path, FAILED_BEFORE + NCCL.format(text)) == (right, culprits)


@pytest.mark.parametrize("name", OF_PATHS)
def test_of_failed_transfers_the_first_counts(tmp_path: Path, name: str) -> None:
    text, culprits = OF_PATHS[name]
    assert told(tmp_path, NCCL.format(text) + FAILED_BEFORE) == ("transport", culprits)
    assert told(tmp_path, FAILED_BEFORE + NCCL.format(text)) == ("transport", "link node09")


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_follows_from_others_names_nobody(tmp_path: Path, name: str) -> None:
    assert told(tmp_path, NCCL.format(FOLLOWS[name])) == ("undecided", "")
    assert told(tmp_path, NCCL.format(FOLLOWS[name]) + FAILED_BEFORE) == ("transport", "link node09")


@pytest.mark.parametrize("name", OF_BENCHMARKS)
def test_what_a_benchmark_says_of_itself_comes_before_a_failed_transfer(tmp_path: Path, name: str) -> None:
    text, right, culprits = OF_BENCHMARKS[name]
    assert told(tmp_path, FAILED_BEFORE + text + "\n") == (right, culprits)


@pytest.mark.parametrize("name", MAY_FOLLOW)
def test_where_a_benchmark_stopped_names_nobody(tmp_path: Path, name: str) -> None:
    assert told(tmp_path, MAY_FOLLOW[name] + "\n") == ("undecided", "")
    assert told(tmp_path, MAY_FOLLOW[name] + "\n" + FAILED_BEFORE) == ("transport", "link node09")


def test_wrong_values_are_found_and_none_are_not(tmp_path: Path) -> None:
    assert told(tmp_path, "# Out of bounds values : 7 FAILED\n") == ("corrupt", "")
    assert told(tmp_path, "# Out of bounds values : 0 OK\n")[0] == "none"


def test_every_row_is_here() -> None:
    assert {row.name for row in CORE} == OWN.keys() | OF_PATHS.keys() | FOLLOWS.keys()
    assert {row.name for row in nccl_benchmark.ROWS} == OF_BENCHMARKS.keys() | MAY_FOLLOW.keys() | {"nccl_tests.wrong"}


def test_with_a_warning_that_nobody_knows_a_log_shows_nothing(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("node01:4711:4720 [2] NCCL INFO Bootstrap : Using eth0:192.0.2.1<0>\n" + NCCL.format("a new text"))
    record = diagnose([str(log)], ["opsdist"], datetime.now(UTC)).record()
    assert record["verdict"]["class"] == "undecided"
    (unread,) = record["sources"]["unread"]
    assert "line 2" in unread["why"]
    assert "a new text" in unread["why"]
