"""What another process is doing, from /proc; asked when a rank does not answer. May import: probes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from probes.host import Host

_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "waiting in the kernel, cannot be interrupted",
    "T": "stopped",
    "t": "stopped by a debugger",
    "Z": "zombie",
    "X": "dead",
    "I": "idle",
}


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one process: the most it ever had resident, and what of shared memory it has resident now."""

    peak_bytes: int
    shared_bytes: int


def state(host: Host, pid: int) -> str | None:
    """Such as "T (stopped)"; None when there is no such process or it cannot be read."""
    text = host.read(f"/proc/{pid}/stat")
    return None if text is None else parse_state(text)


def parse_state(stat: str) -> str | None:
    """The state of a `stat` line. The command's name may hold blanks and parentheses; only the last one closes it."""
    _, closed, rest = stat.rpartition(")")
    letter = rest.split()[0] if closed and rest.split() else ""
    if len(letter) != 1:
        return None
    return f"{letter} ({_STATES.get(letter, 'unknown state')})"


def cpu_seconds(host: Host, pid: int) -> float | None:
    """CPU time the process has used so far, in user and kernel mode; None when it cannot be read."""
    text = host.read(f"/proc/{pid}/stat")
    return None if text is None else parse_cpu_seconds(text)


def parse_cpu_seconds(stat: str) -> float | None:
    """utime and stime of a `stat` line: fields 14 and 15 of proc(5), in clock ticks."""
    fields = stat.rpartition(")")[2].split()
    try:
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (IndexError, ValueError):
        return None


def memory(host: Host, pid: int) -> Memory | None:
    """None when there is no such process or the kernel does not tell."""
    text = host.read(f"/proc/{pid}/status")
    return None if text is None else parse_memory(text)


def parse_memory(status: str) -> Memory | None:
    """VmHWM and RssShmem of a `status` file, see proc(5); "kB" there is 1024 bytes."""
    found = {name: int(number) << 10 for name, number in re.findall(r"^(VmHWM|RssShmem):\s+(\d+) kB$", status, re.M)}
    return Memory(found["VmHWM"], found["RssShmem"]) if len(found) == 2 else None
