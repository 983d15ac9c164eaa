"""Rules about HCCL's rank table, the file that RANK_TABLE_FILE names. May import: agreement, readings, rule, report.

What a table must have: HCCL's manual, "cluster information configuration".
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from suites.checks.agreement import Held, outliers
from suites.checks.ascend.npus import some
from suites.checks.readings import Reading, devices, of_host, value
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, broken, ok
from suites.report import Status


def _table(facts: Facts) -> Reading | None:
    return of_host(facts, "ascend", "rank_table")


def _servers(reading: Reading) -> list[Mapping[str, Any]]:
    return list(value(reading, "servers") or ())


def _ranks(reading: Reading) -> Iterator[tuple[Mapping[str, Any], str]]:
    """(device, what it is called) of all servers: `device 3 of node_1`."""
    for server in _servers(reading):
        for device in server["devices"]:
            yield device, f"device {device['device_id']} of {server['id'] or server['host']}"


def _unreadable(case: Case) -> Iterator[Judged]:
    reading = _table(case.facts)
    if reading is None:
        return
    if fault := value(reading, "fault"):
        shown = {"file": reading["source"], "value": fault, "line": reading["lines"].get("fault")}
        yield broken(f"the rank table {reading['source']}: {fault}", shown)
    else:
        yield ok()


def _status(case: Case) -> Iterator[Judged]:
    reading = _table(case.facts)
    if reading is None or not value(reading, "servers"):
        return
    status = value(reading, "status")
    if status == "completed":
        yield ok()
    else:
        message = f"the rank table's status is {status or 'not given'}, and HCCL waits until it is completed"
        yield broken(message, {"file": reading["source"], "value": status, "threshold": "completed"})


def _counts(case: Case) -> Iterator[Judged]:
    reading = _table(case.facts)
    if reading is None or value(reading, "servers") is None:
        return
    servers, told = _servers(reading), value(reading, "server_count")
    shown = {"file": reading["source"], "line": reading["lines"].get("server_count"), "value": told}
    if told is not None and told != str(len(servers)):
        message = f"the rank table says that it has {told} servers, and lists {len(servers)}"
        yield broken(message, {**shown, "threshold": str(len(servers))})
    elif wrong := [*_given_twice(reading), *_pod_faults(reading)]:
        yield from (broken(message, {**shown, "value": what}) for message, what in wrong)
    else:
        yield ok()


def _given_twice(reading: Reading) -> Iterator[tuple[str, str]]:
    """Ids that should be there once: of servers, of a server's devices, and of those of a super-pod."""
    servers = _servers(reading)
    pods = {server: pod["id"] for pod in value(reading, "super_pods") or () for server in pod["servers"]}
    ids = [("server_id", server["id"], "", 0) for server in servers]
    for number, server in enumerate(servers):
        pod = pods.get(server["id"])
        for device in server["devices"]:
            ids.append(("device_id", device["device_id"], f" in server {server['id'] or server['host']}", number))
            ids.append(("super_device_id", device["super_device_id"], f" in super-pod {pod}" if pod else "", 0))
    for (key, given, where, _), count in Counter(ids).items():
        if given and count > 1:
            yield f"the rank table has {key} {given}{where} {count} times", str(given)


def _pod_faults(reading: Reading) -> Iterator[tuple[str, str]]:
    """Servers that are not in exactly one super-pod, where there are any."""
    pods = value(reading, "super_pods")
    if pods is None:
        return
    placed = Counter(server for pod in pods for server in pod["servers"])
    for server in _servers(reading):
        name = str(server["id"])
        if placed[server["id"]] != 1:
            yield f"server {name} of the rank table is in {placed[server['id']]} super-pods, and should be in one", name
    known = {server["id"] for server in _servers(reading)}
    for server in placed.keys() - known:
        yield f"server {server} is in a super-pod of the rank table, and not in its server_list", str(server)


def _rank_ids(case: Case) -> Iterator[Judged]:
    reading = _table(case.facts)
    if reading is None or not value(reading, "servers"):
        return
    places: dict[str, list[str]] = {}
    for device, place in _ranks(reading):
        places.setdefault(device["rank_id"] or "none", []).append(place)
    size = sum(map(len, places.values()))
    expected = [str(rank) for rank in range(size)]
    missing = [rank for rank in expected if rank not in places]
    twice = {rank: where for rank, where in places.items() if len(where) > 1}
    strange = {rank: where for rank, where in places.items() if rank not in set(expected)}
    if not (missing or twice or strange):
        numbers = value(reading, "numbers") or ()
        if "rank_id" in numbers:
            message = f"the rank table has numbers where HCCL reads texts: {', '.join(numbers)}"
            yield broken(message, {"file": reading["source"], "value": list(numbers)}, status=Status.WARN)
        else:
            yield ok()
        return
    parts = [f"rank {rank} is given to {' and '.join(where[:4])}" for rank, where in sorted(twice.items())[:4]]
    parts += [f"{', '.join(missing[:8])} missing"] if missing else []
    parts += [f"{where[0]} has {rank}" for rank, where in list(strange.items())[:4]]
    message = f"the ranks of the table are not 0 to {size - 1}, each once: {'; '.join(parts)}"
    yield broken(message, {"file": reading["source"], "value": sorted(places), "threshold": f"0 to {size - 1}"})


