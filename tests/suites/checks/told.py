"""Facts as the probes read them from what tools print and files hold: rules are tested behind the real parsers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes import PROBES
from probes.host import Answer
from probes.recorded.texthost import TextHost
from suites.hostinfo import Wanted, look


def facts_of(
    commands: Mapping[str, str | Answer] | None = None,
    files: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    sections: tuple[str, ...] = ("accelerators",),
) -> dict[str, Any]:
    """The facts of a host on which these commands print this, and these files hold this. Empty `sections`: all."""
    answers = {line: Answer(0, said, "") if isinstance(said, str) else said for line, said in (commands or {}).items()}
    host = TextHost(files or {}, answers, environ)
    seen = look("h", host, Wanted(sections or tuple(PROBES)))
    assert seen.findings == []
    return seen.facts
