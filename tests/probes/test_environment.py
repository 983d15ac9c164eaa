"""Variables of communication; secrets by name only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import environment
from tests.tree_host import TreeHost


def test_only_what_steers_communication_sorted(tree: TreeHost) -> None:
    tree.variables = {"RANK": "2", "HOME": "/root", "NCCL_DEBUG": "INFO", "HCCL_BUFFSIZE": "400", "MY_NCCL_X": "1"}
    assert list(environment.read(tree).variables.items()) == [
        ("HCCL_BUFFSIZE", "400"),
        ("NCCL_DEBUG", "INFO"),
        ("RANK", "2"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_X", "HCCL_X", "ASCEND_X", "GLOO_X", "UCX_X", "OMPI_X", "MPICH_X", "FI_X",
        "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS",
        "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "LD_PRELOAD", "RCCL_X", "HCOMM_X",
        "ROCR_X", "I_MPI_X", "CM_CHIEF_IP", "RANK_TABLE_FILE", "SLURM_NNODES", "TORCH_NCCL_X", "MASTER_ADDRESS",
    ],
)  # fmt: skip
def test_known_names(name: str) -> None:
    assert environment.relevant({name: "0"}) == {name: "0"}


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_TOKEN",
        "UCX_my_secret",
        "FI_PASSWORD",
        "OMPI_Passwd",
        "HCCL_KEY",
        "GLOO_CREDENTIALS",
        "MPICH_AUTH",
        "NCCL_PSK",
    ],
)
def test_secrets_are_names_only(name: str) -> None:
    assert environment.relevant({name: "abc"}) == {name: "(hidden)"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://user:pass@host/x", "http://(hidden)@host/x"),
        ("http://user:p@ss@host", "http://(hidden)@host"),
        ("tcp://a@h1,tcp://b:c@h2", "tcp://(hidden)@h1,tcp://(hidden)@h2"),
        ("http://host/user@x", "http://host/user@x"),
        ("eth0@2", "eth0@2"),
    ],
)
def test_users_of_urls_are_hidden(value: str, shown: str) -> None:
    assert environment.shown("UCX_PROXY", value) == shown


@given(st.text("abc:@", min_size=1).filter(lambda text: "@" not in text[-1:]))
def test_no_password_is_left(password: str) -> None:
    assert environment.shown("FI_URL", f"x://u{password}PW@h") == "x://(hidden)@h"


def test_what_nccl_reads_from_its_file(tree: TreeHost) -> None:
    assert environment.read(tree).nccl_file is None
    tree.write({"/etc/nccl.conf": "#NCCL_X=1\nNCCL_SOCKET_IFNAME==eth0\n NCCL_IB_HCA = mlx5\nNCCL_PSK=abc\njunk\n=1"})
    assert environment.read(tree).nccl_file == {
        "NCCL_IB_HCA": "mlx5",
        "NCCL_PSK": "(hidden)",
        "NCCL_SOCKET_IFNAME": "=eth0",
    }


def test_no_environment_is_not_one_without_variables(tree: TreeHost) -> None:
    assert environment.read(tree).told is False
    tree.variables = {"HOME": "/root"}
    facts = environment.read(tree)
    assert (facts.told, facts.variables) == (True, {})
