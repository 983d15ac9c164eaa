"""Kill and stop at random, and look whether the right one is named: `python -m tests.soak.kills --runs 200 --seed 1`.

Every run is a real `opsdist perf` in which one process is hit by a signal at a moment drawn at random: a rank, the
agent or the controller. Afterwards the exit, the verdict and what is left behind are checked. A run that had ended
before it was hit must have passed. Prints a line for every run that went wrong, and a score.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.leftovers import RunSpace, run_space
from tests.perf_process import PATIENCE, Perf, perf

TIMEOUT = 2.0
VICTIMS = ("rank", "rank", "rank", "agent", "controller")
OPERATIONS = (
    ("allreduce", "--size", "1K", "--algorithm", "one_shot"),
    ("allreduce", "--size", "16M", "--algorithm", "two_shot"),
    ("allreduce", "--size", "4M", "--algorithm", "ring", "--buffers", "private"),
    ("alltoall", "--size", "64K", "--sync", "none"),
    ("broadcast", "--size", "8M", "--algorithm", "tree"),
    ("broadcast", "--size", "8M", "--in-place"),
    ("gather", "--size", "16M"),
    ("all", "--size", "256K"),
)
"""Small messages, which go through slots, and large ones, which are read and written where they lie, also by both
ends at once."""
ENDLESS = "10000000"
"""Iterations: nothing ends before it is hit."""


@dataclass(frozen=True)
class Hit:
    """What is done in a run, and when: `delay` seconds after the first sign of the victim."""

    ranks: int
    operation: tuple[str, ...]
    victim: str
    rank: int
    number: signal.Signals
    delay: float

    @classmethod
    def drawn(cls, draw: random.Random) -> Hit:
        ranks = draw.choice((2, 3, 4))
        victim = draw.choice(VICTIMS)
        # A stopped controller stops nobody: it goes on where it was, and that is no fault.
        stopping = victim == "rank" and draw.random() < 0.4
        number = signal.SIGSTOP if stopping else signal.SIGKILL
        return cls(ranks, draw.choice(OPERATIONS), victim, draw.randrange(ranks), number, draw.uniform(0.0, 1.5))

    def __str__(self) -> str:
        who = f"rank {self.rank} of {self.ranks}" if self.victim == "rank" else f"the {self.victim}"
        return f"{self.number.name} to {who} after {self.delay:.2f} s of {' '.join(self.operation)}"


def one(hit: Hit, folder: Path) -> str:
    """Do one run. "hit" or "missed" when all was as it should be, else what was wrong."""
    command = (*hit.operation, "-n", str(hit.ranks), "--loop", ENDLESS, "--cache", "warm", "--timeout", f"{TIMEOUT}s")
    try:
        with run_space(folder) as space:
            with perf(space, *command, "-v") as run:
                struck = _strike(hit, run, space)
                code = run.code()
                if hit.victim == "controller":
                    space.gone(within=5.0)
            return _judged(hit, run, code, struck)
    except AssertionError as error:
        return str(error) or "an assertion failed"


def _strike(hit: Hit, run: Perf, space: RunSpace) -> bool:
    """Wait for the victim, then for the moment; whether it was still there."""
    deadline = time.monotonic() + PATIENCE
    while (pid := _victim(hit, run, space)) is None:
        if run.process.poll() is not None:
            return False
        assert time.monotonic() < deadline, "the victim never came"
        time.sleep(0.005)
    time.sleep(hit.delay)
    try:
        os.kill(pid, hit.number)
    except ProcessLookupError:
        return False
    return True


def _victim(hit: Hit, run: Perf, space: RunSpace) -> int | None:
    if hit.victim == "controller":
        return run.process.pid
    children = _children(run.process.pid)
    if hit.victim == "agent" or not children:
        return children[0] if children else None
    # The agent forks its ranks in order.
    ranks = _children(children[0])
    return ranks[hit.rank] if len(ranks) == hit.ranks else None


def _children(pid: int) -> list[int]:
    try:
        return sorted(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


def _judged(hit: Hit, run: Perf, code: int, struck: bool) -> str:
    if hit.victim == "controller" and struck:
        return "hit" if code in (-signal.SIGKILL, 0) else f"exit {code}"
    if code == 0:
        # It had ended, or was hit when its work was done.
        return "missed" if run.record["verdict"] is None else "exit 0 with a verdict"
    if not struck:
        return f"exit {code} without being hit: {run.stderr[-500:]}"
    verdict = run.record["verdict"]
    if code != 3 or verdict is None:
        return f"exit {code}, verdict {verdict}"
    wanted: list[Any] = [hit.rank] if hit.victim == "rank" else [None]
    if run.culprits() != wanted or verdict["suspects"]:
        return f"named {run.culprits()}, suspects {verdict['suspects']}: {verdict['class']}: {verdict['explanation']}"
    classes = {"agent": ("crashed", "launch"), "rank": ("crashed",)}[hit.victim]
    if hit.number == signal.SIGSTOP:
        classes = ("stuck", "missing")
    return "hit" if verdict["class"] in classes else f"class {verdict['class']}: {verdict['explanation']}"


def main(arguments: list[str] | None = None) -> int:
    """Exit 0 when every run was as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    draw = random.Random(given.seed)
    score: Counter[str] = Counter()
    started = time.monotonic()
    for number in range(given.runs):
        hit = Hit.drawn(draw)
        with tempfile.TemporaryDirectory(prefix="opsdist-kills-") as folder:
            outcome = one(hit, Path(folder))
        good = outcome in ("hit", "missed")
        score[outcome if good else "wrong"] += 1
        if not good:
            print(f"run {number}: {hit}: {outcome}", flush=True)
    seconds = time.monotonic() - started
    counts = f"{score['hit']} hit and judged right, {score['missed']} ended before the hit, {score['wrong']} wrong"
    print(f"kills: {given.runs} runs, seed {given.seed}: {counts} in {seconds:.0f} s")
    return int(score["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
