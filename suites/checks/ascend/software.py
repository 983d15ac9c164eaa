"""Rules about Ascend's software: whether driver, firmware and CANN fit together, and are the same on all hosts.

May import: agreement, readings, rule, report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from suites.checks.agreement import Held, outliers
from suites.checks.readings import Reading, evidence, of_host, value
from suites.checks.rule import Case, Judged, Rule, Scope, broken, ok, unknown
from suites.report import Status

_RELEASE = re.compile(r"V[0-9]{3}R[0-9]{3}C[0-9]{2}")
Piece = tuple[int, int, str]
_LAST: Piece = (2, 0, "")


def within(version: str, ranges: Sequence[Sequence[str]]) -> bool:
    """Whether a version is in one of the ranges [first, last] of a version.info.

    As the driver compares: only as far as the longer end goes, so that 7.1.99.5 is up to 7.1.99, and an end like
    `24.1.` takes all that begins so. Numbers count as numbers, and rc1 is before what is released.
    """
    return any(_inside(version, ends[0], ends[-1]) for ends in ranges if ends and ends[0])


def _inside(version: str, first: str, last: str) -> bool:
    low, high = _pieces(first), _pieces(last)
    mine = _pieces(version)[: max(len(low), len(high))]
    return low <= mine <= high or mine == low


def _pieces(version: str) -> list[Piece]:
    """One a part between dots; an empty part at the end is after all others."""
    return [_piece(part) for part in version.split(".")]


def _piece(part: str) -> Piece:
    if not part:
        return _LAST
    if part.isascii() and part.isdigit():
        return (1, int(part[:9]), "")
    number = re.search(r"[0-9]{1,9}", part)
    return (0, int(number[0]) if number else 0, part)


def _firmware(case: Case) -> Iterator[Judged]:
    driver, firmware = of_host(case.facts, "ascend", "driver"), of_host(case.facts, "ascend", "firmware")
    mine = driver and value(driver, "version")
    theirs = firmware and value(firmware, "version")
    if driver is None or firmware is None or not mine or not theirs:
        return
    said = []
    if ranges := value(driver, "works_with_firmware"):
        said.append(("driver", within(theirs, ranges), evidence(driver, "works_with_firmware")))
    if ranges := value(firmware, "works_with_driver"):
        said.append(("firmware", within(mine, ranges), evidence(firmware, "works_with_driver")))
    if not said:
        yield unknown("neither driver nor firmware tells with what it works", {"file": driver["source"]})
    elif any(fits for _, fits, _ in said):
        yield ok()
    else:
        by = " and ".join(f"the {name}'s" for name, _, _ in said)
        shown = {
            "file": driver["source"], "line": driver["lines"].get("version"),
            "value": f"driver {mine}, firmware {theirs}",
            "threshold": [each["value"] for _, _, each in said], "source": [each.get("line") for _, _, each in said],
        }  # fmt: skip
        message = f"driver {mine} and firmware {theirs} do not work together by {by} own list"
        yield broken(message, shown, status=None if len(said) == 2 else Status.WARN)


def _cann_driver(case: Case) -> Iterator[Judged]:
    driver, cann = of_host(case.facts, "ascend", "driver"), of_host(case.facts, "ascend", "cann")
    if driver is None or cann is None:
        return
    mine, theirs = _release(value(driver, "inner")), _release(value(cann, "inner"))
    if mine is None or theirs is None:
        return
    lists = [_releases(driver), _releases(cann)]
    if mine == theirs or theirs in lists[0] or mine in lists[1]:
        yield ok()
    elif not all(lists):
        yield unknown("driver or CANN does not tell with what it works", {"file": cann["source"]})
    else:
        told = f"CANN {value(cann, 'version')} ({theirs}) and driver {value(driver, 'version')} ({mine})"
        shown = {
            "file": cann["source"], "line": cann["lines"].get("works_with"), "value": f"CANN {theirs}, driver {mine}",
            "threshold": lists[1], "source": driver["lines"].get("works_with"),
        }  # fmt: skip
        yield broken(f"{told} do not name each other among what they work with", shown)


def _release(inner: object) -> str | None:
    match = _RELEASE.match(inner) if isinstance(inner, str) else None
    return match[0] if match else None


def _releases(reading: Reading) -> list[str]:
    found = (_release(end) for ends in value(reading, "works_with") or () for end in ends)
    return [release for release in found if release]


def _several(case: Case) -> Iterator[Judged]:
    cann = of_host(case.facts, "ascend", "cann")
    installed = [one for one in value(cann, "installed") or () if one["version"]] if cann else []
    toolkits = {one["version"]: one for one in installed if one["name"] in (None, installed[0]["name"])}
    if cann is None or not installed:
        return
    if len(toolkits) > 1:
        home = value(cann, "home")
        first = installed[0]
        how = f"ASCEND_HOME_PATH={home}" if home else "no ASCEND_HOME_PATH is set"
        message = f"CANN {', '.join(toolkits)} are installed; {how}, so {first['version']} is taken to be in use"
        yield broken(message, {"file": first["file"], "value": [one["file"] for one in installed]})
    else:
        yield ok()


def _home(case: Case) -> Iterator[Judged]:
    cann = of_host(case.facts, "ascend", "cann")
    home = value(cann, "home") if cann else None
    if cann is None or home is None or value(cann, "home_exists") is None:
        return
    if value(cann, "home_exists"):
        yield ok()
    else:
        message = f"the environment has CANN in {home}, and there is no such folder"
        yield broken(message, {"value": home, "source": "ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME"})


def _differ(case: Case) -> Iterator[Judged]:
    for query, what in (("driver", "the driver"), ("firmware", "the firmware"), ("cann", "CANN")):
        found = []
        for host, facts in case.fleet.items():
            reading = of_host(facts, "ascend", query)
            if reading is not None and value(reading, "version"):
                shown = {"file": reading["source"], "line": reading["lines"].get("version")}
                found.append(Held(host, None, value(reading, "version"), shown))
        yield from outliers(f"the version of {what}", found)


_NEEDS = ("accelerators",)
RULES = (
    Rule(
        name="ascend.firmware_incompatible",
        summary="driver and firmware work with each other",
        why="Each has the other's versions that it works with in its version.info, and `npu-smi info -t board` calls "
        "it Compatibility. Others start and then fail in ways that look like hardware.",
        remedy="install driver and firmware of one package: first the firmware, then the driver (after an upgrade the "
        "other way round), and restart the host",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_firmware,
    ),
    Rule(
        name="ascend.cann_driver_incompatible",
        summary="CANN works with the driver",
        why="CANN and driver list the releases of each other that they work with; the installer of CANN only warns.",
        remedy="upgrade the driver to what CANN's release notes ask for, or use the CANN that fits the driver",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_cann_driver,
    ),
    Rule(
        name="ascend.cann_several",
        summary="one version of CANN is installed",
        why="Which one a rank gets depends on the set_env.sh that was sourced; HCCL refuses to start with several "
        "(EI0008).",
        remedy="source the set_env.sh of the version you mean in what starts all ranks, and remove those you do not "
        "need",
        status=Status.INFO,
        needs=_NEEDS,
        judge=_several,
    ),
    Rule(
        name="ascend.cann_home",
        summary="the environment points to a CANN that is there",
        why="Programs find HCCL's libraries and operators by it; a folder that is gone gives errors on loading.",
        remedy="source the set_env.sh of an installed CANN again, as /usr/local/Ascend/ascend-toolkit/set_env.sh or "
        "/usr/local/Ascend/cann/set_env.sh",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_home,
    ),
    Rule(
        name="ascend.versions_differ",
        summary="driver, firmware and CANN are the same on all hosts",
        why="HCCL checks its version on all ranks and ends with EI0008 when they differ; other differences give other "
        "speeds or rare errors.",
        remedy="install on the hosts that differ what the others have",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_differ,
        scope=Scope.FLEET,
    ),
)
