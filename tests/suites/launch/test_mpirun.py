"""The command lines by which an MPI's mpiexec starts opsdist on many hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suites.errors import UsageError
from suites.launch.lists.hosts import parse_hosts
from suites.launch.mpirun import Start, command

START = Start(
    "/opt/mpi/bin/mpiexec", parse_hosts("n[1-2]"), [2, 1], ["python", "-m", "opsdist_cli", "perf", "allreduce"],
    ["ssh", "-F", "my config"], {"NCCL_DEBUG": "INFO", "A": "b c"}, here="10.0.0.9", interface="10.0.0.0/8",
)  # fmt: skip


def has(argv: list[str], *words: str) -> bool:
    """Whether they stand there in a row."""
    return any(argv[at : at + len(words)] == list(words) for at in range(len(argv)))


def test_hydra_is_told_hosts_ssh_and_where_it_is_reached() -> None:
    argv, environment = command(START, "HYDRA build details:\n    Version: 4.2")
    assert argv[0] == START.mpiexec
    assert has(argv, "-hosts", "n1:2,n2:1", "-n", "3")
    assert has(argv, "-launcher", "ssh", "-launcher-exec", "ssh")
    assert has(argv, "-localhost", "10.0.0.9")
    assert argv[-5:] == list(START.command)
    assert environment == {**START.environment, "HYDRA_LAUNCHER_EXTRA_ARGS": "-F 'my config'"}


@pytest.mark.parametrize("version", ["mpirun (Open MPI) 4.1.4", "mpiexec (OpenRTE) 4.1.4"])
def test_open_mpi_is_told_what_to_hand_on(version: str) -> None:
    argv, environment = command(START, version)
    assert has(argv, "--host", "n1:2,n2:1", "-n", "3")
    assert has(argv, "--mca", "plm_rsh_agent", "ssh -F 'my config'")
    assert has(argv, "--mca", "btl_tcp_if_include", "10.0.0.0/8")
    assert has(argv, "-x", "A", "-x", "NCCL_DEBUG", *START.command)
    assert environment == START.environment


def test_what_is_not_known_is_left_out() -> None:
    bare = replace(START, ssh=["ssh"], environment={}, here=None, interface=None)
    argv, environment = command(bare, "HYDRA")
    assert "-localhost" not in argv
    assert environment == {}
    argv, _ = command(bare, "Open MPI")
    assert "-x" not in argv
    assert not any("if_include" in word for word in argv)


def test_another_mpiexec_is_refused_with_what_to_type() -> None:
    with pytest.raises(UsageError, match=r"neither MPICH's nor Open MPI's; .*: python -m opsdist_cli perf allreduce"):
        command(START, "Intel(R) MPI Library")
