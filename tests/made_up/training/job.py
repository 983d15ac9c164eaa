"""Training jobs drawn by a seed: the mesh, how it trains, the fault, how far hosts run ahead, how wrong clocks are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.made_up.training.faults import FAULTS, Fault, Truth, truth
from tests.made_up.training.mesh import Mesh
from tests.made_up.training.program import Plan, program
from tests.made_up.training.streams import Run

_SHAPES = ((2, 2, 2), (2, 2, 4), (4, 2, 2), (2, 1, 4), (1, 4, 2), (2, 4, 2), (1, 2, 4), (2, 2, 1), (1, 4, 1))
"""(tensor, data, pipeline)"""
_RANKS_OF_HOST = 4
_SKEW = 5_000_000
"""Nanoseconds by which a host's clock may be wrong: what a time daemon leaves."""


@dataclass(frozen=True)
class Job:
    seed: int
    fault: str
    mesh: Mesh
    plan: Plan
    run: Run
    truth: Truth
    skews: Sequence[int]
    """Of each rank's clock, in nanoseconds."""

    def __str__(self) -> str:
        mesh = self.mesh
        shape = f"tensor {mesh.tensor} data {mesh.data} pipeline {mesh.pipeline} expert {mesh.expert}"
        return f"seed {self.seed}, {self.fault}, {shape}"


def job(seed: int) -> Job:
    """Seeds that follow each other have all faults by turns. What does not hold up such a job is drawn again."""
    random = Random(seed)
    name = tuple(FAULTS)[seed % len(FAULTS)]
    while True:
        mesh, plan = _mesh(random), _plan(random)
        programs = [program(mesh, plan, rank) for rank in range(mesh.size)]
        fault = FAULTS[name](random, mesh, programs)
        if fault is None:
            continue
        run = Run(mesh, programs, random.choice((8, 32, 128)), random)
        if run.ended == (name == "none"):
            return Job(seed, name, mesh, plan, run, _checked(fault, run), _skews(random, mesh))
        assert name != "none", f"a job without a fault hangs: {mesh}, {plan}"


def _checked(fault: Fault, run: Run) -> Truth:
    found = truth(fault, run)
    assert found.culprits or not fault.ranks, "it hangs, and nobody's fault has come to pass"
    return found


def _mesh(random: Random) -> Mesh:
    tensor, data, pipeline = random.choice(_SHAPES)
    of_stage = tensor * data
    experts = [number for number in range(2, of_stage + 1) if of_stage % number == 0]
    return Mesh(tensor, data, pipeline, random.choice(experts))


def _plan(random: Random) -> Plan:
    experts, chunks = random.random() < 0.7, random.choice((1, 1, 2))
    return Plan(
        steps=3, micro_batches=random.choice((2, 4)), layers=random.randint(1, 2), experts=experts,
        routed_by_host=experts and random.random() < 0.7, sharded=random.random() < 0.3,
        batched=random.random() < 0.7 and chunks == 1, chunks=chunks, saved=random.random() < 0.3,
    )  # fmt: skip


def _skews(random: Random, mesh: Mesh) -> Sequence[int]:
    hosts = [random.randint(-_SKEW, _SKEW) for _ in range(0, mesh.size, _RANKS_OF_HOST)]
    return tuple(hosts[rank // _RANKS_OF_HOST] for rank in range(mesh.size))
