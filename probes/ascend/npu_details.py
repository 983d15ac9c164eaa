"""What `npu-smi info -t ...` tells of one chip: lines `key : value`, whose keys stay while their order does not.

The blocks of helper chips that follow repeat keys; the first of each counts. Serial numbers and die ids identify a
machine and are left out. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from probes.ascend.npu_words import amount_of, answer, bracketed, integer, slug
from probes.reading import Said
from probes.tool_text import pairs

Put = Callable[[Said, str, str], None]
"""What is done with the text of a key, and the line it stood in."""

_NOTHING = frozenset({"", "NA", "N/A", "-"})
_LINKED = re.compile(r"(?:hccs|xlink) (.+)")
_CODE = re.compile(r"(?:0[xX])?[0-9A-Fa-f]{4,16}")


def text_as(name: str) -> Put:
    def put(said: Said, told: str, line: str) -> None:
        if told not in _NOTHING:
            said.value(name, told, line)

    return put


def amount_as(name: str) -> Put:
    def put(said: Said, told: str, line: str) -> None:
        if (amount := amount_of(told)) is not None:
            said.value(name, amount, line)

    return put


def momentary_as(name: str) -> Put:
    def put(said: Said, told: str, line: str) -> None:
        if (amount := amount_of(told)) is not None:
            said.moment(name, amount, line)

    return put


BOARD: Mapping[str, Put] = {
    "software_version": text_as("software_version"),
    "firmware_version": text_as("firmware_version"),
    "compatibility": text_as("compatibility"),
    "chip_name": text_as("chip_name"),
    "product_name": text_as("product_name"),
    "pci_device_id": text_as("pci_device_id"),
    "chip_count": amount_as("chip_count"),
    "faulty_chip_count": amount_as("faulty_chip_count"),
    "pcie_bus_info": lambda said, told, line: said.moment("bus", told.lower(), line),
}
COMMON: Mapping[str, Put] = {
    "aicore_freq": amount_as("aicore_mhz"),
    "aicore_curfreq": momentary_as("aicore_mhz_now"),
    "aicore_usage_rate": momentary_as("aicore_percent"),
    "npu_utilization": momentary_as("npu_percent"),
    "aicube_usage_rate": momentary_as("aicube_percent"),
    "hbm_usage_rate": momentary_as("hbm_percent"),
    "temperature": momentary_as("temperature_c"),
    "npu_real_time_power": momentary_as("power_w"),
    "aicore_count": amount_as("aicore_count"),
}
USAGES: Mapping[str, Put] = {
    "hbm_capacity": amount_as("hbm_mb_total"),
    "ddr_capacity": amount_as("memory_mb_total"),
    "hbm_usage_rate": momentary_as("hbm_percent"),
    "aicore_usage_rate": momentary_as("aicore_percent"),
    "hbm_bandwidth_usage_rate": momentary_as("hbm_bandwidth_percent"),
}
MEMORY: Mapping[str, Put] = {
    "hbm_clock_speed": amount_as("hbm_mhz"),
    "hbm_capacity": amount_as("hbm_mb_total"),
    "hbm_manufacturer_id": text_as("hbm_manufacturer"),
    "hbm_temperature": momentary_as("hbm_temperature_c"),
}
TEMPERATURE: Mapping[str, Put] = {"npu_temperature": momentary_as("temperature_c")}
SUPER_POD: Mapping[str, Put] = {
    # Of one device alone, so that hosts are not compared by it.
    "sdid": momentary_as("sdid"),
    "super_pod_size": amount_as("super_pod_size"),
    "super_pod_id": amount_as("super_pod_id"),
    "super_pod_type": text_as("super_pod_type"),
    "server_index": momentary_as("server_index"),
}


def _by_key(known: Mapping[str, Put]) -> Callable[[str], Said]:
    def fill(text: str, said: Said) -> None:
        for key, told, line in pairs(text):
            if put := known.get(slug(key)):
                put(said, told, line)

    return answer(fill)


def _fill_health(text: str, said: Said) -> None:
    """Codes may be several on a line; what they mean goes on in lines with an empty key."""
    meanings: list[str] = []
    for key, told, line in pairs(text):
        match slug(key):
            case "health" | "health_status":
                text_as("health")(said, told, line)
            case "error_code":
                codes = [word for word in told.replace(",", " ").split() if _CODE.fullmatch(word)]
                if codes or told in _NOTHING:
                    said.value("codes", codes, line)
            case "error_information" if told not in _NOTHING:
                meanings.append(told[:200])
    if meanings:
        said.value("meanings", meanings)


def _fill_events(text: str, said: Said) -> None:
    for key, told, line in pairs(text):
        if slug(key) == "fault_event_count":
            momentary_as("events")(said, told, line)
            if told == "0":
                said.value("codes", [], line)
    codes = re.findall(r"event id\s?=\s?(0[xX][0-9A-Fa-f]{4,16})", text)
    if codes:
        line = next(line for line in text.split("\n") if codes[0] in line)
        said.value("codes", [code[2:].upper() for code in codes], line)


def _fill_counters(text: str, said: Said) -> None:
    """Whatever is counted, by its key; ids are no counters."""
    for key, told, line in pairs(text):
        name, count = slug(key), integer(told)
        if count is not None and name.endswith(("count", "cnt")) and name != "chip_count":
            said.counter(name, count, line)


def _fill_links(text: str, said: Said) -> None:
    """Each list has an entry for each link. Some builds say xlink in place of hccs."""
    for key, told, line in pairs(text):
        if match := _LINKED.fullmatch(" ".join(key.split()).lower()):
            _link(said, slug(match[1]), bracketed(told), line)


def _link(said: Said, name: str, words: list[str], line: str) -> None:
    counts = [integer(word) for word in words]
    if name == "health_status":
        text_as("health")(said, " ".join(words), line)
    elif name == "first_error_lane":
        if words and counts[0] is not None:
            said.value(name, counts[0], line)
    elif name == "link_lane_list":
        said.value(name, words, line)
    elif name in ("lane_mode", "link_speed"):
        if words and None not in counts:
            said.value(name, counts, line)
    else:
        for link, count in enumerate(counts):
            if count is not None:
                said.counter(f"link{link}_{name}", count, line)


parse_board = _by_key(BOARD)
parse_common = _by_key(COMMON)
parse_usages = _by_key(USAGES)
parse_memory = _by_key(MEMORY)
parse_temperature = _by_key(TEMPERATURE)
parse_super_pod = _by_key(SUPER_POD)
parse_health = answer(_fill_health)
parse_events = answer(_fill_events)
parse_counters = answer(_fill_counters)
parse_links = answer(_fill_links)
