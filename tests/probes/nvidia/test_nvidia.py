"""NVIDIA GPUs from all that tells of them."""

from __future__ import annotations

import pytest

from probes import nvidia
from probes.host import Answer
from probes.nvidia import NvidiaFacts
from probes.reading import State
from probes.recorded.texthost import TextHost
from probes.visit import Visit
from tests.probes.nvidia.samples import (
    ALL_INACTIVE,
    LOST,
    MISMATCH,
    NO_DEVICES,
    QUERY,
    UNREACHABLE,
    csv,
    details,
    gpu_details,
    gpu_rows,
    nvlink,
    table,
    topology,
)  # fmt: skip
from tests.tree_host import TreeHost


def read(commands: dict[str, str | Answer], files: dict[str, str] | None = None) -> NvidiaFacts:
    answers = {line: Answer(0, said, "") if isinstance(said, str) else said for line, said in commands.items()}
    return nvidia.read(Visit(TextHost(files or {}, answers)))


def places(facts: NvidiaFacts) -> list[tuple[int, str | None]]:
    return [(device.id, device.bus) for device in facts.devices or ()]


def test_index_and_address_of_one_gpu_are_joined() -> None:
    facts = read({
        QUERY: csv("index, pci.bus_id, name", "0, 00000000:3B:00.0, NVIDIA Q100", "1, 00000000:19:00.0, NVIDIA Q100"),
        "nvidia-smi -q": details(gpu_details("00000000:19:00.0"), gpu_details("00000000:3B:00.0")),
        "nvidia-smi topo -m": topology(["X PIX", "PIX X"]),
    })  # fmt: skip
    assert places(facts) == [(0, "0000:3b:00.0"), (1, "0000:19:00.0")]
    assert facts.devices is not None
    assert facts.devices[1].name == "NVIDIA Q100"
    assert facts.devices[1].readings["details"].values["bus"] == "0000:19:00.0"
    assert facts.devices[1].readings["topology"].values["links"] == {"0": "PIX"}


def test_a_name_that_was_cut_short_gives_way() -> None:
    facts = read({
        "nvidia-smi": table(gpu_rows(0, name="NVIDIA Quuxforce ...")),
        "nvidia-smi -q": details(gpu_details("00000000:10:00.0", name="NVIDIA Quuxforce 9000")),
    })  # fmt: skip
    assert [device.name for device in facts.devices or ()] == ["NVIDIA Quuxforce 9000"]


def test_without_an_index_the_order_counts() -> None:
    text = details(gpu_details("00000000:19:00.0"), gpu_details("00000000:3B:00.0"))
    assert places(read({"nvidia-smi -q": text})) == [(0, "0000:19:00.0"), (1, "0000:3b:00.0")]


def test_one_gpu_of_many_keeps_its_index() -> None:
    assert places(read({"nvidia-smi nvlink -s": nvlink((6, "NVIDIA Q100", [])) + ALL_INACTIVE})) == [(6, None)]


def test_a_text_that_does_not_name_its_gpu() -> None:
    facts = read({"nvidia-smi -q": "    ECC Mode\n        Current                           : Disabled\n"})
    assert facts.devices is not None
    assert facts.devices[0].readings["details"].values == {"ecc": False}


def test_the_gpu_that_a_question_was_about() -> None:
    facts = read({"dcgmi nvlink -e -g 5": "| Link 0   |   |\n| -> Replay Error  | 7 |\n"})
    assert facts.devices is not None
    assert facts.devices[0].id == 5
    assert facts.devices[0].readings["dcgm_link_errors"].counters == {"link0_replay": 7}


@pytest.mark.parametrize(("said", "fault"), [
    (MISMATCH, "driver_mismatch"), (NO_DEVICES, "no_devices"), (UNREACHABLE, "driver_unreachable"),
    ("Failed to initialize NVML: Unknown Error\n", "driver_unreachable"),
])  # fmt: skip
def test_faults_of_the_driver_are_told_by_any_question(said: str, fault: str) -> None:
    for line in ("nvidia-smi", "nvidia-smi topo -m", "nvidia-smi -q", QUERY):
        (reading,) = read({line: Answer(9, said, "")}).readings.values()
        assert (reading.state, reading.values["fault"]) == (State.TOLD, fault)
        assert reading.lines["fault"] == said.splitlines()[0][:200]


