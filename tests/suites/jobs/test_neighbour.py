"""The ceiling between hosts: who sends to whom, and what counts. Every rank is a thread."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from collectives.backends.builtin import BuiltinCommunicator
from suites.case import Case
from suites.jobs import neighbour
from suites.jobs.agree import Shared
from suites.jobs.ceiling import Moved
from suites.jobs.neighbour import exchange_all
from tests.collectives.inproc_world import run_world

MIB = 1 << 20
Group = tuple[int, ...]


class Watched:
    """A communicator that keeps note of the groups it makes, and of what is bound there."""

    def __init__(self, comm: BuiltinCommunicator, made: list[tuple[Group, str]]) -> None:
        self._comm, self._made = comm, made

    def __getattr__(self, name: str) -> object:
        return getattr(self._comm, name)

    def group(self, ranks: Sequence[int]) -> BuiltinCommunicator:
        group = self._comm.group(ranks)
        bind = group.bind

        def noted(collective: str, *buffers: object, **options: object) -> object:
            self._made.append((tuple(ranks), collective))
            return bind(collective, *buffers, **options)  # type: ignore[arg-type]

        group.bind = noted  # type: ignore[assignment, method-assign]
        return group


def measured(
    collective: str, counts: Sequence[int], nbytes: int = 4 * MIB
) -> tuple[list[Moved], set[tuple[Group, str]]]:
    """What each rank reports, and the groups that exchanged something."""
    made: list[tuple[Group, str]] = []

    def on_rank(comm: BuiltinCommunicator) -> Moved:
        case = Case("builtin", collective, "auto", nbytes, nbytes, "uint8", "sum", 0, False)
        return exchange_all(case, counts, Watched(comm, made), Shared(comm))  # type: ignore[arg-type]

    return run_world(sum(counts), on_rank, 30.0), set(made)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbour, "REPETITION_SECONDS", 0.001)


@pytest.mark.parametrize(
    ("counts", "columns"),
    [((1, 1), [(0, 1)]), ((2, 1, 3), [(0, 2, 3)]), ((2, 2), [(0, 2), (1, 3)]), ((1, 1, 1, 1), [(0, 1, 2, 3)])],
)
def test_hosts_send_and_receive_at_once(counts: tuple[int, ...], columns: list[Group]) -> None:
    moved, made = measured("allreduce", counts)
    assert made == {(column, "sendrecv") for column in columns}
    part = {rank for column in columns for rank in column}
    assert {rank for rank, each in enumerate(moved) if each.nbytes} == part
    assert len({moved[rank].nbytes for rank in part}) == 1


@pytest.mark.parametrize(
    ("counts", "pairs"),
    [((1, 1), [(0, 1)]), ((2, 2), [(0, 2), (1, 3)]), ((1, 1, 1), [(0, 1)]), ((1, 1, 1, 1), [(0, 1), (2, 3)])],
)
@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_to_or_from_a_root_data_has_one_direction(collective: str, counts: tuple[int, ...], pairs: list[Group]) -> None:
    """A host for which there is no partner counts like the others."""
    moved, made = measured(collective, counts)
    assert made == {(pair, "broadcast") for pair in pairs}
    assert len({each.nbytes for each in moved}) == 1
    assert moved[0].nbytes
    assert all(len(each.seconds) == neighbour.REPETITIONS for each in moved)


def test_where_little_crosses_nothing_is_measured() -> None:
    moved, made = measured("allreduce", (1, 1), nbytes=64)
    assert (moved, made) == ([Moved(), Moved()], set())
