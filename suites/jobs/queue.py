"""How long a rank has waited for a CPU: what makes it late on a busy machine, though nothing is wrong with it.

May import: the standard library.
"""

from __future__ import annotations

import os

_SCHEDSTAT = "/proc/thread-self/schedstat"
"""Time on a CPU, time runnable but waiting for one (both in ns), and turns: Documentation/scheduler/sched-stats.rst."""


class QueueWait:
    """Of the thread that makes it. Where the system does not tell, it is taken not to have waited."""

    def __init__(self) -> None:
        try:
            self._file: int | None = os.open(_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = None
        self._before = self._read()

    def since(self) -> int:
        """Nanoseconds that it has waited since this was asked the last time."""
        now = self._read()
        waited, self._before = now - self._before, now
        return waited

    def _read(self) -> int:
        return 0 if self._file is None else int(os.pread(self._file, 128, 0).split()[1])
