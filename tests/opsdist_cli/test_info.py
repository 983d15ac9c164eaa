"""`opsdist info` as people and scripts run it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from suites.hostinfo import ALWAYS, SECTIONS
from tests.schema import validate


def info(
    *arguments: str, environment: dict[str, str] | None = None, without: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name not in without} | (environment or {})
    command = [sys.executable, "-m", "opsdist_cli", "info", *arguments]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def record_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(done.stdout)
    validate(record)
    return record


def test_text_for_people() -> None:
    done = info()
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) < 100 for line in lines)
    assert lines[0].startswith("# opsdist ")
    assert lines[-1].startswith(f"info: {len(SECTIONS) + len(ALWAYS)} sections read, ")
    headings = [line for line in lines if line in SECTIONS]
    assert headings[0] == "backends"
    assert {"cpu", "memory", "network", "limits", "software"} <= set(headings)
    assert headings[1:] == [name for name in SECTIONS if name in headings[1:]]


def test_json_alone_on_stdout() -> None:
    done = info("--json")
    record = record_of(done)
    assert (done.returncode, record["exit_code"], record["status"]) == (0, 0, "pass")
    assert record["command"][-2:] == ["info", "--json"]
    (host,) = record["hosts"]
    assert tuple(host["facts"]) == (*SECTIONS, *ALWAYS)
    assert host["facts"]["software"]["python"].startswith("3.")
    assert host["facts"]["memory"]["total_bytes"] > 0
    assert "builtin" in [backend["name"] for backend in host["facts"]["backends"]]


def test_json_to_a_file_leaves_stdout_to_people(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    done = info("-t", "limits", "--json", str(path))
    assert done.stdout.splitlines()[-1].startswith("info: 1 section read, ")
    assert list(json.loads(path.read_text())["hosts"][0]["facts"]) == ["limits"]


def test_variables_are_shown_and_secrets_hidden() -> None:
    environment = {"NCCL_DEBUG": "INFO", "NCCL_TOKEN": "abc-not-to-be-seen", "UCX_TLS_URL": "tcp://me:hush-hush@h"}
    text = info("-t", "environment", environment=environment).stdout
    record = info("-t", "environment", "--json", environment=environment).stdout
    for output in (text, record):
        assert "abc-not-to-be-seen" not in output
        assert "hush-hush" not in output
        assert "NCCL_TOKEN" in output
        assert "INFO" in output
    assert json.loads(record)["hosts"][0]["facts"]["environment"]["variables"]["NCCL_TOKEN"] == "(hidden)"


def test_without_a_home_or_a_path() -> None:
    done = info("--json", without=("HOME", "PATH", "USER", "LANG"))
    assert done.returncode == 0
    assert record_of(done)["hosts"][0]["facts"]["software"]["launchers"] == []


def test_undecodable_values_are_printed_somehow() -> None:
    done = info("-t", "environment", environment={"NCCL_X": os.fsdecode(b"\xff\x1b[31m"), "LC_ALL": "C"})
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\\x1b[31m" in done.stdout


def test_one_interface() -> None:
    record = record_of(info("-t", "network", "-i", "lo", "--json"))
    assert [found["name"] for found in record["hosts"][0]["facts"]["network"]["interfaces"]] == ["lo"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-t", "clocks"), ["no section 'clocks'", *SECTIONS]),
        (("-t", "network", "-i", "no9"), ["no device 'no9'", "lo"]),
        (("-t", "cpu", "-i", "lo"), ["no device 'lo'"]),
        (("--json", "/nowhere/record.json"), ["cannot write"]),
        (("extra",), ["extra"]),
    ],
)
def test_what_cannot_be_done_is_usage(arguments: tuple[str, ...], words: list[str]) -> None:
    done = info(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(word in done.stderr for word in words)


def test_frameworks_are_never_imported(tmp_path: Path) -> None:
    for name in ("torch", "torch_npu", "mpi4py", "mindspore"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("import os; os._exit(77)")
    assert info(environment={"PYTHONPATH": str(tmp_path)}).returncode == 0
