"""What amd-smi and rocm-smi print instead of an answer: what is no fault of a GPU, and what is one.

May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from probes.reading import Said, State
from probes.tool_text import lines

MESSAGES = (
    (r"permission|required groups|must be run as root|AMDSMI_STATUS_NO_PERM", State.REFUSED),
    (r"AMDSMI_STATUS_BUSY|resource busy", State.REFUSED),
    (r"not supported|NOT_SUPPORTED|invalid choice|unrecognized arguments|not valid|invalid command", State.UNSUPPORTED),
)
_FAULTS: Mapping[str, re.Pattern[str]] = {
    "no_driver": re.compile(r"drivers? not (?:initialized|loaded)|DRIVER_NOT_LOADED|amdgpu not found in modules", re.I),
    "no_devices": re.compile(r"unable to detect any gpu|no (?:amd )?gpus? (?:devices? )?(?:found|specified)", re.I),
}


def seeing_faults(parse: Callable[[str], Said]) -> Callable[[str], Said]:
    """The parser, which where it understands nothing looks for words that mean a fault: `fault` is its name."""

    def parse_or_fault(text: str) -> Said:
        said = parse(text)
        for line in lines(text) if not said else ():
            for name, pattern in _FAULTS.items():
                if pattern.search(line):
                    said.value("fault", name, line)
        return said

    return parse_or_fault
