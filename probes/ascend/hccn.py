"""`hccn_tool`: the network port of each NPU, and which questions are put to it. It needs root.

Its parsers are in the files beside it. May import: probes.
"""

from __future__ import annotations

from collections.abc import Callable

from probes.ascend.hccn_counters import parse_counters
from probes.ascend.hccn_link_stat import parse_link_stat
from probes.ascend.hccn_optics import parse_optical
from probes.ascend.hccn_port import (
    parse_auto_downgrade,
    parse_dev_info,
    parse_duplex,
    parse_fec,
    parse_gateway,
    parse_ip,
    parse_link,
    parse_lldp,
    parse_mtu,
    parse_net_health,
    parse_netdetect,
    parse_shaping,
    parse_speed,
    parse_ub_connect,
)
from probes.ascend.hccn_tls import parse_tls
from probes.ascend.hccn_words import fault
from probes.ascend.identity import Identity
from probes.reading import Reading, Said, State, told
from probes.visit import Query, Tool, Visit

TOOL = Tool(
    "hccn_tool",
    places=("/usr/local/Ascend/driver/tools/hccn_tool",),
    messages=(
        (r"run permission", State.REFUSED),
        (r"is busy|try again|please wait|is occupied|get lock failed", State.REFUSED),
        (r"not supported|unsupported|not support\b", State.UNSUPPORTED),
        (r"unknown (?:option|command|cmd)|invalid (?:param|option|input|command|cmd)", State.UNSUPPORTED),
    ),
)
_SILENCE = "it said nothing"


def of_device(visit: Visit, identity: Identity) -> dict[str, Reading]:
    """Questions about one device, by its physical id."""
    return {name: heard(name, reading) for name, reading in visit.ask_all(TOOL, QUERIES, device=identity.id).items()}


def heard(name: str, reading: Reading) -> Reading:
    """A reading whose parser had nothing to understand, since the tool said it on its error output, or by silence: a
    port without an address has none to print."""
    if reading.state is not State.FAILED or reading.reason is None:
        return reading
    said = Said()
    if name == "ip" and reading.reason == _SILENCE:
        said.value("configured", False)
    elif words := fault(reading.reason):
        said.value("fault", words, words)
    elif name in ("ip", "gateway", "netdetect"):
        said = parse_ip(reading.reason.partition(" (exit status")[0])
    return told(reading.source, said, reading.reason) if said else reading


def _or_fault(parse: Callable[[str], Said]) -> Callable[[str], Said]:
    """The parser, that also knows what the tool says instead of an answer when the device is broken."""

    def parsed(text: str) -> Said:
        said = parse(text)
        if not said and (words := fault(text)):
            said.value("fault", words, words)
        return said

    return parsed


def _query(name: str, parse: Callable[[str], Said], quick: bool = False) -> Query:
    return Query(name, f"-i {{device}} -{name} -g", _or_fault(parse), 15.0, quick)


QUERIES = (
    _query("link", parse_link, quick=True),
    _query("net_health", parse_net_health, quick=True),
    _query("ip", parse_ip, quick=True),
    _query("netdetect", parse_netdetect),
    _query("gateway", parse_gateway),
    _query("speed", parse_speed),
    _query("duplex", parse_duplex),
    _query("mtu", parse_mtu),
    _query("fec", parse_fec),
    _query("tls", parse_tls),
    _query("lldp", parse_lldp),
    _query("link_stat", parse_link_stat),
    _query("stat", parse_counters),
    _query("stat_extra", parse_counters),
    _query("optical", parse_optical),
    _query("shaping", parse_shaping),
    _query("auto_downgrade", parse_auto_downgrade),
    _query("dev_info", parse_dev_info),
    _query("ub_connect", parse_ub_connect),
)
"""The last two are of 950 only, where most of the others want a die and a port besides the device; what `dev_info`
tells of all its ports stands for them."""
