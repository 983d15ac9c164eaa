"""What `npu-smi info -t ...` tells of one chip."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from probes.ascend import npu_details as parsed
from probes.reading import Said
from tests.probes.ascend.npu_samples import details, links, pairs_of


def test_a_board_without_what_identifies_it() -> None:
    said = parsed.parse_board(pairs_of({
        "NPU ID": 0, "Product Name": "made up", "Serial Number": "SN0001", "Software Version": "99.1",
        "Firmware Version": "9.1.0", "Compatibility": "NOK", "PCIe Bus Info": "0000:C1:00.0", "VDie ID": "0A0B 0001",
        "PCI Device ID": "0xD802", "Chip Count": 2, "Faulty Chip Count": 1,
    }))  # fmt: skip
    assert said.values == {
        "product_name": "made up", "software_version": "99.1", "firmware_version": "9.1.0", "compatibility": "NOK",
        "pci_device_id": "0xD802", "chip_count": 2, "faulty_chip_count": 1,
    }  # fmt: skip
    assert said.momentary == {"bus": "0000:c1:00.0"}
    assert "SN0001" not in str(said)
    assert "0A0B" not in str(said)


def test_a_card_that_is_gone() -> None:
    said = parsed.parse_board("Invalid card id.\nError parameter of -i\nUsage: npu-smi info <watch|proc>\n")
    assert said.values == {"fault": "Invalid card id."}


def test_the_block_of_a_helper_chip_does_not_count() -> None:
    text = details(Aicore_Freq__MHZ=1800, Aicore_curFreq__MHZ=800, Temperature__C=41, NPU_Real_time_Power__W=71.5)
    said = parsed.parse_common(
        text.replace("Real time", "Real-time") + "\n" + details(Chip_Name="mcu", Temperature__C=90)
    )
    assert said.values == {"aicore_mhz": 1800}
    assert said.momentary == {"aicore_mhz_now": 800, "temperature_c": 41, "power_w": 71.5}
    assert said.lines["temperature_c"] == "Temperature(C)                 : 41"


def test_usages_and_memory() -> None:
    usages = parsed.parse_usages(details("", HBM_Capacity__MB=65536, HBM_Usage_Rate__="NA", Aicore_Usage_Rate__=97))
    assert (usages.values, usages.momentary) == ({"hbm_mb_total": 65536}, {"aicore_percent": 97})
    memory = parsed.parse_memory(details(HBM_Clock_Speed__MHz=1600, HBM_Temperature__C=50))
    assert memory.values == {"hbm_mhz": 1600}


def test_health_with_codes_and_what_they_mean() -> None:
    said = parsed.parse_health(
        pairs_of({"Health Status": "Alarm", "Error Code": "80E01801 0x8C03A000"})
        + "\tError Information              : first of all\n\n\t                               : node type=x, a=b.\n"
    )
    assert said.values == {
        "health": "Alarm", "codes": ["80E01801", "0x8C03A000"], "meanings": ["first of all", "node type=x, a=b."],
    }  # fmt: skip


def test_good_health_under_another_key() -> None:
    said = parsed.parse_health("   Health    : OK\n   Error Code  : NA\n   Error Information : NA\n")
    assert said.values == {"health": "OK", "codes": []}


def test_events() -> None:
    text = "\tFault Event Count : 1\n\tFault Event Information : event id=0x81af8000, severity=2, node type ex=215\n"
    said = parsed.parse_events(text)
    assert (said.values, said.momentary) == ({"codes": ["81AF8000"]}, {"events": 1})
    assert parsed.parse_events("Fault Event Count : 0\n").values == {"codes": []}


def test_counters_by_their_keys() -> None:
    text = pairs_of({
        "NPU ID": 0, "Chip Count": 1, "HBM Single Bit Error Count": 3, "HBM Double Bit Aggregate Total Err Cnt": 2,
        "HBM Single Bit Next-Isolated Pages Count": 1, "HBM Double Bit Isolated Pages Count": "NA",
    })  # fmt: skip
    said = parsed.parse_counters(text)
    assert said.values == {}
    assert said.counters == {
        "hbm_single_bit_error_count": 3,
        "hbm_double_bit_aggregate_total_err_cnt": 2,
        "hbm_single_bit_next_isolated_pages_count": 1,
    }


def test_links_one_by_one() -> None:
    said = parsed.parse_links(links([4, 2, 0], "NOK", retry=[0, 7, 0]))
    assert said.values == {
        "health": "NOK", "lane_mode": [4, 2, 0], "link_lane_list": ["1111", "1100", "0000"],
        "link_speed": [224, 112, 0], "first_error_lane": 4,
    }  # fmt: skip
    assert (said.counters["link0_tx_packets"], said.counters["link1_retry_count"]) == (1000, 7)


def test_links_that_are_called_otherwise() -> None:
    said = parsed.parse_links(links([4], name="xlink"))
    assert (said.values["health"], said.values["lane_mode"]) == ("OK", [4])
    assert "first_error_lane" not in said.values


def test_a_super_pod() -> None:
    said = parsed.parse_super_pod(details(SDID=100, Super_Pod_Size=384, Super_Pod_ID=0, Server_Index=12))
    assert said.values == {"super_pod_size": 384, "super_pod_id": 0}
    assert said.momentary == {"sdid": 100, "server_index": 12}


@pytest.mark.parametrize(
    ("parse", "key", "name", "kind"),
    [
        (parsed.parse_board, "Chip Name", "chip_name", "values"),
        (parsed.parse_common, "Aicore Usage Rate(%)", "aicore_percent", "momentary"),
        (parsed.parse_common, "NPU Utilization(%)", "npu_percent", "momentary"),
        (parsed.parse_common, "Aicube Usage Rate(%)", "aicube_percent", "momentary"),
        (parsed.parse_common, "HBM Usage Rate(%)", "hbm_percent", "momentary"),
        (parsed.parse_common, "Aicore Count", "aicore_count", "values"),
        (parsed.parse_usages, "DDR Capacity(MB)", "memory_mb_total", "values"),
        (parsed.parse_usages, "HBM Usage Rate(%)", "hbm_percent", "momentary"),
        (parsed.parse_usages, "HBM Bandwidth Usage Rate(%)", "hbm_bandwidth_percent", "momentary"),
        (parsed.parse_memory, "HBM Capacity(MB)", "hbm_mb_total", "values"),
        (parsed.parse_memory, "HBM Manufacturer ID", "hbm_manufacturer", "values"),
        (parsed.parse_super_pod, "Super Pod Type", "super_pod_type", "values"),
    ],
)
def test_keys_and_what_they_are_called(parse: Callable[[str], Said], key: str, name: str, kind: str) -> None:
    (told,) = getattr(parse(pairs_of({key: 7})), kind).items()
    assert (told[0], str(told[1])) == (name, "7")


@pytest.mark.parametrize("nothing", ["", "NA", "N/A", "-"])
def test_what_stands_for_nothing_is_no_value(nothing: str) -> None:
    assert not parsed.parse_board(pairs_of({"Software Version": nothing}))
    assert parsed.parse_health(pairs_of({"Error Code": nothing, "Error Information": nothing})).values == {"codes": []}


def test_codes_that_commas_part_and_words_that_are_none() -> None:
    assert parsed.parse_health("\tError Code : 80E01801,8C03A000\n").values == {"codes": ["80E01801", "8C03A000"]}
    assert not parsed.parse_health("\tError Code : see the log\n")


def test_a_long_meaning_is_cut() -> None:
    assert parsed.parse_health(f"\tError Information : {'x' * 999}\n").values == {"meanings": ["x" * 200]}


def test_the_line_of_events_and_no_other_count() -> None:
    line = "\tFault Event Information : event id=0x81AF8000, severity=2"
    said = parsed.parse_events(f"\tNPU ID : 3\n\tFault Event Count : 1\n{line}\n")
    assert said.momentary == {"events": 1}
    assert said.lines["codes"] == line.strip()


def test_lists_of_links_that_hold_nothing_or_no_numbers() -> None:
    said = parsed.parse_links(pairs_of({
        "HCCS  Health Status": "OK", "hccs first error lane": "[]", "hccs lane mode": "[4 NA]", "hccs link speed": "[]",
        "hccs retry count": "[NA 5]",
    }))  # fmt: skip
    assert (said.values, said.counters) == ({"health": "OK"}, {"link1_retry_count": 5})
