"""How long a controller waits for what, in seconds, so that every wait of a run is bounded.

May import: the standard library.
"""

from __future__ import annotations

AGENT_SECONDS = 30.0
"""How long an agent may say nothing; it has a heartbeat of a second once it runs."""
QUIET_SECONDS = 5.0
"""From here on, an agent of another host that says nothing excuses its ranks for saying nothing."""
SILENCE_SECONDS = 10.0
"""Beyond the ranks' own deadline, how long no rank may do anything."""
GRACE_SECONDS = 2.0
"""After a rank ran into its deadline, the others' own reports are waited for: who stays silent is suspect."""
STOP_SECONDS = 10.0
"""For what was told to stop to end, before it is ended."""
GREETING_SECONDS = 10.0
"""For an agent to be there, at the least, whatever the deadline of a message: interpreters start in it."""
BEAT_SECONDS = 2.0
"""How often agents hear that their controller lives, where some are of other hosts."""
TURN_SECONDS = 0.1
ABSENT_SECONDS = 0.05
"""From here on, time the caller takes for an event is not held against agent and ranks."""
BUSY_SECONDS = 1.0
"""What the controller does itself between two looks at what agents say takes less; else it did not run."""


def of_reports(faulted: float, busy: float, timeout: float) -> float:
    """Until when reports are waited for, after a rank ran into its deadline at `faulted` and the last of the others was
    at work at `busy`.

    Those that were at work until shortly before ran into theirs later, and are no culprits. But one that works for ever
    gets no longer than a deadline of its own.
    """
    return min(busy, faulted) + timeout + GRACE_SECONDS
