"""How many ranks, on which cores, and whether their memory is there: decided from facts alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suites.errors import UsageError
from suites.world import MOST_ASKED, RANK_OVERHEAD, Asked, HostFacts, Seat, TakenHost, World, choose, look
from tests.tree_host import TreeHost

MIB = 1 << 20


def host(cores: int = 4, *, quota: int | None = None, available: int | None = None) -> HostFacts:
    """Every second logical CPU is a core of its own; a quota lets fewer run at once."""
    return HostFacts("h", tuple(range(0, 2 * cores, 2)), quota or cores, available, 32 * MIB)


def chosen(
    facts: HostFacts, asked: int | None = None, *, bind: bool = True, need: Callable[[int], int] = lambda ranks: ranks
) -> World:
    return choose([facts], Asked(asked), [None], bind, lambda counts: [need(counts[0])])


@pytest.mark.parametrize(
    ("facts", "size", "why"),
    [
        (host(4), 4, "4 ranks: one for each of 4 physical cores"),
        (host(1), 1, "1 rank: one for each of 1 physical cores"),
        (host(64), 8, "8 ranks: the most without -n (64 physical cores)"),
        (host(64, quota=2), 2, "2 ranks: one for each of 2 physical cores"),
        (host(8, available=900 * MIB), 8, "8 ranks: one for each of 8 physical cores"),
    ],
)
def test_the_default_is_a_rank_for_each_core_but_not_too_many(facts: HostFacts, size: int, why: str) -> None:
    world = chosen(facts, need=lambda ranks: ranks * 100 * MIB)
    assert (world.size, world.why.replace("1 ranks", "1 rank")) == (size, why)


def test_the_default_is_cut_to_what_fits_and_says_so() -> None:
    world = chosen(host(8, available=350 * MIB), need=lambda ranks: ranks * 100 * MIB)
    assert (world.size, world.why) == (3, "3 of 8 ranks: more do not fit in 350 MiB")


@pytest.mark.parametrize("asked", [None, 1, 3])
def test_what_does_not_fit_is_refused_with_the_arithmetic(asked: int | None) -> None:
    with pytest.raises(UsageError) as refused:
        chosen(host(8, available=90 * MIB), asked, need=lambda ranks: ranks * 100 * MIB)
    ranks = asked or 1
    text = str(refused.value)
    assert f"need {ranks * 100} MiB (100 MiB each" in text
    assert f"{RANK_OVERHEAD // MIB} MiB for the process" in text
    assert "only 90 MiB are available" in text
    assert "use a smaller --size" in text


def test_an_asked_number_is_kept_whatever_the_cores() -> None:
    world = chosen(host(2), 7)
    assert (world.size, world.why) == (7, "7 ranks, as asked")


@pytest.mark.parametrize("asked", [0, -1, MOST_ASKED + 1])
def test_a_number_that_cannot_be_is_refused(asked: int) -> None:
    with pytest.raises(UsageError, match=f"{asked} ranks: ask for 1 to {MOST_ASKED}"):
        chosen(host(), asked)


def test_unknown_memory_refuses_nothing() -> None:
    assert chosen(host(2), need=lambda ranks: 1 << 60).size == 2


@pytest.mark.parametrize(
    ("facts", "asked", "bind", "cpus"),
    [
        (host(4), 3, True, ((0,), (2,), (4,))),
        (host(4), 4, True, ((0,), (2,), (4,), (6,))),
        (host(4), 5, True, (None,) * 5),
        (host(4), 2, False, (None,) * 2),
        (host(4, quota=2), 3, True, (None,) * 3),
    ],
)
def test_ranks_are_pinned_only_where_each_gets_a_core(
    facts: HostFacts, asked: int, bind: bool, cpus: tuple[tuple[int, ...] | None, ...]
) -> None:
    world = chosen(facts, asked, bind=bind)
    assert world.cpus == cpus
    assert [(p.rank, p.world_size, p.local_rank, p.local_size) for p in world.placements] == [
        (rank, asked, rank, asked) for rank in range(asked)
    ]


def test_facts_come_from_the_host(tree: TreeHost) -> None:
    """Two sockets of two cores with two threads each, a last-level cache for each socket."""
    cpus = "/sys/devices/system/cpu"
    tree.write({f"{cpus}/online": "0-7", "/proc/meminfo": "MemAvailable: 2048 kB"})
    tree.write({"/proc/self/status": "Cpus_allowed_list:\t0-7"})
    for cpu in range(8):
        first = cpu // 2 * 2
        tree.write({f"{cpus}/cpu{cpu}/topology/thread_siblings_list": f"{first}-{first + 1}"})
    for index, (level, kilobytes, shared) in enumerate([(1, 32, "0-1"), (3, 4096, "0-3")]):
        cache = f"{cpus}/cpu0/cache/index{index}"
        tree.write({f"{cache}/level": str(level), f"{cache}/size": f"{kilobytes}K", f"{cache}/type": "Unified"})
        tree.write({f"{cache}/shared_cpu_list": shared})
    facts = look(tree)
    assert (facts.core_cpus, facts.cores, facts.available, facts.cache) == ((0, 2, 4, 6), 4, 2 * MIB, 8 * MIB)


def test_an_unknown_host_still_makes_a_world_of_one(tree: TreeHost) -> None:
    facts = look(tree)
    assert (facts.cores, facts.available, facts.cache) == (1, None, 0)
    assert chosen(facts).size == 1


# --- where another launcher has chosen


def taken(*seats: tuple[int, tuple[int, ...]], name: str = "h", available: int | None = None) -> TakenHost:
    """A host with ranks of srun, each with its CPUs."""
    return TakenHost(name, (0, 2, 4, 6), 4, available, 32 * MIB, "srun", tuple(Seat(*seat) for seat in seats))


ALL = (0, 1, 2, 3, 4, 5, 6, 7)


def made(*hosts: TakenHost, asked: Asked = Asked(), bind: bool = True) -> World:  # noqa: B008 (it is frozen)
    return choose(hosts, asked, [None] * len(hosts), bind, lambda counts: [count * 100 * MIB for count in counts])


def test_what_a_launcher_has_started_is_the_world() -> None:
    world = made(taken((0, ALL), (1, ALL), (2, ALL), name="a"), taken((3, ALL), name="b"))
    assert (world.hosts, world.counts, world.why) == (("a", "b"), (3, 1), "4 ranks, as srun has started them")
    assert [(place.rank, place.local_rank, place.node) for place in world.placements] == [
        (0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 0, 1),
    ]  # fmt: skip


def test_where_it_has_dealt_ranks_out_in_turns_they_are_numbered_anew_and_that_is_said() -> None:
    world = made(taken((0, ALL), (2, ALL), name="a"), taken((1, ALL), (3, ALL), name="b"))
    assert [place.node for place in world.placements] == [0, 0, 1, 1]
    assert world.why == "4 ranks, as srun has started them, numbered host by host (srun's own numbers: 0, 2, 1, 3)"


@pytest.mark.parametrize("bind", [True, False])
def test_the_cpus_that_a_launcher_gave_are_kept(bind: bool) -> None:
    assert made(taken((0, (4, 5)), (1, (0, 1))), bind=bind).cpus == ((4, 5), (0, 1))


@pytest.mark.parametrize(("bind", "wanted"), [(True, ((0,), (2,))), (False, (None, None))])
def test_where_a_launcher_has_bound_nobody_it_is_as_without_one(bind: bool, wanted: object) -> None:
    assert made(taken((0, ALL), (1, ALL)), bind=bind).cpus == wanted


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Asked(ranks=3), "3 ranks: srun has started 4; leave -n out"),
        (Asked(per_host=2), "--per-host 2: srun has started 3 on a, 1 on b; leave it out"),
    ],
)
def test_another_number_than_the_launchers_is_refused(asked: Asked, words: str) -> None:
    hosts = taken((0, ALL), (1, ALL), (2, ALL), name="a"), taken((3, ALL), name="b")
    assert made(*hosts, asked=Asked(ranks=4)).size == 4
    with pytest.raises(UsageError) as refused:
        made(*hosts, asked=asked)
    assert words in str(refused.value)


def test_the_launchers_world_is_not_cut_to_what_fits() -> None:
    with pytest.raises(UsageError, match="2 ranks need 200 MiB"):
        made(taken((0, ALL), (1, ALL), available=150 * MIB))
