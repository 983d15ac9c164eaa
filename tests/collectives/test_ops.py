"""Each collective's row: blocks, oracle, aliasing and what bandwidth means, all consistent with one another."""

from __future__ import annotations

import pytest

from collectives.errors import UsageError
from collectives.ops import COLLECTIVES, Collective
from collectives.schedule import Shape

ROWS = list(COLLECTIVES.values())
SIZES = (1, 2, 3, 5, 8)

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def shapes(row: Collective, size: int, count: int, *, root: int = 0, in_place: bool = False) -> list[Shape]:
    return [row.shape(rank, size, count, root=root, in_place=in_place) for rank in range(size)]


@each_row
@pytest.mark.parametrize("size", SIZES)
def test_the_oracle_covers_the_receive_buffer_once_and_asks_for_what_exists(row: Collective, size: int) -> None:
    all_shapes = shapes(row, size, 7, root=size - 1)
    for shape in all_shapes:
        position = 0
        for piece in row.oracle(shape, 7):
            assert piece.start == position
            position = piece.stop
            for rank in piece.ranks:
                assert 0 <= piece.source <= piece.source + piece.stop - piece.start <= all_shapes[rank].send.count
        assert position == shape.recv.count


@each_row
def test_reductions_combine_all_ranks_and_others_one(row: Collective) -> None:
    combined = {len(piece.ranks) for shape in shapes(row, 5, 7) for piece in row.oracle(shape, 7)}
    assert combined == ({5} if row.reduces else {1} if row.name != "barrier" else set())


@each_row
@pytest.mark.parametrize("size", SIZES)
def test_in_place_one_buffer_lies_within_the_other(row: Collective, size: int) -> None:
    if row.alias is None:
        with pytest.raises(UsageError, match=f"{row.name} has no in-place form"):
            shapes(row, size, 7, in_place=True)
        return
    for shape in shapes(row, size, 7, root=size // 2, in_place=True):
        alias = row.alias(shape)
        if alias is None:
            assert not (shape.send_counts and shape.recv_counts)
        elif shape.recv.count >= shape.send.count:
            assert 0 <= alias <= shape.recv.count - shape.send.count
        else:
            assert 0 <= -alias <= shape.send.count - shape.recv.count


@pytest.mark.parametrize("name", ["allgather", "gather"])
def test_in_place_a_rank_sends_the_block_it_keeps(name: str) -> None:
    """NCCL's rule: sendbuff == recvbuff + rank * sendcount."""
    row = COLLECTIVES[name]
    shape = row.shape(2, 5, 7, root=2, in_place=True)
    assert row.alias is not None
    assert row.alias(shape) == shape.recv_block(2).start == 14


@pytest.mark.parametrize("name", ["reduce_scatter", "scatter"])
def test_in_place_a_rank_receives_where_its_block_was(name: str) -> None:
    """NCCL's rule: recvbuff == sendbuff + rank * recvcount."""
    row = COLLECTIVES[name]
    shape = row.shape(2, 5, 7, root=2, in_place=True)
    assert row.alias is not None
    assert -row.alias(shape) == shape.send_block(2).start == 14  # type: ignore[operator]


@each_row
def test_the_size_is_what_the_fullest_rank_holds(row: Collective) -> None:
    fullest = max(max(shape.send.count, shape.recv.count) for shape in shapes(row, 4, 10))
    if row.name == "barrier":
        assert fullest == 0
    else:
        assert fullest == 10 * row.blocks(4)


def test_bus_factors_are_those_of_nccl_tests() -> None:
    factors = {name: row.bus_factor(4) for name, row in COLLECTIVES.items()}
    assert factors == {
        "allreduce": 1.5, "allgather": 0.75, "reduce_scatter": 0.75, "alltoall": 0.75, "alltoallv": 0.75,
        "broadcast": 1, "reduce": 1, "gather": 0.75, "scatter": 0.75, "sendrecv": 1, "barrier": 0,
    }  # fmt: skip


def test_memory_traffic_is_every_buffer_read_or_written_once() -> None:
    """As multiples of the size: what ranks hold to send, and what they hold to receive."""
    for name, row in COLLECTIVES.items():
        if name in ("alltoallv", "barrier"):
            continue
        held = shapes(row, 4, 10)
        size = 10 * row.blocks(4)
        assert row.traffic(4) == (
            sum(shape.send.count for shape in held) / size,
            sum(shape.recv.count for shape in held) / size,
        )


@pytest.mark.parametrize(
    ("collective", "in_place", "multiples"),
    [
        ("allreduce", False, 8),
        ("allreduce", True, 4),
        ("reduce_scatter", True, 4),
        ("allgather", False, 5),
        ("allgather", True, 4),
        ("gather", True, 1.5),
        ("alltoall", False, 8),
    ],
)
def test_the_footprint_counts_what_is_written_over_operands_once(
    collective: str, in_place: bool, multiples: float
) -> None:
    assert COLLECTIVES[collective].footprint(4, in_place=in_place) == multiples


@pytest.mark.parametrize("size", SIZES)
def test_what_alltoallv_sends_to_a_peer_is_what_the_peer_expects(size: int) -> None:
    all_shapes = shapes(COLLECTIVES["alltoallv"], size, 30)
    for shape in all_shapes:
        for peer in range(size):
            assert shape.send_counts[peer] == all_shapes[peer].recv_counts[shape.rank]
    assert size < 2 or len(set(all_shapes[0].send_counts)) > 1


@pytest.mark.parametrize("root", [-1, 4])
def test_the_root_is_a_rank(root: int) -> None:
    with pytest.raises(UsageError, match=f"root {root} is not a rank of a world of 4"):
        COLLECTIVES["broadcast"].shape(0, 4, 1, root=root)


def test_only_rooted_collectives_depend_on_the_root() -> None:
    for row in ROWS:
        counts = {
            (shape.send_counts, shape.recv_counts) for root in (0, 2) for shape in [row.shape(0, 3, 5, root=root)]
        }
        assert (len(counts) > 1) == row.rooted, row.name


@pytest.mark.parametrize(("nbytes", "count"), [(0, 0), (1, 1), (16, 1), (64, 4), (79, 4)])
def test_the_count_that_makes_a_size(nbytes: int, count: int) -> None:
    """allgather's size is the total of 4 ranks' blocks, here of 4-byte elements."""
    assert COLLECTIVES["allgather"].elements(nbytes, size=4, itemsize=4) == count
