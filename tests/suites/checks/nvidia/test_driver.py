"""Rules about the driver of NVIDIA GPUs, from what nvidia-smi prints to the finding."""

from __future__ import annotations

import pytest

from probes.host import Answer
from suites.report import Status
from tests.probes.nvidia.samples import (
    LOST,
    MISMATCH,
    NO_DEVICES,
    NO_PROCESSES,
    QUERY,
    UNREACHABLE,
    csv,
    details,
    gpu_details,
    gpu_rows,
    table,
)  # fmt: skip
from tests.probes.nvidia.test_dcgm import HEALTH
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

HEALTHY = table(gpu_rows(0), gpu_rows(1)) + NO_PROCESSES
FAULTS = {
    "nvidia.no_devices": NO_DEVICES, "nvidia.driver_mismatch": MISMATCH, "nvidia.driver_unreachable": UNREACHABLE,
}  # fmt: skip


@pytest.mark.parametrize("rule", FAULTS)
def test_a_driver_that_does_not_work(rule: str) -> None:
    (finding,) = ruled(rule, facts_of({"nvidia-smi": Answer(9, FAULTS[rule], "")}))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "h"})
    assert finding.evidence["line"] == FAULTS[rule].split("\n")[0]
    assert finding.remedy


@pytest.mark.parametrize("rule", FAULTS)
def test_a_driver_that_works(rule: str) -> None:
    assert statuses(ruled(rule, facts_of({"nvidia-smi": HEALTHY}))) == [Status.PASS]
    others = {text for name, text in FAULTS.items() if name != rule}
    assert [ruled(rule, facts_of({"nvidia-smi": text})) for text in others] == [[], []]


@pytest.mark.parametrize("rule", FAULTS)
def test_who_may_not_ask_does_not_know(rule: str) -> None:
    (finding,) = ruled(rule, facts_of({"nvidia-smi": "Failed to initialize NVML: Insufficient Permissions\n"}))
    assert (finding.status, finding.message) == (Status.SKIP, "Failed to initialize NVML: Insufficient Permissions")


@pytest.mark.parametrize("rule", FAULTS)
def test_what_nobody_asked_nvidia_smi_is_no_pass(rule: str) -> None:
    assert ruled(rule, facts_of({"dcgmi nvlink -s": "GPUs:\n    gpuId 0:\n        U U\n"})) == []
    one_question = facts_of({"nvidia-smi nvlink -s": "GPU 0: NVIDIA Q100 (UUID: x)\n"})
    assert statuses(ruled(rule, one_question)) == [Status.PASS]


def test_a_host_without_nvidia_hears_nothing() -> None:
    assert [ruled(rule, facts_of({"lspci": ""})) for rule in FAULTS] == [[], [], []]


def test_a_lost_gpu_is_named_by_what_else_is_known() -> None:
    (finding,) = ruled("nvidia.gpu_lost", facts_of({"nvidia-smi": LOST}))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "0000:11:00.0")
    known = facts_of({"nvidia-smi -q": LOST, "nvidia-smi": HEALTHY})
    assert [finding.subject["device"] for finding in ruled("nvidia.gpu_lost", known)] == ["gpu1"]


def test_a_gpu_that_waits_for_a_reset() -> None:
    facts = facts_of({QUERY: csv("index, temperature.gpu", "0, 30", "1, [GPU requires reset]")})
    (finding,) = ruled("nvidia.needs_reset", facts)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu1")
    section = "    GPU Reset Status\n        Reset Required                    : {}\n"
    for word, status in (("Yes", Status.FAIL), ("No", Status.PASS)):
        text = details(gpu_details(sections=section.format(word)))
        assert statuses(ruled("nvidia.needs_reset", facts_of({"nvidia-smi -q": text}))) == [status]


def test_what_cannot_be_read_of_a_gpu() -> None:
    facts = facts_of(
        {QUERY: csv("index, temperature.gpu, mig.mode.current", "0, [Unknown Error], [N/A]", "1, 30, [N/A]")}
    )
    (finding,) = ruled("nvidia.unreadable", facts)
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "gpu0")


def test_an_answer_that_breaks_off() -> None:
    whole = details(gpu_details(), gpu_details("00000000:3B:00.0"))
    assert statuses(ruled("nvidia.answer_breaks_off", facts_of({"nvidia-smi -q": whole}))) == [Status.PASS]
    (finding,) = ruled("nvidia.answer_breaks_off", facts_of({"nvidia-smi -q": whole[: whole.rindex("    Processes")]}))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "gpu1")


def test_a_choice_of_sections_does_not_break_off() -> None:
    text = details("GPU 00000001:00:00.0\n    Retired Pages\n        Double Bit ECC    : 0\n")
    assert ruled("nvidia.answer_breaks_off", facts_of({"nvidia-smi -q": text})) == []


