"""The record of `opsdist info` as text for people: backends first, then the sections, findings and the verdict.

Pure: a record in, text out. What is unknown says so, with the reason where the facts give one.
May import: from this package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import pairs, ranges, table, wrapped
from opsdist_cli.units import bits_per_second, bytes_binary
from suites.launch.lists.nodeset import fold

Facts = Mapping[str, Any]
Rows = list[tuple[str, str]]

_SEVERITY = ("error", "fail", "warn", "info", "skip", "pass")


def render(record: Mapping[str, Any]) -> str:
    """The whole text, without a line end after the last line, which is the verdict."""
    hosts = record["hosts"]
    names = fold([host["name"] for host in hosts]) if hosts else "no host"
    lines = [*wrapped(f"# opsdist {record['opsdist']} info on {names}", "", "  "), ""]
    for section in sorted(hosts[0]["facts"] if hosts else (), key=lambda name: name != "backends"):
        lines += _section(section, hosts)
    if record["differences"]:
        lines += ["differences", *_differences(record["differences"]), ""]
    findings = sorted(record["findings"], key=lambda finding: _SEVERITY.index(finding["status"]))
    for finding in findings:
        lines += _finding(finding)
    lines += [""] * bool(findings)
    return "\n".join([*lines, verdict(record)])


def _section(section: str, hosts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Hosts of which all is the same to the reader share one text."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for host in hosts:
        if section in host["facts"]:
            alike.setdefault(tuple(SECTIONS[section](host["facts"][section])), []).append(host["name"])
    lines: list[str] = []
    for text, names in alike.items():
        whose = "" if len(names) == len(hosts) else f" on {fold(names)}"
        lines += [f"{section}{whose}", *text, ""]
    return lines


def _differences(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Who has something else than most."""
    lines = []
    for entry in found:
        by_value: dict[str, list[str]] = {}
        for name, value in entry["outliers"].items():
            by_value.setdefault(_value(value), []).append(name)
        others = "; ".join(f"{fold(names)}: {value}" for value, names in by_value.items())
        usual = "" if entry["majority"] is None else f" (most: {_value(entry['majority'])})"
        lines += wrapped(f"{entry['key']}{usual}: {others}", "  ", "      ")
    return lines


def _value(value: Any) -> str:
    return "unknown" if value is None else value if isinstance(value, str) else json.dumps(value)


def verdict(record: Mapping[str, Any]) -> str:
    """One line: what was read, and what was found."""
    found = [finding["status"] for finding in record["findings"]]
    counts = [f"{found.count(status)} {status}" for status in _SEVERITY if status in found]
    if record["exit_code"]:
        return ", ".join(["info: nothing could be read", *counts])
    sections = max(len(host["facts"]) for host in record["hosts"])
    on = f" on {len(record['hosts'])} hosts" if len(record["hosts"]) > 1 else ""
    read = f"info: {sections} section{'s' * (sections != 1)} read{on}"
    return ", ".join([read, *(counts or ["nothing to remark"])])


def _finding(finding: Mapping[str, Any]) -> list[str]:
    head = f"{finding['status']:<5}  "
    margin = " " * len(head)
    remedy = wrapped(finding["remedy"], f"{margin}-> ", f"{margin}   ") if finding["remedy"] else []
    return [*wrapped(f"{finding['check']}: {finding['message']}", head, margin), *remedy]


def _or_unknown(value: object, reason: str | None = None) -> str:
    if value is None:
        return f"unknown ({reason})" if reason else "unknown"
    return str(value)


def _bytes(value: int | str | None) -> str:
    return bytes_binary(value) if isinstance(value, int) else _or_unknown(value)


def _ranges(cpus: list[int] | None) -> str:
    # The blanks are where a long list wraps.
    return "unknown" if cpus is None else ranges(cpus).replace(",", ", ") or "none"


def _free(free: int | None, total: int | None) -> str:
    return "unknown" if total is None else f"{_bytes(free)} of {_bytes(total)} free"


