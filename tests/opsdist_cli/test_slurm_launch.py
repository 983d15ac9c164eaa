"""Runs in an allocation of a real Slurm whose nodes are the hosts of a lab: one srun a node; all ends with the job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import lab as labs
from tests import slurm as slurms
from tests.leftovers import until
from tests.npus import without_npus
from tests.opsdist_cli.env_launchers import missing
from tests.perf_process import ENDLESS, PROMISED, SMALL

_REASON = labs.unavailable() or slurms.unavailable()
pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.skipif(_REASON is not None, reason=f"no Slurm on hosts of a lab: {_REASON}"),
]

OPSDIST = [sys.executable, "-m", "opsdist_cli"]
PERF = [*OPSDIST, "perf", *SMALL, "--bind", "none"]
MARGIN = 30.0


@dataclass(frozen=True)
class Cluster:
    hosts: list[labs.LabHost]
    slurm: slurms.Slurm


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm")
    with labs.lab(2, folder) as network:
        hosts = [slurms.Host(host.name, host.address, tuple(host.enter([]))) for host in network.hosts]
        with slurms.slurm(hosts, folder, address=network.address) as cluster:
            yield Cluster(network.hosts, cluster)


@pytest.fixture
def cluster(shared: Cluster) -> Iterator[Cluster]:
    """At the end no process of a job is left on any node."""
    yield shared
    shared.slurm.gone(MARGIN)


def record(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_an_allocation_is_taken_as_it_is(cluster: Cluster, tmp_path: Path) -> None:
    """From a machine that is not in it: as many ranks on each node as tasks were asked for."""
    path = tmp_path / "r.json"
    done = cluster.slurm.run(["salloc", "-Q", "-N2", "--ntasks-per-node=2", *PERF, "--json", str(path)])
    assert done.returncode == 0, done.stderr + cluster.slurm.logs()
    world = record(path)["world"]
    assert world["launcher"] == "slurm"
    assert [(node["name"], node["ranks"]) for node in world["nodes"]] == [("node1", [0, 1]), ("node2", [2, 3])]
    assert [rank["addresses"] for rank in world["ranks"]] == [
        [host.address] for host in cluster.hosts for _ in range(2)
    ]
    assert record(path)["results"][0]["out_of_place"]["nwrong"] == 0


def test_in_a_batch_script_its_own_node_needs_no_srun(cluster: Cluster, tmp_path: Path) -> None:
    path, script = tmp_path / "r.json", tmp_path / "job.sh"
    script.write_text(f"#!/bin/bash\nexec {' '.join(PERF)} --per-host 1 -v --json {path}\n")
    cluster.slurm.run(["sbatch", "-N2", f"--output={tmp_path / 'out'}", str(script)])
    until(path.exists, MARGIN, "the record of the batch job")
    assert record(path)["exit_code"] == 0
    assert [node["name"] for node in record(path)["world"]["nodes"]] == ["node1", "node2"]
    commands = [line for line in (tmp_path / "out").read_text().splitlines() if "suites.launch" in line]
    assert [line.startswith(f"# node{number}: srun ") for number, line in enumerate(commands, 1)] == [False, True]


def test_without_tasks_asked_for_every_core_has_a_rank(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    done = cluster.slurm.run(["salloc", "-Q", "-N2", *PERF, "--json", str(path)])
    assert done.returncode == 0, done.stderr
    assert record(path)["world"]["size"] >= 2


@without_npus
def test_the_nodes_of_an_allocation_are_asked_for_their_npus(cluster: Cluster) -> None:
    """Which they do not have, but they were asked."""
    command = ["salloc", "-Q", "-N2", *OPSDIST, "hosts", "--format", "rank-table"]
    done = cluster.slurm.run(command)
    assert (done.returncode, done.stdout) == (3, "")
    assert "  node1: no NPU: " in done.stderr
    assert "  node2: no NPU: " in done.stderr


def test_cancelled(cluster: Cluster, tmp_path: Path) -> None:
    """The partial report is kept, the code is that of SIGTERM, and every rank ends."""
    path, out, script = tmp_path / "r.json", tmp_path / "out", tmp_path / "job.sh"
    perf = " ".join([*OPSDIST, "perf", *ENDLESS, "--bind", "none", "--per-host", "1", "--json", str(path)])
    script.write_text(f"#!/bin/bash\nexec {perf}\n")
    job = cluster.slurm.run(["sbatch", "--parsable", "-N2", f"--output={out}", str(script)]).stdout.strip()
    until(lambda: out.exists() and " 4096 " in out.read_text(), MARGIN, "the first row")
    cluster.slurm.run(["scancel", job])
    until(path.exists, MARGIN, "the record")
    assert record(path)["exit_code"] == 143
    assert record(path)["results"][0]["size"] == 4096


def test_an_interactive_step_is_no_task(cluster: Cluster, tmp_path: Path) -> None:
    """Where salloc begins a shell on the first node: it is a step in name only, and the allocation is all of it."""
    path = tmp_path / "r.json"
    step = ["srun", "--interactive", "--preserve-env", *PERF, "--json", str(path)]
    done = cluster.slurm.run(["salloc", "-Q", "-N2", "--ntasks-per-node=1", *step])
    assert done.returncode == 0, done.stderr
    assert [node["name"] for node in record(path)["world"]["nodes"]] == ["node1", "node2"]


def test_a_cancelled_allocation_blames_nobody(cluster: Cluster, tmp_path: Path) -> None:
    path, out, said = tmp_path / "r.json", tmp_path / "out", tmp_path / "said"
    with out.open("wb") as stdout, said.open("wb") as stderr:
        run = cluster.slurm.popen(
            ["salloc", "-N2", *OPSDIST, "perf", *ENDLESS, "--bind", "none", "--per-host=1", "--json", str(path)],
            stdout=stdout, stderr=stderr,
        )  # fmt: skip
        until(lambda: "Granted job allocation" in said.read_text(), MARGIN, "the allocation")
        job = said.read_text().split("Granted job allocation")[1].split()[0]
        until(lambda: " 4096 " in out.read_text(), MARGIN, "the first row")
        cluster.slurm.run(["scancel", job])
        run.wait(MARGIN)
    until(path.exists, MARGIN, "the record")
    assert record(path)["exit_code"] in (3, 143)
    if record(path)["exit_code"] == 3:
        assert (record(path)["verdict"]["class"], record(path)["verdict"]["culprits"]) == ("undecided", [])
        assert "Slurm has ended the job" in record(path)["verdict"]["explanation"]


def test_info_sees_the_nodes_of_the_allocation(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    done = cluster.slurm.run(["salloc", "-Q", "-N2", *OPSDIST, "info", "-t", "limits", "--json", str(path)])
    assert done.returncode == 0, done.stderr
    assert [host["name"] for host in record(path)["hosts"]] == ["node1", "node2"]


def test_an_agent_killed_names_its_node(cluster: Cluster, tmp_path: Path) -> None:
    path, out = tmp_path / "r.json", tmp_path / "out"
    with out.open("wb") as stdout:
        run = cluster.slurm.popen(
            ["salloc", "-Q", "-N2", *OPSDIST, "perf", *ENDLESS, "--bind", "none", "--per-host=1", "--json", str(path)],
            stdout=stdout,
        )  # fmt: skip
        until(lambda: " 4096 " in out.read_text(), MARGIN, "the first row")
        agents = [pid for pid, words in cluster.hosts[1].processes().items() if "suites.launch.agent" in words]
        os.kill(min(agents), signal.SIGKILL)
        assert run.wait(MARGIN) == 3
    verdict = record(path)["verdict"]
    assert (verdict["class"], verdict["culprits"]) == ("crashed", [{"kind": "host", "host": "node2"}])


def test_no_interpreter_over_there(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    done = cluster.slurm.run(["salloc", "-Q", "-N2", *PERF, "--python", "/no/such/python", "--json", str(path)])
    assert done.returncode == 3, done.stderr
    verdict = record(path)["verdict"]
    assert (verdict["class"], sorted(culprit["host"] for culprit in verdict["culprits"])) == (
        "launch",
        ["node1", "node2"],
    )
    assert "(phase: python)" in verdict["explanation"]


# --- started as several tasks of one step


def test_the_tasks_of_a_step_are_one_world(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    done = cluster.slurm.run(["srun", "-N2", "--ntasks-per-node=2", *PERF, "--json", str(path)])
    assert done.returncode == 0, done.stderr + cluster.slurm.logs()
    assert done.stdout.count("# passed: 1 of 1 cases measured") == 1
    world = record(path)["world"]
    assert (world["launcher"], world["why"]) == ("env", "4 ranks, as srun has started them")
    assert [(node["name"], node["ranks"]) for node in world["nodes"]] == [("node1", [0, 1]), ("node2", [2, 3])]
    assert record(path)["results"][0]["algorithm"] == "hierarchical"
    assert record(path)["results"][0]["out_of_place"]["nwrong"] == 0


def test_tasks_dealt_out_in_turns_are_numbered_host_by_host(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    step = ["srun", "-N2", "--ntasks-per-node=2", "--distribution=cyclic", *PERF, "--json", str(path)]
    done = cluster.slurm.run(step)
    assert done.returncode == 0, done.stderr
    assert [node["ranks"] for node in record(path)["world"]["nodes"]] == [[0, 1], [2, 3]]
    assert record(path)["world"]["why"].endswith("numbered host by host (srun's own numbers: 0, 2, 1, 3)")


@pytest.mark.skipif(missing("torchrun") is not None, reason=f"{missing('torchrun')}")
def test_a_torchrun_on_each_node_counts_and_not_the_srun_around_it(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    address = cluster.hosts[0].address
    torchrun = f"{sys.executable} -m torch.distributed.run --nnodes 2 --nproc-per-node 2 --node-rank $SLURM_NODEID"
    torchrun += f" --master-addr {address} --master-port 29871 -m opsdist_cli {' '.join(PERF[len(OPSDIST) :])}"
    done = cluster.slurm.run(["srun", "-N2", "--ntasks-per-node=1", "sh", "-c", f"{torchrun} --json {path}"])
    assert done.returncode == 0, done.stderr
    assert record(path)["world"]["why"] == "4 ranks, as torchrun has started them"
    assert [node["ranks"] for node in record(path)["world"]["nodes"]] == [[0, 1], [2, 3]]


def started_step(cluster: Cluster, tmp_path: Path, *more: str) -> subprocess.Popen[bytes]:
    """One task on each node, in transfers without end once this returns."""
    out = tmp_path / "out"
    perf = [*OPSDIST, "perf", *ENDLESS, "--bind", "none", "--json", str(tmp_path / "r.json"), *more]
    with out.open("wb") as stdout:
        run = cluster.slurm.popen(["srun", "-N2", "--ntasks-per-node=1", *perf], stdout=stdout)
    until(lambda: " 4096 " in out.read_text() or run.poll() is not None, MARGIN, "the first row")
    return run


def of_rank(host: labs.LabHost, words: str) -> list[int]:
    return sorted(pid for pid, line in host.processes().items() if words in line)


def test_a_task_killed_is_a_lost_rank_of_its_node(cluster: Cluster, tmp_path: Path) -> None:
    run = started_step(cluster, tmp_path)
    os.kill(of_rank(cluster.hosts[1], "opsdist_cli perf")[0], signal.SIGKILL)
    assert run.wait(MARGIN) != 0
    verdict = record(tmp_path / "r.json")["verdict"]
    assert record(tmp_path / "r.json")["exit_code"] == 3
    assert (verdict["class"], verdict["culprits"]) == ("crashed", [{"kind": "rank", "rank": 1, "host": "node2"}])


def test_without_the_first_task_all_end(cluster: Cluster, tmp_path: Path) -> None:
    run = started_step(cluster, tmp_path)
    os.kill(of_rank(cluster.hosts[0], "opsdist_cli perf")[0], signal.SIGKILL)
    cluster.slurm.gone(PROMISED)
    assert run.wait(MARGIN) != 0


def test_the_agent_of_another_node_killed_names_the_node(cluster: Cluster, tmp_path: Path) -> None:
    run = started_step(cluster, tmp_path)
    os.kill(of_rank(cluster.hosts[1], "suites.launch.agent")[0], signal.SIGKILL)
    assert run.wait(MARGIN) == 3
    verdict = record(tmp_path / "r.json")["verdict"]
    assert (verdict["class"], verdict["culprits"]) == ("crashed", [{"kind": "host", "host": "node2"}])


def test_a_step_that_is_cancelled_keeps_its_partial_report(cluster: Cluster, tmp_path: Path) -> None:
    run = started_step(cluster, tmp_path)
    step = cluster.slurm.run(["squeue", "--steps", "--noheader", "--format=%i"]).stdout.split()
    cluster.slurm.run(["scancel", "--signal=TERM", *[name for name in step if name.rpartition(".")[2].isdecimal()]])
    assert run.wait(MARGIN) != 0
    assert record(tmp_path / "r.json")["exit_code"] == 143
    assert record(tmp_path / "r.json")["results"][0]["size"] == 4096


def test_a_network_that_is_gone_names_the_node(cluster: Cluster, tmp_path: Path) -> None:
    run = started_step(cluster, tmp_path, "--timeout", "5s")
    cluster.hosts[1].blackhole()
    try:
        until((tmp_path / "r.json").exists, 2 * MARGIN, "the record")
    finally:
        cluster.hosts[1].restore()
    run.wait(2 * MARGIN)
    verdict = record(tmp_path / "r.json")["verdict"]
    assert (verdict["class"], verdict["culprits"]) == ("transport", [{"kind": "host", "host": "node2"}])


def test_who_has_another_secret_is_no_part_of_the_run(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    task = f"OPSDIST_TOKEN=$(($SLURM_PROCID / 2)) exec {' '.join(PERF)} --timeout 1s --json {path}"
    done = cluster.slurm.run(["srun", "-N2", "--ntasks-per-node=2", "bash", "-c", task])
    assert done.returncode == 3
    assert "ranks 2-3 of 4 did not come" in record(path)["verdict"]["explanation"]


def test_info_by_the_tasks_of_a_step(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    done = cluster.slurm.run(["srun", "-N2", "--ntasks-per-node=1", *OPSDIST, "info", "-t", "limits", f"--json={path}"])
    assert done.returncode == 0, done.stderr
    assert [host["name"] for host in record(path)["hosts"]] == ["node1", "node2"]


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, "not in an allocation"),
        ({"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-"}, "SLURM_JOB_NODELIST"),
        (
            {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-3]", "SLURM_NTASKS": "3", "SLURM_TASKS_PER_NODE": "1(x2)"},
            "not about the 3 nodes",
        ),
    ],
)
def test_refused(cluster: Cluster, variables: dict[str, str], wanted: str) -> None:
    done = cluster.slurm.run([*PERF, "--launcher", "slurm"], variables)
    assert done.returncode == 2
    assert wanted in done.stderr
