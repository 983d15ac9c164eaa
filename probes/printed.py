"""What a command printed on a host of which only that was recorded.

A living host is read from files, which need no program; a recording may hold nothing but what somebody typed.
May import: probes.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.host import Host
from probes.tool_text import clean

_SECONDS = 5.0


def printed(host: Host, *commands: Sequence[str]) -> str | None:
    """The output of the first of the commands that was recorded; None on a host that can be asked anything."""
    if host.recorded() is None:
        return None
    answers = (host.run(argv, _SECONDS) for argv in commands)
    return next((clean(answer.stdout) for answer in answers if answer and answer.stdout.strip()), None)
