"""How a launch grows with the hosts: what the controller itself takes, with ssh and agents replaced by a stub.

    python -m tests.soak.fanout --hosts 1000

Prints seconds from the first ssh to the end of all ranks, and CPU and memory of the controller.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from suites import world
from suites.launch import crew, ssh
from suites.launch.lists.hosts import parse_hosts

STUB = Path(__file__).with_name("stub_ssh.pl")


@dataclass(frozen=True)
class Score:
    """Seconds, bytes; `started` and `ended` count ranks, `faults` are in words."""

    started: int
    faults: tuple[str, ...]
    survivors: int
    seconds: float
    cpu: float
    memory: int


def hello() -> str:
    """What each agent says of its host; the stub puts an address of its own for ADDRESS."""
    facts = {"name": "stub", "core_cpus": [0], "cores": 1, "available": None, "cache": 1 << 25, "without_core": None}
    interface = {
        "name": "eth0", "addresses": ["ADDRESS/8"], "state": "up", "mtu": 1500,
        "speed_bytes_per_second": None, "loopback": False,
    }  # fmt: skip
    told = {"type": "hello", "host": "stub", "pid": 1, "version": version("opsdist"), "python": "3.11.0"}
    return json.dumps({**told, "facts": facts, "interfaces": [interface]}, separators=(",", ":"))


def launch(hosts: int, timeout: float = 60.0) -> Score:
    """Start one rank on each of so many hosts, and have them end."""
    os.environ["STUB_HELLO"] = hello()
    began, cpu = time.monotonic(), time.process_time()
    found = crew.of(parse_hosts(f"n[1-{hosts}]"), ssh.Far(ssh=("perl", str(STUB))))
    with closing(found):
        for _ in found.connect(timeout):
            pass
        ranks = None
        if not found.faults:
            ranks = world.choose(found.facts, world.Asked(per_host=1), found.slots, False, lambda counts: [0] * hosts)
            for _ in found.run(found.job("none", {}, ranks, timeout, "fork", spins=False)):
                pass
    return Score(
        len(found.pids), tuple(fault.message for fault in found.faults), len(found.survivors),
        time.monotonic() - began, time.process_time() - cpu,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1000)
    hosts = parser.parse_args().hosts
    score = launch(hosts)
    for fault in score.faults[:5]:
        print(fault)
    print(
        f"{score.started} of {hosts} ranks started, {len(score.faults)} faults, {score.survivors} survivors: "
        f"{score.seconds:.1f} s, {score.cpu:.1f} s of CPU, {score.memory >> 20} MiB"
    )
    sys.exit(score.started != hosts or bool(score.faults))


if __name__ == "__main__":
    main()
