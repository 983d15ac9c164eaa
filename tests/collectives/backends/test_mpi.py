"""Backend mpi under a real mpiexec: what it computes, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from collectives.backends import backend_named
from collectives.backends.mpi import installed
from collectives.dtypes import DTYPES, OPERATORS
from collectives.ops import COLLECTIVES
from tests.collectives.backends.mpi_processes import mpiexec, needs_mpi
from tests.collectives.processes import run_ranks
from tests.leftovers import RunSpace

PROGRAMS = "tests.collectives.backends.mpi_programs"


@needs_mpi
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["every_collective", "every_dtype_and_operator"])
def test_every_result_is_right(space: RunSpace, name: str, size: int) -> None:
    ended = mpiexec(space, size, PROGRAMS, name)
    assert ended.returncode == 0, ended.stdout


@needs_mpi
@pytest.mark.parametrize("size", [2, 3, 4])
def test_what_a_communicator_does(space: RunSpace, size: int) -> None:
    names = ["uneven_blocks", "groups", "point_to_point", "works", "timing", "errors", "library", "level"]
    ended = mpiexec(space, size, PROGRAMS, *names)
    assert ended.returncode == 0, ended.stdout


@needs_mpi
def test_a_world_of_singletons_is_refused_with_both_names(space: RunSpace) -> None:
    """Without mpiexec every rank of MPI is a world of its own."""
    ended = run_ranks(space, [sys.executable, "-m", PROGRAMS, "library"], 2, OPSDIST_MPIEXEC="/some/mpiexec")
    for rank in ended.values():
        assert rank.code == 1
        assert "RendezvousError: rank 0 of 2 is rank 0 of 1 to MPI: the ranks were started by /some/" in rank.stderr
        assert "libmpi" in rank.stderr
        assert "MPI4PY_LIBMPI" in rank.stderr


@needs_mpi
def test_what_the_mpiexec_of_another_mpi_started_is_refused_before_the_library_ends_the_process(
    space: RunSpace,
) -> None:
    """MPICH gives up where it sees Open MPI's mpiexec; Open MPI becomes a world of one."""
    variables = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}
    ended = run_ranks(space, [sys.executable, "-m", PROGRAMS, "library"], 1, **variables, OPSDIST_MPIEXEC="/some/one")
    library = installed.library_path()
    if library and ".so.40" in library.name:
        assert ended[0].code == 0  # of a world of one rank that is right
    else:
        assert "RendezvousError: MPI cannot be initialised: the ranks were started by /some/one" in ended[0].stderr


def test_what_mpi_lacks_is_told_without_it() -> None:
    backend = backend_named("mpi")
    assert not backend.plans
    for name, row in COLLECTIVES.items():
        for dtype in DTYPES:
            for operator in OPERATORS:
                reason = backend.lacks(name, dtype, operator)
                assert bool(reason) == (row.reduces and (operator == "avg" or dtype in ("float16", "bfloat16")))
                assert reason is None or operator in reason or dtype in reason
    assert "mpi4py.MPI" not in sys.modules


class TestInstalled:
    """Which MPI would be used, from what lies in folders made up."""

    def test_the_library_of_the_environment_comes_with_its_mpiexec(self, tmp_path: Path) -> None:
        _install(tmp_path / "venv", "lib/libmpi.so.12", "bin/mpiexec")
        _install(tmp_path / "other", "bin/mpiexec")
        environ = {"PATH": str(tmp_path / "other/bin")}
        venv = str(tmp_path / "venv")
        assert installed.library_path(environ, venv) == tmp_path / "venv/lib/libmpi.so.12"
        assert installed.mpiexec_path(environ, venv) == str(tmp_path / "venv/bin/mpiexec")

    def test_a_named_library_takes_the_mpiexec_of_its_own_kind(self, tmp_path: Path) -> None:
        _install(tmp_path / "venv", "lib/libmpi.so.12", "bin/mpiexec")
        _install(tmp_path / "usr", "lib/x86_64-linux-gnu/libmpi.so.40", "bin/mpiexec", "bin/mpiexec.openmpi")
        environ = {"MPI4PY_LIBMPI": str(tmp_path / "usr/lib/x86_64-linux-gnu/libmpi.so.40")}
        found = installed.mpiexec_path(environ, str(tmp_path / "venv"))
        assert found == str(tmp_path / "usr/bin/mpiexec.openmpi")

    def test_a_module_s_library_path_counts(self, tmp_path: Path) -> None:
        _install(tmp_path / "site", "lib/libmpi.so.40", "bin/mpiexec")
        environ = {"LD_LIBRARY_PATH": f":{tmp_path / 'site/lib'}"}
        assert installed.mpiexec_path(environ, str(tmp_path)) == str(tmp_path / "site/bin/mpiexec")

    def test_a_named_mpiexec_wins_and_must_be_there(self, tmp_path: Path) -> None:
        _install(tmp_path, "mine")
        assert installed.mpiexec_path({"OPSDIST_MPIEXEC": str(tmp_path / "mine")}) == str(tmp_path / "mine")
        assert installed.mpiexec_path({"OPSDIST_MPIEXEC": str(tmp_path / "gone")}) is None

    @needs_mpi
    def test_a_named_mpiexec_that_is_gone_makes_it_unavailable(self) -> None:
        assert "/gone is no program; " in (installed.unavailable({"OPSDIST_MPIEXEC": "/gone"}) or "")

    def test_nothing_is_told_with_a_remedy(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(installed, "find_spec", lambda name: None)
        assert "mpi4py is not installed; pip install" in (installed.unavailable() or "")

    @needs_mpi
    def test_a_wheel_of_mpi4py_without_a_library(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(installed, "find_library", lambda name: None)
        monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path))
        monkeypatch.setattr(installed.site, "USER_BASE", str(tmp_path))
        assert "no MPI library is found" in (installed.unavailable({}, str(tmp_path)) or "")
        _install(tmp_path, "lib/libmpi.so.12")
        assert "no mpiexec is found beside " in (installed.unavailable({"PATH": ""}, str(tmp_path)) or "")


def _install(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch(mode=0o755)


@needs_mpi
def test_a_library_that_is_no_file_is_told_before_anything_starts() -> None:
    reason = installed.unavailable({"MPI4PY_LIBMPI": "/nowhere/libmpi.so"})
    assert reason == "MPI4PY_LIBMPI=/nowhere/libmpi.so is no file; correct it, or unset it"
