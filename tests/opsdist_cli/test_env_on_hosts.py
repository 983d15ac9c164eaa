"""opsdist started by launchers of MPI and by torchrun on several hosts of a lab: how its processes find each other."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from tests import lab as labs
from tests.leftovers import RunSpace, until
from tests.opsdist_cli.env_launchers import across, missing, open_mpi, start
from tests.perf_process import OPSDIST, SMALL, Perf

pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.skipif(labs.unavailable() is not None, reason=f"no lab of hosts: {labs.unavailable()}"),
]
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


def of_four_ranks(ended: Perf) -> None:
    """Rank 0 has spoken, for two ranks on each host."""
    assert ended.code() == 0, ended.stderr
    assert ended.stdout.count("# passed: 1 of 1 cases measured") == 1
    nodes = ended.record["world"]["nodes"]
    assert [(node["name"], node["ranks"]) for node in nodes] == [("node1", [0, 1]), ("node2", [2, 3])]
    assert ended.record["results"][0]["out_of_place"]["nwrong"] == 0


def started(hosts: labs.Lab, space: RunSpace, launcher: str, **variables: str) -> list[Perf]:
    """Two ranks on each host; what a launcher leaves behind is its own affair."""
    own = space.folder / "launcher"
    own.mkdir()
    return [
        start(space, prefix, *SMALL, "--bind", "none", name=f"run{number}",
              variables={"TMPDIR": str(own), **more, **variables})
        for number, (prefix, more) in enumerate(across(launcher, hosts, 2))
    ]  # fmt: skip


@pytest.mark.skipif(missing("mpiexec") is not None, reason=f"{missing('mpiexec')}")
def test_by_the_key_value_space_of_hydra(hosts: labs.Lab, space: RunSpace) -> None:
    of_four_ranks(started(hosts, space, "mpiexec")[0])


@pytest.mark.skipif(missing("mpi4py") is not None, reason=f"{missing('mpi4py')}")
@pytest.mark.skipif(missing("mpirun") is not None, reason=f"{missing('mpirun')}")
def test_by_a_broadcast_of_open_mpi(hosts: labs.Lab, space: RunSpace) -> None:
    of_four_ranks(started(hosts, space, "mpirun")[0])


@pytest.mark.skipif(missing("torchrun") is not None, reason=f"{missing('torchrun')}")
@pytest.mark.parametrize("agents_store", [True, False])
def test_by_the_store_of_torchrun_or_where_it_would_be(hosts: labs.Lab, space: RunSpace, agents_store: bool) -> None:
    """Without a store of its agent, torchrun leaves MASTER_PORT to rank 0."""
    variables = {} if agents_store else {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    first, second = started(hosts, space, "torchrun", **variables)
    of_four_ranks(first)
    assert second.code() == 0, second.stderr
    assert second.stdout.strip() == ""
    assert not second.json_path.exists()


# --- started by opsdist itself: --launcher mpirun


def far(hosts: labs.Lab, *more: str) -> list[str]:
    names = ",".join(host.address for host in hosts.hosts)
    return ["--launcher", "mpirun", f"--hosts={names}", "--per-host", "1", "--bind", "none", *more]


def variables(hosts: labs.Lab) -> dict[str, str]:
    return {"OPSDIST_SSH": shlex.join(hosts.ssh), "UCX_TLS": "tcp,self"}


@pytest.mark.skipif(missing("mpiexec") is not None, reason=f"{missing('mpiexec')}")
def test_mpi_and_builtin_side_by_side_on_two_hosts(hosts: labs.Lab, space: RunSpace) -> None:
    run = start(space, OPSDIST, *SMALL, *far(hosts, "--backend", "builtin,mpi"), variables=variables(hosts))
    assert run.code() == 0, run.stderr
    assert [node["name"] for node in run.record["world"]["nodes"]] == ["node1", "node2"]
    assert [row["backend"] for row in run.record["results"]] == ["builtin", "mpi"]
    assert all(row["out_of_place"]["nwrong"] == 0 for row in run.record["results"])


@pytest.mark.skipif(missing("mpi4py") is not None, reason=f"{missing('mpi4py')}")
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


@pytest.mark.skipif(missing("mpiexec") is not None, reason=f"{missing('mpiexec')}")
def test_a_failure_of_the_run_is_that_of_the_command(hosts: labs.Lab, space: RunSpace) -> None:
    run = start(space, OPSDIST, *SMALL, *far(hosts, "--inject", "kill:rank=1"), variables=variables(hosts))
    assert run.code() == 3
    assert run.record["verdict"]["culprits"] == [{"kind": "rank", "rank": 1, "host": "node2"}]


@pytest.mark.skipif(missing("mpiexec") is not None, reason=f"{missing('mpiexec')}")
def test_mpi_on_several_hosts_wants_its_own_launcher(hosts: labs.Lab, space: RunSpace) -> None:
    run = start(
        space, OPSDIST, *SMALL, "--hosts", "node[1-2]", "--per-host", "1", "--backend", "mpi",
        variables=variables(hosts),
    )  # fmt: skip
    assert run.code() == 2
    assert "--backend mpi on 2 hosts: MPI's own launcher must start the ranks; give --launcher mpirun" in run.stderr
