"""Rules about the ports by which Ascend 950 NPUs are connected to each other (UB).

May import: agreement, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.agreement import Held, grouped, outliers
from suites.checks.readings import evidence, of_devices, untold, value
from suites.checks.rule import Case, Judged, Rule, Scope, broken, ok
from suites.report import Status


def _lanes(case: Case) -> Iterator[Judged]:
    for name, _, reading in of_devices(case.facts, "ascend", "speed", "ports"):
        for port in value(reading, "ports") if reading else ():
            line = reading["lines"].get(f"port {port['port']}") if reading else None
            shown = {"command": reading["source"] if reading else None, "value": port["width"], "line": line}
            what = f"port {port['port']} of {name}"
            if port["width"] != port["cap"] and port["cap"] not in ("", "-", "NA"):
                message = f"{what} runs with the lanes {port['width']} of {port['cap']}"
                yield broken(message, {**shown, "threshold": port["cap"]}, name)
            elif port["status"].lower() not in ("normal", "", "-", "na"):
                yield broken(f"{what} is {port['status']}", {**shown, "value": port["status"]}, name)
            else:
                yield ok(name)


def _connected(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "ub_connect", "status"):
        if reading is None:
            yield untold(device, "ub_connect", name)
            continue
        ports = value(reading, "ports") or {}
        bad = {port: state for port, state in ports.items() if state != "UP"}
        if bad or "PARTIAL" in value(reading, "status"):
            listed = ", ".join(f"port {port} {state}" for port, state in sorted(bad.items())) or value(
                reading, "status"
            )
            shown = {**evidence(reading, "status"), "lines": [reading["lines"].get(f"port {port}") for port in bad]}
            yield broken(f"{name} is not fully connected to the other NPUs: {listed}", shown, name)
        else:
            yield ok(name)


def _some_down(case: Case) -> Iterator[Judged]:
    for name, device, reading in of_devices(case.facts, "ascend", "dev_info", "ports"):
        if reading is None:
            yield untold(device, "dev_info", name)
            continue
        kinds = {port["type"] for port in value(reading, "ports") if port["status"] == "UP"}
        down = [port for port in value(reading, "ports") if port["status"] != "UP" and port["type"] in kinds]
        if down:
            listed = ", ".join(port["port"] for port in down)
            shown = {
                "command": reading["source"],
                "value": "DOWN",
                "line": reading["lines"].get(f"port {down[0]['port']}"),
            }
            yield broken(f"{name} has ports that are up, and others of their kind are not: {listed}", shown, name)
        else:
            yield ok(name)


def _ports_differ(case: Case) -> Iterator[Judged]:
    """The ports of 950, which are not all cabled everywhere: only beside their like."""
    keyed = []
    for host, facts in case.fleet.items():
        for name, _, reading in of_devices(facts, "ascend", "dev_info", "ports"):
            for port in value(reading, "ports") if reading else ():
                line = reading["lines"].get(f"port {port['port']}") if reading else None
                key = f"die {port['udie']} port {port['port']}"
                keyed.append((key, Held(host, name, port["status"], {"line": line, "port": key})))
    for group in grouped(keyed):
        yield from outliers(f"the state of {group[0].evidence['port']}", group)


_NEEDS = ("accelerators",)
RULES = (
    Rule(
        name="ascend.port_lanes",
        summary="ports of 950 run with all their lanes",
        why="A port with fewer lanes than it could have is slower, and whoever waits for it too.",
        remedy="reseat or replace the cable or the module of that port; see `hccn_tool -g -port_info -i N -u U -p P`",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_lanes,
    ),
    Rule(
        name="ascend.ub_partial",
        summary="every NPU of 950 is connected with all its ports",
        why="What is between NPUs goes over all ports at once; where some are down it takes the others and is slower, "
        "or does not run at all.",
        remedy="reseat or replace the bridge or cable of the ports that are down, and see `hccn_tool -g -link_stat -i "
        "N -u U -p P`",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_connected,
    ),
    Rule(
        name="ascend.ub_port_down",
        summary="the ports of a 950 are all up, or none",
        why="Cards without a bridge have no port that is up. Where some are, the others should be too.",
        remedy="see `hccn_tool -g -ub_connect -i N`; reseat or replace the bridge or cable of the ports that are down",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_some_down,
    ),
    Rule(
        name="ascend.ub_port_differs",
        summary="ports of 950 are in the state of their like",
        why="Which ports are cabled depends on the machine, so that one that is down is only odd where the same port "
        "of other NPUs is up.",
        remedy="compare `hccn_tool -g -dev_info -i N` of both; reseat or replace the cable of the one that is down",
        status=Status.WARN,
        needs=_NEEDS,
        judge=_ports_differ,
        scope=Scope.FLEET,
    ),
)
