"""`opsdist topo` as people and scripts run it: in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.schema import validate


def topo(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opsdist_cli", "topo", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def record_of(text: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(text)
    validate(record)
    return record


def npu_matrix(fallen: int | None = None) -> str:
    """Eight NPUs in the form of `npu-smi info -t topo`, of which one may have fallen out of the mesh."""
    lines = ["\t   " + "".join(f"NPU{npu:<8}" for npu in range(8)) + "CPU Affinity"]
    for npu in range(8):
        cells = ["X" if other == npu else "SYS" if fallen in (npu, other) else "HCCS" for other in range(8)]
        near = f"{24 * (npu // 2)}-{24 * (npu // 2) + 23}"
        lines.append(f"NPU{npu:<8}" + "".join(f"{cell:<11}" for cell in cells) + near)
    legend = ["", "Legend:", "", "  X    = Self", "  SYS  = a path between NUMA nodes", "  HCCS = a path by HCCS"]
    return "\n".join([*lines, *legend]) + "\n"


@pytest.fixture
def hosts(tmp_path: Path) -> list[Path]:
    """Three hosts as folders of outputs; the last one is sick."""
    folders = []
    for name, fallen in (("node1", None), ("node2", None), ("node3", 5)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "npu-smi_topo.txt").write_text(npu_matrix(fallen))
        folders.append(folder)
    return folders


def froms(hosts: list[Path]) -> list[str]:
    return [word for host in hosts for word in ("--from", str(host))]


def test_this_host_in_every_format() -> None:
    for drawing in ("matrix", "text", "dot", "svg"):
        done = topo("--format", drawing)
        assert (done.returncode, done.stderr) == (0, ""), drawing
        assert done.stdout
    record = record_of(topo("--format", "json").stdout)
    assert (record["kind"], record["exit_code"], len(record["hosts"])) == ("topo", 0, 1)


def test_a_matrix_is_what_is_shown_without_a_word(hosts: list[Path]) -> None:
    done = topo(*froms(hosts[2:]))
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0] == "# node3: 8 accelerators, 0 network cards"
    assert "  ! npu5: SYS to npu[0-4,6-7] where HCCS is usual" in lines
    assert lines[-1] == "topo: 8 accelerators, 0 network cards; 1 out of line"


def test_hosts_that_are_alike_are_shown_once(hosts: list[Path]) -> None:
    done = topo("--format", "text", *froms(hosts))
    assert [line for line in done.stdout.splitlines() if line.startswith("node")] == [
        "node[1-2]: 8 accelerators, 0 network cards",
        "node3: 8 accelerators, 0 network cards",
    ]
    assert done.stdout.splitlines()[-1] == "topo: 3 hosts with 2 different topologies; 1 out of line"


def test_the_record_has_every_host(hosts: list[Path]) -> None:
    done = topo("--format", "json", *froms(hosts))
    record = record_of(done.stdout)
    assert [host["name"] for host in record["hosts"]] == ["node1", "node2", "node3"]
    assert [host["links"] for host in record["hosts"]] == [{"HCCS": 28}, {"HCCS": 28}, {"HCCS": 21, "SYS": 7}]


def test_a_file_gets_the_drawing_and_stdout_the_verdict(hosts: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "host.svg"
    done = topo("--format", "svg", "--output", path, *froms(hosts))
    assert done.returncode == 0
    assert done.stdout == f"topo: 3 hosts with 2 different topologies; 1 out of line; written to {path}\n"
    assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["host.svg", "node1", "node2", "node3"]


def test_a_drawing_and_the_record_at_once(hosts: list[Path], tmp_path: Path) -> None:
    done = topo("--format", "dot", "--output", tmp_path / "host.dot", "--json", *froms(hosts))
    assert len(record_of(done.stdout)["hosts"]) == 3
    assert (tmp_path / "host.dot").read_text().startswith("graph topology {")


def test_output_to_stdout(hosts: list[Path]) -> None:
    assert topo("--format", "dot", "--output", "-", *froms(hosts)).stdout.startswith("graph topology {")


def test_a_record_of_info_is_as_good_as_the_host(hosts: list[Path], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "opsdist_cli", "info", "--json", str(tmp_path / "seen.json"), *froms(hosts)]
    subprocess.run(command, capture_output=True, check=True)
    assert topo("--from", tmp_path / "seen.json").stdout == topo(*froms(hosts)).stdout


def test_nothing_known(tmp_path: Path) -> None:
    (tmp_path / "lscpu.txt").write_text("nothing of use\n")
    done = topo("--from", tmp_path, "--format", "text")
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == "topo: nothing is known of any host's topology"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--format", "png"), ["png", "svg"]),
        (("--output", "/nowhere/host.svg"), ["--output", "cannot write"]),
        (("--output", "/"), ["--output", "folder"]),
        (("--from", "/nowhere"), ["/nowhere"]),
        (("--from", "/", "--hosts", "a"), ["--from"]),
        (("extra",), ["extra"]),
    ],
)
def test_what_cannot_be_done_is_usage(arguments: tuple[str, ...], words: list[str]) -> None:
    done = topo(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(word in done.stderr for word in words)


def test_two_things_cannot_go_to_stdout(hosts: list[Path], tmp_path: Path) -> None:
    done = topo("--from", hosts[0], "--format", "svg", "--json", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot both go to stdout" in done.stderr
    done = topo("--from", hosts[0], "--format", "svg", "--output", tmp_path / "x.svg", "--json", "-")
    record_of(done.stdout)
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
