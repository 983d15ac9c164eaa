"""`nvidia-smi`: what it is asked about the host as a whole. Each of its answers tells of all GPUs.

May import: probes.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.nvidia import details, nvlink, query, smi_table, topo
from probes.reading import Reading, State
from probes.visit import Query, Tool, Visit

TOOL = Tool(
    "nvidia-smi",
    places=("/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"),
    messages=(
        (r"is not a valid field", State.UNSUPPORTED),
        (r"not supported|Invalid combination of input|is not recogni[sz]ed|Option .* is not", State.UNSUPPORTED),
        (r"Insufficient Permissions|permission|Operation not permitted", State.REFUSED),
    ),
)
QUESTIONS: tuple[Sequence[Query], ...] = (
    smi_table.QUERIES,
    query.STATES,
    topo.LINKS,
    topo.DIRECT,
    details.QUERIES,
    (query.REMAPPED_ROWS,),
    *((each,) for each in nvlink.QUERIES),
    (query.PROCESSES,),
)
"""Each in its forms: the next is asked where the one before was not understood by the tool, or brought nothing."""
_NEXT = (State.UNSUPPORTED, State.ABSENT, State.FAILED)


def of_host(visit: Visit) -> dict[str, Reading]:
    found = (_first(visit, forms) for forms in QUESTIONS)
    return {name: reading for name, reading in found if reading.state is not State.ABSENT}


def _first(visit: Visit, forms: Sequence[Query]) -> tuple[str, Reading]:
    """The answer to the first form that has one, else to the first that was not simply absent."""
    readings = []
    for form in forms:
        readings.append(visit.ask(TOOL, form))
        if readings[-1].state not in _NEXT:
            return form.name, readings[-1]
    spoken = [reading for reading in readings if reading.state is not State.ABSENT]
    return forms[0].name, (spoken or readings)[0]
