"""What is understood of `nvidia-smi nvlink`."""

from __future__ import annotations

from probes.nvidia.nvlink import parse_errors, parse_states
from tests.probes.nvidia.samples import ALL_INACTIVE, nvlink

NAME = "NVIDIA Q100-SXM9-80GB"


def test_links_and_their_speed() -> None:
    said = parse_states(nvlink((0, NAME, ["26.562 GB/s", "<inactive>", "25 GB/s"]), (3, NAME, ["26.562 GB/s"])))
    assert said.values == {
        "0/name": NAME, "0/inactive": [1], "0/active": [0, 2], "0/speed": 25.0,
        "3/name": NAME, "3/active": [0], "3/speed": 26.562,
    }  # fmt: skip
    assert said.lines["0/inactive"] == "Link 1: <inactive>"
    assert not [line for line in said.lines.values() if "UUID" in line]


def test_a_line_that_was_cut_tells_no_speed() -> None:
    assert "0/speed" not in parse_states(nvlink((0, NAME, ["25 GB/s"]))[: -len("5 GB/s\n")]).values


def test_a_gpu_without_any_active_link() -> None:
    said = parse_states(nvlink((6, NAME, [])) + ALL_INACTIVE + nvlink((7, NAME, ["25 GB/s"])))
    assert said.values["6/all_inactive"] is True
    assert "7/all_inactive" not in said.values


def test_errors_of_each_link() -> None:
    text = nvlink((0, NAME, ["Replay Errors: 0"])) + "\t Link 0: Recovery Errors: 2\n\t Link 17: CRC Errors: 65535\n"
    assert parse_errors(text).counters == {"0/link0_replay": 0, "0/link0_recovery": 2, "0/link17_crc": 65535}
