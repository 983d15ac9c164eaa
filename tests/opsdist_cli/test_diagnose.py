"""`opsdist diagnose deadlock PATH...` as people and scripts run it: options, files, exits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from opsdist_cli.main import run
from tests.schema import validate


def entry(seq: int, state: str) -> dict[str, object]:
    return {
        "record_id": seq, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": seq, "p2p_seq_id": 0,
        "op_id": seq, "profiling_name": "nccl:all_reduce", "time_created_ns": 1_900_000_000_000_000_000 + seq * 10**9,
        "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[8]], "output_dtypes": ["Float"],
        "state": state, "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
        "retired": state == "completed", "timeout_ms": 60000, "is_p2p": False,
    }  # fmt: skip


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    """Four ranks, of which rank 2 never came to the second call."""
    folder = tmp_path / "dumps"
    folder.mkdir()
    for rank in range(4):
        calls = [entry(1, "completed"), *([] if rank == 2 else [entry(2, "scheduled")])]
        group = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
        last = len(calls)
        status = {
            "0": {"last_enqueued_collective": last, "last_started_collective": -1, "last_completed_collective": 1}
        }
        dump = {"version": "2.9", "pg_config": group, "pg_status": status, "entries": calls}
        (folder / f"nccl_trace_rank_{rank}.json").write_text(json.dumps(dump), encoding="utf-8")
    return folder


def test_a_fault_is_named_and_drawn(dumps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, graph, trace = (tmp_path / name for name in ("v.json", "w.svg", "t.json"))
    options = ["--json", str(record), "--graph", str(graph), "--timeline", str(trace)]
    assert run(["diagnose", "deadlock", str(dumps), *options]) == 1
    assert "waiting: [0-1,3] in allreduce #2; absent: 2" in capsys.readouterr().out
    told = json.loads(record.read_text(encoding="utf-8"))
    validate(told)
    assert [one["rank"] for one in told["verdict"]["culprits"]] == [2]
    ElementTree.fromstring(graph.read_text(encoding="utf-8"))
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    assert run(["diagnose", "deadlock", str(dumps), *options]) == 1  # what it wrote itself it writes again


@pytest.mark.parametrize("beside", [0, 20])
def test_standard_input_is_read_alone_and_beside_many_files(tmp_path: Path, beside: int) -> None:
    """Many are read by other processes."""
    others = [tmp_path / f"{number}.log" for number in range(beside)]
    for number, other in enumerate(others):
        other.write_text(f"nothing of note {number}\n", encoding="utf-8")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    lines = ("Traceback (most recent call last):", '  File "train.py", line 3, in step', "ValueError: a bad batch")
    done = subprocess.run(
        [sys.executable, "-m", "opsdist_cli", "diagnose", "deadlock", "-", *map(str, others), "--json"], check=False,
        input="".join(f"[rank3]: {line}\n" for line in lines), capture_output=True, text=True, timeout=60,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    told = json.loads(done.stdout)
    validate(told)
    assert [one["rank"] for one in told["verdict"]["culprits"]] == [3]
    assert {one["file"] for one in told["evidence"]} == {"standard input"}
    assert list(scratch.iterdir()) == []


def test_bare_json_leaves_stdout_to_the_record(dumps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "deadlock", str(dumps), "--json"]) == 1
    validate(json.loads(capsys.readouterr().out))


def test_the_timeline_as_text_stands_before_the_verdict(dumps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "deadlock", str(dumps), "--timeline"]) == 1
    out = capsys.readouterr().out
    assert out.index("last collectives") < out.index("missing (")


def test_without_evidence_there_is_no_verdict_but_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.log").touch()
    assert run(["diagnose", "deadlock", str(tmp_path)]) == 3
    out = capsys.readouterr().out
    assert "what to collect" in out
    assert out.rstrip().endswith("# undecided: there was no evidence to read")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "a folder with nothing in it"),
        ("nothing.log", "empty"),
        ("noise.bin", "no text, and nothing that is known"),
    ],
)
def test_what_holds_no_evidence_is_named_with_the_reason(
    tmp_path: Path, name: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if name:
        (tmp_path / name).write_bytes(bytes(range(256)) if name == "noise.bin" else b"")
    assert run(["diagnose", "deadlock", str(tmp_path), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["sources"]["unread"] == [{"file": str(tmp_path / name) if name else str(tmp_path), "why": why}]
    assert told["verdict"]["explanation"] == "no evidence of any rank was found"


@pytest.mark.parametrize("paths", [["none"], ["none", "dumps.tar/none"], [""]])
def test_paths_of_which_none_is_there_are_a_wrong_command(
    paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dumps.tar").touch()
    assert run(["diagnose", "deadlock", *paths]) == 2
    out, err = capsys.readouterr()
    assert (out, "no such file or folder: " + ", ".join(map(repr, paths)) in err) == ("", True)


def test_a_path_that_is_not_there_does_not_hide_the_others(dumps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "deadlock", str(dumps / "none"), str(dumps), "--json"]) == 1
    unread = json.loads(capsys.readouterr().out)["sources"]["unread"]
    assert unread == [{"file": str(dumps / "none"), "why": "No such file or directory"}]


@pytest.mark.parametrize("option", ["--json", "--timeline", "--graph"])
def test_a_file_in_a_folder_that_is_closed_is_a_wrong_command(
    dumps: Path, tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(tmp_path / "closed" / ("w.svg" if option == "--graph" else "v.json"))
    (tmp_path / "closed").mkdir(mode=0o000)
    if os.access(tmp_path / "closed", os.X_OK):  # root may look everywhere

        def refused(path: Path, *arguments: object, **options: object) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(Path, "stat", refused)
    assert run(["diagnose", "deadlock", str(dumps), option, name]) == 2
    assert f"cannot write {name}: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["-n", "4"], ["--hosts", "node01"], ["--inject", "kill"], ["--timeout", "5s"]])
def test_options_of_the_exercise_are_refused_with_a_path(
    dumps: Path, given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", "deadlock", str(dumps), *given]) == 2
    assert "with PATH nothing is run" in capsys.readouterr().err


def test_a_setting_of_the_environment_is_not_an_option(dumps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "OPSDIST_SSH", "ssh -F none")
    assert run(["diagnose", "deadlock", str(dumps)]) == 1


@pytest.mark.parametrize("option", ["--json", "--timeline"])
def test_evidence_is_never_written_over(dumps: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    dump = dumps / "nccl_trace_rank_0.json"
    before = dump.read_bytes()
    assert run(["diagnose", "deadlock", option, str(dump)]) == 2
    assert "nothing that opsdist wrote" in capsys.readouterr().err
    assert dump.read_bytes() == before


@pytest.mark.parametrize(("option", "file"), [("--graph", "w.png"), ("--graph", "-"), ("--timeline", "t.txt")])
def test_endings_say_what_is_written(dumps: Path, option: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "deadlock", str(dumps), option, file]) == 2
    assert "end" in capsys.readouterr().err


def test_the_trace_and_the_record_are_two_files(dumps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = dumps.parent / "both.json"
    same = str(dumps / ".." / "both.json")
    assert run(["diagnose", "deadlock", str(dumps), "--json", str(file), "--timeline", same]) == 2
    assert "name another file" in capsys.readouterr().err
    assert not file.exists()
