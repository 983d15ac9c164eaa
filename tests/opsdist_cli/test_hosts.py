"""`opsdist hosts` as people and scripts run it, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from opsdist_cli.main import run
from suites.launch.lists.hostformats import FORMATS
from tests.npus import without_npus

TABLE = """{"version": "1.0", "server_count": "1", "status": "completed", "server_list": [{"server_id": "10.0.0.5",
 "device": [{"device_id": "0", "device_ip": "192.168.1.8", "rank_id": "0"}]}]}
"""


def hosts(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opsdist_cli", "hosts", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=30)


@pytest.fixture(name="hostfile")
def _hostfile(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.txt"
    path.write_text("# two kinds\nnode01 slots=8\nnode[02-03]:8\n\nuser@login:2\n")
    return path


def test_a_list_is_shown_a_host_a_line(hostfile: Path) -> None:
    done = hosts("--hostfile", str(hostfile))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "# 4 hosts, 26 slots",
        "node01      8",
        "node02      8",
        "node03      8",
        "user@login  2",
    ]


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        ("a", ["# 1 host, no slots given", "a  -"]),
        ("a:1", ["# 1 host, 1 slot", "a  1"]),
        ("n[09-10]:3,[fd00::1]:2", ["# 3 hosts, 8 slots", "n09      3", "n10      3", "fd00::1  2"]),
        ("b,n1:3", ["# 2 hosts, 3 slots on 1 of them", "b   -", "n1  3"]),
    ],
)
def test_the_flag_is_shown(names: str, lines: list[str]) -> None:
    done = hosts("--hosts", names)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == lines


@pytest.mark.parametrize("name", ["mpich", "ompi", "deepspeed", "rank-table"])
def test_a_written_list_is_the_same_list(hostfile: Path, tmp_path: Path, name: str) -> None:
    if name == "rank-table":
        hostfile.write_text(TABLE)
    written = tmp_path / "written"
    done = hosts("--hostfile", str(hostfile), "--format", name)
    assert (done.returncode, done.stderr) == (0, "")
    written.write_text(done.stdout)
    assert hosts("--hostfile", str(written)).stdout == hosts("--hostfile", str(hostfile)).stdout
    assert hosts("--hostfile", str(written), "--format", name).stdout == done.stdout


def test_a_node_list_is_one_line_and_its_slots_are_a_remark() -> None:
    done = hosts("--hosts", "n[1-2]:8,n[3-4]:4", "--format", "slurm")
    assert (done.returncode, done.stdout) == (0, "n[1-4]\n")
    assert done.stderr == "# a node list of Slurm has no slots in it; as SLURM_TASKS_PER_NODE they are 8(x2),4(x2)\n"
    assert hosts("-q", "--hosts", "n:8", "--format", "slurm").stderr == ""


def test_a_list_may_come_through_a_pipe() -> None:
    done = hosts("--hostfile", "/dev/stdin", "--format", "ompi", stdin="a:2\nb:3\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a slots=2\nb slots=3\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "opsdist hosts: no hosts; name them with --hosts or --hostfile\nTry 'opsdist hosts --help'."),
        (("--hosts", "a", "--hostfile", "f"), "opsdist hosts: --hosts and --hostfile exclude each other"),
        (("--hosts", "", "--hostfile", ""), "opsdist hosts: --hosts and --hostfile exclude each other"),
        (("--hosts", ""), "opsdist: --hosts: no host is named"),
        (("--hosts", "a,a"), "opsdist: --hosts: 'a' is named twice; name a host once, with all its slots: a:2"),
        (("--hosts", "-oProxyCommand=x"), "opsdist: --hosts: '-oProxyCommand=x' begins like an option"),
        (("--hostfile", "/no/such"), "opsdist: cannot read the host file /no/such: No such file or directory"),
        (("--hosts", "a", "--format", "slrum"), "unknown format 'slrum': did you mean 'slurm'?"),
        (("--hosts", "a", "--format", "deepspeed"), "opsdist: DeepSpeed needs the slots of every host"),
    ],
)
def test_what_is_no_list_is_a_mistake_of_usage(arguments: tuple[str, ...], words: str) -> None:
    done = hosts(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@without_npus
def test_a_host_without_npus_is_named_and_no_table_is_written() -> None:
    done = hosts("--hosts", "localhost", "--format", "rank-table")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("opsdist: no rank table can be written for these hosts:\n  localhost: no NPU: ")
    assert (
        "127.0.0.1: no NPU: " in hosts("--hostfile", "/dev/stdin", "--format", "rank-table", stdin="127.0.0.1").stderr
    )


def test_a_mistake_in_a_file_is_named_by_its_line(hostfile: Path) -> None:
    with hostfile.open("a") as file:
        file.write("node02 slots=4\n")
    done = hosts("--hostfile", str(hostfile))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"opsdist: {hostfile}:6: 'node02' is named again, after {hostfile}:3; "
        "name a host once, with all its slots: node02:12\n"
    )


def test_the_help_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hosts", "--help"]) == 0
    told = capsys.readouterr().out.replace(",", " ").split()
    assert set(FORMATS) <= {word.rstrip(".") for word in told}
