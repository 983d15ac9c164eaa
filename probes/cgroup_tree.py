"""Where this process's control groups are in the file system, as folders from its own group up to the mount.

/proc/self/cgroup names the groups, /proc/self/mountinfo says where they are mounted; versions 1 and 2 may be mounted
side by side, each with its own controllers. May import: probes.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from probes.host import Host

_MOUNT = "/sys/fs/cgroup"


@dataclass(frozen=True, slots=True)
class Group:
    """The folders that bind this process for one controller: its own group first, then every visible ancestor."""

    version: int
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mount:
    """A cgroup file system: the group `root` appears at `point`. Version 2 names no controllers: it holds ""."""

    version: int
    controllers: frozenset[str]
    root: str
    point: str


def groups(host: Host) -> tuple[str | None, dict[str, Group]]:
    """(versions mounted, {controller: group}) for the controllers that limit anything here."""
    ours = parse_groups(host.read("/proc/self/cgroup"))
    mountinfo = host.read("/proc/self/mountinfo")
    mounts = _usual(ours) if mountinfo is None else parse_mounts(mountinfo)
    found = {}
    for controller in ("memory", "cpu", "cpuset", "pids"):
        name = controller if controller in ours else ""
        mount = next((mount for mount in mounts if name in mount.controllers), None)
        if mount and name in ours:
            found[controller] = Group(mount.version, ancestry(ours[name], mount))
    versions = sorted({f"v{mount.version}" for mount in mounts})
    return " and ".join(versions) or None, found


def _usual(ours: dict[str, str]) -> tuple[Mount, ...]:
    """Where every distribution mounts version 2, if that is all there is: recordings seldom hold the mounts."""
    return (Mount(2, frozenset({""}), "/", _MOUNT),) if set(ours) == {""} else ()


def parse_groups(text: str | None) -> dict[str, str]:
    """/proc/self/cgroup, lines `id:controller,controller:path`, as {controller: path}; version 2 is under ""."""
    paths: dict[str, str] = {}
    for line in (text or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def parse_mounts(text: str | None) -> tuple[Mount, ...]:
    """The cgroup file systems of /proc/self/mountinfo; its columns are in proc_pid_mountinfo(5)."""
    mounts = []
    for line in (text or "").splitlines():
        left, _, right = line.partition(" - ")
        place, kind = left.split(), right.split()
        if len(place) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        version = 2 if kind[0] == "cgroup2" else 1
        controllers = frozenset(kind[2].split(",")) if version == 1 else frozenset({""})
        mounts.append(Mount(version, controllers, _unescape(place[3]), _unescape(place[4])))
    return tuple(mounts)


def ancestry(path: str, mount: Mount) -> tuple[str, ...]:
    """The folder of group `path` below `mount`, then its ancestors up to the mount point."""
    below = path.removeprefix(mount.root.rstrip("/")) if _within(path, mount.root) else ""
    parts = [part for part in below.split("/") if part]
    return tuple(posixpath.join(mount.point, *parts[:depth]) for depth in range(len(parts), -1, -1))


def _within(path: str, root: str) -> bool:
    """Not so in a container that sees its own group as the mount's root, yet is told the path as on the host."""
    return ".." not in path.split("/") and f"{path}/".startswith(root.rstrip("/") + "/")


def _unescape(path: str) -> str:
    """mountinfo writes blanks and the like as three octal digits."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match[1], 8)), path)