def _cpu(facts: Facts) -> list[str]:
    caches = [_cache(cache) for cache in facts["caches"] or ()]
    flags = facts["flags"]
    return pairs([
        ("model", _or_unknown(facts["model"])),
        ("architecture", _or_unknown(facts["architecture"])),
        ("sockets", _or_unknown(facts["sockets"])),
        ("cores", f"{_or_unknown(facts['physical_cores'])} usable of {_or_unknown(facts['installed_cores'])}"),
        ("threads per core", _or_unknown(facts["threads_per_core"])),
        ("logical CPUs", f"{_or_unknown(facts['logical_cpus'])}, allowed: {_ranges(facts['allowed_cpus'])}"),
        ("one CPU of each core", _ranges(facts["core_cpus"])),
        ("caches", ", ".join(caches) or "unknown"),
        ("governor", _or_unknown(facts["governor"], "no frequency scaling to be seen, as in virtual machines")),
        ("flags", "unknown" if flags is None else " ".join(flags) or "none of interest"),
    ])  # fmt: skip


def _cache(facts: Facts) -> str:
    name = f"L{facts['level']}" + {"data": "d", "instruction": "i"}.get(facts["type"], "")
    shared = f" shared by {facts['shared_by']}" if (facts["shared_by"] or 1) > 1 else ""
    return f"{name} {_bytes(facts['size_bytes'])}{shared}"


def _memory(facts: Facts) -> list[str]:
    pages, size = facts["huge_pages"], facts["huge_page_bytes"]
    huge = f"{_or_unknown(facts['huge_pages_free'])} of {_or_unknown(pages)} free, {_bytes(size)} each"
    swap = "none" if facts["swap_bytes"] == 0 else _free(facts["swap_free_bytes"], facts["swap_bytes"])
    return pairs([
        ("total", _bytes(facts["total_bytes"])),
        ("available", _bytes(facts["available_bytes"])),
        ("swap", swap),
        ("huge pages", "none" if pages == 0 else huge),
        ("transparent huge pages", _or_unknown(facts["transparent_huge_pages"])),
        ("/dev/shm", _free(facts["shm_free_bytes"], facts["shm_bytes"])),
    ])  # fmt: skip


def _numa(facts: Facts) -> list[str]:
    rows = [
        (
            str(node["id"]),
            _free(node["memory_free_bytes"], node["memory_bytes"]),
            " ".join(map(str, node["distances"])) if node["distances"] else "unknown",
            _ranges(node["cpus"]),  # last, since it may be long: some machines deal CPUs out to nodes in turn
        )
        for node in facts["nodes"] or ()
    ]
    balancing = {True: "on", False: "off", None: "unknown"}[facts["balancing"]]
    nodes = table(("node", "memory", "distances", "CPUs"), rows) if rows else pairs([("nodes", "unknown")])
    return [*nodes, *pairs([("automatic balancing", balancing)])]


def _cgroup(facts: Facts) -> list[str]:
    limit, source = facts["memory_limit_bytes"], facts["memory_source"]
    quota = facts["cpu_quota"]
    return pairs([
        ("container", facts["container"] or "no sign of one"),
        ("version", _or_unknown(facts["version"], "no control group is mounted")),
        ("memory limit", _bytes(limit) + (f" ({source})" if source else "")),
        ("memory used", _bytes(facts["memory_used_bytes"])),
        ("memory left", _bytes(facts["memory_headroom_bytes"])),
        ("CPU quota", f"{quota:g} CPUs" if isinstance(quota, float | int) else _or_unknown(quota)),
        ("CPUs", _ranges(facts["cpus"])),
        ("processes", _or_unknown(facts["pids_limit"])),
    ])  # fmt: skip


def _network(facts: Facts) -> list[str]:
    interfaces = facts["interfaces"]
    if interfaces is None:
        return pairs([("interfaces", "unknown")])
    return pairs([(interface["name"], _interface(interface)) for interface in interfaces] or [("interfaces", "none")])


