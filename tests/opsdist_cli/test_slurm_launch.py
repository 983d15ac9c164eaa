"""Runs in an allocation of a real Slurm whose nodes are the hosts of a lab: one srun a node; all ends with the job."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import lab as labs
from tests import slurm as slurms
from tests.leftovers import until
from tests.perf_process import ENDLESS, SMALL

_REASON = labs.unavailable() or slurms.unavailable()
pytestmark = pytest.mark.skipif(_REASON is not None, reason=f"no Slurm on hosts of a lab: {_REASON}")

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
    assert world["nodes"] == [{"name": "node1", "ranks": [0, 1]}, {"name": "node2", "ranks": [2, 3]}]
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


def test_many_processes_of_one_step_do_not_each_make_a_world_of_their_own(cluster: Cluster) -> None:
    done = cluster.slurm.run(["srun", "-N2", "--ntasks-per-node=1", *PERF])
    assert done.returncode == 2
    assert "is rank 0 of 2" in done.stderr
    assert "is rank 1 of 2" in done.stderr
    assert "Bandwidth" not in done.stdout


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
