"""What is left of a lab of hosts when it ends, in whatever way: nothing, or what `python -m tests.lab down` removes."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab import LabError, LabHost, lab, unavailable
from tests.lab.network import PATIENCE, namespaces, processes_in, system
from tests.leftovers import RunSpace, until

pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}"),
]

TREE = Path(__file__).parent.parent
OWN = """\
import signal, sys
from pathlib import Path
from tests.lab import lab
with lab(2, Path(sys.argv[1])) as hosts:
    hosts.hosts[0].popen(["sleep", "1000"], start_new_session=True)
    (Path(sys.argv[1]) / "number").write_text(f"{hosts.number}\\n")
    signal.pause()
"""
"""A process with a lab of its own, on which something runs."""


def traces(number: int) -> list[str]:
    """What there is of a lab, by its names."""
    links = [row["ifname"] for row in json.loads(system("ip", "-json", "link"))]
    return [name for name in (*namespaces(), *links) if f"{name}-".startswith(f"odlab-{number}-")]


def living(pid: int) -> bool:
    """Whether a process runs. One that ended may be a zombie until its parent looks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def stir(host: LabHost) -> None:
    """Start processes as a test might leave them: with sessions of their own, and ignoring signals."""
    for _ in range(3):
        host.popen(["sh", "-c", "trap '' TERM HUP INT; sleep 1000 & wait"], start_new_session=True)
    until(lambda: len(host.processes()) == 6, PATIENCE, "the start of processes")


def test_nothing_is_left_when_a_lab_is_left(tmp_path: Path) -> None:
    space = RunSpace(tmp_path)
    with lab(2, tmp_path, space.environment()) as hosts:
        number = hosts.number
        stir(hosts.hosts[0])
        session = subprocess.Popen([*hosts.ssh, "node2", "sleep 1000"])
        until(lambda: any("sleep" in command for command in space.processes().values()), PATIENCE, "a remote process")
        pids = [*hosts.hosts[0].processes(), *hosts.hosts[1].processes()]
        assert len(pids) > 6
        assert len(traces(number)) == 4
    assert traces(number) == []
    assert list(tmp_path.iterdir()) == []
    assert not [pid for pid in pids if living(pid)]
    assert space.processes() == {}
    assert session.wait(PATIENCE) == 255


def test_nothing_is_left_of_a_lab_in_which_something_failed(tmp_path: Path) -> None:
    numbers = []

    def fail() -> None:
        with lab(1, tmp_path) as hosts:
            numbers.append(hosts.number)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert traces(numbers[0]) == []
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_lab_that_did_not_start(tmp_path: Path) -> None:
    with (
        pytest.raises(LabError, match="Bad configuration option") as raised,
        lab(1, tmp_path, {"A\nNoSuchSetting": ""}),
    ):
        pass
    number = re.search(r"opsdist-lab-(\d+)", str(raised.value))
    assert number
    assert traces(int(number[1])) == []
    assert list(tmp_path.iterdir()) == []


@contextmanager
def process(*arguments: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another Python of this tree, in a session of its own."""
    with log.open("wb") as output:
        command = [sys.executable, *arguments]
        started = subprocess.Popen(command, cwd=TREE, stdout=output, stderr=output, start_new_session=True)
    try:
        yield started
    finally:
        started.kill()
        started.wait(PATIENCE)


def down(number: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.lab", "down", str(number)]
    return subprocess.run(command, check=False, cwd=TREE, capture_output=True, text=True, timeout=PATIENCE)


def owned(folder: Path) -> int:
    """The number of the lab of an OWN."""
    note = folder / "number"
    until(lambda: note.exists() and note.read_text().endswith("\n"), PATIENCE, "the start of a lab")
    return int(note.read_text())


def test_a_lab_of_a_killed_process_is_removed_by_down_and_that_of_a_living_one_is_not(tmp_path: Path) -> None:
    with process("-c", OWN, str(tmp_path), log=tmp_path / "log") as owner:
        number = owned(tmp_path)
        kept = down(number)
        assert kept.returncode == 1
        assert f"kept; it belongs to the living process {owner.pid}" in kept.stdout
        owner.kill()
        owner.wait(PATIENCE)
    assert len(traces(number)) == 4
    left = processes_in(traces(number))
    assert "sleep 1000" in left.values()
    done = down(number)
    assert (done.returncode, done.stderr) == (0, "")
    assert "removed" in done.stdout
    assert traces(number) == []
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    assert not [pid for pid in left if living(pid)]
    assert down(number).stdout == f"lab {number}: is not there\n"


def test_an_interrupted_process_leaves_nothing_of_its_lab(tmp_path: Path) -> None:
    with process("-c", OWN, str(tmp_path), log=tmp_path / "log") as owner:
        number = owned(tmp_path)
        owner.send_signal(signal.SIGINT)
        owner.wait(PATIENCE)
    assert (tmp_path / "log").read_text().endswith("KeyboardInterrupt\n")
    assert traces(number) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "number"]


@pytest.mark.parametrize("end", ["interrupt", "down"])
def test_up_says_what_to_type_and_stays_until_it_is_told_to_end(tmp_path: Path, end: str) -> None:
    log = tmp_path / "log"
    with process("-m", "tests.lab", "up", "2", log=log) as owner:
        until(lambda: "Ctrl-C ends it" in log.read_text() or owner.poll() is not None, PATIENCE, "the start of a lab")
        lines = log.read_text().splitlines()
        number = int(lines[0].split()[1].rstrip(":"))
        command = next(line for line in lines if " ssh -F" in line)
        done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, timeout=PATIENCE)
        assert done.stdout == b"node1\n"
        variable = next(line for line in lines if "OPSDIST_SSH=" in line)
        assert shlex.split(variable.split("OPSDIST_SSH=")[1]) == [command.strip().removesuffix(" node1 hostname")]
        if end == "down":
            assert down(number).stdout == f"lab {number}: ended\n"
        else:
            owner.send_signal(signal.SIGINT)
        assert owner.wait(PATIENCE) == 0
    assert traces(number) == []
    assert log.read_text().splitlines() == lines
