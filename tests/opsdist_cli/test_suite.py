"""`opsdist suite` as CI runs it: a verdict in the exit code, and a record however it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from opsdist_cli.main import run
from suites.catalogue import SUITES
from suites.report import Finding, Status
from suites.smoke import CHECKS
from tests.schema import validate

COMMAND = [sys.executable, "-m", "opsdist_cli", "suite"]


class Smoke(NamedTuple):
    """One run of the suite smoke, and what it wrote."""

    code: int
    lines: list[str]
    record: dict[str, Any]
    junit: ET.Element


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Smoke:
    folder = tmp_path_factory.mktemp("smoke")
    flags = ["--json", str(folder / "json"), "--junit", str(folder / "junit")]
    done = subprocess.run([*COMMAND, "smoke", *flags], capture_output=True, text=True, check=False, timeout=120)
    record = json.loads((folder / "json").read_text())
    return Smoke(done.returncode, done.stdout.splitlines(), record, ET.parse(folder / "junit").getroot()[0])


def test_smoke_passes_here(smoke: Smoke) -> None:
    assert smoke.code == 0, smoke.lines
    assert [line.split()[1] for line in smoke.lines if line.startswith(("pass", "warn"))] == [c.name for c in CHECKS]
    assert smoke.lines[-1].startswith("5 passed, 0 failed, 0 skipped")


def test_its_record_is_valid_and_counts_its_findings(smoke: Smoke) -> None:
    validate(smoke.record)
    assert (smoke.record["kind"], smoke.record["suite"]) == ("suite", "smoke")
    assert smoke.record["status"] in ("pass", "warn")  # of performance, where the machine is busy
    assert sum(smoke.record["counts"].values()) == len(smoke.record["findings"]) == len(CHECKS)
    (collectives,) = [finding for finding in smoke.record["findings"] if finding["check"] == "smoke.collectives"]
    assert collectives["evidence"]["rows"] > 60


def test_its_junit_has_a_case_per_check(smoke: Smoke) -> None:
    assert [case.get("name") for case in smoke.junit.findall("testcase")] == [check.name for check in CHECKS]
    assert (smoke.junit.get("failures"), smoke.junit.get("errors")) == ("0", "0")


def test_without_a_name_the_suites_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suite"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SUITES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["smok"], "unknown suite 'smok': did you mean 'smoke'?"),
        (["smoke", "--budget", "soon"], "'soon' is not a duration"),
        (["smoke", "--junit", "/nowhere/at/all.xml"], "cannot write /nowhere/at/all.xml"),
        (["smoke", "-n", "0"], "not in the range"),
    ],
)
def test_what_cannot_be_done_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert run(["suite", *arguments]) == 2
    told = capsys.readouterr()
    assert (told.out, words in told.err) == ("", True)


def test_what_the_budget_leaves_out_is_an_error_and_never_a_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "smoke", "--budget", "1us", "--json"]) == 3
    record = json.loads(capsys.readouterr().out)
    validate(record)
    assert record["status"] == "error"
    assert record["counts"]["error"] >= len(CHECKS) - 1
    assert all("budget" in finding["message"] for finding in record["findings"] if finding["status"] == "error")


def test_ctrl_c_keeps_what_was_found(tmp_path: Path) -> None:
    target = tmp_path / "json"
    with subprocess.Popen([*COMMAND, "smoke", "--json", str(target)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("pass   smoke.proofs")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(30) == 130
    record = json.loads(target.read_text())
    validate(record)
    assert record["findings"][0]["check"] == "smoke.proofs"
    assert (record["exit_code"], record["status"]) == (130, "error")
    assert rest.splitlines()[-1].endswith("(ended early)")


@pytest.mark.parametrize(
    ("statuses", "strict", "code"),
    [
        (["pass", "warn"], False, 0),
        (["pass", "warn"], True, 1),
        (["pass", "fail", "error"], False, 1),
        (["pass", "error"], False, 3),
        (["skip"], False, 3),
    ],
)
def test_exits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], statuses: list[str], strict: bool, code: int
) -> None:
    findings = [[Finding("told", Status(status), "words", remedy="do it")] for status in statuses]
    monkeypatch.setattr("suites.catalogue.suite_named", lambda name: lambda setting: iter(findings))
    assert run(["suite", "smoke", *(["--strict"] if strict else [])]) == code
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1:2]] == statuses
    assert lines[1].strip() == "do it"
    failed, skipped = statuses.count("fail") + statuses.count("error"), statuses.count("skip")
    assert lines[-1].startswith(f"{len(statuses) - failed - skipped} passed, {failed} failed, {skipped} skipped")
