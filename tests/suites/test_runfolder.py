"""Folders of runs: what is written, what is removed, and what is left alone."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from suites import runfolder
from suites.errors import UsageError
from suites.runfolder import Run, Unwritten, kept, named, state, write

RUN = Run(["opsdist", "perf"], "2026-01-02T03:04:05Z", ["node01", "node02"], {0: 11, 1: 12}, ["rank 1 is missing"])
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RINGS = {0: b"a", 1: b"bc"}
NOBODY_ID = 65534


def keep(home: Path, seconds: int = 0, pid: int = 7) -> Path:
    found = kept({"XDG_STATE_HOME": str(home)}, RUN, RINGS, NOW + timedelta(seconds=seconds), pid)
    assert isinstance(found, Path)
    return found


def test_a_run_is_kept_under_its_time_in_utc(tmp_path: Path) -> None:
    east = NOW.astimezone(timezone(timedelta(hours=9)))
    found = kept({"XDG_STATE_HOME": str(tmp_path)}, RUN, RINGS, east, 7)
    assert found == tmp_path / "opsdist" / "20260102T030405Z-7"
    assert {path.name for path in found.iterdir()} == {"run.json", "rank-0.ring", "rank-1.ring"}
    assert (found / "rank-1.ring").read_bytes() == b"bc"
    assert json.loads((found / "run.json").read_text()) == {
        "command": ["opsdist", "perf"], "started": "2026-01-02T03:04:05Z", "hosts": ["node01", "node02"],
        "pids": {"0": 11, "1": 12}, "faults": ["rank 1 is missing"],
        "moving": [], "reports": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/opsdist"),
        ({"HOME": "/h"}, "/h/.local/state/opsdist"),
        ({"XDG_STATE_HOME": "", "HOME": "/h"}, "/h/.local/state/opsdist"),
        ({"XDG_STATE_HOME": "s", "HOME": "/h"}, "/h/.local/state/opsdist"),
    ],
)
def test_where_runs_are_kept(environ: dict[str, str], wanted: str) -> None:
    assert str(state(environ)) == wanted


def test_the_newest_twenty_stay(tmp_path: Path) -> None:
    runs = [keep(tmp_path, seconds) for seconds in range(23)]
    assert sorted((tmp_path / "opsdist").iterdir()) == runs[3:]


def test_the_own_run_stays_even_when_the_clock_was_set_back(tmp_path: Path) -> None:
    for seconds in range(20):
        keep(tmp_path, seconds)
    assert keep(tmp_path, -1000).exists()
    assert len(list((tmp_path / "opsdist").iterdir())) == 20


def test_nothing_else_is_touched(tmp_path: Path) -> None:
    home, precious = tmp_path / "opsdist", tmp_path / "precious"
    (home / "20200102T030405Z-1-mine").mkdir(parents=True)
    (home / "20200102T030405Z-1-mine" / "run.json").write_text("{}")
    (home / "notes").mkdir()
    (home / "20200102T030405Z-3").mkdir()  # being written by another process
    (home / "20200102T030405Z-1").write_text("a file")
    precious.mkdir()
    (precious / "run.json").write_text("{}")
    (home / "20990102T030405Z-2").symlink_to(precious)
    for seconds in range(25):
        keep(tmp_path, seconds)
    assert len(list(home.iterdir())) == 20 + 5
    assert (precious / "run.json").exists()


def test_what_a_process_left_half_written_goes_in_time(tmp_path: Path) -> None:
    half = tmp_path / "opsdist" / "20200102T030405Z-3"
    half.mkdir(parents=True)
    os.utime(half, (0, 0))
    for seconds in range(20):
        keep(tmp_path, seconds)
    assert not half.exists()


def test_processes_that_keep_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda pid: keep(tmp_path, pid % 3, pid), range(60)))
    assert len(set(found)) == 60
    assert keep(tmp_path, 100).exists()
    assert len(list((tmp_path / "opsdist").iterdir())) == 20


def test_what_cannot_be_written_is_told_and_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = kept({"XDG_STATE_HOME": str(tmp_path / "file")}, RUN, RINGS, NOW, 7)
    assert isinstance(found, Unwritten)
    assert "Not a directory" in found.reason
    assert str(tmp_path / "file") in found.reason


def test_who_has_no_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: (1 << 31) - 7)
    found = kept({}, RUN, RINGS, NOW, 7)
    assert isinstance(found, Unwritten)
    assert "home" in found.reason


def test_a_named_folder_is_made_or_taken_when_empty(tmp_path: Path) -> None:
    folder = named(str(tmp_path / "new" / "run"))
    assert named(str(folder)) == folder
    assert write(folder, RUN, RINGS) == folder
    with pytest.raises(UsageError, match="not empty"):
        named(str(folder))
    with pytest.raises(UsageError, match="--record"):
        named(str(folder / "run.json"))


def test_a_folder_without_permission_is_told() -> None:
    folder, mine = Path(tempfile.mkdtemp()), os.geteuid()
    folder.chmod(0o555)
    try:
        if mine == 0:  # who may write everywhere
            os.seteuid(NOBODY_ID)
        with pytest.raises(UsageError, match="Permission denied"):
            named(str(folder / "new"))
    finally:
        os.seteuid(mine)
        shutil.rmtree(folder)


def test_a_run_is_whole_when_it_is_described(tmp_path: Path) -> None:
    """The description is written last."""
    (tmp_path / "rank-1.ring").mkdir()
    assert isinstance(write(tmp_path, RUN, RINGS), Unwritten)
    assert not (tmp_path / runfolder.RUN).exists()
