"""What to collect where there is no evidence, as text for people. May import: layout, and suites' advice."""

from __future__ import annotations

from opsdist_cli.output.layout import wrapped
from suites.diagnose.advice import ADVICE


def advice() -> list[str]:
    """By whom writes it: what it tells, and how it is switched on."""
    lines = ["what to collect, and how to switch it on:"]
    kind = None
    for row in ADVICE:
        if row.of != kind:
            lines.append(f"  {row.of}")
            kind = row.of
        lines += wrapped(row.what, "    - ", "      ")
        lines += [f"        {how}" for how in row.how]
    return [
        *lines,
        "then: opsdist diagnose deadlock PATH...   (files, folders, archives: of all ranks, whatever there is)",
    ]
