"""Asking the hosts of a crew what they have, while what they print is shown. The work is in suites.fleet.

May import: hostoptions and screen at import time; suites when it is used.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from opsdist_cli.hostoptions import commands, show_output
from opsdist_cli.screen import Screen

if TYPE_CHECKING:
    from suites.fleet import Survey
    from suites.hostinfo import Wanted
    from suites.launch.crew import Crew

_GREETING_SECONDS = 30.0
"""For ssh to reach a host and Python to start there."""


def survey(screen: Screen, wanted: Wanted, crew: Crew) -> Survey:
    """All hosts of the list, also if this one is the only one, each looked at. Ends the crew."""
    from suites.fleet import Survey

    for line in commands(crew):
        screen.note(line, level=1)
    with contextlib.closing(crew):
        asked = Survey(wanted, crew)
        for event in asked.events(_GREETING_SECONDS):
            show_output(screen, event)
        return asked
