"""The rank's side of `perf`: open the backends, say what they are and cost, run round after round.

How a case is run is in caserun.py, who takes turns with whom in rounds.py.
May import: numpy, collectives, case, launch.rank's context, and from this package.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from collectives.backends import backend_named
from collectives.communicator import Communicator
from collectives.rendezvous import Store
from suites.case import Case
from suites.jobs.agree import Shared
from suites.jobs.caserun import CaseRun
from suites.jobs.footprint import Footprint
from suites.jobs.inject import Injector
from suites.jobs.pingpong import HostClocks
from suites.jobs.rounds import Round
from suites.jobs.settings import Settings
from suites.launch.rank import RankContext

OVERHEAD_ITERATIONS = 1000
LATENCY_ITERATIONS = 20


def run(context: RankContext) -> None:
    """The job."""
    # In place, iterations fold their own results again and overflow in time; what is checked starts from fresh inputs.
    np.seterr(all="ignore")
    injector = Injector(context.arguments["inject"], context.placement.rank)
    context.phase("rendezvous")
    injector.at_rendezvous()
    settings = Settings(**context.arguments["settings"])
    # This host's clock is no other's: the time that is left is told, not when it ends.
    ends = None if settings.budget is None else time.monotonic() + settings.budget
    cases = [_case(fields) for fields in context.arguments["cases"]]
    store = Store(context.store, context.token)
    comms: dict[str, Communicator] = {}
    for name in dict.fromkeys(case.backend for case in cases):
        backend = backend_named(name)
        comms[name] = backend.open(
            context.placement, store, context.token, context.timeout, context.address, context.recorder
        )
    store.close()
    context.phase("start")
    shared = {name: Shared(comm) for name, comm in comms.items()}
    for name, comm in comms.items():
        named = {"backend": name, "library": comm.library, "transport": comm.transport}
        context.report({"type": "ready", **named, **_floor(comm)})
    clocks = HostClocks(next(iter(comms.values())), settings.counts)
    clocks.read()
    footprint, left = Footprint(), len(cases)
    for number, indexes in enumerate(context.arguments["rounds"]):
        members = []
        for index in indexes:
            name = cases[index].backend
            members.append(CaseRun(index, cases[index], comms[name], shared[name], settings, injector))
        Round(number, members, settings, context, ends, clocks).run(left)
        left -= len(members)
        footprint.look(comms.values())
        # A peer that lets go of its buffers takes their pages out of what this rank sees of them.
        members[0].comm.barrier()
        members.clear()  # their buffers go before the next ones come
    context.phase("end")
    context.report({"type": "peak", "bytes": footprint.nbytes})
    for comm in comms.values():
        comm.barrier()
    # Only here: closing delivers what is under way, and after a fault that would hold its report back.
    for comm in comms.values():
        comm.close()


def _case(fields: Mapping[str, Any]) -> Case:
    return Case(**{**fields, "groups": tuple(tuple(group) for group in fields["groups"])})


def _floor(comm: Communicator) -> dict[str, Any]:
    """What the harness itself costs, and the shortest time in which ranks can agree at all. Stamps in ns."""
    comm.barrier()
    overhead = comm.overhead(OVERHEAD_ITERATIONS)
    latency = comm.bind("barrier", None, None).time(LATENCY_ITERATIONS, "none")
    return {"overhead": (overhead[:, 1] - overhead[:, 0]).tolist(), "latency": latency.tolist()}
