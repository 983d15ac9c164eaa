"""What becomes of the dumps of a job before anybody reads them: some are lost, or another library has written them."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.made_up.gloo_jobs.run import PREFIX, Dumps, Outcome

Form = Callable[[Outcome, random.Random], Dumps | None]
"""None where it cannot be, or changes nothing."""

_NCCL = {"all_gather": "_all_gather_base", "reduce_scatter": "_reduce_scatter_base", "barrier": "all_reduce_barrier"}


def dumps_in(form: str, outcome: Outcome) -> Dumps | None:
    """The same for a job each time."""
    return FORMS[form](outcome, random.Random(outcome.plan.seed))


def write(dumps: Dumps, folder: Path) -> None:
    """As torch writes and names them."""
    for rank, dump in dumps.items():
        (folder / f"{PREFIX}{rank}").write_bytes(pickle.dumps(dump, 2))


def _whole(outcome: Outcome, rng: random.Random) -> Dumps | None:
    return outcome.dumps


def _without_culprits(outcome: Outcome, rng: random.Random) -> Dumps | None:
    left = _without(outcome.dumps, outcome.plan.truth.culprits)
    return left if left and len(left) < len(outcome.dumps) else None


def _without_victim(outcome: Outcome, rng: random.Random) -> Dumps | None:
    victims = sorted(outcome.dumps.keys() - outcome.plan.truth.culprits)
    return _without(outcome.dumps, frozenset({rng.choice(victims)})) or None if victims else None


def _without_two(outcome: Outcome, rng: random.Random) -> Dumps | None:
    if len(outcome.dumps) < 3:
        return None
    return _without(outcome.dumps, frozenset(rng.sample(sorted(outcome.dumps), 2)))


def _without(dumps: Dumps, ranks: frozenset[int]) -> Dumps:
    return {rank: dump for rank, dump in dumps.items() if rank not in ranks}


def _as_nccl(outcome: Outcome, rng: random.Random) -> Dumps | None:
    """Its names for calls, a state that says when they are over, and the groups with their members. Gloo has done with
    a call that failed as with one that is over, which NCCL would not have."""
    if outcome.broken:
        return None
    groups = {outcome.names[name]: (name, members) for name, members in outcome.plan.groups.items()}
    return {
        rank: {
            **{key: value for key, value in dump.items() if key != "comm_lib_version"},
            "version": "2.9",
            "nccl_version": "2.27.3",
            "pg_config": {
                name: {"name": name, "desc": "default_pg" if own == "0" else f"G{own}", "ranks": str(list(members))}
                for name, (own, members) in groups.items()
                if rank in members
            },
            "entries": [_nccl_entry(entry) for entry in dump["entries"]],
        }
        for rank, dump in outcome.dumps.items()
    }


def _nccl_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    operation = entry["profiling_name"].removeprefix("gloo:")
    changed = {**entry, "profiling_name": f"nccl:{_NCCL.get(operation, operation)}"}
    if operation == "barrier":  # there it is a sum of one number
        changed |= {"input_sizes": [[1]], "output_sizes": [[1]], "input_dtypes": ["Float"], "output_dtypes": ["Float"]}
    if entry["retired"]:
        changed |= {"state": "completed", "time_discovered_completed_ns": entry["time_created_ns"] + 10_000_000}
    return changed


FORMS: Mapping[str, Form] = {
    "whole": _whole, "culprit gone": _without_culprits, "victim gone": _without_victim, "two gone": _without_two,
    "as NCCL": _as_nccl,
}  # fmt: skip
