"""Asking the hosts of a crew what they have, while what they print is shown. The work is in suites.fleet.

May import: hostoptions and screen at import time; suites when it is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opsdist_cli.hostoptions import commands, show_output
from opsdist_cli.screen import Screen

if TYPE_CHECKING:
    from suites.launch.crew import Crew
    from suites.report import Report

_GREETING_SECONDS = 30.0
"""For ssh to reach a host and Python to start there."""


def survey(
    screen: Screen, command: Sequence[str], sections: Sequence[str], devices: Sequence[str], crew: Crew
) -> Report:
    """All hosts of the list, also if this one is the only one. Ends the crew."""
    from suites.fleet import Survey
    from suites.report import now

    for line in commands(crew):
        screen.note(line, level=1)
    with contextlib.closing(crew):
        asked = Survey(command, sections, devices, crew, now())
        for event in asked.events(_GREETING_SECONDS):
            show_output(screen, event)
        return asked.report()
