"""A rank's place from the variables of every launcher, and what is refused."""

from __future__ import annotations

import pytest

from collectives.errors import UsageError
from collectives.placement import FAMILIES, Placement, from_environment

OPSDIST = {"OPSDIST_RANK": "5", "OPSDIST_WORLD_SIZE": "8", "OPSDIST_LOCAL_RANK": "1", "OPSDIST_LOCAL_SIZE": "4"}
TORCHRUN = {
    "RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1",
    "TORCHELASTIC_RUN_ID": "x",
}  # fmt: skip
MSRUN = {
    "MS_ROLE": "MS_WORKER", "MS_NODE_ID": "5", "MS_WORKER_NUM": "8", "MS_LOCAL_WORKER": "4", "MS_NODE_RANK": "1",
}  # fmt: skip
OPENMPI = {
    "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
}  # fmt: skip
PMI = {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"}
SRUN = {
    "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_NODEID": "1",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}  # fmt: skip
SBATCH = {"SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0", "SLURM_NODEID": "0"}
"""What is set inside a batch script itself, where no step runs: three of the four ranks do not exist."""

LAUNCHERS = {"opsdist": OPSDIST, "torchrun": TORCHRUN, "msrun": MSRUN, "Open MPI": OPENMPI, "PMI": PMI, "srun": SRUN}


@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launchers_variables(name: str) -> None:
    assert from_environment(LAUNCHERS[name]) == Placement(5, 8, 1, 4, 1, 2)


def test_every_family_has_its_test() -> None:
    assert list(LAUNCHERS) == [family.name for family in FAMILIES]


@pytest.mark.parametrize("environ", [{}, SBATCH, {"RANK": "3"}, {"PMI_SIZE": "4"}, {"RANK": "", "WORLD_SIZE": ""}])
def test_without_a_launcher_there_is_no_placement(environ: dict[str, str]) -> None:
    assert from_environment(environ) is None


@pytest.mark.parametrize(
    ("trusted", "other"), [(a, b) for i, a in enumerate(LAUNCHERS) for b in list(LAUNCHERS)[i + 1 :]]
)
def test_the_order_of_trust_decides_about_what_only_one_can_know(trusted: str, other: str) -> None:
    """Both say rank 5 of 8; the less trusted one's local numbers are of another machine."""
    lies = {**LAUNCHERS[other]}
    lies |= {name: "0" for name in lies if "LOCALID" in name or "LOCAL_RANK" in name or "LOCALRANKID" in name}
    assert from_environment({**lies, **LAUNCHERS[trusted]}) == Placement(5, 8, 1, 4, 1, 2)


def test_sbatch_variables_do_not_disturb_another_launcher() -> None:
    assert from_environment({**SBATCH, **OPENMPI}) == Placement(5, 8, 1, 4, 1, 2)


@pytest.mark.parametrize(
    "lie", [{"WORLD_SIZE": "4", "RANK": "2"}, {"WORLD_SIZE": "16", "RANK": "5"}, {"WORLD_SIZE": "8", "RANK": "4"}]
)
def test_launchers_that_disagree_are_both_named(lie: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        from_environment({**OPENMPI, **TORCHRUN, **lie})
    assert f"torchrun says rank {lie['RANK']} of {lie['WORLD_SIZE']}" in str(caught.value)
    assert "Open MPI says rank 5 of 8" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"OPSDIST_RANK": "one"}, "OPSDIST_RANK='one', set by opsdist, is not a number"),
        ({"OPSDIST_RANK": "8"}, "OPSDIST_RANK=8 is not a rank of OPSDIST_WORLD_SIZE=8"),
        ({"OPSDIST_RANK": "-1"}, "not a rank"),
        ({"OPSDIST_WORLD_SIZE": "0"}, "not a rank"),
        ({"OPSDIST_RANK": ""}, "OPSDIST_WORLD_SIZE is set, but"),
        ({"OPSDIST_WORLD_SIZE": ""}, "OPSDIST_RANK is set, but"),
        ({"OPSDIST_LOCAL_RANK": "4"}, "local rank 4 of 4"),
        ({"OPSDIST_LOCAL_SIZE": "0"}, "local rank 1 of 1"),
        ({"OPSDIST_NODE": "2"}, "node 2 of 2"),
    ],
)
def test_variables_that_cannot_be_are_refused(change: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_environment({**OPSDIST, **change})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("tasks", "node", "wanted"),
    [
        ("8", "0", Placement(5, 8, 5, 8, 0, 1)),
        ("2(x4)", "2", Placement(5, 8, 1, 2, 2, 4)),
        ("3,4,1", "1", Placement(5, 8, 2, 4, 1, 3)),
        ("1(x3),5", "3", Placement(5, 8, 2, 5, 3, 4)),
    ],
)
def test_slurm_gives_the_sizes_of_all_nodes_in_one(tasks: str, node: str, wanted: Placement) -> None:
    variables = {"SLURM_STEP_TASKS_PER_NODE": tasks, "SLURM_NODEID": node, "SLURM_LOCALID": str(wanted.local_rank)}
    assert from_environment({**SRUN, **variables}) == wanted


def test_a_worker_of_msrun_without_a_rank_is_refused() -> None:
    """It would be a world of its own, and so would all the others."""
    with pytest.raises(UsageError, match="--node_rank"):
        from_environment({"MS_ROLE": "MS_WORKER", "MS_WORKER_NUM": "8"})


@pytest.mark.parametrize("tasks", ["x", "2(x", "2(x3", "-1"])
def test_slurm_sizes_that_make_no_sense_are_refused(tasks: str) -> None:
    with pytest.raises(UsageError, match="SLURM_STEP_TASKS_PER_NODE"):
        from_environment({**SRUN, "SLURM_STEP_TASKS_PER_NODE": tasks})


def test_what_is_not_given_follows_from_the_rank() -> None:
    assert from_environment({"RANK": "3", "WORLD_SIZE": "4"}) == Placement(3, 4, 3, 4, 0, 1)
    assert from_environment({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}) == Placement(3, 4, 1, 2, 1, 2)


def test_srun_gives_way_to_the_launcher_that_it_has_started_on_each_node() -> None:
    """Rank 5 of 8 is torchrun's; srun has started a torchrun on each of two nodes."""
    outer = {**SRUN, "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}
    for inner in (TORCHRUN, OPENMPI, PMI):
        assert from_environment({**outer, **inner}) == Placement(5, 8, 1, 4, 1, 2)


@pytest.mark.parametrize("tasks", [("4", "2(x2)", "1"), ("16", "1(x16)", "5")])
def test_srun_does_not_give_way_where_it_has_started_the_ranks(tasks: tuple[str, str, str]) -> None:
    number, each, rank = tasks
    outer = {**SRUN, "SLURM_STEP_NUM_TASKS": number, "SLURM_PROCID": rank, "SLURM_STEP_TASKS_PER_NODE": each}
    with pytest.raises(UsageError, match="two launchers disagree"):
        from_environment({**outer, **TORCHRUN, "SLURM_NODEID": "0"})


def test_of_two_that_agree_the_one_that_knows_the_hosts_tells_them() -> None:
    """srun with variables of PMI, or with RANK and WORLD_SIZE set by hand for what it starts."""
    assert from_environment({**SRUN, "PMI_RANK": "5", "PMI_SIZE": "8"}) == Placement(5, 8, 1, 4, 1, 2)
    assert from_environment({**SRUN, "RANK": "5", "WORLD_SIZE": "8"}) == Placement(5, 8, 1, 4, 1, 2)
