"""Shared memory with a name, as MPI libraries use it: what a process has mapped, and its removal.

A library removes the names when it ends, and so never after a crash; opsdist's own memory has none.
May import: the standard library.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable

_NAMED = re.compile(r"(/dev/shm/(?:mpich_sh|ucx_shm_|vader_segment|sm_segment)\S*)$", re.MULTILINE)
"""Of MPICH, UCX and Open MPI, in a line of maps; what is removed already has more on its line."""


def segments(pid: int) -> set[str]:
    """Paths of what the process has mapped; none of a process that has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as maps:
        return set(_NAMED.findall(maps.read()))
    return set()


def remove(paths: Iterable[str]) -> None:
    """Take the names away. Who has mapped the memory keeps it; what another has removed is no error."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
