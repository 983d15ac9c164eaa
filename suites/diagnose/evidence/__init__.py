"""Readers of what other tools wrote. Adding one is a file here and a line in a table.

FILE_READERS read a source as a whole, and are asked in this order whether it is theirs; what is nobody's is text, and
every line of it goes to all LINE_READERS, since logs mix what many libraries say.
May import: facts, line, source, known; readers only when used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from suites.diagnose.evidence.line import LineReader

FILE_READERS: Mapping[str, str] = {
    "flight recorder": "suites.diagnose.evidence.flight_recorder",
    "opsdist flight recorder": "suites.diagnose.evidence.rings",
    "run of opsdist": "suites.diagnose.evidence.run",
    "NCCL RAS": "suites.diagnose.evidence.ras_json",
    "HCCL status": "suites.diagnose.evidence.hccl_status",
    "HCCL rank table": "suites.diagnose.evidence.hccl_rank_table",
    "py-spy": "suites.diagnose.evidence.pyspy_json",
}
"""name -> module with `recognises(head: bytes, name: str) -> bool` and `read(source: Source) -> Iterable[Fact]`."""

LINE_READERS: Mapping[str, str] = {
    "torch watchdog": "suites.diagnose.evidence.torch_watchdog:reader",
    "torch desync report": "suites.diagnose.evidence.torch_desync:reader",
    "torch compared calls": "suites.diagnose.evidence.torch_detail:reader",
    "torch monitored barrier": "suites.diagnose.evidence.torch_barrier:reader",
    "torch barriers": "suites.diagnose.evidence.torch_barrier:texts",
    "torch store": "suites.diagnose.evidence.torch_store:reader",
    "torch groups": "suites.diagnose.evidence.torch_errors:groups",
    "torch store errors": "suites.diagnose.evidence.torch_errors:store",
    "torch device errors": "suites.diagnose.evidence.torch_errors:device",
    "gloo connections": "suites.diagnose.evidence.gloo:reader",
    "gloo": "suites.diagnose.evidence.gloo:texts",
    "horovod stall inspector": "suites.diagnose.evidence.horovod:reader",
    "NCCL": "suites.diagnose.evidence.nccl_log:reader",
    "nccl-tests": "suites.diagnose.evidence.nccl_benchmark:reader",
    "NCCL, quoted": "suites.diagnose.evidence.nccl_quoted:reader",
    "NCCL RAS": "suites.diagnose.evidence.ras:reader",
    "HCCL": "suites.diagnose.evidence.hccl_log:reader",
    "hccl_test": "suites.diagnose.evidence.hccl_benchmark:reader",
    "stacks": "suites.diagnose.evidence.pyspy:reader",
    "tracebacks": "suites.diagnose.evidence.tracebacks:reader",
    "exits": "suites.diagnose.evidence.exits:reader",
    "kernel": "suites.diagnose.evidence.kernel:reader",
    "identities": "suites.diagnose.evidence.identities:reader",
    "launchers": "suites.diagnose.evidence.launchers:reader",
}
"""name -> "module:function" that gives a new LineReader for a source."""


def attribute(path: str) -> Any:
    """What `module` or `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def line_readers() -> list[LineReader]:
    """A new one of each."""
    return [attribute(path)() for path in LINE_READERS.values()]
