"""FORMATS: the host lists of other tools, as name -> function of the entries.

What a format cannot hold is refused; only Slurm's, which holds no slots, leaves them out, and `left_out` says so.
May import: collectives.errors, errors, hosts, nodeset, ranktable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from collectives.errors import unknown
from suites.errors import UsageError
from suites.launch.lists import ranktable
from suites.launch.lists.hosts import HostEntry
from suites.launch.lists.nodeset import fold

Entries = Sequence[HostEntry]


def render(entries: Entries, name: str) -> str:
    """The entries in the format of this name, with an end of line. Raises UsageError."""
    if name not in FORMATS:
        raise UsageError(unknown("format", name, FORMATS))
    return FORMATS[name](entries)


def lacks_devices(entries: Entries, name: str) -> bool:
    """Whether the format needs devices that are not here: see `probed.with_devices`."""
    return name == "rank-table" and not (entries and all(entry.devices for entry in entries))


def left_out(entries: Entries, name: str) -> str | None:
    """What the entries say and this format does not."""
    counts = [entry.slots for entry in entries if entry.slots is not None]
    if name != "slurm" or not counts:
        return None
    if len(counts) < len(entries):
        return "a node list of Slurm has no slots in it"
    return f"a node list of Slurm has no slots in it; as SLURM_TASKS_PER_NODE they are {task_runs(counts)}"


def task_runs(counts: Sequence[int]) -> str:
    """The inverse of `hosts.task_counts`: 4, 4, 4, 2 are `4(x3),2`."""
    runs = [(count, len(list(run))) for count, run in groupby(counts)]
    return ",".join(f"{count}(x{nodes})" if nodes > 1 else str(count) for count, nodes in runs)


def _mpich(entries: Entries) -> str:
    """`node01:8`, for mpiexec -f and hccl_test. A user is a word after it."""
    _refuse_ipv6(entries, "MPICH's host files end a name at the first colon")
    lines = []
    for entry in entries:
        user, at, host = entry.name.rpartition("@")
        lines.append(f"{host}:{entry.slots}" if entry.slots else host)
        lines[-1] += f" user={user}" if at else ""
    return _lines(lines)


def _ompi(entries: Entries) -> str:
    """`node01 slots=8`, for mpirun --hostfile. A user stands before the name, as for ssh."""
    return _lines(f"{entry.name} slots={entry.slots}" if entry.slots else entry.name for entry in entries)


def _deepspeed(entries: Entries) -> str:
    """`node01 slots=8`, without which DeepSpeed refuses a line."""
    for entry in entries:
        if entry.slots is None:
            example = replace(entry, slots=8)
            raise UsageError(f"DeepSpeed needs the slots of every host, and {entry.name} has none; write {example}")
    return _ompi(entries)


def _slurm(entries: Entries) -> str:
    """`node[01-16,20]`, for srun --nodelist. Slurm knows nodes by name, and starts its tasks as who submits them."""
    _refuse_ipv6(entries, "Slurm's node lists have names only")
    for entry in entries:
        if "@" in entry.name:
            raise UsageError(f"Slurm's node lists have no users, and {entry.name} has one; name the host without it")
    return _lines([fold([entry.name for entry in entries])])


def _rank_table(entries: Entries) -> str:
    """HCCL's RANK_TABLE_FILE, of version 1.0. Nobody but the hosts knows the addresses of their devices."""
    for entry in entries:
        if not entry.devices:
            raise UsageError(f"a rank table needs the addresses of devices, and for {entry.name} there are none")
    return ranktable.write([(entry.name, entry.devices) for entry in entries])


FORMATS: dict[str, Callable[[Entries], str]] = {
    "mpich": _mpich,
    "ompi": _ompi,
    "slurm": _slurm,
    "deepspeed": _deepspeed,
    "rank-table": _rank_table,
}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _refuse_ipv6(entries: Entries, reason: str) -> None:
    for entry in entries:
        if ":" in entry.name:
            raise UsageError(f"{reason}, and {entry.name} is an IPv6 address; give a name for it")
