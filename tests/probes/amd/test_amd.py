"""AMD GPUs: what amd-smi, rocm-smi and sysfs tell, and how they are joined."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import amd
from probes.amd import AmdDevice, AmdFacts, rocm, smi
from probes.amd.topology import parse_topology
from probes.host import Answer
from probes.reading import Said, State
from probes.recorded.texthost import TextHost
from probes.visit import Visit
from tests.probes.amd import samples
from tests.tree_host import TreeHost


def seen(commands: Mapping[str, str], files: Mapping[str, str] | None = None) -> AmdFacts:
    return amd.read(Visit(TextHost(files or {}, {line: Answer(0, text, "") for line, text in commands.items()})))


def devices(facts: AmdFacts) -> tuple[AmdDevice, ...]:
    assert facts.devices is not None
    return facts.devices


@pytest.mark.parametrize("between", ["\n", ""])
def test_tables_of_amd_smi_with_and_without_lines_between(between: str) -> None:
    cell = samples.links(3, p02=samples.PCIE)
    said = parse_topology(samples.amd_smi(3, cell, between=between, no_access=[(0, 2)]))
    assert said.values["0/bus"] == "0000:0a:00.0"
    assert said.values["0/links"] == {
        "1": {"access": "ENABLED", "weight": 15, "hops": 1, "link": "XGMI", "bandwidth": "50000-50000"},
        "2": {"access": "DISABLED", "weight": 72, "hops": 3, "link": "PCIE", "bandwidth": "50000-50000"},
    }
    assert said.values["2/links"]["0"]["access"] == "ENABLED"
    assert said.lines["0/link"].split() == ["0000:0a:00.0", "SELF", "XGMI", "PCIE"]


def test_matrices_of_rocm_smi() -> None:
    said = parse_topology(samples.rocm_smi(8, samples.two_hives))
    assert said.values["0/links"]["3"] == {"weight": 15, "hops": 1, "link": "XGMI"}
    assert said.values["0/links"]["4"] == {"weight": 72, "hops": 3, "link": "PCIE"}
    assert (said.values["0/numa"], said.values["7/numa"]) == (0, 1)


def test_a_single_gpu_has_no_links() -> None:
    said = parse_topology("== Link Type between two GPUs ==\n       GPU0\nGPU0   0\n")
    assert said.values == {"0/present": True}


def test_links_as_json() -> None:
    link = {
        "gpu": 1,
        "bdf": samples.BUSES[1],
        "weight": 15,
        "link_status": "ENABLED",
        "link_type": "XGMI",
        "num_hops": 1,
    }
    said = parse_topology(json.dumps([{"gpu": 0, "bdf": samples.BUSES[0], "links": [link]}]))
    assert said.values["0/links"] == {"1": {"access": "ENABLED", "weight": 15, "hops": 1, "link": "XGMI"}}
    pair = {
        f"(Topology) {what} between DRM devices 0 and 1": value
        for what, value in (("Link type", "PCIE"), ("Hops", "2"))
    }
    said = parse_topology(json.dumps({"system": pair, "card0": {"(Topology) Numa Node": "1"}}))
    assert said.values["1/links"] == {"0": {"link": "PCIE", "hops": 2}}
    assert said.values["0/numa"] == 1


def test_throttling_in_both_releases() -> None:
    old = samples.blocks("THROTTLE", {"PPT_ACCUMULATED": 12, "HBM_THERMAL_VIOLATION_ACTIVE": "NOT ACTIVE", "X": "N/A"})
    new = samples.blocks("THROTTLE", {"PPT_VIOLATION_ACCUMULATED": 12, "HBM_THERMAL_VIOLATION_STATUS": "TRUE"})
    for text, active in ((old, False), (new, True)):
        said = smi.parse_throttle(text)
        assert said.counters == {"0/ppt": 12}
        assert said.momentary == {"0/hbm_thermal_active": active}


def test_what_a_model_does_not_tell_of_throttling_is_left_out() -> None:
    fields = {"PPT_VIOLATION_PERCENT": "7 %", "PPT_VIOLATION_STATUS": "N/A", "VR_THERMAL_VIOLATION_PERCENT": "N/A"}
    assert smi.parse_throttle(samples.blocks("THROTTLE", fields)).momentary == {"0/ppt_percent": 7}


def test_pages_that_are_bad() -> None:
    page = "        PAGE_ADDRESS: 0x{}000\n        PAGE_SIZE: 4096\n        STATUS: PENDING\n"
    pages = page.format(1) + page.format(2)
    text = f"GPU: 0\n    RETIRED: No bad pages found.\n    PENDING:\n{pages}    UN_RES: No bad pages found.\n"
    assert smi.parse_bad_pages(text).values == {"0/retired": 0, "0/pending": 2, "0/unreservable": 0}


def test_errors_lanes_and_versions() -> None:
    ecc = samples.blocks(
        "ECC", {"TOTAL_CORRECTABLE_COUNT": 4, "TOTAL_UNCORRECTABLE_COUNT": 1, "CACHE_CORRECTABLE_COUNT": "N/A"}
    )
    assert smi.parse_ecc(ecc).counters == {"0/correctable": 4, "0/uncorrectable": 1}
    pcie = samples.blocks("PCIE", {"WIDTH": 16, "SPEED": "32 GT/s", "REPLAY_COUNT": 3})
    said = smi.parse_pcie(pcie)
    assert (said.values["0/width"], said.momentary["0/speed"], said.counters) == (16, "32 GT/s", {"0/replays": 3})
    assert smi.parse_version(samples.VERSION).values == {
        "tool": "99.1.0+abc", "library": "99.1.0", "rocm": "9.9.1", "driver": "9.8.7",
    }  # fmt: skip


def test_gpus_of_amd_smi_by_its_index_without_their_uuids() -> None:
    facts = seen({
        "amd-smi list": samples.listed(*samples.BUSES[:2]),
        "amd-smi static --asic": samples.blocks("ASIC", {"MARKET_NAME": "AMD Instinct MI999X"}, {}),
        "amd-smi topology": samples.amd_smi(2, samples.links(2)),
    })  # fmt: skip
    assert [(gpu.id, gpu.bus) for gpu in devices(facts)] == [(0, "0000:0a:00.0"), (1, "0000:1b:00.0")]
    assert [gpu.name for gpu in devices(facts)] == ["AMD Instinct MI999X", None]
    assert "00000000-0000-1000" not in str(facts)


def test_rocm_smi_stands_in_by_its_own_index_where_there_is_no_amd_smi() -> None:
    facts = seen({
        "rocm-smi --showtopo": samples.rocm_smi(2, samples.links(2)),
        "rocm-smi --showbus": "GPU[0]\t\t: PCI Bus: 0000:8C:00.0\nGPU[1]\t\t: PCI Bus: 0000:0A:00.0\n",
    })  # fmt: skip
    assert [(gpu.id, gpu.bus) for gpu in devices(facts)] == [(0, "0000:8c:00.0"), (1, "0000:0a:00.0")]


def test_indices_of_rocm_smi_are_brought_to_those_of_amd_smi_by_address() -> None:
    commands = {
        "amd-smi list": samples.listed(*samples.BUSES[:3]),
        "rocm-smi --showtopo": samples.rocm_smi(3, samples.links(3, p01=samples.PCIE)),
        "rocm-smi --showbus": "".join(
            f"GPU[{number}]\t\t: PCI Bus: {bus}\n" for number, bus in enumerate(reversed(samples.BUSES[:3]))
        ),
    }
    facts = seen(commands)
    assert devices(facts)[2].readings["topology"].values["links"]["1"]["link"] == "PCIE"
    assert devices(facts)[0].readings["topology"].values["links"]["1"]["link"] == "XGMI"
    del commands["rocm-smi --showbus"]
    assert "topology" not in seen(commands).readings


CARD = "/sys/class/drm/card1/device"
FILES = {
    f"{CARD}/vendor": "0x1002", f"{CARD}/uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:0A:00.0\n",
    f"{CARD}/current_link_width": "8", f"{CARD}/max_link_width": "16", f"{CARD}/mem_info_vram_total": "1024",
    f"{CARD}/numa_node": "-1", f"{CARD}/current_link_speed": "32.0 GT/s PCIe", f"{CARD}/max_link_speed": "Unknown",
    "/sys/class/drm/card0/device/vendor": "0x1a03", "/sys/class/drm/renderD128/device/vendor": "0x1002",
    "/sys/class/drm/renderD128/device/uevent": "PCI_SLOT_NAME=0000:0B:00.0\n",
}  # fmt: skip


def test_a_quick_look_asks_for_what_breaks() -> None:
    text = samples.amd_smi(2, samples.links(2))
    commands = {f"amd-smi {query.words}": Answer(0, text, "") for query in (*smi.QUERIES, smi.TOPOLOGY)}
    readings = amd.read(Visit(TextHost({}, commands), hurry=True)).readings
    asked = {name for name, reading in readings.items() if reading.state is not State.UNASKED}
    assert asked == {"list", "pcie", "ecc", "topology"}


def test_sysfs_tells_gpus_without_a_tool() -> None:
    (gpu,) = devices(seen({}, FILES))
    assert (gpu.id, gpu.bus) == (0, "0000:0a:00.0")
    told = gpu.readings["sysfs"]
    assert told.values == {"width": 8, "width_max": 16, "memory_bytes": 1024, "present": True}
    assert (told.momentary, told.lines["width"]) == ({"speed": "32.0 GT/s PCIe"}, "current_link_width: 8")


def test_sysfs_is_joined_to_what_tools_tell_by_address() -> None:
    facts = seen({"amd-smi list": samples.listed("0000:01:00.0", "0000:0a:00.0")}, FILES)
    assert ["sysfs" in gpu.readings for gpu in devices(facts)] == [False, True]


def test_gpus_on_pcie_with_or_without_a_driver() -> None:
    slots = {
        "0000:0a:00.0": ("0x1002", "0x120000"),
        "0000:0b:00.0": ("0x1002", "0x060400"),
        "0000:0c:00.0": ("0x8086", "0x030000"),
    }
    files: dict[str, str] = {}
    for slot, (vendor, kind) in slots.items():
        files |= {f"/sys/bus/pci/devices/{slot}/vendor": vendor, f"/sys/bus/pci/devices/{slot}/class": kind}
    assert seen({}, files).on_pcie == ("0000:0a:00.0",)


def test_nothing_is_known_of_a_host_that_says_nothing() -> None:
    assert seen({}) == AmdFacts(None)


def test_a_host_without_gpus_has_none(tree: TreeHost) -> None:
    tree.tools = {}
    tree.write({"/dev/null": ""})
    assert amd.read(Visit(tree)).devices == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [(samples.NO_DRIVER, "no_driver"), ("Unable to detect any GPU devices, check amdgpu version\n", "no_devices")],
)
def test_words_that_mean_a_fault(text: str, fault: str) -> None:
    facts = seen({"rocm-smi --showtopo": text})
    assert (facts.devices, facts.readings["topology"].values) == ((), {"fault": fault})


def test_words_that_mean_no_fault() -> None:
    facts = seen({"amd-smi topology": "User is missing the following required groups: render\n"})
    assert facts.readings["topology"].state is State.REFUSED


PARSERS: list[tuple[Callable[[str], Said], str]] = [
    (parse_topology, samples.amd_smi(3, samples.links(3))),
    (parse_topology, samples.rocm_smi(3, samples.links(3))),
    (parse_topology, '[{"gpu": 0, "bdf": "0000:0a:00.0", "links": [{"gpu": 1, "weight": 15}]}]'),
    (parse_topology, '{"system": {"(Topology) Hops between DRM devices 0 and 1": "1"}}'),
    (smi.parse_throttle, samples.blocks("THROTTLE", {"PPT_ACCUMULATED": 1, "PPT_VIOLATION_ACTIVE": "ACTIVE"})),
    (smi.parse_pcie, samples.blocks("PCIE", {"WIDTH": 16, "REPLAY_COUNT": 0})),
    (smi.parse_ecc, samples.blocks("ECC", {"TOTAL_UNCORRECTABLE_COUNT": 0})),
    (smi.parse_bus, samples.listed("0000:0a:00.0")),
    (smi.parse_driver, samples.blocks("DRIVER", {"NAME": "amdgpu", "VERSION": "9.9"})),
    (smi.parse_asic, samples.blocks("ASIC", {"MARKET_NAME": "X"})),
    (smi.parse_bad_pages, "GPU: 0\n    RETIRED: No bad pages found.\n"),
    (smi.parse_version, samples.VERSION),
    (rocm.parse_bus, "GPU[0]\t\t: PCI Bus: 0000:0A:00.0\n"),
]


@pytest.mark.parametrize(("parse", "sample"), PARSERS)
def test_line_ends_and_escapes_make_no_difference(parse: Callable[[str], Said], sample: str) -> None:
    assert parse(sample)
    assert parse("\ufeff" + sample.replace("\n", "\r\n")).values == parse(sample).values
    assert parse("\x1b[4m" + sample + "\x1b[0m").counters == parse(sample).counters


@pytest.mark.parametrize(("parse", "sample"), PARSERS)
@given(data=st.data())
def test_no_text_raises(parse: Callable[[str], Said], sample: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(sample)))
    parse(sample[:cut])
    parse(sample[cut:] + data.draw(st.text(max_size=20)) + sample[:cut])
    assert isinstance(parse(data.draw(st.text())), Said)


def test_a_text_that_is_something_else_tells_nothing() -> None:
    assert not any(parse("command not found\n: :\n[1, 2]\n{}\n") for parse, _ in PARSERS)