def test_the_version_of_the_libraries() -> None:
    assert read({"nvidia-smi": MISMATCH}).readings["table"].values["library"] == "999.11"


def test_missing_rights_are_no_fault() -> None:
    (reading,) = read({"nvidia-smi": "Failed to initialize NVML: Insufficient Permissions\n"}).readings.values()
    assert (reading.state, reading.values) == (State.REFUSED, {})


@pytest.mark.parametrize(("line", "bus", "index"), [
    (LOST, "0000:11:00.0", None),
    ("Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n", "0000:34:00.0", 1),
    ("Unable to determine the device handle for GPU 0000:0A:00.0: GPU is lost.\n", "0000:0a:00.0", None),
])  # fmt: skip
def test_a_lost_gpu_is_named_as_far_as_it_is(line: str, bus: str, index: int | None) -> None:
    reading = read({"nvidia-smi": line}).readings["table"]
    (lost,) = reading.values["lost"]
    assert (lost["bus"], lost["index"]) == (bus, index)
    assert reading.lines["lost"] == line.strip()


def test_an_unknown_field_leads_to_the_next_question(tree: TreeHost) -> None:
    asked: list[str] = []

    class Old(TreeHost):
        """A driver before R535."""

        def run(self, argv: object, timeout: float) -> Answer | None:
            words = " ".join(argv) if isinstance(argv, list) else ""
            if "--query-gpu" not in words:
                return None
            asked.append(words)
            if "clocks_event_reasons" in words:
                return Answer(2, 'Field "clocks_event_reasons.active" is not a valid field to query.\n\n', "")
            return Answer(0, "index, clocks_throttle_reasons.active\n0, 0x0000000000000008\n", "")

    facts = nvidia.read(Visit(Old(tree.folder)))
    assert facts.devices is not None
    assert facts.devices[0].readings["state"].momentary == {"clock_reasons": ["hardware_slowdown"]}
    assert len(asked) == 2


def test_a_question_that_the_tool_does_not_know_in_any_form() -> None:
    facts = read({QUERY: 'Field "pstate" is not a valid field to query.\n'})
    assert facts.readings["state"].state is State.UNSUPPORTED


def test_who_was_asked_in_vain_is_known_for_every_gpu() -> None:
    facts = read({"nvidia-smi topo -m": topology(["X PIX", "PIX X"]), "nvidia-smi nvlink -s": Answer(None, "", "")})
    assert facts.devices is not None
    assert [device.readings["nvlink"].state for device in facts.devices] == [State.LATE, State.LATE]


def test_files_count_where_no_tool_tells(tree: TreeHost) -> None:
    tree.write({"/dev/nvidia0": "", "/dev/nvidia3": "", "/dev/nvidiactl": ""}).tools = {}
    assert places(nvidia.read(Visit(tree))) == [(0, None), (3, None)]
    tree.write({"/proc/driver/nvidia/gpus/0000:3B:00.0/information": "", "/proc/driver/nvidia/gpus/0000:19:00.0/x": ""})
    assert places(nvidia.read(Visit(tree))) == [(0, "0000:19:00.0"), (1, "0000:3b:00.0")]
    tree.tools = {"nvidia-smi": table(gpu_rows(0))}
    assert places(nvidia.read(Visit(tree))) == [(0, "0000:10:00.0")]


def test_a_host_without_any(tree: TreeHost) -> None:
    assert nvidia.read(Visit(tree.write({"/dev/null": ""}))) == NvidiaFacts(())
    assert read({"nvidia-smi": NO_DEVICES}).devices == ()


def test_a_host_that_does_not_tell(tree: TreeHost) -> None:
    assert nvidia.read(Visit(tree)) == NvidiaFacts(None)
    assert read({"nvidia-smi": MISMATCH}).devices is None


def test_a_quick_look_asks_little() -> None:
    host = TextHost({}, {"nvidia-smi": Answer(0, table(gpu_rows(0)), ""), "nvidia-smi -q": Answer(0, "x", "")})
    facts = nvidia.read(Visit(host, hurry=True))
    assert facts.readings["details"].state is State.UNASKED
    assert facts.readings["table"].state is State.TOLD
    assert "state" not in facts.readings  # it was asked, and the recording has no answer
