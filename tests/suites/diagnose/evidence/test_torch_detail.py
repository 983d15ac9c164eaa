"""Calls that torch compared before making them."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.torch_detail import Detail
from suites.diagnose.facts import ANOTHER, Disagreement, Who
from tests.suites.diagnose.evidence.torch_lines import of, told


def described(op: str, shape: str, dtype: str = "Float", seq: str = "SequenceNumber=9, ") -> str:
    return (
        f"CollectiveFingerPrint({seq}OpType={op}, TensorShape=[{shape}], TensorDtypes={dtype}, TensorDeviceTypes="
        "TensorOptions(dtype=float (default), device=cpu, layout=Strided (default)))"
    )


def report(own: int, call: str, other: int, its: str) -> str:
    return (
        f"[rank{own}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {own} is running collective: "
        f"{call}, but Rank {other} is running collective: {its}.Collectives differ in the following aspects: "
    )


@pytest.mark.parametrize(
    ("mine", "its", "sides", "aspect"),
    [
        (
            described("ALLREDUCE", "4"),
            described("BROADCAST", "4"),
            ("allreduce [4] float", "broadcast [4] float"),
            "operation",
        ),
        (
            described("_ALLGATHER_BASE", "7, 12"),
            described("_ALLGATHER_BASE", "7, 13"),
            ("allgather [7, 12] float", "allgather [7, 13] float"),
            "count",
        ),
        (
            described("ALLREDUCE", "4"),
            described("ALLREDUCE", "4", "Double"),
            ("allreduce [4] float", "allreduce [4] double"),
            "dtype",
        ),
        (
            described("ALLREDUCE", "4"),
            described("REDUCE", "4", seq="SequenceNumber=11, "),
            ("allreduce [4] float", "reduce [4] float"),
            "order, operation",
        ),
        (described("ALLREDUCE", "4", seq=""), "REDUCE", ("allreduce [4] float", ANOTHER), "operation or count"),
    ],
)
def test_both_sides_and_in_what_they_differ(mine: str, its: str, sides: tuple[str, str], aspect: str) -> None:
    (found,) = of(Disagreement, told(Detail(), report(1, mine, 3, its)))
    assert tuple(side.signature for side in found.sides) == sides
    assert [side.members for side in found.sides] == [
        (Who(rank=rank, group="default", group_rank=rank),) for rank in (1, 3)
    ]
    assert (found.aspect, found.op) == (aspect, sides[0].split()[0])
    assert found.seq == (9 if "SequenceNumber" in mine else None)


def test_a_length_that_is_printed_as_an_operation_is_not_believed() -> None:
    barrier, length = (
        "CollectiveFingerPrint(SequenceNumber=0OpType=BARRIER)",
        "CollectiveFingerPrint(SequenceNumber=0OpType={})",
    )
    first = report(0, described("ALLREDUCE", "4", seq="SequenceNumber=0, "), 1, length.format("REDUCE"))
    (alone,) = of(Disagreement, told(Detail(), first))
    assert [side.signature for side in alone.sides] == ["allreduce [4] float", ANOTHER]
    both = of(Disagreement, told(Detail(), first + "\n" + report(1, barrier, 0, length.format("GATHER"))))
    assert [[side.signature for side in found.sides] for found in both] == [
        ["allreduce [4] float", "barrier"], ["barrier", "allreduce [4] float"],
    ]  # fmt: skip


def test_calls_without_tensors_are_believed_where_lengths_are_alike() -> None:
    calls = [
        "CollectiveFingerPrint(SequenceNumber=5OpType=BARRIER)",
        "CollectiveFingerPrint(SequenceNumber=5OpType=ALLTOALL)",
    ]
    (found,) = of(Disagreement, told(Detail(), report(0, calls[0], 1, calls[1])))
    assert [side.signature for side in found.sides] == ["barrier", "alltoall"]


def test_versions_that_tell_one_side_only() -> None:
    line = (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 2 is running inconsistent collective: "
        + described("ALLREDUCE", "4", seq="")
    )
    (found,) = of(Disagreement, told(Detail(), line))
    assert [(side.signature, side.members) for side in found.sides] == [
        ("allreduce [4] float", (Who(group="default", group_rank=2),)), (ANOTHER, ()),
    ]  # fmt: skip


def test_ranks_of_some_other_group_are_not_taken_for_those_of_the_world() -> None:
    line = report(1, described("ALLREDUCE", "4"), 0, described("REDUCE", "4")).replace("[rank1]", "[rank5]")
    (found,) = of(Disagreement, told(Detail(), line))
    (mine,), (its,) = (side.members for side in found.sides)
    assert (mine.rank, its.rank) == (5, None)
    assert found.group == mine.group == its.group != "default"
