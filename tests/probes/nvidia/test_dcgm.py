"""What is understood of `dcgmi`."""

from __future__ import annotations

import pytest

from probes.host import Answer
from probes.nvidia.dcgm import HOST_QUERIES, TOOL, parse_discovery, parse_errors, parse_health, parse_states
from probes.reading import State
from probes.visit import understood

STATES = """\
+----------------------+
|  NvLink Link Status  |
+----------------------+
GPUs:
    gpuId 0:
        U U U D U _
    gpuId 1:
        U U U U X X
NvSwitches:
    physicalId 8:
        U D U U

Key: Up=U, Down=D, Disabled=X, Not Supported=_
"""
ERRORS = """\
+-----------------------------+------------------------------------------------+
| NVLINK Error Counts                                                          |
| GPU 0                                                                        |
+=============================+================================================+
| Link 0                      |                                                |
| -> CRC FLIT Error           | 3                                              |
| -> Replay Error             | 0                                              |
| Link 1                      |                                                |
| -> Recovery Error           | 1                                              |
"""
DISCOVERY = """\
2 GPUs found.
+--------+----------------------------------------------------------------------+
| GPU ID | Device Information                                                   |
+--------+----------------------------------------------------------------------+
| 0      | Name: NVIDIA Q100-SXM9-80GB                                          |
|        | PCI Bus ID: 00000000:07:00.0                                         |
|        | Device UUID: GPU-47114711-4711-4711-4711-471147114711                |
+--------+----------------------------------------------------------------------+
| 1      | Name: NVIDIA Q100-SXM9-80GB                                          |
|        | PCI Bus ID: 00000000:0F:00.0                                         |
+--------+----------------------------------------------------------------------+
"""
HEALTH = """\
+---------------------------+---------------------------------------------------+
| Health Monitor Report                                                         |
+===========================+===================================================+
| Overall Health            | Failure                                           |
| GPU                       |                                                   |
| -> 1                      | Failure                                           |
|    -> Errors              |                                                   |
|       -> NVLINK system    | Failure                                           |
|                           | GPU 1's NvLink link 4 is currently down.          |
+---------------------------+---------------------------------------------------+
"""


def test_states_are_letters() -> None:
    said = parse_states(STATES)
    assert said.values == {
        "0/up": 4, "0/down": [3], "1/up": 4, "1/disabled": [4, 5], "switch8_up": 3, "switch8_down": [1],
    }  # fmt: skip
    assert said.lines["0/down"] == "U U U D U _"


def test_letters_of_nobody() -> None:
    assert not parse_states("        U U U D\n")


def test_the_key_is_no_state() -> None:
    assert not parse_states("NvSwitches:\n    No NvSwitches found.\n\nKey: Up=U, Down=D\n")


def test_errors_of_the_gpu_that_was_asked_about() -> None:
    assert parse_errors(ERRORS).counters == {"link0_crc_flit": 3, "link0_replay": 0, "link1_recovery": 1}


def test_which_gpus_there_are() -> None:
    said = parse_discovery(DISCOVERY)
    assert said.values == {
        "0/name": "NVIDIA Q100-SXM9-80GB", "0/bus": "0000:07:00.0",
        "1/name": "NVIDIA Q100-SXM9-80GB", "1/bus": "0000:0f:00.0",
    }  # fmt: skip


def test_health_and_what_is_wrong() -> None:
    said = parse_health(HEALTH)
    assert said.values == {
        "health": "Failure", "1/health": "Failure", "1/problems": "GPU 1's NvLink link 4 is currently down.",
    }  # fmt: skip


@pytest.mark.parametrize(("said", "state"), [
    ("Error: unable to connect to the host engine", State.REFUSED),
    ("Error: unable to establish a connection to the specified host: localhost", State.REFUSED),
    ("Error: insufficient privileges", State.REFUSED),
    ("Error: no permission", State.REFUSED),
    ("Health watches not enabled. Please enable watches.", State.UNSUPPORTED),
    ("Feature not supported", State.UNSUPPORTED),
    ("unsupported operation", State.UNSUPPORTED),
    ("PARSE ERROR: Unknown argument", State.UNSUPPORTED),
])  # fmt: skip
def test_words_that_are_no_fault_of_a_gpu(said: str, state: State) -> None:
    assert understood(TOOL, HOST_QUERIES[2], "dcgmi", Answer(1, said, "")).state is state
