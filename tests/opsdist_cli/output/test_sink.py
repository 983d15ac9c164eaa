"""Where records go: tried before a run, written whole, and stdout to one format alone."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from pathlib import Path

import click
import pytest

from opsdist_cli.output.sink import put, sinks
from opsdist_cli.screen import Screen
from tests.opsdist_cli.records import perf_record, row

RECORD = perf_record(row())


def test_a_file_gets_the_whole_record_and_the_mode_of_a_new_file(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    sinks(Screen(), json=str(target)).write(RECORD)
    assert json.loads(target.read_text()) == RECORD
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "plain"]


def test_trying_leaves_nothing_behind_and_an_old_record_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    sinks(Screen(), json=str(target))
    assert list(tmp_path.iterdir()) == []
    target.write_text("old")
    sinks(Screen(), json=str(target))
    assert target.read_text() == "old"


@pytest.mark.parametrize("path", ["missing/out.json", ".", "file/out.json"])
def test_a_path_that_cannot_be_written_is_found_before_the_run(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(click.BadParameter, match="cannot write") as refused:
        sinks(Screen(), junit=str(tmp_path / path))
    assert refused.value.param_hint == "--junit"


def test_stdout_belongs_to_one_format_alone(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    out = sinks(screen, json="-")
    screen.result("for people")
    out.write(RECORD)
    assert json.loads(capsys.readouterr().out) == RECORD


@pytest.mark.parametrize(("first", "second"), [("-", "-"), ("-", "/dev/stdout")])
def test_two_formats_on_stdout_are_refused(first: str, second: str) -> None:
    with pytest.raises(click.BadParameter, match="only one format can go to stdout"):
        sinks(Screen(), json=first, csv=second)


def test_two_formats_in_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(click.BadParameter, match="in another format already"):
        sinks(Screen(), json=str(tmp_path / "out"), csv=str(tmp_path / "link"))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "folder" / "out.json"
    target.parent.mkdir()
    link.symlink_to(target)
    sinks(Screen(), json=str(link)).write(RECORD)
    assert link.is_symlink()
    assert json.loads(target.read_text()) == RECORD


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        sinks(Screen(), json=str(pipe)).write(RECORD)
        assert json.loads(os.read(reader, 1 << 20)) == RECORD
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_every_format_can_be_written(tmp_path: Path) -> None:
    sinks(Screen(), json=str(tmp_path / "j"), csv=str(tmp_path / "c"), junit=str(tmp_path / "x")).write(RECORD)
    assert [(tmp_path / name).read_text()[:5] for name in "jcx"] == ['{\n "s', "backe", "<?xml"]


def test_where_there_is_no_room_is_said() -> None:
    with pytest.raises(OSError, match="/dev/full"):
        put(Path("/dev/full"), "x" * 100_000)


def test_a_full_disk_is_told_with_the_file_that_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match=re.escape(f"{tmp_path}/waits.svg")):
        put(tmp_path / "waits.svg", "x")
    assert list(tmp_path.iterdir()) == []
