"""What a run across hosts finds out about them: how their clocks differ, and what their links carry. In a lab."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectives import native
from tests.lab import Lab, lab, unavailable
from tests.leftovers import RunSpace
from tests.perf_process import Perf, perf

ROOT = Path(__file__).parents[2]
DAYS = 1_000_000
"""Seconds."""


def _no_time_of_its_own() -> str | None:
    trial = ["unshare", "--time", "--monotonic", str(DAYS), "true"]
    done = subprocess.run(trial, check=False, capture_output=True, text=True)
    return f"no clocks of their own: {done.stderr.strip()}" if done.returncode else None


pytestmark = pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(2, tmp_path_factory.mktemp("cluster")) as hosts:
        yield hosts


def ended(hosts: Lab, space: RunSpace, *arguments: str) -> Perf:
    """A run on both hosts that has gone well."""
    where = ("--hosts", "node[1-2]", "--per-host", "1", "--bind", "none", "--cache", "warm")
    with perf(space, *arguments, *where, variables={"OPSDIST_SSH": shlex.join(hosts.ssh)}) as run:
        run.measured()
    return run


@pytest.mark.skipif(_no_time_of_its_own() is not None, reason=str(_no_time_of_its_own()))
def test_who_comes_late_is_found_although_a_clock_is_days_ahead(cluster: Lab, space: RunSpace, tmp_path: Path) -> None:
    """Back to back, the root folds what it has received while the other one has only sent: it is the last to begin the
    next one, but where the machine is busy with something else. By the clocks as they are the other one always is."""
    python = tmp_path / "python"
    elsewhere = f"unshare --time --monotonic {DAYS}"
    python.write_text(f'#!/bin/sh\n[ "$(hostname)" = node2 ] && set -- {elsewhere} {sys.executable} "$@" ||\n'
                      f'set -- {sys.executable} "$@"\nexec "$@"\n')  # fmt: skip
    python.chmod(0o755)
    sizes = ("-b", "4M", "-e", "32M", "-f", "2")
    run = ended(cluster, space, "reduce", *sizes, "--sync", "none", "--peak=9GB/s", "--python", str(python))
    rows = [row["out_of_place"] for row in run.record["results"]]
    assert any(row["late_rank"] != 1 for row in rows)
    assert all(0 < row["clock_error"] < DAYS * 1e6 for row in rows)
    assert "clocks of hosts compared to within" in run.stdout


def test_the_rate_of_a_cable_that_is_none_is_unknown_and_what_neighbours_exchange_is_said(
    cluster: Lab, space: RunSpace
) -> None:
    """A veth says 10 Gb/s, whatever it carries."""
    assert cluster.hosts[0].run(["cat", "/sys/class/net/eth0/speed"]).stdout == "10000\n"
    run = ended(cluster, space, "allreduce", "--size", "4M", "--loop", "4")
    assert f"tcp by eth0 {cluster.hosts[1].address} (rate unknown)" in run.stdout
    (finding,) = [finding for finding in run.record["findings"] if finding["check"] == "perf.link"]
    assert (finding["status"], finding["evidence"]["link_gb_s"]) == ("info", None)
    assert finding["evidence"]["neighbour_gb_s"] > 0
    assert f"# {finding['message']}" in run.stdout.splitlines()


@pytest.mark.skipif(
    native.core() is None, reason=f"only the core has a connection for each pair: {native.unavailable()}"
)
def test_two_hosts_that_do_not_reach_each_other_are_named_as_a_link(space: RunSpace, tmp_path: Path) -> None:
    """They are no neighbours in the ring that is tried before ranks start."""
    with lab(4, tmp_path) as hosts:
        second, fourth = hosts.hosts[1], hosts.hosts[3]
        chain = "add table ip gap; add chain ip gap in { type filter hook input priority 0 ; }"
        second.run(["nft", f"{chain}; add rule ip gap in ip saddr {fourth.address} drop"], check=True)
        arguments = ("allreduce", "--algorithm", "two_shot", "--size", "64K", "--hosts", "node[1-4]", "--per-host", "1")
        variables = {"OPSDIST_SSH": shlex.join(hosts.ssh)}
        with perf(space, *arguments, "--bind", "none", "--timeout", "4s", variables=variables) as run:
            assert run.code() == 3
    verdict = run.record["verdict"]
    assert (verdict["class"], verdict["culprits"]) == (
        "transport", [{"kind": "link", "host": "node2", "peer": "node4"}],
    )  # fmt: skip


@pytest.mark.skipif(native.core() is None, reason=f"no host has a core to differ in: {native.unavailable()}")
def test_a_host_without_the_core_is_named_with_what_to_do(cluster: Lab, space: RunSpace, tmp_path: Path) -> None:
    for package in ("collectives", "probes", "suites", "opsdist_cli"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("*.so"))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n[ "$(hostname)" = node2 ] && export PYTHONPATH={tmp_path}\n'
                      f'exec {sys.executable} "$@"\n')  # fmt: skip
    python.chmod(0o755)
    run = ended(cluster, space, "allreduce", "--size", "4K", "--loop", "4", "--python", str(python))
    (finding,) = [finding for finding in run.record["findings"] if finding["check"] == "perf.core"]
    assert finding["subject"] == {"host": "node2"}
    assert finding["message"].startswith("node2: the native core is missing")
    assert "install a C compiler" in finding["remedy"]
    assert run.record["results"][0]["out_of_place"]["nwrong"] == 0
    assert "portable engine" in run.stdout
