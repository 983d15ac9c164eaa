"""Who sits where: a rank's place in the world, as given by a launcher's environment.

One row per launcher's variables, in order of trust. May import: the standard library, errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from collectives.errors import UsageError


@dataclass(frozen=True, slots=True)
class Placement:
    """`node` numbers the hosts of a run; local numbers are among the ranks of one node."""

    rank: int
    world_size: int
    local_rank: int
    local_size: int
    node: int
    node_count: int


@dataclass(frozen=True, slots=True)
class Family:
    """The variables of one launcher; a row applies when its `marks` are all set."""

    name: str
    marks: tuple[str, ...]
    rank: str
    size: str
    local_rank: str
    local_size: str
    node: str = ""
    local_sizes: str = ""
    """Where a launcher gives the sizes of all nodes in one variable, as srun does: `2(x3),1`."""


FAMILIES: tuple[Family, ...] = (
    Family(
        "opsdist", ("OPSDIST_RANK", "OPSDIST_WORLD_SIZE"),
        "OPSDIST_RANK", "OPSDIST_WORLD_SIZE", "OPSDIST_LOCAL_RANK", "OPSDIST_LOCAL_SIZE", "OPSDIST_NODE",
    ),
    Family("torchrun", ("RANK", "WORLD_SIZE"), "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"),
    # What is told of hosts is told by what runs msrun in containers.
    Family(
        "msrun", ("MS_NODE_ID", "MS_WORKER_NUM"), "MS_NODE_ID", "MS_WORKER_NUM", "", "MS_LOCAL_WORKER", "MS_NODE_RANK",
    ),
    Family(
        "Open MPI", ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    Family("PMI", ("PMI_RANK", "PMI_SIZE"), "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    # Inside an sbatch script SLURM_PROCID is set although no step runs; only a step's own variables count.
    Family(
        "srun", ("SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
        "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_NODEID", "SLURM_STEP_TASKS_PER_NODE",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Launched:
    """What has started this process, and as whom."""

    family: Family
    placement: Placement


def from_environment(environ: Mapping[str, str] = os.environ) -> Placement | None:
    """The placement a launcher has given this process, or None. Raises UsageError as `launched` does."""
    found = launched(environ)
    return found.placement if found else None


def launched(environ: Mapping[str, str] = os.environ) -> Launched | None:
    """The launcher that has started this process as a rank, or None. Raises UsageError when variables are not numbers,
    contradict themselves, or two launchers disagree about the world."""
    given = [mark for mark in FAMILIES[0].marks if environ.get(mark)]
    if 0 < len(given) < len(FAMILIES[0].marks):
        # Taking this for a world of one would let every rank run alone and call it a success.
        raise UsageError(f"{given[0]} is set, but of {' and '.join(FAMILIES[0].marks)} all are needed")
    if environ.get("MS_ROLE") == "MS_WORKER" and not environ.get("MS_NODE_ID"):
        raise UsageError("msrun has given this process no rank: give it --node_rank, so that it sets MS_NODE_ID")
    found = [family for family in FAMILIES if all(environ.get(mark) for mark in family.marks)]
    if not found:
        return None
    found = _innermost(environ, found)
    worlds = {(_number(environ, f.rank, f), _number(environ, f.size, f)): f for f in reversed(found)}
    if len(worlds) > 1:
        told = "; ".join(f"{f.name} says rank {rank} of {size}" for (rank, size), f in worlds.items())
        raise UsageError(f"two launchers disagree about the world: {told}. Unset the variables of the one not meant")
    # The most trusted that tells who is on this host, which of srun and the variables it is given on top one may not.
    family = next((f for f in found if environ.get(f.local_size) or environ.get(f.local_sizes)), found[0])
    rank, size = _number(environ, family.rank, family), _number(environ, family.size, family)
    if not 0 <= rank < size:
        raise UsageError(f"{family.rank}={rank} is not a rank of {family.size}={size}")
    return Launched(family, _placement(environ, family, rank, size))


def _innermost(environ: Mapping[str, str], found: list[Family]) -> list[Family]:
    """Without srun where it has started another launcher, once on each node: `srun torchrun ...`, or an mpirun that
    uses srun to reach its nodes. What that has started still has srun's variables."""
    outer = FAMILIES[-1]
    if len(found) < 2 or found[-1] is not outer or set(_local_sizes(environ, outer)) - {1}:
        return found
    inner, tasks = found[0], _number(environ, outer.size, outer)
    return found[:-1] if tasks < _number(environ, inner.size, inner) else found


def _placement(environ: Mapping[str, str], family: Family, rank: int, size: int) -> Placement:
    if sizes := _local_sizes(environ, family):
        node = _number(environ, family.node, family, 0)
        local_size, node_count = sizes[min(node, len(sizes) - 1)], len(sizes)
    else:
        local_size = max(_number(environ, family.local_size, family, size), 1)
        node = _number(environ, family.node, family, rank // local_size)
        node_count = -(-size // local_size)
    local_rank = _number(environ, family.local_rank, family, rank % local_size)
    if not (0 <= local_rank < local_size and 0 <= node < node_count):
        raise UsageError(
            f"{family.name} says local rank {local_rank} of {local_size} on node {node} of {node_count} to rank {rank} "
            f"of {size}, which cannot be"
        )
    return Placement(rank, size, local_rank, local_size, node, node_count)


def _local_sizes(environ: Mapping[str, str], family: Family) -> list[int]:
    """The ranks of every node, from Slurm's `2(x3),1`; empty where it is not given."""
    text = environ.get(family.local_sizes, "") if family.local_sizes else ""
    sizes: list[int] = []
    for part in text.split(",") if text else ():
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if not match:
            raise UsageError(f"{family.local_sizes}={text!r}, set by {family.name}, is not like 2(x3),1")
        sizes += [int(match[1])] * int(match[2] or 1)
    return sizes


def _number(environ: Mapping[str, str], name: str, family: Family, default: int | None = None) -> int:
    value = environ.get(name) if name else None
    if value is None and default is not None:
        return default
    try:
        return int(value or "")
    except ValueError:
        raise UsageError(f"{name}={value!r}, set by {family.name}, is not a number") from None
