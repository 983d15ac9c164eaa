"""Cut the paths between hosts of a lab while ranks are exercised, and see whether that is named:

    python -m tests.soak.cables --ranks 2,4,8

Each path is cut in three ways: by `--inject link-down`, by pulling the cable of a host, by dropping all packets on it.
By the last two the controller loses the host as well. Class and culprit are held against what was cut, and the
collective where it is known which one it must be. Prints a line a run that went wrong, and the score. Needs root.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from tests.lab import Lab, LabHost, lab
from tests.leftovers import RunSpace, run_space, until
from tests.soak.injected import CLASSES, LATEST, LEAST_RANKS, OPSDIST, PATIENCE, Injection, faults_of, inject, of_link

_MOST_HOSTS = 4
WAYS = {"pulled": (LabHost.down, LabHost.up), "dropped": (LabHost.blackhole, LabHost.restore)}
"""How a cable is cut from outside, and mended."""


def on_hosts(hosts: Lab, injection: Injection) -> tuple[str, ...]:
    return ("--hosts", ",".join(host.name for host in hosts.hosts[: injection.hosts]))


def pull(space: RunSpace, hosts: Lab, injection: Injection, way: str, timeout: float) -> tuple[dict[str, Any], float]:
    """The record of a run that a cable is cut under, and how long after that it has ended. Ranks are slow, so that it
    does not end before."""
    cut, mend = WAYS[way]
    host = next(host for host in hosts.hosts if host.name == injection.host_of(injection.rank))
    path, words = space.folder / "run.json", space.folder / "words"
    where = ("-n", str(injection.ranks), "--layout", injection.layout, *on_hosts(hosts, injection))
    how = ("-v", "--timeout", f"{timeout}s", "--inject", "slow:rank=0,at=first", "--json", str(path))
    with words.open("w") as stderr:
        run = subprocess.Popen(
            [*OPSDIST, *where, *how], env=space.environment(OPSDIST_SSH=shlex.join(hosts.ssh)),
            stdout=subprocess.DEVNULL, stderr=stderr,
        )  # fmt: skip
    try:
        until(lambda: "ranks started" in words.read_text(), PATIENCE, "the start of the ranks")
        cut(host)
        at = time.monotonic()
        run.wait(PATIENCE)
        return json.loads(path.read_text()), time.monotonic() - at
    finally:
        run.kill()
        run.wait()
        mend(host)


def _all(hosts: Lab, ranks: Sequence[int], layouts: Sequence[str], timeout: float) -> Counter[str]:
    score: Counter[str] = Counter()
    for number, (size, layout, way) in enumerate(product(ranks, layouts, ("injected", *WAYS))):
        if size < LEAST_RANKS.get(layout, 2):
            continue
        injection = Injection("link-down", size, layout, 1 + number % (size - 1), hosts=min(size, _MOST_HOSTS))
        with tempfile.TemporaryDirectory() as folder, run_space(Path(folder)) as space:
            if way == "injected":
                where = on_hosts(hosts, injection)
                outcome = inject(space, injection, timeout, *where, OPSDIST_SSH=shlex.join(hosts.ssh))
                wrong, verdict, seconds = faults_of(injection, outcome), outcome.verdict, outcome.seconds
            else:
                record, seconds = pull(space, hosts, injection, way, timeout)
                verdict = record["verdict"]
                wrong = [] if verdict["class"] == CLASSES["link-down"] else ["class"]
                wrong += [] if of_link(verdict, injection.host_of(injection.rank)) else ["culprit"]
        late = seconds > timeout + LATEST
        score.update({"runs": 1, "right": not wrong, "in time": not late, **{f"wrong {what}": 1 for what in wrong}})
        if wrong or late:
            print(f"{way}: {injection}: {', '.join(wrong) or 'late'}: {verdict['class']} {verdict['culprits']}")
            print(f"    {seconds:.1f} s: {verdict['explanation'][:300]}", flush=True)
    return score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--layouts", default="world,halves,grid")
    parser.add_argument("--timeout", type=float, default=3.0, help="the deadline, in seconds")
    given = parser.parse_args()
    ranks = [int(size) for size in given.ranks.split(",")]
    with tempfile.TemporaryDirectory() as name, lab(_MOST_HOSTS, Path(name)) as hosts:
        score = _all(hosts, ranks, given.layouts.split(","), given.timeout)
    print("; ".join(f"{name}: {number}" for name, number in score.items()))


if __name__ == "__main__":
    main()
