"""Versions of the Ascend software: driver, firmware, CANN, and with which of each other they say to work.

They stand in files of `key=value` lines. CANN may be installed several times; which one a program gets is told by
ASCEND_HOME_PATH, which `set_env.sh` sets, and without it by the link `latest`.
May import: probes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from probes.host import Host
from probes.reading import Reading, Said, State, told
from probes.tool_text import pairs

ROOT = "/usr/local/Ascend"
_FILES: Mapping[str, str] = {
    "driver": f"{ROOT}/driver/version.info",
    "firmware": f"{ROOT}/firmware/version.info",
}
_KEYS: Mapping[str, str] = {
    "version": "version",
    "package_version": "package",
    "package_name": "name",
    "innerversion": "inner",
    "arch": "architecture",
    "path": "path",
}
_LISTS: Mapping[str, str] = {
    "compatible_version": "works_with",
    "compatible_version_fw": "works_with_firmware",
    "compatible_version_drv": "works_with_driver",
}
_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_INSTALLED = ("ascend_toolkit_install.info", "ascend_nnae_install.info", "ascend_nnrt_install.info")
_ARCHITECTURES = ("aarch64-linux", "x86_64-linux")
_COMPONENT = re.compile(r"([a-z0-9_]{1,40})_running_version=\[?([^:\]]{1,60})")
_RANGE = re.compile(r"\[([^\]\[]{0,100})\]")
_MOST = 32
"""Installations that are looked at; nobody has as many."""


def of_host(host: Host) -> dict[str, Reading]:
    """By what it is a version of; none of those whose file is not here. `cann` is the one that a program gets."""
    found = {name: reading for name, path in _FILES.items() if (reading := _of_file(host, path, parse_version_info))}
    installed = _installed(host)
    home = next((host.environ[name] for name in _HOMES if host.environ.get(name)), None)
    if installed or home:
        found["cann"] = _cann(installed, home, _exists(host, home) if home else None)
    for folder in (home or "", f"{ROOT}/ascend-toolkit/latest", f"{ROOT}/cann"):
        if folder and (reading := _of_file(host, posixpath.join(folder, "version.cfg"), parse_version_cfg)):
            found.setdefault("components", reading)
    return found


def parse_version_info(text: str) -> Said:
    """A version.info or ascend_toolkit_install.info. What it works with is a list of ranges, each [first, last], or
    [one]."""
    said = Said()
    for key, value, line in pairs(text, "="):
        if (name := _KEYS.get(key.lower())) and value:
            said.value(name, value, line)
        elif name := _LISTS.get(key.lower()):
            said.value(name, [[end.strip() for end in part.split(",")] for part in _RANGE.findall(value)], line)
    return said


def parse_version_cfg(text: str) -> Said:
    """The parts of CANN that run: `runtime_running_version=[7.0.0.5.242:CANN-7.0.RC1]`."""
    said = Said()
    for _, _, line in pairs(text, "="):
        if match := _COMPONENT.match(line.strip()):
            said.value(match[1], match[2], line)
    return said


def _installed(host: Host) -> dict[str, Reading]:
    """By the file that tells of it, the one of `latest` first; each installation once, whatever links lead to it."""
    found: dict[str, Reading] = {}
    seen = set()
    for folder in _folders(host):
        for name in _INSTALLED:
            path = posixpath.join(folder, name)
            reading = _of_file(host, path, parse_version_info)
            if reading is None or len(found) >= _MOST:
                continue
            mark = (reading.values.get("path", folder), reading.values.get("version"), reading.values.get("name"))
            if mark not in seen:
                seen.add(mark)
                found[path] = reading
    return found


def _folders(host: Host) -> Iterator[str]:
    homes = [host.environ.get(name) for name in _HOMES]
    bases = [home for home in homes if home and home.startswith("/")]
    names = host.listdir(ROOT) or ()
    bases += [f"{ROOT}/{name}" for name in names if name == "cann" or name.startswith("cann-")]
    for product in ("ascend-toolkit", "nnae", "nnrt"):
        versions = [name for name in host.listdir(f"{ROOT}/{product}") or () if name != "set_env.sh"]
        bases += [f"{ROOT}/{product}/{name}" for name in sorted(versions, key=lambda name: name != "latest")]
    for base in bases:
        yield base
        yield from (f"{base}/{architecture}" for architecture in _ARCHITECTURES)


def _exists(host: Host, path: str) -> bool | None:
    """None where it is not recorded, which is no sign that it was not there."""
    return True if host.exists(path) else False if host.recorded() is None else None


def _cann(installed: Mapping[str, Reading], home: str | None, exists: bool | None) -> Reading:
    """The first of the installations, and `installed`, all of them. `home`: what the environment names, if anything."""
    said = Said()
    source = next(iter(installed), "")
    if source:
        first = installed[source]
        said.values |= first.values
        said.lines |= first.lines
    said.value(
        "installed",
        [
            {
                "name": reading.values.get("name"),
                "version": reading.values.get("version"),
                "path": reading.values.get("path"),
                "file": path,
            }
            for path, reading in installed.items()
        ],
    )
    if home is not None:
        said.value("home", home)
        said.value("home_exists", exists)
    return told(source or "the environment", said)


def _of_file(host: Host, path: str, parse: Callable[[str], Said]) -> Reading | None:
    text = host.read(path)
    if text is None:
        return None
    said = parse(text)
    return told(path, said) if said else Reading(path, State.FAILED, "it has no version")
