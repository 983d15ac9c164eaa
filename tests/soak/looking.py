"""How long it takes to look: at this host, at one with eight NPUs whose tools are slow, at a recorded one, at a fleet.

    python -m tests.soak.looking --times 5 --hosts 1000 --tool-seconds 0.1

Prints for each the median, least and most seconds of so many runs of `opsdist info`, and for the fleet the memory. The
tools are programs that wait and then say what a made-up host says; the hosts of the fleet differ in what every host has
for itself, and one of them in its kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.made_up.npu_host import NpuHost

_TOOL = """#!/bin/sh
sleep {seconds}
cat "{folder}/$(basename "$0") $*" 2>/dev/null
"""


def info(*arguments: str, path: str | None = None, code: int = 0) -> float:
    """Seconds of one run of `opsdist info`."""
    environment = {**os.environ, **({"PATH": f"{path}:{os.environ['PATH']}"} if path else {})}
    command = [sys.executable, "-m", "opsdist_cli", "info", *arguments]
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != code:
        raise SystemExit(f"{shlex.join(command)}: exit {done.returncode}")
    return seconds


def slow_tools(folder: Path, seconds: float) -> str:
    """A folder for PATH, with programs that are called as the vendor's."""
    answers, bin_ = folder / "answers", folder / "bin"
    answers.mkdir()
    bin_.mkdir()
    for line, text in NpuHost().commands().items():
        (answers / line).write_text(text)
    for name in ("npu-smi", "hccn_tool", "lspci"):
        (bin_ / name).write_text(_TOOL.format(seconds=seconds, folder=answers))
        (bin_ / name).chmod(0o755)
    return str(bin_)


def fleet(folder: Path, hosts: int) -> Path:
    """Records of so many hosts, each in a file of its own."""
    (folder / "one").mkdir()
    (folder / "fleet").mkdir()
    recorded = NpuHost().write(folder / "one")
    found: list[Any] = []
    for arguments in (["--from", str(recorded)], []):
        path = folder / "record.json"
        info(*arguments, "--json", str(path))
        found.append(json.loads(path.read_text()))
    record, here = found
    facts = {**here["hosts"][0]["facts"], "accelerators": record["hosts"][0]["facts"]["accelerators"]}
    for number in range(hosts):
        _make_its_own(facts, number)
        record["hosts"] = [{"name": f"node{number:04}", "facts": facts}]
        (folder / "fleet" / f"node{number:04}.json").write_text(json.dumps(record))
    return folder / "fleet"


def _make_its_own(facts: dict[str, Any], number: int) -> None:
    """Addresses, and counters that only grow."""
    facts["software"] = {**facts["software"], "kernel": "5.4" if number == 77 else "6.1"}
    for device in facts["accelerators"]["ascend"]["devices"]:
        address = f"10.{number // 250}.{number % 250}.{10 + device['id']}"
        device["address"] = device["readings"]["ip"]["values"]["address"] = address
        counters = device["readings"]["stat"]["counters"]
        for name in counters:
            counters[name] = number * 1000 + device["id"] if "total" in name else 0
    settings = facts["accelerators"]["ascend"]["readings"]["settings"]["values"]["devices"]
    for device in facts["accelerators"]["ascend"]["devices"]:
        settings[str(device["id"])]["address"] = device["address"]


def told(what: str, times: int, run: Callable[[], float]) -> None:
    seconds = [run() for _ in range(times)]
    median, least, most = statistics.median(seconds), min(seconds), max(seconds)
    print(f"{what:<58} {median:6.2f} s  ({least:.2f} to {most:.2f}, n {times})", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--tool-seconds", type=float, default=0.1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = slow_tools(folder, asked.tool_seconds)
        hosts = fleet(folder, asked.hosts)
        told("info here", asked.times, info)
        each = f"tools of {asked.tool_seconds:g} s a question"
        told(f"info -t accelerators --quick, 8 NPUs, {each}", asked.times, lambda: _npus(path, "--quick"))
        told(f"info -t accelerators, 8 NPUs, {each}", asked.times, lambda: _npus(path))
        told("info --from a recorded host with 8 NPUs", asked.times, lambda: info("--from", str(folder / "one")))
        told(f"info --from {asked.hosts} records", asked.times, lambda: info("--from", str(hosts)))
        print(f"memory of the largest: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB")


def _npus(path: str, *more: str) -> float:
    return info("-t", "accelerators", *more, path=path)


if __name__ == "__main__":
    main()
