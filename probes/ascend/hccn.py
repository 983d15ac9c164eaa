"""`hccn_tool`: the network port of each NPU. Its questions, and the parsers of its answers. It needs root.

May import: probes.
"""

from __future__ import annotations

from probes.ascend.identity import Identity
from probes.reading import Reading, Said, State
from probes.tool_text import pairs
from probes.visit import Query, Tool, Visit

TOOL = Tool(
    "hccn_tool",
    places=("/usr/local/Ascend/driver/tools/hccn_tool",),
    messages=(
        (r"permission denied", State.REFUSED),
        (r"hccn_tool is busy", State.REFUSED),
        (r"not supported|does not support", State.UNSUPPORTED),
    ),
)


def of_device(visit: Visit, identity: Identity) -> dict[str, Reading]:
    """Questions about one device, by its physical id."""
    return visit.ask_all(TOOL, QUERIES, device=identity.id)


def parse_link(text: str) -> Said:
    said = Said()
    for key, value, line in pairs(text):
        if key == "link status":
            said.value("status", value, line)
    return said


QUERIES = (Query("link", "-i {device} -link -g", parse_link, seconds=15.0, quick=True),)