def _addresses(case: Case) -> Iterator[Judged]:
    reading = _table(case.facts)
    if reading is None or not value(reading, "servers"):
        return
    places: dict[str, list[str]] = {}
    for device, place in _ranks(reading):
        if device["device_ip"]:
            places.setdefault(device["device_ip"], []).append(place)
    twice = {address: where for address, where in places.items() if len(where) > 1}
    for address, where in twice.items():
        message = f"the rank table gives the address {address} to {' and '.join(where[:4])}"
        yield broken(message, {"file": reading["source"], "value": address, "line": f'"device_ip": "{address}"'})
    wrong = [(address, where) for address, where in places.items() if not all(map(_is_address, address.split(",")))]
    for address, where in wrong:
        message = f"the rank table gives {where[0]} the address {address}, which is none"
        yield broken(message, {"file": reading["source"], "value": address, "line": f'"device_ip": "{address}"'})
    without = [place for device, place in _ranks(reading) if not device["device_ip"]] if places else []
    if without:
        message = f"the rank table gives no address to {some(without)}, and one to others"
        yield broken(message, {"file": reading["source"], "value": without}, status=Status.WARN)
    if places and not (twice or wrong or without):
        yield ok()


def _is_address(text: str) -> bool:
    try:
        ip_address(text.strip())
    except ValueError:
        return False
    return True


def _foreign(case: Case) -> Iterator[Judged]:
    reading = _table(case.facts)
    mine = {str(device["id"]): _address(device) for device in devices(case.facts, "ascend")}
    known = {address for address in mine.values() if address}
    if reading is None or not known or not value(reading, "servers"):
        return
    here = [server for server in _servers(reading) if any(one["device_ip"] in known for one in server["devices"])]
    shown = {"file": reading["source"], "value": sorted(known)}
    if not here and any(device["device_ip"] for device, _ in _ranks(reading)):
        yield broken("none of this host's NPUs is in the rank table", shown, status=Status.INFO)
    for server in here:
        for device in server["devices"]:
            id_, address = device["device_id"], device["device_ip"]
            if not address:
                continue
            if id_ not in mine:
                message = f"the rank table has a device {id_} of {server['id']}, and there is no such NPU here"
                yield broken(message, {**shown, "value": address}, f"npu{id_}")
            elif mine[id_] and mine[id_] != address:
                message = f"the rank table has {address} for npu{id_}, whose address is {mine[id_]}"
                yield broken(message, {**shown, "value": address, "threshold": mine[id_]}, f"npu{id_}")
            else:
                yield ok(f"npu{id_}")


def _address(device: Mapping[str, Any]) -> str | None:
    """The one in force, or the one that is configured."""
    reading = (device.get("readings") or {}).get("ip")
    told = value(reading, "address") if reading else None
    found = told or device.get("address")
    return found if isinstance(found, str) else None


def _differ(case: Case) -> Iterator[Judged]:
    found = []
    for host, facts in case.fleet.items():
        reading = _table(facts)
        if reading is not None and value(reading, "servers"):
            ranks = {place: device["rank_id"] for device, place in _ranks(reading)}
            told = f"{len(_servers(reading))} servers, {len(ranks)} ranks, {_mark(reading)}"
            found.append(Held(host, None, told, {"file": reading["source"]}))
    yield from outliers("the rank table", found)


def _mark(reading: Reading) -> str:
    """A short word that is the same for the same table."""
    text = json.dumps(value(reading, "servers"), sort_keys=True)
    return "content " + hashlib.sha256(text.encode()).hexdigest()[:8]


_NEEDS = ("accelerators",)
_MAKE_ANEW = "make the table anew from the hosts' /etc/hccn.conf (opsdist hosts writes one), and give it to all hosts"
RULES = (
    Rule(
        name="ascend.ranktable_unreadable",
        summary="the rank table can be read",
        why="With RANK_TABLE_FILE set HCCL starts from this file, and ends with EI0004 when it cannot.",
        remedy=_MAKE_ANEW + "; unset RANK_TABLE_FILE where the ranks find each other in another way",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_unreadable,
    ),
    Rule(
        name="ascend.ranktable_incomplete",
        summary="the rank table is completed",
        why="What writes the table sets the status when all servers have reported; until then HCCL waits or refuses.",
        remedy="wait for what writes the table, and see which server has not reported; if it is a copy, " + _MAKE_ANEW,
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_status,
    ),
    Rule(
        name="ascend.ranktable_servers",
        summary="the servers and devices of the rank table are what it says, each once",
        why="HCCL compares server_count with the list and ends with EI0004 or EI0014 when they disagree, or "
        "when an id is there twice.",
        remedy="correct server_count or the ids, or add the servers that are missing; " + _MAKE_ANEW,
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_counts,
    ),
    Rule(
        name="ascend.ranktable_ranks",
        summary="the ranks of the table are 0 to n-1, each once",
        why="HCCL numbers ranks without gaps; with a gap or a rank given twice it ends with EI0004, or waits for a "
        "rank that never comes.",
        remedy="give the ranks anew in the order of servers and devices; " + _MAKE_ANEW,
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_rank_ids,
    ),
    Rule(
        name="ascend.ranktable_addresses",
        summary="each device of the rank table has an address of its own",
        why="Two ranks would be reached at one address, so that connections time out (EI0006) or reach the wrong one.",
        remedy="take each device's address from `hccn_tool -i N -ip -g` on its host; " + _MAKE_ANEW,
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_addresses,
    ),
    Rule(
        name="ascend.ranktable_foreign",
        summary="the rank table has the addresses of this host's NPUs",
        why="Peers connect to the address in the table; where the NPU has another one they wait until they time out "
        "(EI0006).",
        remedy="put the address of `hccn_tool -i N -ip -g` into the table, or set the table's on the NPU; "
        + _MAKE_ANEW,
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_foreign,
    ),
    Rule(
        name="ascend.ranktable_differs",
        summary="all hosts have the same rank table",
        why="Ranks with different tables expect different peers and never meet (EI0014).",
        remedy="give all hosts the same file",
        status=Status.FAIL,
        needs=_NEEDS,
        judge=_differ,
        scope=Scope.FLEET,
    ),
)
