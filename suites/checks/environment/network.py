"""Rules about variables that name interfaces, RDMA devices and addresses of this host.

May import: rule, settings, interface_choice, equipment, report.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suites.checks.environment.interface_choice import (
    Choice,
    Interface,
    bridged,
    is_down,
    loopback,
    outward,
    parse,
    usable,
)
from suites.checks.environment.settings import Setting, nodes, number, settings
from suites.checks.equipment import rdma_devices
from suites.checks.rule import Case, Judged, Rule, broken, ok
from suites.report import Status

_PREFIXED = ("NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
_PLAIN = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
_MCA_EXCLUDE = "OMPI_MCA_btl_tcp_if_exclude"
_MCA = ("OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include")


def _interfaces(case: Case) -> Iterator[Judged]:
    known: list[Interface] | None = case.facts["network"]["interfaces"]
    found = settings(case.facts)
    for setting in (found[name] for name in (*_PREFIXED, *_PLAIN, *_MCA) if name in found):
        if setting.name in _PLAIN and any(mark in setting.value for mark in "^="):
            yield _odd(setting, "it takes plain names; ^ and = are NCCL's and HCCL's", "eth0")
            continue
        choice = _choice(setting)
        if choice is None:
            yield _odd(setting, "blanks, empty names and marks inside are taken as parts of names", "=eth0,eth1")
        elif known is not None:
            yield from _chosen(setting, choice, known, (nodes(found) or 1) > 1)
    if excluding := found.get(_MCA_EXCLUDE):
        left = [each for each in known or () if loopback(each) and not _excluded(excluding, each)]
        yield _loopback_again(excluding, "127.0.0.1/8", known or ()) if left else ok()


def _excluded(setting: Setting, interface: Interface) -> bool:
    choice = parse("=" + setting.value)
    return choice is not None and (choice.takes(interface["name"]) or _in_subnet(choice, interface))


def _choice(setting: Setting) -> Choice | None:
    """What is asked for: whole names, but for those that are beginnings unless `=` says so."""
    return parse(setting.value if setting.name in _PREFIXED else "=" + setting.value)


def _chosen(setting: Setting, choice: Choice, known: Sequence[Interface], several: bool) -> Iterator[Judged]:
    taken = [each for each in known if choice.takes(each["name"]) or _in_subnet(choice, each)]
    if choice.exclude:
        yield _excluding(setting, choice, known)
    elif not taken:
        there = ", ".join(each["name"] for each in known) or "none"
        what = "is called" if choice.exact else "begins with"
        yield _bad(setting, f"no interface here {what} {' or '.join(choice.tokens)}; there are: {there}", known)
    elif not any(map(outward, taken)):
        yield _inward(setting, taken, known, several)
    elif all(map(is_down, taken)):
        yield _bad(setting, f"{_names(taken)} is down", known)
    elif not usable(taken):
        yield _bad(setting, f"{_names(taken)} has no address", known, Status.WARN)
    else:
        yield ok()


def _in_subnet(choice: Choice, interface: Interface) -> bool:
    """Open MPI also takes subnets, as 192.0.2.0/24."""
    subnets = [token for token in choice.tokens if "/" in token]
    addresses = [text.partition("/")[0] for text in interface["addresses"] or ()]
    return any(_within(address, subnet) for subnet in subnets for address in addresses)


def _within(address: str, subnet: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(subnet, strict=False)
    except ValueError:
        return False


def _excluding(setting: Setting, choice: Choice, known: Sequence[Interface]) -> Judged:
    """Who excludes names has excluded nothing else: loopback, which is left out by default, is in again."""
    left = [each for each in known if choice.takes(each["name"])]
    if not usable(left):
        return _bad(setting, "it excludes every interface over which other hosts are reached", known)
    if any(map(loopback, left)):
        return _loopback_again(setting, "lo", known)
    return ok()


def _loopback_again(setting: Setting, loopbacks: str, known: Sequence[Interface]) -> Judged:
    message = f"{setting.text}: it replaces the list of what is left out, so that loopback may be chosen"
    remedy = f"export {setting.name}={setting.value},{loopbacks}, or name the interface to use: {_example(known)}"
    return broken(message, setting.evidence(loopbacks, _LITERAL), remedy=remedy, status=Status.WARN)


_LITERAL = "NCCL's maintainers in horovod #700, and Open MPI's manual: the list is taken literally"


def _inward(setting: Setting, taken: Sequence[Interface], known: Sequence[Interface], several: bool) -> Judged:
    if all(bridged(each["name"]) for each in taken):
        return _bad(
            setting, f"{_names(taken)} is a bridge of this host, which no other host reaches", known, Status.WARN
        )
    status = Status.FAIL if several else Status.INFO
    return _bad(setting, f"{_names(taken)} is loopback, which no other host reaches", known, status)


def _odd(setting: Setting, what: str, form: str) -> Judged:
    return broken(
        f"{setting.text}: {what}",
        setting.evidence(form),
        remedy=f"give {setting.name} the form {form}",
    )


def _bad(setting: Setting, what: str, known: Sequence[Interface], status: Status = Status.FAIL) -> Judged:
    remedy = f"set {setting.name} to an interface that other hosts reach ({_example(known)}), or unset it"
    return broken(f"{setting.text}: {what}", setting.evidence(_example(known)), status=status, remedy=remedy)


def _example(known: Sequence[Interface]) -> str:
    return ", ".join(each["name"] for each in usable(known)[:4]) or "none is up here"


def _names(interfaces: Sequence[Interface]) -> str:
    return ", ".join(each["name"] for each in interfaces[:3])


def _adapters(case: Case) -> Iterator[Judged]:
    found, devices = settings(case.facts), rdma_devices(case.facts)
    if devices is None:
        return
    if setting := found.get("NCCL_IB_HCA"):
        yield from _hca(setting, devices)
    if setting := found.get("UCX_NET_DEVICES"):
        interfaces = (case.facts.get("network") or {}).get("interfaces")
        if interfaces is not None:
            yield from _ucx(setting, {*devices, *(each["name"] for each in interfaces)})


def _hca(setting: Setting, devices: Sequence[str]) -> Iterator[Judged]:
    choice = parse(setting.value)
    if choice is None:
        yield _odd(setting, "blanks, empty names and marks inside are taken as parts of names", "=mlx5_0:1,mlx5_1:1")
        return
    names = _without_ports(choice)
    there = ", ".join(devices) or "none"
    if not any(map(names.takes, devices)):
        yield _adapter(setting, f"it leaves no RDMA device; there are: {there}", Status.FAIL)
    elif not names.exclude:
        for token in names.tokens:
            meant = [name for name in devices if names.stands_for(token, name)]
            if not meant:
                yield _adapter(setting, f"there is no {token} here; there are: {there}", Status.FAIL)
            elif token in meant and len(meant) > 1:
                more = ", ".join(name for name in meant if name != token)
                yield _adapter(setting, f"{token} stands for {more} too, since it is a beginning", Status.WARN)
            else:
                yield ok()


def _without_ports(choice: Choice) -> Choice:
    return Choice(tuple(token.partition(":")[0] for token in choice.tokens), choice.exclude, choice.exact)


def _adapter(setting: Setting, what: str, status: Status) -> Judged:
    remedy = f"name devices that are here, whole and after an equals sign: {setting.name}==NAME:1,NAME:1; or unset it"
    return broken(f"{setting.text}: {what}", setting.evidence(), status=status, remedy=remedy)


def _gid(case: Case) -> Iterator[Judged]:
    """An index that is the same everywhere, against what is at that place of each port that NCCL may use."""
    found = settings(case.facts)
    index = number(found, "NCCL_IB_GID_INDEX")
    if index is None:
        return
    setting = found["NCCL_IB_GID_INDEX"]
    hca = parse(found["NCCL_IB_HCA"].value) if "NCCL_IB_HCA" in found else None
    names = _without_ports(hca) if hca else None
    for device in case.facts["rdma"]["devices"] or ():
        for port in device["ports"] if names is None or names.takes(device["name"]) else ():
            if port["gids"] and port["state"] == "ACTIVE":
                yield _judged_gid(setting, index, device["name"], port["gids"])


def _judged_gid(setting: Setting, index: int, device: str, gids: Sequence[Mapping[str, Any]]) -> Judged:
    there = next((gid for gid in gids if gid["index"] == index), None)
    good = [gid["index"] for gid in gids if gid["type"] == "RoCE v2" and gid["family"] == "ipv4"]
    evidence = setting.evidence(good, "show_gids")
    if there is None:
        message = f"{setting.text}: {device} has no GID at that place, and the first transfer times out"
        return broken(message, evidence, device, remedy=_gid_remedy(setting, good))
    if there["type"] not in (None, "RoCE v2"):
        message = f"{setting.text}: at that place {device} has a GID of {there['type']}, which routers do not forward"
        return broken(message, evidence, device, status=Status.WARN, remedy=_gid_remedy(setting, good))
    return ok(device)


def _gid_remedy(setting: Setting, good: Sequence[int]) -> str:
    use = f", or set it to {good[0]}, as far as that is RoCE v2 on all hosts" if good else ""
    return f"{setting.removal}, so that NCCL (2.21 on) finds the GID by itself{use}; see `show_gids`"


def _ucx(setting: Setting, there: set[str]) -> Iterator[Judged]:
    for token in setting.value.split(","):
        name = token.strip().partition(":")[0]
        if name in ("all", "", "^") or name.startswith("^") or name in there or "*" in name:
            yield ok()
        else:
            message = f"{setting.text}: there is no {name} here; there are: {', '.join(sorted(there)) or 'none'}"
            yield broken(message, setting.evidence(), remedy="name a device that is here as DEVICE:1, or unset it")


def _addresses(case: Case) -> Iterator[Judged]:
    found = settings(case.facts)
    interfaces = case.facts["network"]["interfaces"] or ()
    ours = {text.partition("/")[0] for each in interfaces for text in each["addresses"] or ()}
    for setting in (found[name] for name in ("HCCL_IF_IP", "CM_WORKER_IP") if name in found):
        if not ours or not _is_address(setting.value):
            continue
        address = str(ipaddress.ip_address(setting.value))
        if address in ours:
            yield ok()
        else:
            yield broken(
                f"{setting.text}: no interface of this host has that address",
                setting.evidence(sorted(ours)),
                remedy=f"set {setting.name} to an address of this host, on each host its own; or choose the interface "
                "with HCCL_SOCKET_IFNAME, which can be the same everywhere",
            )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


RULES = (
    Rule(
        name="environment.interface",
        summary="variables name interfaces that are here, are up, and are reached by other hosts",
        why="With a name that no interface has, or with loopback or the bridge of a container engine, ranks of several "
        "hosts do not connect: the job hangs until a timeout that blames another host.",
        remedy="set the variable to an interface that other hosts reach, or unset it",
        status=Status.FAIL,
        needs=("environment", "network"),
        judge=_interfaces,
    ),
    Rule(
        name="environment.adapter",
        summary="variables name RDMA devices that are here",
        why="With a name that no RDMA device has NCCL finds none, and takes TCP without an error; a name without `=` "
        "stands for all that begin with it.",
        remedy="name devices that are here, or unset the variable",
        status=Status.FAIL,
        needs=("environment", "rdma"),
        judge=_adapters,
    ),
    Rule(
        name="environment.gid_index",
        summary="the GID that NCCL is told to use is one of RoCE v2 on every port",
        why="The index counts a port's GIDs, which hosts have in different number and order; at a wrong one "
        "connections are made and the first transfer ends with completion error 12.",
        remedy="unset NCCL_IB_GID_INDEX, or set it to the place of RoCE v2 with IPv4 on all hosts",
        status=Status.FAIL,
        needs=("environment", "rdma"),
        judge=_gid,
    ),
    Rule(
        name="environment.foreign_address",
        summary="the address that HCCL is told to use is one of this host",
        why="HCCL listens on that address; one of another host, which a script that is copied to all hosts leaves "
        "there, ends the job at its start.",
        remedy="set it to an address of this host, or choose the interface with HCCL_SOCKET_IFNAME",
        status=Status.FAIL,
        needs=("environment", "network"),
        judge=_addresses,
    ),
)
