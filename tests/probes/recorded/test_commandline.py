"""The same question, however it was typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.recorded.commandline import key, looser, words_of


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("/usr/local/Ascend/driver/tools/hccn_tool -i 0 -tls -g | grep switch", "hccn_tool -i 0 -tls -g"),
        ("[root@node1 ~]# npu-smi info -i 0 -c 0 -t health", "npu-smi info -t health -i 0 -c 0"),
        ("# npu-smi info", "npu-smi info"),
        ("me@node1:~$ npu-smi info -l", "npu-smi info -l"),
        ("nvidia-smi --query-gpu=index,name --format=csv", "nvidia-smi --format=csv --query-gpu=index"),
        ("ubuntu@node1:~$ sudo -n -E hccn_tool -i 0 -ip -g", "hccn_tool -i 0 -ip -g"),
        ("(base) [root@node1 ~]# LC_ALL=C timeout -k 5 10s npu-smi info", "npu-smi info"),
        ("dcgmi nvlink -g 0 -e", "dcgmi nvlink -e -g 0"),
    ],
)
def test_one_question(typed: str, asked: str) -> None:
    assert key(words_of(typed)) == key(words_of(asked))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("npu-smi info -t health -i 0", "npu-smi info -t health -i 1"),
        ("npu-smi info -t ecc -i 0", "npu-smi info -t health -i 0"),
        ("hccn_tool -i 0 -link -g", "hccn_tool -i 0 -link_stat -g"),
        ("nvidia-smi topo -m", "nvidia-smi nvlink -m"),
    ],
)
def test_two_questions(one: str, other: str) -> None:
    assert key(words_of(one)) != key(words_of(other))


def test_the_only_chip_of_a_card_need_not_be_named() -> None:
    assert list(looser(["npu-smi", "-i", "3", "-c", "0", "-t", "x"])) == [["npu-smi", "-i", "3", "-t", "x"]]
    assert list(looser(["npu-smi", "-i", "3", "-c", "1"])) == []
    assert list(looser(["npu-smi", "-c"])) == []


@given(st.text())
def test_any_line_has_a_key(line: str) -> None:
    words = words_of(line)
    assert isinstance(key(words), str)
    list(looser(words))
