"""The process groups of a job that splits its work in four ways: tensors, replicas, pipeline stages and experts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.made_up.flight_recorder import Group

WORLD = "default_pg"
DATA = "DATA_PARALLEL_GROUP_WITH_CP"
MODEL = "MODEL_PARALLEL_GROUP"
TENSOR = "TENSOR_MODEL_PARALLEL_GROUP"
PIPELINE = "PIPELINE_MODEL_PARALLEL_GROUP"
EMBEDDING = "EMBEDDING_GROUP"
STAGE = "TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP"
EXPERT = "EXPERT_MODEL_PARALLEL_GROUP"
EXPERT_DATA = "EXPERT_DATA_PARALLEL_GROUP"


@dataclass(frozen=True)
class Mesh:
    """So many ranks in each direction. Ranks are numbered by tensor shard first, then by replica, then by stage.

    `expert` ranks of one stage, next to each other, share the experts: it divides `tensor * data`.
    """

    tensor: int
    data: int
    pipeline: int
    expert: int

    @property
    def size(self) -> int:
        return self.tensor * self.data * self.pipeline

    def stage(self, rank: int) -> int:
        return rank // (self.tensor * self.data)

    @cached_property
    def groups(self) -> Sequence[Group]:
        """In the order in which Megatron makes them; torch names them by their numbers."""
        return tuple(Group(str(number), desc, ranks) for number, (desc, ranks) in enumerate(self._members()))

    def of(self, rank: int) -> dict[str, Group]:
        """By what they are called, those in which a rank has somebody to talk to."""
        return {group.desc: group for group in self.groups if rank in group.ranks and len(group.ranks) > 1}

    def group(self, name: str) -> Group:
        return self.groups[int(name)]

    def _members(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        shards, replicas, stages = range(self.tensor), range(self.data), range(self.pipeline)
        yield WORLD, tuple(range(self.size))
        for stage in stages:
            for shard in shards:
                yield DATA, tuple(self._rank(stage, replica, shard) for replica in replicas)
        for replica in replicas:
            yield MODEL, tuple(self._rank(stage, replica, shard) for stage in stages for shard in shards)
        for stage in stages:
            for replica in replicas:
                yield TENSOR, tuple(self._rank(stage, replica, shard) for shard in shards)
        for replica in replicas:
            for shard in shards:
                yield PIPELINE, tuple(self._rank(stage, replica, shard) for stage in stages)
                if self.pipeline > 1:  # the first and the last stage hold the same embedding
                    yield EMBEDDING, tuple(self._rank(stage, replica, shard) for stage in (stages[0], stages[-1]))
        of_stage = self.tensor * self.data
        for first in range(0, self.size, of_stage):
            yield STAGE, tuple(range(first, first + of_stage))
        for first in range(0, self.size, self.expert):
            yield EXPERT, tuple(range(first, first + self.expert))
        for stage in stages:
            for place in range(self.expert):
                yield EXPERT_DATA, tuple(range(stage * of_stage + place, (stage + 1) * of_stage, self.expert))

    def _rank(self, stage: int, replica: int, shard: int) -> int:
        return (stage * self.data + replica) * self.tensor + shard
