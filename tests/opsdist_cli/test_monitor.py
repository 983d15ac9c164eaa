"""`opsdist monitor` as people and scripts run it: a process of its own, on the traffic of this machine."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from opsdist_cli.main import run
from tests.leftovers import RunSpace, until
from tests.schema import validate

COMMAND = [sys.executable, "-m", "opsdist_cli", "monitor"]
CHUNK = 40_000
"""Bytes of a datagram."""


def parsed(line: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(line)
    validate(value)
    return value


def loopback(value: dict[str, Any]) -> dict[str, Any]:
    (link,) = [link for link in value["links"] if link["link"] == "lo"]
    return dict(link)


def send(datagrams: int) -> int:
    """The bytes that the loopback interface has carried after this, at the least."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(datagrams):
            sender.sendto(bytes(CHUNK), ("127.0.0.1", 9))
    return datagrams * CHUNK


@contextmanager
def started(space: RunSpace, *arguments: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    command = [*COMMAND, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=space.environment(**more)) as process:
        yield process


def test_bytes_that_were_sent_are_counted(space: RunSpace) -> None:
    with started(space, "--interval", "100ms") as process:
        assert process.stdout is not None
        samples = [parsed(process.stdout.readline())]  # the watch is on: what is sent now comes after its beginning
        sent = send(100)
        while loopback(samples[-1])["tx_bytes"] < sent:
            samples.append(parsed(process.stdout.readline()))
        process.send_signal(signal.SIGINT)
        *rest, record = [parsed(line) for line in process.stdout.readlines()]
        process.wait(30)
    samples += rest
    assert [sample["kind"] for sample in samples] == ["sample"] * len(samples)
    assert [sample["number"] for sample in samples] == list(range(1, len(samples) + 1))
    link = loopback(record)
    assert link["tx"]["bytes"] >= sent
    assert link["rx"]["packets"] >= 100
    rates = [loopback(sample)["tx_bytes_per_second"] for sample in samples]
    assert link["tx"]["bytes_per_second"]["max"] >= max(rates)
    # However uneven the traffic was, it was not more than at its highest rate all the time.
    assert max(rates) * record["seconds"] >= link["tx"]["bytes"]


def test_it_ends_when_its_time_is_over(space: RunSpace) -> None:
    with started(space, "--interval", "100ms", "--duration", "250ms", "--json", "-") as process:
        assert process.stdout is not None
        *samples, record = [parsed(line) for line in process.stdout.readlines()]
        assert process.wait(30) == 0
    assert (record["kind"], record["status"], record["exit_code"]) == ("monitor", "pass", 0)
    assert record["samples"] == len(samples) >= 1
    assert record["seconds"] >= 0.25
    assert loopback(samples[-1])["tx_bytes"] == loopback(record)["tx"]["bytes"]


def test_ctrl_c_ends_it_and_keeps_the_record(space: RunSpace) -> None:
    target = space.folder / "record.json"
    with started(space, "--interval", "100ms", "--json", str(target)) as process:
        assert process.stdout is not None
        assert parsed(process.stdout.readline())["kind"] == "sample"
        process.send_signal(signal.SIGINT)
        *_, last = process.stdout.readlines()
        assert process.wait(30) == 130
    record = json.loads(target.read_text())
    validate(record)
    assert (record["exit_code"], record["status"]) == (130, "error")
    assert parsed(last) == record


def test_when_nobody_reads_any_more_it_ends(space: RunSpace) -> None:
    with started(space, "--interval", "1h") as process:  # at once, not when the next line is due
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(30) == 0


def test_a_reader_that_leaves_after_a_line(space: RunSpace) -> None:
    with started(space, "--interval", "100ms") as process:
        assert process.stdout is not None
        assert parsed(process.stdout.readline())["number"] == 1
        process.stdout.close()
        assert process.wait(30) == 0


def tool(folder: Path, name: str, script: str) -> str:
    """PATH with this tool in front."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_a_tool_that_hangs_holds_nothing_up_and_is_not_left_behind(space: RunSpace, tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    path = tool(folder, "nvidia-smi", f"echo $$ > {folder}/asked; exec sleep 600")
    with started(space, "--interval", "100ms", PATH=path) as process:
        assert process.stdout is not None
        until((folder / "asked").exists, 30, "that the tool is asked")
        samples = [parsed(process.stdout.readline()) for _ in range(5)]
        assert all(loopback(sample)["rx_bytes_per_second"] is not None for sample in samples)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(30) == 130
    assert not space.processes()


NVLINKS = """
if [ "$2" = -s ]; then what='25 GB/s'; fi
if [ "$2" = -gt ]; then what='Data Tx: 70000000 KiB'; fi
if [ "$2" = -e ]; then what='CRC Errors: 3'; fi
echo "GPU 0: Quick 9 (UUID: GPU-00000000-0000-0000-0000-000000000000)"
echo "	 Link 0: $what"
"""


def test_what_a_tool_tells_is_there(space: RunSpace, tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    with started(space, "--interval", "100ms", PATH=tool(folder, "nvidia-smi", NVLINKS)) as process:
        assert process.stdout is not None
        while "gpu0/nvlink0" not in (line := process.stdout.readline()):
            parsed(line)
        (link,) = [link for link in parsed(line)["links"] if link["link"] == "gpu0/nvlink0"]
        assert (link["kind"], link["tx_bytes"], link["tx_bytes_per_second"]) == ("nvlink", 0, None)
        process.send_signal(signal.SIGTERM)
        *_, last = process.stdout.readlines()
        assert process.wait(30) == 143
    (link,) = [link for link in parsed(last)["links"] if link["link"] == "gpu0/nvlink0"]
    assert link["limit_bytes_per_second"] == 25e9


def test_a_terminal_has_a_table(space: RunSpace) -> None:
    control, terminal = pty.openpty()
    command = [*COMMAND, "--interval", "100ms", "--duration", "500ms"]
    with subprocess.Popen(command, stdout=terminal, stderr=subprocess.PIPE, env=space.environment(TERM="xterm")) as it:
        os.close(terminal)
        shown = b""
        while part := _read(control):
            shown += part
        assert it.wait(30) == 0
    os.close(control)
    text = shown.decode()
    assert "# opsdist monitor on " in text
    assert "idle: " in text
    assert re.search(r"monitor: \d+ samples in 0\.\d s; \d of \d+ links carried something; ", text.splitlines()[-1])
    assert "{" not in text


def _read(control: int) -> bytes:
    try:
        return os.read(control, 65536)
    except OSError:  # the other side is closed
        return b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--interval", "1ms"], "an interval has at least 0.1 s"),
        (["--interval", "often"], "'often' is not a duration"),
        (["--json", "/nowhere/at/all.json"], "cannot write /nowhere/at/all.json"),
    ],
)
def test_what_cannot_be_done_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert run(["monitor", *arguments]) == 2
    told = capsys.readouterr()
    assert (told.out, words in told.err) == ("", True)