def test_what_dcgm_has_seen() -> None:
    (finding,) = ruled("nvidia.dcgm_health", facts_of({"dcgmi health -g 0 -c": HEALTH}))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu1")
    assert "link 4 is currently down" in finding.message
    well = "| Overall Health            | Healthy    |\n"
    assert statuses(ruled("nvidia.dcgm_health", facts_of({"dcgmi health -g 0 -c": well}))) == [Status.PASS]


def with_driver(version: str) -> dict[str, object]:
    return facts_of({"nvidia-smi": HEALTHY.replace("999.10.01", version)})


def test_the_host_with_another_driver_is_named() -> None:
    (finding,) = fleet("nvidia.driver_differs", a=with_driver("1.1"), b=with_driver("1.2"), c=with_driver("1.1"))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b"})


def test_of_two_hosts_none_is_the_culprit() -> None:
    (finding,) = fleet("nvidia.driver_differs", a=with_driver("1.1"), b=with_driver("1.2"))
    assert (finding.status, finding.subject) == (Status.WARN, {})
    assert fleet("nvidia.driver_differs", a=with_driver("1.1")) == []


def with_gpus(count: int, name: str = "NVIDIA Q100") -> dict[str, object]:
    return facts_of({"nvidia-smi": table(*(gpu_rows(index, name=name) for index in range(count))) + NO_PROCESSES})


def test_a_host_with_fewer_gpus() -> None:
    (finding,) = fleet("nvidia.count_differs", a=with_gpus(8), b=with_gpus(7), c=with_gpus(8))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "b"})
    assert statuses(fleet("nvidia.count_differs", a=with_gpus(8), b=with_gpus(8))) == [Status.PASS]


def test_answers_that_do_not_tell_of_all_gpus_are_not_counted() -> None:
    text = details(gpu_details(), attached=8)
    assert statuses(
        fleet("nvidia.count_differs", a=facts_of({"nvidia-smi -q": text}), b=facts_of({"nvidia-smi -q": text}))
    ) == [Status.PASS]
    other = facts_of({"nvidia-smi nvlink -s": "GPU 6: NVIDIA Q100 (UUID: x)\n"})
    assert fleet("nvidia.count_differs", a=with_gpus(8), b=other) == []


def test_a_gpu_that_went_away() -> None:
    (finding,) = ruled("nvidia.count_fell", with_gpus(7), earlier=with_gpus(8))
    assert finding.status is Status.FAIL
    assert statuses(ruled("nvidia.count_fell", with_gpus(8), earlier=with_gpus(8))) == [Status.PASS]


def test_hosts_of_other_models() -> None:
    (finding,) = fleet("nvidia.model_differs", a=with_gpus(2), b=with_gpus(2, "NVIDIA Q200"), c=with_gpus(2))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b"})
    assert fleet("nvidia.model_differs", a=with_gpus(2, "NVIDIA Quux 90..."), b=with_gpus(2)) == []


def test_another_firmware() -> None:
    text = csv(
        "index, name, vbios_version", "0, NVIDIA Q100, 9.1", "1, NVIDIA Q100, 9.2", "2, NVIDIA Q100, 9.1", "3, Q2, 7"
    )
    (finding,) = fleet("nvidia.vbios_differs", a=facts_of({QUERY: text}))
    assert (finding.status, finding.subject) == (Status.INFO, {"host": "a", "device": "gpu1"})


def test_a_lost_gpu_is_told_once_and_the_others_pass() -> None:
    facts = facts_of({"nvidia-smi -q": LOST, "nvidia-smi topo -m": LOST, "nvidia-smi": HEALTHY})
    (finding,) = ruled("nvidia.gpu_lost", facts)
    assert (finding.evidence["value"], finding.evidence["line"]) == ("0000:11:00.0", LOST.strip())
    assert "nvidia-smi" in finding.evidence["command"]
    (finding,) = ruled("nvidia.gpu_lost", facts_of({"nvidia-smi": HEALTHY}))
    assert finding.status is Status.PASS
    assert "2" in finding.message


def test_the_evidence_of_properties() -> None:
    cells = csv("index, temperature.gpu", "0, [Unknown Error]", "1, [GPU requires reset]")
    (finding,) = ruled("nvidia.unreadable", facts_of({QUERY: cells}))
    assert finding.evidence["line"].startswith("temperature.gpu [Unknown Error]")
    (finding,) = ruled("nvidia.needs_reset", facts_of({QUERY: cells}))
    assert finding.evidence["line"].startswith("temperature.gpu [GPU requires reset]")


def test_a_gpu_that_dcgm_finds_healthy_beside_a_sick_one() -> None:
    text = "| Overall Health | Warning |\n| GPU | |\n| -> 0 | HEALTHY |\n| -> 1 | Warning |\n"
    found = ruled("nvidia.dcgm_health", facts_of({"dcgmi health -g 0 -c": text}))
    assert [finding.subject["device"] for finding in found] == ["gpu1"]


