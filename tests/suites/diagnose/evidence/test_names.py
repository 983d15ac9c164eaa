"""Whose a file is by its name, and numbers that say nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence.names import owner
from suites.diagnose.facts import NOBODY, Who


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("/tmp/nccl_trace_rank_7", Who(rank=7)),
        ("dumps/nccl_trace_rank_container-node02_5.pkl.gz", Who(rank=5, host="container-node02")),
        ("_dump_3", Who(rank=3)),
        ("fr/comm_lib_trace_rank_3.json", Who(rank=3)),
        ("rank_3.log", Who(rank=3)),
        ("rank3.out", Who(rank=3)),
        ("job/train-rank-12.err", Who(rank=12)),
        ("stack_local_rank_2.txt", Who(local_rank=2)),
        ("out/1/rank.3/stdout", Who(rank=3)),
        ("worker-3.log", Who(host="worker-3")),
        ("logs/none_x1/attempt_0/3/stderr.log", Who(local_rank=3)),
        ("node01/attempt_1/0/stdout.log", Who(host="node01", local_rank=0)),
        ("slurm-12345-3.out", Who(rank=3)),
        ("out/msrun_log/worker_3.log", Who(rank=3)),
        ("out/worker_3.log", NOBODY),
        ("slurm-12345_3.out", NOBODY),
        ("slurm-12345.out", NOBODY),
        ("node01/rank_9.log", Who(host="node01", rank=9)),
        ("192.0.2.7/plog-4711_20261202071901123.log", Who(address="192.0.2.7", pid=4711)),
        ("nccl.node01.4711.log", Who(host="node01", pid=4711)),
        ("node01.4711", Who(host="node01", pid=4711)),
        ("gpu-b7.4711.log", Who(host="gpu-b7", pid=4711)),
        ("torch_hccl_status-5_192.0.2.7_1_16_4711_1790000000000.log", Who(rank=5, address="192.0.2.7", pid=4711)),
        ("all.tar.gz!node02/rank_1.log.gz", Who(host="node02", rank=1)),
        ("node01_rank3.txt", Who(host="node01", rank=3)),
        ("train.2026", NOBODY),
        ("job-918273.log", NOBODY),
        ("ranktable_8.json", NOBODY),
        ("group_rank_3.log", NOBODY),
        ("llama3-8.log", NOBODY),
        ("gpu0/log.txt", NOBODY),
        ("events.out.tfevents.1690000000", NOBODY),
    ],
)
def test_a_name_says_whose_the_file_is(name: str, who: Who) -> None:
    assert owner(name) == who


@given(st.text(alphabet="rank_-.0123456789/node!abc"))
def test_any_name_is_taken(name: str) -> None:
    owner(name)
