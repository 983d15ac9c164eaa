"""An agent's look at its host, in a thread of its own: tools of vendors take their time, and the agent must be heard.

May import: protocol, probes' door, hostinfo.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from probes.endable import EndableHost
from probes.host import LocalHost
from suites.launch.protocol import Frame


class _Stopped(BaseException):
    """Nobody wants to know any more."""


class Looking:
    """Begins at once. `turn` says what there is to say: which question is asked, at last the answer."""

    def __init__(self, frame: Frame, send: Callable[[Frame], None]) -> None:
        self._send = send
        self._said: SimpleQueue[Frame] = SimpleQueue()
        self._stopped = False
        self._host = EndableHost(LocalHost())
        threading.Thread(target=self._look, args=(frame["name"], frame["wanted"])).start()

    def turn(self) -> None:
        while True:
            try:
                self._send(self._said.get_nowait())
            except Empty:
                return

    def stop(self) -> None:
        """Ask nothing more, and end the tool that is being asked."""
        self._stopped = True
        self._host.end()

    def _look(self, name: str, told: dict[str, Any]) -> None:
        from suites.errors import UsageError
        from suites.hostinfo import Seen, Wanted, look
        from suites.report import Finding, Status

        wanted = Wanted(**{**told, "sections": tuple(told["sections"]), "devices": tuple(told["devices"])})
        try:
            seen = look(name, self._host, wanted, tell=self._tell)
        except _Stopped:
            return
        except UsageError as error:  # a device that this host does not have
            seen = Seen(name, {}, [Finding("info.device", Status.ERROR, str(error), {"host": name})])
        findings = [finding.record() for finding in seen.findings]
        self._said.put({"type": "looked", "facts": seen.facts, "findings": findings, "texts": seen.texts})

    def _tell(self, line: str) -> None:
        if self._stopped:
            raise _Stopped
        self._said.put({"type": "asking", "line": line})
