"""JOBS: what a launched rank can run, as name -> "module:function" of a RankContext. Never code sent over a wire."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suites.launch.rank import RankContext

JOBS: dict[str, str] = {
    "perf": "suites.jobs.perf:run",
    "exercise": "suites.jobs.exercise:run",
}

BEFORE_FORK = ("collectives.backends.builtin", "collectives.transport.zmq")
"""What every rank of every job would otherwise import for itself: with 64 ranks on two cores that takes seconds."""


def job_named(name: str) -> Callable[[RankContext], None]:
    """The job of the table, with all it needs imported, which is what ranks share. Raises KeyError."""
    module, function = JOBS[name].split(":")
    for needed in BEFORE_FORK:
        import_module(needed)
    job: Callable[[RankContext], None] = getattr(import_module(module), function)
    return job
