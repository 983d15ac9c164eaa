"""`--launcher mpirun`: opsdist starts an MPI's mpiexec, and that opsdist, on the hosts of a lab."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from opsdist_cli.mpirun import without
from tests import lab as labs
from tests.leftovers import RunSpace, until
from tests.opsdist_cli.env_launchers import missing, open_mpi, start
from tests.perf_process import OPSDIST, SMALL

in_a_lab = pytest.mark.skipif(labs.unavailable() is not None, reason=f"no lab of hosts: {labs.unavailable()}")
with_mpi = pytest.mark.skipif(missing("mpiexec") is not None, reason=f"{missing('mpiexec')}")
MARGIN = 20.0


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[labs.Lab]:
    with labs.lab(2, tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts


@pytest.fixture
def hosts(shared: labs.Lab) -> Iterator[labs.Lab]:
    """At the end nothing of a run is on any host."""
    yield shared
    for host in shared.hosts:
        until(lambda host=host: not host.processes(), MARGIN, f"the end of {host.processes()} on {host.name}")


def far(hosts: labs.Lab, *more: str) -> list[str]:
    names = ",".join(host.address for host in hosts.hosts)
    return ["--launcher", "mpirun", f"--hosts={names}", "--per-host", "1", "--bind", "none", *more]


def variables(hosts: labs.Lab) -> dict[str, str]:
    return {"OPSDIST_SSH": shlex.join(hosts.ssh), "UCX_TLS": "tcp,self"}


@in_a_lab
@with_mpi
def test_mpi_and_builtin_side_by_side_on_two_hosts(hosts: labs.Lab, space: RunSpace) -> None:
    run = start(space, OPSDIST, *SMALL, *far(hosts, "--backend", "builtin,mpi"), variables=variables(hosts))
    assert run.code() == 0, run.stderr
    assert [node["name"] for node in run.record["world"]["nodes"]] == ["node1", "node2"]
    assert [row["backend"] for row in run.record["results"]] == ["builtin", "mpi"]
    assert all(row["out_of_place"]["nwrong"] == 0 for row in run.record["results"])


@in_a_lab
@pytest.mark.skipif(open_mpi() is None, reason="Open MPI is not installed: apt-get install openmpi-bin")
def test_open_mpi_on_two_hosts(hosts: labs.Lab, space: RunSpace) -> None:
    own = space.folder / "launcher"
    own.mkdir()
    network = ".".join(hosts.address.split(".")[:2]) + ".0.0/16"
    chosen = {"OPSDIST_MPIEXEC": open_mpi() or "", "TMPDIR": str(own)}
    run = start(space, OPSDIST, *SMALL, *far(hosts, "--interface", network), variables={**variables(hosts), **chosen})
    assert run.code() == 0, run.stderr
    assert [node["name"] for node in run.record["world"]["nodes"]] == ["node1", "node2"]
    assert run.record["results"][0]["out_of_place"]["nwrong"] == 0


@in_a_lab
@with_mpi
def test_a_failure_of_the_run_is_that_of_the_command(hosts: labs.Lab, space: RunSpace) -> None:
    run = start(space, OPSDIST, *SMALL, *far(hosts, "--inject", "kill:rank=1"), variables=variables(hosts))
    assert run.code() == 3
    assert run.record["verdict"]["culprits"] == [{"kind": "rank", "rank": 1, "host": "node2"}]


@with_mpi
def test_a_dry_run_shows_the_command_line(space: RunSpace) -> None:
    run = start(space, OPSDIST, "allreduce", "--launcher", "mpirun", "--hosts", "a:2,b:1", "--dry-run")
    assert run.code() == 0, run.stderr
    (line,) = run.stdout.splitlines()
    words = shlex.split(line)
    assert "a:2,b:1" in words
    assert words[words.index("opsdist_cli") + 1 :][:2] == ["perf", "allreduce"]
    assert words[-2:] == ["--launcher", "env"]
    assert words.count("--launcher") == 1


@with_mpi
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--hosts", "a,b"], "how many ranks? Give -n, --per-host, or slots"),
        (["--hosts", "a,b", "-n", "2", "--prologue", "true"], "has no --prologue"),
        (["--hosts", "a,b,c", "-n", "2"], "2 ranks do not reach all of 3 hosts"),
    ],
)
def test_what_cannot_be_is_refused(space: RunSpace, arguments: list[str], words: str) -> None:
    run = start(space, OPSDIST, "allreduce", "--launcher", "mpirun", *arguments)
    assert run.code() == 2
    assert words in run.stderr


def test_without_mpiexec_it_is_refused(space: RunSpace) -> None:
    mpiexec = {"OPSDIST_MPIEXEC": "nowhere/mpiexec"}
    run = start(space, OPSDIST, "allreduce", "--launcher", "mpirun", "-n", "2", variables=mpiexec)
    assert run.code() == 2
    assert "--launcher mpirun: no mpiexec: " in run.stderr


@in_a_lab
@with_mpi
def test_mpi_on_several_hosts_wants_its_own_launcher(hosts: labs.Lab, space: RunSpace) -> None:
    run = start(
        space, OPSDIST, *SMALL, "--hosts", "node[1-2]", "--per-host", "1", "--backend", "mpi",
        variables=variables(hosts),
    )  # fmt: skip
    assert run.code() == 2
    assert "--backend mpi on 2 hosts: MPI's own launcher must start the ranks; give --launcher mpirun" in run.stderr


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["perf", "--hosts", "a", "allreduce"], ["perf", "allreduce"]),
        (["perf", "--hosts=a", "--size", "--hosts-like"], ["perf", "--size", "--hosts-like"]),
        (["perf", "--launcher"], ["perf"]),
    ],
)
def test_what_mpiexec_was_told_is_not_told_again(given: list[str], kept: list[str]) -> None:
    assert without(given, ("--hosts", "--launcher")) == kept
