"""The Slurm of the tests: what those that use it rely on, shown by real jobs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import lab
from tests.leftovers import until
from tests.slurm import Host, Slurm, slurm, unavailable

pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.skipif(unavailable() is not None, reason=f"no Slurm: {unavailable()}"),
]

NODES = 3
Told = dict[str, str | None]
TOLD = ("PROCID", "NODEID", "LOCALID", "JOB_ID", "STEP_ID", "STEP_NUM_TASKS", "STEP_TASKS_PER_NODE", "STEP_NODELIST")
TELL = f"import json, os; print(json.dumps({{name: os.environ.get('SLURM_' + name) for name in {TOLD}}}), flush=True)"
"""What a task does that writes its environment, as a line: not all of it, as srun does not keep long lines apart."""
SLEEP = "/bin/sleep 1000"
DEAF = f"trap '' TERM; while :; do {SLEEP}; done"
SHARED = [
    Path(top, name)
    for top in ("/etc", "/run", "/var/lib", "/var/log", "/var/spool")
    for name in ("munge", "slurm", "slurmctld", "slurmd")
]
"""Where the Slurm of a whole machine has its files."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm(NODES, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def idle(cluster: Slurm) -> Iterator[Slurm]:
    """The cluster with no job on it."""
    until(cluster.idle, 30.0, "idle nodes")
    yield cluster
    cluster.run(["scancel", "--user=root"])


def told(cluster: Slurm, *options: str) -> list[Told]:
    """The environments of a step's tasks, in order of their rank."""
    done = cluster.run(["srun", *options, sys.executable, "-c", TELL])
    assert done.returncode == 0, f"{done.stderr}\n{cluster.logs()}"
    return in_order(done.stdout)


def in_order(lines: str) -> list[Told]:
    environments: list[Told] = [json.loads(line) for line in lines.splitlines()]
    return sorted(environments, key=lambda environment: int(environment["PROCID"] or 0))


def values(environments: list[Told], name: str) -> list[str | None]:
    return [environment[name] for environment in environments]


def until_there(cluster: Slurm, command: str, count: int) -> None:
    """Wait until a job has so many processes of a command."""
    until(lambda: Counter(cluster.processes().values())[f"{command} "] == count, 30.0, f"{count} of {command}")


def job_id(cluster: Slurm) -> str:
    return cluster.run(["squeue", "--noheader", "--format=%i"]).stdout.strip()


def test_tasks_of_a_step_are_on_nodes_of_their_own(idle: Slurm) -> None:
    tasks = told(idle, f"-N{NODES}")
    assert values(tasks, "PROCID") == values(tasks, "NODEID") == ["0", "1", "2"]
    assert values(tasks, "LOCALID") == ["0"] * NODES
    assert values(tasks, "STEP_NUM_TASKS") == [str(NODES)] * NODES
    assert values(tasks, "STEP_NODELIST") == ["n[1-3]"] * NODES


def test_several_tasks_share_a_node(idle: Slurm) -> None:
    tasks = told(idle, f"-N{NODES}", "--ntasks-per-node=2")
    assert values(tasks, "NODEID") == ["0", "0", "1", "1", "2", "2"]
    assert values(tasks, "LOCALID") == ["0", "1"] * NODES
    assert values(tasks, "STEP_TASKS_PER_NODE") == ["2(x3)"] * 2 * NODES


def test_a_batch_script_is_no_step_and_starts_steps(idle: Slurm) -> None:
    tell = f"{shlex.quote(sys.executable)} -c {shlex.quote(TELL)}"
    script = f"{tell} >script && srun {tell} >step && touch over"
    done = idle.run(["sbatch", "-N2", "--ntasks-per-node=2", "--output=/dev/null", f"--wrap={script}"])
    assert done.returncode == 0, done.stderr
    until((idle.folder / "over").exists, 30.0, f"the end of the script\n{idle.logs()}")
    batch = in_order((idle.folder / "script").read_text())
    step = in_order((idle.folder / "step").read_text())
    assert values(batch, "PROCID") == ["0"]
    assert values(batch, "STEP_ID") == [None]
    assert values(step, "NODEID") == ["0", "0", "1", "1"]
    assert values(step, "STEP_ID") == ["0"] * 4
    assert values(step, "JOB_ID") == values(batch, "JOB_ID") * 4


