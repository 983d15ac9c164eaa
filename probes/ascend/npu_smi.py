"""`npu-smi`: its questions, and the parsers of its answers.

May import: probes.
"""

from __future__ import annotations

from probes.ascend.identity import Identity
from probes.reading import Reading, Said, State
from probes.tool_text import pairs
from probes.visit import Query, Tool, Visit

TOOL = Tool(
    "npu-smi",
    places=("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi"),
    messages=((r"does not support|dose not support", State.UNSUPPORTED), (r"permission", State.REFUSED)),
)


def of_host(visit: Visit) -> dict[str, Reading]:
    return {}


def of_device(visit: Visit, identity: Identity) -> dict[str, Reading]:
    """Questions about one device, by its card and chip."""
    if identity.card is None:
        return {}
    return visit.ask_all(TOOL, DEVICE_QUERIES, card=identity.card, chip=identity.chip or 0)


def parse_health(text: str) -> Said:
    said = Said()
    for key, value, line in pairs(text):
        if key in ("Health", "Health Status"):
            said.value("health", value, line)
    return said


DEVICE_QUERIES = (Query("health", "info -t health -i {card} -c {chip}", parse_health, quick=True),)
