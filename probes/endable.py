"""A host whose command, running in another thread, can be ended. May import: probes, the standard library."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from probes.host import Answer, PassingHost


class EndableHost(PassingHost):
    """Passes everything on to this machine. Whoever waits for the end of a thread that asks a tool which hangs would
    wait for the tool's deadline, and whoever does not would leave the tool behind: so the tool is ended first."""

    _asking: int | None = None

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        self._asking = threading.get_native_id()
        try:
            return super().run(argv, timeout)
        finally:
            self._asking = None

    def end(self) -> None:
        """End what a thread is running now, if there is something. (A child belongs to the thread that started it, and
        leads a session of its own.)"""
        with contextlib.suppress(OSError, ValueError):
            for child in Path(f"/proc/self/task/{self._asking}/children").read_text().split():
                os.killpg(int(child), signal.SIGKILL)
