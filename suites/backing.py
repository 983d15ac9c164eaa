"""Which backends a run uses: the names asked for, to rows of BACKENDS that are ready here; what hosts lack for them.

May import: collectives, report, world's facts.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectives.backends import BACKENDS, Backend, backend_named
from collectives.errors import unknown
from suites.errors import SuiteError, UsageError
from suites.report import Finding, Status
from suites.world import HostFacts


def ready(names: Sequence[str]) -> tuple[Backend, ...]:
    """In the order asked for, each once.

    Raises UsageError for the first that is unknown, or cannot be used here, with the reason and what to do;
    SuiteError where `auto` means one whose devices are there, but which is not ready.
    """
    backends = []
    for name in dict.fromkeys(_automatic() if name == "auto" else name for name in names):
        if name not in BACKENDS:
            raise UsageError(unknown("backend", name, BACKENDS))
        backend = backend_named(name)
        if reason := backend.unavailable():
            raise UsageError(f"backend {name} cannot be used: {reason}")
        backends.append(backend)
    return tuple(backends)


def _automatic() -> str:
    """The one whose devices are visible, else the built-in one."""
    for name in BACKENDS:
        backend = backend_named(name)
        if backend.claims():
            if reason := backend.unavailable():
                raise SuiteError(
                    f"devices of backend {name} are visible, but it cannot be used: {reason}; or use --backend builtin"
                )
            return name
    return "builtin"


def judge_cores(hosts: Sequence[HostFacts]) -> list[Finding]:
    """One host without the native core makes all of them do without: which, and what to install there."""
    without = [host for host in hosts if host.without_core]
    if not without or len(without) == len(hosts):
        return []  # where none has it, the backend itself says so
    reason, _, remedy = (without[0].without_core or "").partition("; ")
    names = ", ".join(host.name for host in without)
    message = f"{names}: {reason}; and so they do on all {len(hosts)} hosts"
    return [Finding("perf.core", Status.WARN, message, subject={"host": without[0].name}, remedy=f"there: {remedy}")]
