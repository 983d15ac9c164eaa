"""Variables of a process, and of a shell's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.recorded.variables import parse


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ('declare -x HCCL_CONNECT_TIMEOUT="1200"\ndeclare -x EMPTY\n', {"HCCL_CONNECT_TIMEOUT": "1200"}),
        ("export HCCL_RDMA_TC='132'\r\n", {"HCCL_RDMA_TC": "132"}),
        ("export A=1200  # for large jobs\nB=22 ; export C=7 D=8", {"A": "1200", "B": "22", "C": "7", "D": "8"}),
        ("# NCCL_IB_DISABLE=1\n#export NCCL_P2P_DISABLE=1\n", {}),
        ("export NCCL_IB_DISABLE=1\nunset NCCL_IB_DISABLE\n", {}),
        ("export NCCL_SOCKET_IFNAME=$CARD\nexport A=x#y\necho B=1\n", {"A": "x#y"}),
    ],
)
def test_a_shells_text(text: str, variables: dict[str, str]) -> None:
    assert parse(text) == variables


def test_what_env_prints_stays_as_it_is() -> None:
    assert parse('A=x # y\nB=it\'s "so" ; C=1\n') == {"A": "x # y", "B": 'it\'s "so" ; C=1'}


@given(st.text() | st.text(alphabet="ab=#;\"'\\ $\n").map("export ".__add__))
def test_any_text(text: str) -> None:
    parse(text)