@pytest.mark.parametrize(("word", "status"), [("Warning", Status.WARN), ("Failure", Status.FAIL)])
def test_how_bad_dcgm_finds_a_gpu(word: str, status: Status) -> None:
    text = f"| Overall Health | {word} |\n| GPU | |\n| -> 1 | {word} |\n"
    (finding,) = ruled("nvidia.dcgm_health", facts_of({"dcgmi health -g 0 -c": text}))
    assert (finding.status, finding.message) == (status, f"DCGM's health watches see gpu1 as {word}")
    assert finding.evidence["threshold"] == "Healthy"


def test_dcgm_that_names_no_gpu() -> None:
    (finding,) = ruled("nvidia.dcgm_health", facts_of({"dcgmi health -g 0 -c": "| Overall Health | Warning |\n"}))
    assert (finding.status, finding.evidence["value"]) == (Status.WARN, "Warning")


def test_a_host_whose_driver_finds_no_gpu_has_none() -> None:
    none = facts_of({"nvidia-smi": NO_DEVICES})
    (finding,) = fleet("nvidia.count_differs", a=with_gpus(8), b=none, c=with_gpus(8))
    assert (finding.subject, finding.evidence["value"]) == ({"host": "b"}, 0)
    (finding,) = ruled("nvidia.count_fell", none, earlier=with_gpus(8))
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (0, 8)


def test_how_many_gpus_are_attached_counts() -> None:
    short = facts_of({"nvidia-smi -q": details(gpu_details(), attached=7)})
    well = facts_of({"nvidia-smi -q": details(gpu_details(), attached=8)})
    (finding,) = fleet("nvidia.count_differs", a=well, b=short, c=well)
    assert (finding.subject, finding.evidence["value"]) == ({"host": "b"}, 7)


@pytest.mark.parametrize("line", [QUERY, "nvidia-smi topo -m", "dcgmi discovery -l"])
def test_answers_that_tell_how_many_gpus_there_are(line: str) -> None:
    def told(count: int) -> dict[str, object]:
        numbers = range(count)
        head = "\t" + "\t".join(f"GPU{column}" for column in numbers) + "\tCPU Affinity\n"
        matrix = (f"GPU{row}\t" + "\t".join("X" if row == column else "SYS" for column in numbers) for row in numbers)
        return facts_of({line: {
            QUERY: csv("index, temperature.gpu", *(f"{number}, 30" for number in numbers)),
            "nvidia-smi topo -m": head + "\t0-3\n".join(matrix) + "\t0-3\n",
            "dcgmi discovery -l": "".join(f"| {number} | Name: Q |\n" for number in numbers),
        }[line]})  # fmt: skip

    (finding,) = fleet("nvidia.count_differs", a=told(4), b=told(3), c=told(4))
    assert finding.subject == {"host": "b"}


def test_snapshots_of_other_questions_are_not_compared() -> None:
    assert ruled("nvidia.count_fell", facts_of({QUERY: csv("index, pstate", "0, P0")}), earlier=with_gpus(8)) == []


@pytest.mark.parametrize(("said", "found"), [
    ("None", [Status.PASS]), ("N/A", [Status.PASS]), ("Reset", [Status.FAIL]), ("Reboot", [Status.FAIL]),
    ("Drain P2P", [Status.WARN]), ("Drain and Reset", [Status.WARN]),
])  # fmt: skip
def test_what_the_driver_asks_for(said: str, found: list[Status]) -> None:
    sections = f"    GPU Recovery Action : {said}\n    GPU Reset Status\n        Drain and Reset Recommended : No\n"
    facts = facts_of({"nvidia-smi -q": details(gpu_details(sections=sections))})
    assert statuses(ruled("nvidia.needs_reset", facts)) == found


def test_a_reset_that_is_recommended() -> None:
    sections = "    GPU Reset Status\n        Reset Required : No\n        Drain and Reset Recommended : Yes\n"
    (finding,) = ruled("nvidia.needs_reset", facts_of({"nvidia-smi -q": details(gpu_details(sections=sections))}))
    assert (finding.status, finding.evidence["line"]) == (Status.WARN, "Drain and Reset Recommended : Yes")


def test_an_inforom_that_is_corrupted() -> None:
    warning = "WARNING: infoROM is corrupted at gpu 0000:11:00.0\n"
    for facts in (
        facts_of({"nvidia-smi": HEALTHY + warning}),
        facts_of({QUERY: warning + csv("index, pci.bus_id", "1, 0000:11:00.0")}),
    ):  # fmt: skip
        (finding,) = ruled("nvidia.inforom_corrupted", facts)
        assert (finding.status, finding.subject["device"]) == (Status.WARN, "gpu1")
    assert ruled("nvidia.inforom_corrupted", facts_of({"nvidia-smi": HEALTHY})) == []


def test_a_gpu_that_is_lost_in_the_table() -> None:
    rows = gpu_rows(1, name="ERR!", ecc="ERR!").replace("1MiB /  81559MiB", "GPU is lost")
    (finding,) = ruled(
        "nvidia.gpu_lost", facts_of({"nvidia-smi": table(gpu_rows(0), rows, gpu_rows(2)) + NO_PROCESSES})
    )
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu1")
