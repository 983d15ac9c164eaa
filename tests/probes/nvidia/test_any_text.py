"""Whatever NVIDIA's tools print, cut anywhere and mixed up, no parser raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.by_device import split
from probes.nvidia import dcgm, details, fabric, nccl_topology, nvlink, query, smi_table, topo
from probes.reading import told
from tests.probes.nvidia import test_dcgm, test_details, test_fabric, test_nccl_topology
from tests.probes.nvidia.samples import (
    ALL_INACTIVE,
    LOST,
    MISMATCH,
    PROCESS,
    XML,
    csv,
    gpu_details,
    gpu_rows,
    table,
    topology,
)  # fmt: skip
from tests.probes.nvidia.samples import details as gpus
from tests.probes.nvidia.samples import (
    fabric as fabric_section,
)
from tests.probes.nvidia.samples import (
    nvlink as links,
)

PARSERS = (
    query.parse_gpus, query.parse_processes, details.parse, smi_table.parse, topo.parse_links, topo.parse_direct,
    nvlink.parse_states, nvlink.parse_errors, dcgm.parse_states, dcgm.parse_errors, dcgm.parse_discovery,
    dcgm.parse_health, fabric.parse_log, fabric.parse_driver, fabric.parse_state, nccl_topology.parse,
    details.PARSE,
)  # fmt: skip
SAMPLES = (
    csv("index, pci.bus_id, memory.used [MiB], clocks_event_reasons.active", "0, 00000000:19:00.0, 1 MiB, 0x08"),
    csv("gpu_bus_id, pid, used_gpu_memory [MiB]", "00000000:19:00.0, 47, 100 MiB"),
    gpus(gpu_details(sections=test_details.AMPERE + test_details.VOLTA + fabric_section())),
    XML, test_nccl_topology.TOPOLOGY, MISMATCH, LOST,
    table(gpu_rows(0), gpu_rows(1)) + PROCESS,
    topology(["X NV18 PIX", "NV18 X SYS"], ("NIC0",), {"NIC0": "mlx5_0"}),
    links((0, "NVIDIA Q100", ["25 GB/s", "<inactive>", "Replay Errors: 3"])) + ALL_INACTIVE,
    test_dcgm.STATES, test_dcgm.ERRORS, test_dcgm.DISCOVERY, test_dcgm.HEALTH,
    test_fabric.ERROR.format("fatal", 7) + "\n" + test_fabric.STARTED,
)  # fmt: skip
ODD = st.sampled_from(
    ["\r\n", "\ufeff", "\x1b[4m", "\x0c", "\ufffd", "9" * 400, "-", "|", ":", "²", "٣", "\t", "<", "GPU 0"]
)


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: f"{parse.__module__}.{parse.__name__}")
@given(
    sample=st.sampled_from(SAMPLES), start=st.integers(0, 4000), length=st.integers(0, 4000), odd=ODD, text=st.text()
)
def test_no_parser_raises(parse: object, sample: str, start: int, length: int, odd: str, text: str) -> None:
    assert callable(parse)
    begin = start % (len(sample) + 1)
    for said in (sample[begin : begin + length], sample[:begin] + odd + sample[begin:], sample[:begin] + text, text):
        for reading in split(told("quux", parse(said))).gpus.values():
            assert reading.values or reading.counters or reading.momentary or reading.lines


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_parser_raises_wherever_a_text_ends(sample: str) -> None:
    parsers = [parse for parse in PARSERS if parse(sample)]
    for end in range(0, len(sample), 3):
        for parse in parsers:
            parse(sample[:end])


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: f"{parse.__module__}.{parse.__name__}")
@pytest.mark.parametrize("sample", SAMPLES)
def test_line_ends_and_marks_of_copied_text_change_nothing(parse: object, sample: str) -> None:
    assert callable(parse)
    assert parse("\ufeff" + sample.replace("\n", "\r\n")) == parse(sample)
