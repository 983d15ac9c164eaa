"""Where evidence usually lies, found in made-up homes."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from suites.diagnose.usual import Found, look, places


def write(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def found(environ: dict[str, str], folder: Path) -> list[Found]:
    """Without what the machine itself may have."""
    return [one for one in look(places(environ)) if str(folder) in one.command]


def test_a_home_with_nothing_in_it(tmp_path: Path) -> None:
    assert found({"HOME": str(tmp_path)}, tmp_path) == []


@pytest.mark.parametrize("name", ["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"])
def test_dumps_of_torch(tmp_path: Path, name: str) -> None:
    write(tmp_path / "dump_0", tmp_path / "dump_1", tmp_path / "other")
    prefix = str(tmp_path / "dump_")
    assert found({name: prefix}, tmp_path) == [
        Found("PyTorch flight recorder dumps", 2, f"opsdist diagnose deadlock {prefix}*")
    ]


def test_torch_has_a_place_of_its_own() -> None:
    assert any(place.pattern == "/tmp/nccl_trace_rank_*" for place in places({}))


def test_logs_of_nccl_by_host_and_process(tmp_path: Path) -> None:
    write(tmp_path / "nccl.node01.7.log", tmp_path / "nccl.node02.8.log", tmp_path / "else.log")
    [one] = found({"NCCL_DEBUG_FILE": str(tmp_path / "nccl.%h.%p.log")}, tmp_path)
    assert (one.files, one.command) == (2, f"opsdist diagnose deadlock {tmp_path}/nccl.*")


@pytest.mark.parametrize("variable", [True, False])
def test_logs_of_ascend(tmp_path: Path, variable: bool) -> None:
    folder = tmp_path / ("logs" if variable else "ascend/log")
    write(folder / "run/plog/plog-7_1.log", folder / "debug/plog/plog-7_1.log", folder / "debug/notes.txt")
    [one] = found({"ASCEND_PROCESS_LOG_PATH": str(folder)} if variable else {"HOME": str(tmp_path)}, tmp_path)
    assert (one.files, one.command) == (2, f"opsdist diagnose deadlock {folder}")


@pytest.mark.parametrize("variable", [True, False])
def test_runs_of_opsdist(tmp_path: Path, variable: bool) -> None:
    state = tmp_path / (".state" if variable else ".local/state")
    write(state / "opsdist/20260102T030405-7/rank-0.ring")
    [one] = found({"XDG_STATE_HOME": str(state)} if variable else {"HOME": str(tmp_path)}, tmp_path)
    assert (one.files, one.command) == (1, f"opsdist diagnose deadlock {state}/opsdist")


def test_a_relative_state_folder_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where runs are kept."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "state/opsdist/20260102T030405-7/rank-0.ring", tmp_path / ".local/state/opsdist/8/rank-0.ring")
    environ = {"XDG_STATE_HOME": "state", "HOME": str(tmp_path)}
    assert [one.command for one in look(places(environ)) if one.what.startswith("records")] == [
        f"opsdist diagnose deadlock {tmp_path}/.local/state/opsdist"
    ]


def test_a_folder_whose_name_a_shell_would_read_otherwise(tmp_path: Path) -> None:
    folder = tmp_path / "my [old] dumps"
    write(folder / "dump_0")
    [one] = found({"TORCH_FR_DUMP_TEMP_FILE": str(folder / "dump_")}, tmp_path)
    assert shlex.split(one.command) == ["opsdist", "diagnose", "deadlock", str(folder)]
