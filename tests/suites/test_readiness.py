"""Which library can run on what, and the views of devices, from a made-up host with eight NPUs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from probes.host import Answer
from probes.recorded.texthost import TextHost
from suites.checks import rules
from suites.checks.judging import judge
from suites.hostinfo import Looked, Wanted, look
from suites.inforeport import Measure, report
from suites.readiness import readiness
from suites.recorded import seen_at
from suites.report import Status, now
from suites.views import hccl, nccl
from tests.made_up.npu_host import NpuHost
from tests.schema import validate
from tests.suites.checks.told import facts_of

CANN = {"/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info": "version=8.1.0\n"}
DENIED = Answer(1, "", "Operation not permitted\n")

ALL = Wanted()


def record(folder: Path, *hosts: NpuHost, wanted: Wanted = ALL) -> dict[str, Any]:
    for number, host in enumerate(hosts, 1):
        place = folder / f"node{number}"
        place.mkdir()
        host.write(place)
        for path, text in CANN.items():
            file = place / path.lstrip("/")
            file.parent.mkdir(parents=True)
            file.write_text(text)
    found = report(["opsdist"], now(), Looked(*seen_at([folder], wanted)), Measure(), wanted).record()
    validate(found)
    return found


def hccl_row(folder: Path, host: NpuHost) -> tuple[str, str, str, str]:
    (row,) = [row for row in record(folder, host)["readiness"] if row["backend"] == "hccl"]
    return row["devices"], row["link"], row["state"], row["why"]


def test_a_healthy_host_is_ready_and_has_nothing_to_remark(tmp_path: Path) -> None:
    found = record(tmp_path, NpuHost())
    assert found["readiness"] == [
        {
            "hosts": ["node1"], "backend": "hccl", "devices": "8 x 910B3, driver 24.1.0",
            "link": "HCCS, 8 of 8 ports up", "state": "ready", "why": None,
        }
    ]  # fmt: skip
    assert [finding for finding in found["findings"] if finding["status"] in ("fail", "warn", "error")] == []


def test_a_part_that_is_broken_degrades(tmp_path: Path) -> None:
    devices, link, state, why = hccl_row(tmp_path, NpuHost(unlinked=(5,)))
    assert (devices, link, state) == ("8 x 910B3, driver 24.1.0", "HCCS, 7 of 8 ports up", "degraded")
    assert why == "the network port of npu5 has no link"


def test_with_all_devices_broken_nothing_is_ready(tmp_path: Path) -> None:
    assert hccl_row(tmp_path, NpuHost(alarm=range(8)))[2] == "not ready"


def test_hosts_that_are_alike_share_a_row(tmp_path: Path) -> None:
    hosts = [NpuHost(subnet=1), NpuHost(subnet=2), NpuHost(subnet=3, alarm=(1,))]
    rows = {row["state"]: row["hosts"] for row in record(tmp_path, *hosts)["readiness"]}
    assert rows == {"ready": ["node1", "node2"], "degraded": ["node3"]}


def test_without_a_word_of_the_library_nothing_is_promised() -> None:
    facts = facts_of(NpuHost().commands(), NpuHost().files(), sections=())
    (row,) = readiness({"h": facts}, [])
    assert (row["state"], row["why"]) == ("unknown", "nothing told whether HCCL is installed")
    facts["software"]["packages"] = {"torch": "2.5"}
    (row,) = readiness({"h": facts}, [])
    assert (row["state"], row["why"]) == ("not ready", "HCCL was not found: no cann and no torch_npu")
    facts["software"]["packages"] = {"torch_npu": "2.5"}
    assert readiness({"h": facts}, [])[0]["state"] == "ready"


def test_a_living_host_says_itself_whether_its_backends_are_ready() -> None:
    rows = [
        {"name": "builtin", "summary": "s", "ready": True, "reason": None, "remedy": None},
        {"name": "mpi", "summary": "s", "ready": True, "reason": "it is slow", "remedy": "mend it"},
        {"name": "gloo", "summary": "s", "ready": False, "reason": "torch is not installed", "remedy": "install it"},
    ]
    interfaces = [{"name": name, "state": "up", "loopback": name == "lo"} for name in ("lo", "eth0")]
    facts = {"cpu": {"physical_cores": 4}, "network": {"interfaces": interfaces}, "backends": rows}
    told = readiness({"h": facts}, [])
    assert [(row["backend"], row["state"], row["why"]) for row in told] == [
        ("builtin", "ready", None), ("mpi", "degraded", "it is slow"), ("gloo", "not ready", "torch is not installed"),
    ]  # fmt: skip
    assert {(row["devices"], row["link"]) for row in told} == {("4 cores", "shared memory, eth0")}


def test_the_view_of_npus(tmp_path: Path) -> None:
    sick = NpuHost(alarm=(3,), unlinked=(5,), on_pcie=6)
    facts = record(tmp_path, sick, wanted=Wanted(("hccl",)))["hosts"][0]["facts"]
    assert list(facts) == ["hccl"]
    rows = {row["device"]: row for row in facts["hccl"]}
    assert list(rows) == [f"npu{number}" for number in range(8)]
    well = rows["npu0"]
    assert (well["hccs_links"], well["hccs_up"], well["hccs_lanes"], well["hccs_errors"]) == (7, 7, 4, 0)
    assert (well["port"], well["mbps"], well["address"], well["mtu"], well["fec"], well["tls"]) == (
        "UP", 200000, "192.0.1.10", 4200, "rs", 0,
    )  # fmt: skip
    assert (well["state"], well["why"]) == ("ready", [])
    assert {name: row["state"] for name, row in rows.items() if row["state"] != "ready"} == dict.fromkeys(
        ("npu3", "npu5", "npu6"), "not ready"
    )
    assert rows["npu3"]["health"] == "Alarm"
    assert (rows["npu6"]["hccs_up"], rows["npu6"]["hccs_lanes"]) == (0, 0)


def test_a_device_of_which_nothing_was_told_is_not_ready() -> None:
    """Its file is there, and no tool."""
    commands = {"hccn_tool -i 0 -link -g": "link status: UP\n"}
    facts = facts_of(commands, {"/dev/davinci0": "", "/dev/davinci1": ""})
    (first, second) = hccl(facts, []) or ()
    assert (first["state"], first["why"]) == ("unknown", ["its health was not told"])
    assert (second["state"], second["why"]) == ("unknown", ["nothing was told of it"])
    (row,) = readiness({"h": facts}, [])
    assert (row["state"], row["why"]) == ("unknown", "npu0: its health was not told (and 1 more)")


def test_the_table_tells_health_too() -> None:
    commands = {line: text for line, text in NpuHost().commands().items() if "-t health" not in line}
    rows = hccl(facts_of(commands, NpuHost().files(), sections=()), []) or ()
    assert {(row["health"], row["state"]) for row in rows} == {("OK", "ready")}


def test_a_port_that_this_user_may_not_ask_for_is_unknown() -> None:
    refused = dict.fromkeys((line for line in NpuHost().commands() if line.startswith("hccn_tool")), DENIED)
    facts = facts_of({**NpuHost().commands(), **refused}, NpuHost().files(), sections=())
    rows = hccl(facts, []) or ()
    assert {(row["health"], row["state"]) for row in rows} == {("OK", "unknown")}
    assert rows[0]["why"] == ["its network port was not told: Operation not permitted"]
    assert readiness({"h": facts}, [])[0]["state"] == "unknown"


@pytest.mark.parametrize("end", [Answer(-11, "", ""), Answer(None, "", ""), DENIED])
def test_a_tool_without_an_answer_leaves_all_unknown(end: Answer) -> None:
    facts = facts_of({"npu-smi info": end, "nvidia-smi": end, "amd-smi list": end})
    findings = judge({"h": facts}, rules().values(), {})
    assert (hccl(facts, findings), nccl(facts, findings)) == (None, None)
    rows = readiness({"h": facts}, findings)
    assert [(row["backend"], row["devices"], row["state"]) for row in rows] == [
        (backend, "unknown", "unknown") for backend in ("hccl", "nccl", "rccl")
    ]
    assert all("-smi" in row["why"] for row in rows)


@pytest.mark.parametrize("view", ["hccl", "nccl", "topology"])
def test_a_host_without_accelerators_has_empty_views(tmp_path: Path, view: str) -> None:
    (tmp_path / "n" / "proc").mkdir(parents=True)
    wanted = Wanted((view,))
    found = report(["opsdist"], now(), Looked(*seen_at([tmp_path / "n"], wanted)), Measure(), wanted).record()
    validate(found)
    assert list(found["hosts"][0]["facts"]) == [view]


def test_one_device(tmp_path: Path) -> None:
    wanted = Wanted(("hccl",), ("npu5",))
    found = record(tmp_path, NpuHost(alarm=(3,), unlinked=(5,)), wanted=wanted)
    assert [row["device"] for row in found["hosts"][0]["facts"]["hccl"]] == ["npu5"]
    assert {finding["subject"]["device"] for finding in found["findings"] if finding["status"] == "fail"} == {"npu5"}


def test_a_tool_that_hangs_is_told_of_any_device() -> None:
    commands = {**NpuHost().commands(), "hccn_tool -i 3 -link -g": Answer(None, "", "")}
    wanted = Wanted(("accelerators",), ("npu3",))
    host = TextHost(
        {}, {line: Answer(0, said, "") if isinstance(said, str) else said for line, said in commands.items()}
    )
    found = report(["opsdist"], now(), Looked([look("h", host, wanted)]), Measure(), wanted).findings
    assert ("tools.hung", Status.ERROR) in {(finding.check, finding.status) for finding in found}


def test_errors_that_grew_since_an_earlier_look(tmp_path: Path) -> None:
    before, after = NpuHost(errors={2: 5}), NpuHost(errors={2: 80}, gone=(7,))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    earlier = {seen.name: seen.facts for seen in seen_at([replace(before).write(tmp_path / "a")], Wanted())[0]}
    looked = Looked(*seen_at([after.write(tmp_path / "b")], Wanted()))
    found = report(["opsdist"], now(), looked, Measure(earlier=earlier)).record()
    said = {(finding["check"], finding["subject"].get("device")) for finding in found["findings"]}
    assert ("ascend.port_errors_grew", "npu2") in said
    assert ("ascend.npu_gone", "npu7") in said


def test_the_view_of_gpus() -> None:
    csv = (
        "index, name, pci.bus_id, pcie.link.width.current, pcie.link.width.max\n"
        "0, X100, 00000000:19:00.0, 16, 16\n1, X100, 00000000:3B:00.0, 8, 16\n"
    )
    matrix = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-7\nGPU1\tNV18\t X \t0-7\n"
    links = "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
    lspci = f"19:00.0 3D controller: NVIDIA Corporation X\n{links}"
    commands = {"nvidia-smi --query-gpu=index --format=csv": csv, "nvidia-smi topo -m": matrix, "lspci -vvv": lspci}
    facts = facts_of(commands, sections=("accelerators", "pcie"))
    first, second = nccl(facts, judge({"h": facts}, rules().values(), {})) or ()
    assert (first["device"], first["name"], first["bus"], first["state"]) == ("gpu0", "X100", "0000:19:00.0", "ready")
    assert first["pcie"] == {"width": 16, "width_max": 16}
    assert (second["device"], second["state"]) == ("gpu1", "not ready")
    assert "lanes" in second["why"][0]
    assert first["links"] == second["links"] == {"NV18": 1}
