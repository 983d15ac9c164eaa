"""Calls in NCCL's log: the numbers of nccl.h by name, and communicators that began before the log."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence import nccl_log
from suites.diagnose.facts import Call, Group, Setting, Signature
from tests.suites.diagnose.evidence.feeding import fed, only

OPENED = (
    "node01:11:12 [0] NCCL INFO ncclCommInitRankConfig comm 0xaaa1 rank {rank} nranks 2 cudaDev 0 nvmlDev 0 busId "
    "1b000 {rest} - Init COMPLETE\n"
)
CALLED = (
    "node01:11:11 [0] NCCL INFO {op}: opCount 4 sendbuff 0x7f01 recvbuff 0x7f02 count 64 datatype {dtype} op "
    "{operator} root {root} comm {pointer} [nranks=2] stream 0x55aa\n"
)


def called(op: str = "AllReduce", dtype: int = 7, operator: int = 0, root: int = 0, pointer: str = "0xaaa1") -> str:
    return CALLED.format(op=op, dtype=dtype, operator=operator, root=root, pointer=pointer)


def calls(text: str) -> list[Call]:
    return only(fed(nccl_log.NcclLog(), text), Call)


def groups(text: str) -> list[Group]:
    return only(fed(nccl_log.NcclLog(), text), Group)


DTYPES = [
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e4m3",
    "float8_e5m2",
]


@pytest.mark.parametrize(("number", "name"), [*enumerate(DTYPES), (12, "type 12")])
def test_datatypes_have_their_numbers(number: int, name: str) -> None:
    assert calls(called(dtype=number))[0].signature.dtype == name


@pytest.mark.parametrize(("number", "name"), [*enumerate(["sum", "prod", "max", "min", "avg"]), (5, "type 5")])
def test_operators_have_their_numbers(number: int, name: str) -> None:
    assert calls(called(operator=number))[0].signature.operator == name


@pytest.mark.parametrize(
    ("op", "signature"),
    [
        ("AllReduce", Signature("allreduce", 64, "float32", "max")),
        ("ReduceScatter", Signature("reduce_scatter", 64, "float32", "max")),
        ("Reduce", Signature("reduce", 64, "float32", "max", 1)),
        ("Broadcast", Signature("broadcast", 64, "float32", None, 1)),
        ("Gather", Signature("gather", 64, "float32", None, 1)),
        ("Scatter", Signature("scatter", 64, "float32", None, 1)),
        ("AllGather", Signature("allgather", 64, "float32")),
    ],
)
def test_only_what_matters_to_an_operation_is_compared(op: str, signature: Signature) -> None:
    assert calls(called(op, operator=2, root=1))[0].signature == signature


def test_communicators_that_began_before_the_log_stay_apart() -> None:
    one, other, again = calls(called() + called(pointer="0xbbb2") + called())
    assert one.group == again.group != other.group


def test_what_was_split_off_such_a_one_is_a_guess_too() -> None:
    rest = "parent {} splitCount 1 color 0 key 5"
    (guess,) = groups(OPENED.format(rank=0, rest=rest.format("0xccc3")))
    assert guess.guessed
    whole = OPENED.format(rank=0, rest="commId 0x5ca1ab1e").replace("0xaaa1", "0xccc3")
    known = groups(whole + OPENED.format(rank=0, rest=rest.format("0xccc3")))
    assert [group.guessed for group in known] == [False, False]
    assert known[1].key == "comm 0x5ca1ab1e split 1 color 0"


def test_an_id_that_is_not_told_yet_names_no_communicator() -> None:
    assert not groups(OPENED.format(rank=0, rest="commId 0x0"))
    assert groups(OPENED.format(rank=0, rest="commId 0x1"))


def test_a_pointer_that_is_given_to_another_rank_is_another_communicator() -> None:
    split = "parent 0xccc3 color 0 key 5"
    first, second = calls(OPENED.format(rank=0, rest=split) + called() + OPENED.format(rank=1, rest=split) + called())
    assert (first.who.group_rank, second.who.group_rank) == (0, 1)
    assert first.group != second.group


@pytest.mark.parametrize("name", ["NCCL_HOSTID", "NCCL_DEBUG_FILE", "NCCL_COMM_ID"])
def test_variables_that_must_differ_are_not_compared(name: str) -> None:
    line = "node01:11:12 [0] NCCL INFO {} set by environment to node01\n"
    told = only(fed(nccl_log.NcclLog(), line.format(name) + line.format("NCCL_ALGO")), Setting)
    assert [setting.key for setting in told] == ["env.NCCL_ALGO"]


def test_the_plugin_of_a_host_is_compared() -> None:
    told = only(
        fed(nccl_log.NcclLog(), "node01:11:12 [0] NCCL INFO NET/Plugin: Loaded net plugin Libfabric (v8)"), Setting
    )
    assert [(setting.key, setting.value) for setting in told] == [("nccl.plugin", "Loaded net plugin Libfabric")]