def _interface(facts: Facts) -> str:
    duplex = f" {facts['duplex']} duplex" if facts["duplex"] else ""
    words = [
        f"state {_or_unknown(facts['state'])}",
        "loopback" if facts["loopback"] else f"speed {_speed(facts)}{duplex}",
        f"MTU {_or_unknown(facts['mtu'])}",
    ]
    if not facts["virtual"]:
        words += [
            f"driver {_or_unknown(facts['driver'])}",
            f"PCI {_or_unknown(facts['pci_slot'])}",
            f"NUMA node {_or_unknown(facts['numa_node'])}",
        ]
    addresses = facts["addresses"]
    words.append("addresses unknown" if addresses is None else " ".join(addresses) or "no address")
    return ", ".join(words)


def _speed(facts: Facts) -> str:
    speed = facts["speed_bytes_per_second"]
    if speed is not None:
        return bits_per_second(speed)
    if facts["virtual"]:
        return _or_unknown(None, "virtual interface")
    if facts["state"] == "down":
        return _or_unknown(None, "the link is down")
    return _or_unknown(None, f"driver {facts['driver']} does not tell" if facts["driver"] else None)


def _accelerators(facts: Facts) -> list[str]:
    devices = facts["ascend"]["devices"]
    if devices is None:
        return pairs([("NPUs", "unknown")])
    return pairs([(f"NPU {device['id']}", _npu(device)) for device in devices] or [("NPUs", "none")])


def _npu(facts: Facts) -> str:
    address = facts["address"] or "unknown"
    return f"address {address}" + ("" if facts["present"] else f", and there is no /dev/davinci{facts['id']}")


def _limits(facts: Facts) -> list[str]:
    in_bytes = ("memlock", "stack", "core")
    rows = []
    for name, limit in facts.items():
        show: Callable[[Any], str] = _bytes if name in in_bytes else _or_unknown
        soft, hard = (limit["soft"], limit["hard"]) if limit else (None, None)
        rows.append((name, show(soft), show(hard)))
    return table(("limit", "soft", "hard"), rows)


def _software(facts: Facts) -> list[str]:
    rows = [
        ("system", _or_unknown(facts["system"])),
        ("kernel", _or_unknown(facts["kernel"])),
        ("C library", _or_unknown(facts["c_library"])),
        ("Python", _or_unknown(facts["python"])),
    ]
    if facts["packages"] is None:
        rows.append(("packages", "unknown"))
    rows += [(name, version or "not installed") for name, version in (facts["packages"] or {}).items()]
    rows += [
        (launcher["name"], f"{launcher['path']}, {_version(launcher['version'])}") for launcher in facts["launchers"]
    ]
    return pairs(rows if facts["launchers"] else [*rows, ("launchers", "none on PATH")])


def _version(text: str | None) -> str:
    return text or "version unknown"


def _environment(facts: Facts) -> list[str]:
    none = [("variables", "none that steers communication is set")]
    return pairs(list(facts["variables"].items()) or none)


def _backends(backends: list[Facts]) -> list[str]:
    rows: Rows = []
    for backend in backends:
        name, summary = backend["name"], backend["summary"]
        rows.append((name, f"ready: {summary}" if backend["ready"] else f"not ready: {backend['reason']}"))
        rows += [("", f"but {backend['reason']}")] if backend["ready"] and backend["reason"] else []
        rows += [("", f"-> {backend['remedy']}")] if backend["remedy"] else []
    return pairs(rows or [("none", "no backend is known")])


SECTIONS: dict[str, Callable[[Any], list[str]]] = {
    "cpu": _cpu,
    "memory": _memory,
    "numa": _numa,
    "cgroup": _cgroup,
    "network": _network,
    "accelerators": _accelerators,
    "limits": _limits,
    "software": _software,
    "environment": _environment,
    "backends": _backends,
}
"""One renderer a section of `suites.hostinfo.SECTIONS`."""
