"""What is understood of `nvidia-smi --query-... --format=csv`."""

from __future__ import annotations

import pytest

from probes.nvidia.query import STATES, parse_gpus, parse_processes
from tests.probes.nvidia.samples import csv


def test_cells_by_the_names_of_their_columns() -> None:
    said = parse_gpus(csv(
        "memory.used [MiB], index, pci.bus_id, pcie.link.width.current, ecc.errors.uncorrected.volatile.total",
        "17 MiB, 0, 00000000:3B:00.0, 16, 2",
    ))  # fmt: skip
    assert said.values == {"0/bus": "0000:3b:00.0", "0/pcie_width": 16}
    assert said.counters == {"0/ecc_uncorrected": 2}
    assert said.momentary == {"0/memory_used_mib": 17}
    assert said.lines["0/ecc_uncorrected"] == "ecc.errors.uncorrected.volatile.total 2 (0)"


def test_cells_that_hold_nothing_are_unknown() -> None:
    said = parse_gpus(
        csv("index, ecc.mode.current, power.draw [W], mig.mode.current", "0, [N/A], [Not Supported], N/A")
    )
    assert not said


def test_cells_that_tell_of_a_broken_gpu() -> None:
    said = parse_gpus(csv("index, temperature.gpu, pstate", "0, [Unknown Error], P0", "1, [GPU requires reset], P0"))
    assert said.values == {"0/unreadable": "temperature", "1/needs_reset": True}


@pytest.mark.parametrize("field", ["clocks_event_reasons.active", "clocks_throttle_reasons.active"])
def test_reasons_are_bits(field: str) -> None:
    said = parse_gpus(csv(f"index, {field}", "0, 0x0000000000000048", "1, 0x0000000000000005", "2, Active"))
    assert said.momentary == {
        "0/clock_reasons": ["hardware_slowdown", "hardware_thermal"],
        "1/clock_reasons": ["idle", "software_power_cap"],
    }


def test_without_an_index_the_address_names_the_gpu() -> None:
    said = parse_gpus(csv(
        "gpu_bus_id, remapped_rows.pending, remapped_rows.failure, remapped_rows.uncorrectable",
        "00000000:19:00.0, No, Yes, 3", "00000000:1A:00.0, 1, 0, [N/A]",
    ))  # fmt: skip
    assert said.values["0000:19:00.0/remap_failed"] is True
    assert said.values["0000:1a:00.0/remap_pending"] is True
    assert said.counters == {"0000:19:00.0/remapped_uncorrectable": 3}


def test_a_row_that_was_cut_tells_nothing_of_its_last_cell() -> None:
    said = parse_gpus("index, pcie.link.width.current, pstate\n0, 16, P0\n1, 1")
    assert said.values == {"0/pcie_width": 16}


def test_the_complaint_about_a_field_is_no_answer() -> None:
    assert not parse_gpus('Field "fabric.state" is not a valid field to query.\n\n')


def test_processes_of_each_gpu() -> None:
    said = parse_processes(csv(
        "gpu_bus_id, pid, used_gpu_memory [MiB]", "00000000:19:00.0, 47, 100 MiB", "00000000:19:00.0, 48, [N/A]",
    ))  # fmt: skip
    assert said.momentary == {
        "0000:19:00.0/processes": [{"pid": 47, "memory_mib": 100}, {"pid": 48, "memory_mib": None}],
        "count": 2,
    }


def test_no_process_is_an_answer() -> None:
    assert parse_processes("gpu_bus_id, pid, used_gpu_memory [MiB]\n").momentary == {"count": 0}


def test_the_forms_of_the_question_ask_for_less_and_less() -> None:
    asked = [set(form.words.split("=")[1].split(" ")[0].split(",")) for form in STATES]
    assert {"clocks_event_reasons.active"} == {field for field in asked[0] if "reasons" in field}
    assert {"clocks_throttle_reasons.active"} == {field for field in asked[1] if "reasons" in field}
    assert asked[2] < asked[1]
    assert not any("uuid" in field or "serial" in field for fields in asked for field in fields)