def test_a_job_that_is_cancelled_ends(idle: Slurm) -> None:
    srun = idle.popen(["srun", "-N2", *SLEEP.split()], stderr=subprocess.DEVNULL)
    until_there(idle, SLEEP, 2)
    idle.run(["scancel", job_id(idle)])
    assert srun.wait(30.0) != 0
    idle.gone()


def test_a_step_that_is_cancelled_ends(idle: Slurm) -> None:
    srun = idle.popen(["srun", "-N2", "sh", "-c", DEAF], stderr=subprocess.DEVNULL)
    until_there(idle, SLEEP, 2)
    idle.run(["scancel", f"{job_id(idle)}.0"])
    assert srun.wait(30.0) != 0
    idle.gone()


def test_a_task_that_fails_ends_the_others_if_told_so(idle: Slurm) -> None:
    script = f'test "$SLURM_PROCID" != 1 || exit 7; {SLEEP}'
    done = idle.run(["srun", "-N2", "--kill-on-bad-exit=1", "sh", "-c", script])
    assert done.returncode != 0
    assert "task 1: Exited with exit code 7" in done.stderr
    idle.gone()


def test_slurm_of_another_cluster_is_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    monkeypatch.setenv("SBATCH_PARTITION", "elsewhere")
    with slurm(1, tmp_path) as other:
        assert {"SLURM_JOB_ID", "SBATCH_PARTITION"}.isdisjoint(other.environment)


def test_two_at_once_do_not_meet_and_leave_nothing(idle: Slurm, tmp_path: Path) -> None:
    """Not even what is deaf, has a session of its own, and gave up its environment and its parent."""
    before = {path: listing(path) for path in SHARED}
    hidden = tmp_path / "hidden"
    hide = f"(env -i setsid sh -c 'echo $$ >{hidden}.part; mv {hidden}.part {hidden}; exec {SLEEP}' &); {DEAF}"
    with slurm(1, tmp_path) as other:
        other.popen(["srun", "sh", "-c", hide], stderr=subprocess.DEVNULL)
        until(hidden.exists, 30.0, f"the hidden process\n{other.logs()}")
        assert not idle.processes()
        processes = [*map(psutil.Process, [*other.processes(), int(hidden.read_text())])]
        assert len(processes) >= 2
    assert not [process for process in processes if process.is_running()]
    assert not other.processes()
    assert list(tmp_path.iterdir()) == [hidden]
    assert {path: listing(path) for path in SHARED} == before


def listing(path: Path) -> dict[str, Any]:
    return {top: (folders, files) for top, folders, files in os.walk(path)}


def test_a_daemon_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ended before") as failure, slurm([Host("n1", "no address")], tmp_path):
        pass
    assert "slurmctld: fatal: Unable to process configuration file" in failure.value.__notes__[0]
    assert not list(tmp_path.iterdir())


def test_a_folder_too_deep_for_sockets_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 80)
    deep.mkdir()
    with pytest.raises(ValueError, match="too long for a socket"), slurm(1, deep):
        pass
    assert not list(deep.iterdir())


@pytest.mark.skipif(lab.unavailable() is not None, reason=f"no lab of hosts: {lab.unavailable()}")
def test_nodes_may_be_hosts_with_a_network_of_their_own(tmp_path: Path) -> None:
    with lab.lab(2, tmp_path) as network:
        hosts = [Host(host.name, host.address, host.enter([])) for host in network.hosts]
        with slurm(hosts, tmp_path, address=network.address) as cluster:
            there = cluster.run(["srun", "-N2", "--label", "ip", "-brief", "-4", "address", "show", "eth0"])
            addresses = [line.split()[3].partition("/")[0] for line in sorted(there.stdout.splitlines())]
            assert addresses == [host.address for host in hosts], there.stderr
            first, second = network.hosts
            back = first.run(["srun", "-N1", f"--nodelist={second.name}", "hostname"], env=cluster.environment)
            assert back.stdout == f"{second.name}\n", back.stderr
