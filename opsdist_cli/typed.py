"""The command as it was typed, for records: without the secrets that are given to other hosts in it.

May import: probes when it is used.
"""

from __future__ import annotations

import re
import sys

_WHOLE = re.compile(r"(?:--env=)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_WITHIN = re.compile(r"\b([A-Za-z_]\w*)=(?![A-Za-z_]\w*=)([^\s'\"]+)")
"""A setting that is a word of the command, and one inside a word, as in a prologue."""


def command_line() -> list[str]:
    """`--env API_TOKEN=abc` is said without the token."""
    from probes.environment import shown

    def said(match: re.Match[str]) -> str:
        return match[0][: match.start(2) - match.start()] + shown(match[1], match[2])

    return ["opsdist", *((_WHOLE if _WHOLE.fullmatch(word) else _WITHIN).sub(said, word) for word in sys.argv[1:])]
