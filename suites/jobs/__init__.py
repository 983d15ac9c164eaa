"""JOBS: what a launched rank can run, as name -> "module:function" of a RankContext. Never code sent over a wire."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suites.launch.rank import RankContext

JOBS: dict[str, str] = {
    "perf": "suites.jobs.perf:run",
}


def job_named(name: str) -> Callable[[RankContext], None]:
    """The job of the table; importing it is what all ranks share. Raises KeyError."""
    module, function = JOBS[name].split(":")
    job: Callable[[RankContext], None] = getattr(import_module(module), function)
    return job
