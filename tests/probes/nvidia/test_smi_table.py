"""What is understood of the table that `nvidia-smi` prints, and of its list of GPUs."""

from __future__ import annotations

from probes.nvidia.smi_table import parse
from tests.probes.nvidia.samples import NO_PROCESSES, PROCESS, gpu_rows, table


def test_a_gpu_has_three_rows() -> None:
    said = parse(table(gpu_rows(0), gpu_rows(1, ecc="4", persistence="Off")) + NO_PROCESSES)
    assert said.values["driver"] == "999.10.01"
    assert said.values["cuda"] == "19.9"
    assert {name: value for name, value in said.values.items() if name.startswith("1/")} == {
        "1/bus": "0000:11:00.0", "1/name": "NVIDIA Q100 80GB HBM3", "1/persistence": False, "1/memory_mib": 81559,
        "1/compute_mode": "Default", "1/mig": False,
    }  # fmt: skip
    assert said.counters == {"0/ecc_uncorrected": 0, "1/ecc_uncorrected": 4}
    assert said.momentary["0/temperature"] == 27
    assert said.momentary["0/utilization"] == 3
    assert said.momentary["0/performance_state"] == "P0"
    assert "0/processes" not in said.momentary


def test_processes_that_compute() -> None:
    said = parse(table(gpu_rows(0), gpu_rows(1)) + PROCESS + PROCESS.replace(" C ", " G ").replace("    1 ", "    0 "))
    assert said.momentary["1/processes"] == [{"pid": 4711, "memory_mib": 1024}]
    assert "0/processes" not in said.momentary


def test_processes_as_older_drivers_print_them() -> None:
    old = "|    0      4711      C   python3                                    1024MiB |\n"
    assert parse(table(gpu_rows(0)) + old).momentary["0/processes"] == [{"pid": 4711, "memory_mib": 1024}]


def test_a_gpu_that_cannot_be_read() -> None:
    said = parse(table(gpu_rows(0, temperature="ERR!", ecc="ERR!")))
    assert said.values["0/unreadable"] == "ecc_uncorrected"
    assert "0/temperature" not in said.momentary


def test_cards_without_ecc_and_with_a_long_name() -> None:
    said = parse(table(gpu_rows(0, name="NVIDIA GeForce RTX 9090...", ecc="N/A", mode="E. Process")))
    assert said.counters == {}
    assert said.values["0/compute_mode"] == "E. Process"
    assert said.values["0/name"] == "NVIDIA GeForce RTX 9090..."


def test_the_list_of_gpus() -> None:
    said = parse("GPU 0: NVIDIA Q100 (UUID: GPU-4711)\nGPU 1: NVIDIA Q100 (UUID: GPU-4712)\n")
    assert said.values == {"0/name": "NVIDIA Q100", "1/name": "NVIDIA Q100"}
    assert said.lines == {}
