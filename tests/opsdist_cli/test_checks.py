"""`opsdist checks` and `opsdist suite node` as people and scripts run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from suites.checks import rules
from tests.schema import validate


def opsdist(*arguments: str, without: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in without}
    command = [sys.executable, "-m", "opsdist_cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    folder = tmp_path / "sick"
    folder.mkdir()
    (folder / "hccn_link_npu3.txt").write_text("link status: DOWN\n")
    return folder


@pytest.fixture
def well(tmp_path: Path) -> Path:
    folder = tmp_path / "well"
    folder.mkdir()
    (folder / "hccn_link_npu3.txt").write_text("link status: UP\n")
    return folder


def test_all_rules_a_line_each() -> None:
    done = opsdist("checks")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(rules())
    assert len(rules()) >= 60


def test_one_rule_says_all_it_has_to_say() -> None:
    done = opsdist("checks", "memory.shm_small")
    assert done.returncode == 0
    words = " ".join(done.stdout.split())
    rule = rules()["memory.shm_small"]
    assert all(
        " ".join(text.split()) in words
        for text in (rule.summary, rule.why, rule.remedy, "threshold least = 1073741824")
    )


def test_a_rule_that_is_not_there() -> None:
    done = opsdist("checks", "memory.shm_smal")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean 'memory.shm_small'?" in done.stderr


def test_a_sick_host_fails(sick: Path, tmp_path: Path) -> None:
    path, junit = tmp_path / "r.json", tmp_path / "r.xml"
    done = opsdist("suite", "node", "--from", str(sick), "--json", str(path), "--junit", str(junit))
    assert done.returncode == 1
    record: dict[str, Any] = json.loads(path.read_text())
    validate(record)
    failed = [finding for finding in record["findings"] if finding["status"] == "fail"]
    assert [(finding["check"], finding["subject"]) for finding in failed] == [
        ("ascend.link_down", {"host": "sick", "device": "npu3"})
    ]
    assert "<failure" in junit.read_text()


def test_a_healthy_host_passes(well: Path) -> None:
    done = opsdist("suite", "node", "--from", str(well))
    assert done.returncode == 0, done.stdout
    assert "pass   ascend.link_down" in done.stdout


@pytest.mark.parametrize(("format_", "code"), [("nagios", 2), ("npd", 1), ("slurm-prolog", 1), ("prometheus", 1)])
def test_formats_stand_alone_on_stdout(sick: Path, format_: str, code: int) -> None:
    done = opsdist("suite", "node", "--from", str(sick), "--format", format_)
    assert (done.returncode, done.stderr) == (code, "")
    assert "ascend.link_down" in done.stdout
    assert "passed," not in done.stdout


def test_this_machine_without_a_path_as_in_a_prolog() -> None:
    done = opsdist("suite", "node", "--format", "slurm-prolog", without=("PATH", "HOME"))
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr


def test_a_file_is_written_whole(sick: Path, tmp_path: Path) -> None:
    target = tmp_path / "opsdist.prom"
    done = opsdist("suite", "node", "--from", str(sick), "--format", "prometheus", "--output", str(target))
    assert (done.returncode, done.stdout) == (1, "")
    assert target.read_text().endswith("\n")
    assert [path.name for path in tmp_path.glob("*prom*")] == ["opsdist.prom"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--output", "x.prom"), "give --format too"),
        (("--format", "npd", "--json"), "cannot both go to stdout"),
        (("--format", "npd", "--output", "/nowhere/x"), "cannot write /nowhere/x"),
        (("--from", "/nowhere"), "does not exist"),
        (("--expect", "/nowhere"), "No such file"),
        (("--thresholds", "/nowhere"), "No such file"),
    ],
)
def test_what_cannot_be_done_is_usage(arguments: tuple[str, ...], words: str) -> None:
    done = opsdist("suite", "node", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@pytest.fixture
def fleet(sick: Path, well: Path, tmp_path: Path) -> list[str]:
    others = []
    for name in ("well2", "well3"):
        shutil.copytree(well, tmp_path / name)
        others += ["--from", str(tmp_path / name)]
    return ["--from", str(sick), "--from", str(well), *others]


def test_of_several_hosts_each_is_named(fleet: list[str]) -> None:
    done = opsdist("suite", "node", *fleet)
    assert "sick: the network port of npu3 has no link" in done.stdout
    (passed,) = [line for line in done.stdout.splitlines() if line.startswith("pass   ascend.link_down")]
    assert "well,well[2-3]: " in passed
    assert "ascend.link_down sick npu3: " in opsdist("suite", "node", *fleet, "--format", "nagios").stdout
    assert 'name="ascend.link_down sick npu3"' in opsdist("suite", "node", *fleet, "--junit", "-").stdout


def test_a_host_is_compared_with_its_own_earlier_look(fleet: list[str], sick: Path, well: Path) -> None:
    done = opsdist("info", *fleet, "--since", str(sick), "--since", str(well))
    assert "since.host on well[2-3]: not compared: the earlier looks are of sick, well" in " ".join(done.stdout.split())
    done = opsdist("info", "--from", str(sick), "--since", str(well))
    assert "since.host: compared with well" in done.stdout


def test_a_prolog_is_not_kept_from_its_own_expectation(well: Path, tmp_path: Path) -> None:
    expected = str(tmp_path / "good.json")
    assert opsdist("info", "--from", str(well), "--save-expect", expected).returncode == 0
    done = opsdist("suite", "node", "--from", str(well), "--format", "slurm-prolog", "--expect", expected)
    assert (done.returncode, done.stdout) == (0, "")
