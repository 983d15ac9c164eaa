"""Make every fault in every layout, and see whether it is named: `python -m tests.soak.injected --ranks 2,4,8`.

Each run is a real `opsdist diagnose deadlock --inject`. Class, culprit and collective are held against what was
injected; then `--healthy N` runs without a fault, with every CPU busy, count false alarms. Prints a line a run that
went wrong, and the score. What takes several hosts is in cables.py.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from suites.errors import UsageError
from suites.exercise import Scheduled, script
from suites.strikes import Strike, resolve
from tests.leftovers import RunSpace, run_space

OPSDIST = (sys.executable, "-m", "opsdist_cli", "diagnose", "deadlock")
LATEST = 5.0
"""Seconds beyond the deadline within which a verdict must be there, from the start of the command."""
PATIENCE = 120.0

CLASSES = {
    "missing": "missing", "exit0": "missing", "sleep": "missing", "raise": "crashed", "kill": "crashed",
    "stop": "missing", "stop inside": "stuck", "mismatch-op": "mismatch", "mismatch-size": "mismatch",
    "mismatch-dtype": "mismatch", "mismatch-root": "mismatch", "reorder": "mismatch", "reorder over two": "cycle",
    "cycle": "cycle", "slow": "slow", "corrupt": "corrupt", "link-down": "transport",
}  # fmt: skip
"""What is injected -> the class of the verdict."""
ACROSS_HOSTS = ("link-down",)
FAMILY = {"world": "world", "halves": "halves", "grid": "rows"}
OTHER = {"halves": "world", "grid": "columns"}
"""layout -> the second family of groups, where an order over two groups makes a circle."""
LEAST_RANKS = {"grid": 4, "halves": 3}
"""Below them, such groups have but one rank each."""


@dataclass(frozen=True)
class Injection:
    """One fault, and where."""

    name: str
    ranks: int
    layout: str
    rank: int
    at: str = "middle"
    hosts: int = 1

    @property
    def wanted(self) -> dict[str, Any]:
        """As the command line's option is understood."""
        fault, _, how = self.name.partition(" ")
        groups = [FAMILY[self.layout], *([OTHER[self.layout]] if how == "over two" else [])]
        if fault in ACROSS_HOSTS:
            groups = []  # the first that is on several
        return {"fault": fault, "rank": self.rank, "at": self.at, "groups": groups, "inside": how == "inside"}

    @property
    def option(self) -> str:
        told = self.wanted
        groups, inside = [f"group={','.join(told['groups'])}"] * bool(told["groups"]), ["inside=1"] * told["inside"]
        return ",".join([f"{told['fault']}:rank={self.rank}", f"at={self.at}", *groups, *inside])

    @property
    def strike(self) -> Strike:
        return resolve(self.wanted, self.calls, self.layout, [self.host_of(rank) for rank in range(self.ranks)])

    def host_of(self, rank: int) -> str:
        """As in a lab."""
        return f"node{1 + rank * self.hosts // self.ranks}"

    @property
    def calls(self) -> Sequence[Scheduled]:
        return script(self.ranks, self.layout)

    def __str__(self) -> str:
        return f"{self.name} rank {self.rank} of {self.ranks}, {self.layout}"


@dataclass(frozen=True)
class Outcome:
    code: int
    seconds: float
    record: dict[str, Any]

    @property
    def verdict(self) -> dict[str, Any]:
        verdict: dict[str, Any] = self.record["verdict"]
        return verdict

    @property
    def culprits(self) -> list[int]:
        return [culprit["rank"] for culprit in self.verdict["culprits"] if culprit["kind"] == "rank"]


def injections(ranks: Sequence[int], layouts: Sequence[str]) -> Iterator[Injection]:
    """All that can be made in these worlds; the rank that is struck changes."""
    for number, (size, layout, name) in enumerate(
        product(ranks, layouts, [name for name in CLASSES if name not in ACROSS_HOSTS])
    ):
        if size < LEAST_RANKS.get(layout, 2) or (name == "reorder over two" and layout not in OTHER):
            continue
        found = Injection(name, size, layout, 1 + number % (size - 1))
        try:
            _ = found.strike
        except UsageError as error:
            print(f"left out: {found}: {error}")
        else:
            yield found


def diagnose(space: RunSpace, name: str, *arguments: str, **variables: str) -> Outcome:
    """One run of the command, to its end."""
    path, started = space.folder / f"{name}.json", time.monotonic()
    command = [*OPSDIST, *arguments, "--json", str(path)]
    done = subprocess.run(
        command, check=False, env=space.environment(**variables), capture_output=True, text=True, timeout=PATIENCE
    )
    assert path.exists(), f"{command}: {done.returncode}\n{done.stderr}"
    return Outcome(done.returncode, time.monotonic() - started, json.loads(path.read_text()))


def inject(space: RunSpace, injection: Injection, timeout: float, *arguments: str, **variables: str) -> Outcome:
    layout = ("-n", str(injection.ranks), "--layout", injection.layout, "--timeout", f"{timeout}s", *arguments)
    return diagnose(space, "run", *layout, "--inject", injection.option, **variables)


def faults_of(injection: Injection, outcome: Outcome) -> list[str]:
    """What is wrong with the answer: any of class, culprit, collective."""
    verdict, strike = outcome.verdict, injection.strike
    struck = injection.calls[strike.number - 1]
    wrong = [] if verdict["class"] == CLASSES[injection.name] else ["class"]
    sides = {rank for side in verdict["sides"] for rank in side["ranks"]}
    if injection.name == "cycle":
        right = set(outcome.culprits) == set(struck.members)
    elif injection.name == "reorder over two":
        right = injection.rank in outcome.culprits
    elif injection.name in ACROSS_HOSTS:
        right = of_link(verdict, injection.host_of(injection.rank))
    else:
        tie = verdict["class"] == "mismatch" and not outcome.culprits and injection.rank in sides
        right = outcome.culprits == [injection.rank] or tie
    wrong += [] if right else ["culprit"]
    collective = verdict["collective"] or {}
    if CLASSES[injection.name] != "cycle" and collective.get("seq") != struck.seq:
        wrong.append("collective")
    return wrong


def of_link(verdict: dict[str, Any], host: str) -> bool:
    """Whether what is named is this host, its link, or one link of it."""
    ends = [{culprit["host"], culprit.get("peer", culprit["host"])} for culprit in verdict["culprits"]]
    return len(ends) == 1 and host in ends[0]


@contextmanager
def busy() -> Iterator[None]:
    """Every CPU has something else to do."""
    burning = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(os.cpu_count() or 1)]
    for process in burning:
        process.start()
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.join()


def _burn() -> None:
    parent = os.getppid()
    while os.getppid() == parent:  # whatever becomes of it, nothing burns on
        pass


def _inject_all(ranks: Sequence[int], layouts: Sequence[str], timeout: float) -> None:
    score: Counter[str] = Counter()
    for injection in injections(ranks, layouts):
        with tempfile.TemporaryDirectory() as folder, run_space(Path(folder)) as space:
            outcome = inject(space, injection, timeout)
        wrong = faults_of(injection, outcome)
        late = outcome.seconds > timeout + LATEST
        score.update({"runs": 1, "right": not wrong, "in time": not late, **{f"wrong {what}": 1 for what in wrong}})
        if wrong or late:
            found, told = outcome.verdict["class"], ", ".join(wrong) or "late"
            print(f"{injection}: {told}: {found} {outcome.culprits} {outcome.verdict['collective']}", flush=True)
            print(f"    {outcome.seconds:.1f} s: {outcome.verdict['explanation'][:300]}", flush=True)
    print("; ".join(f"{name}: {number}" for name, number in score.items()))


def _healthy(runs: int, ranks: Sequence[int], timeout: float) -> None:
    alarms, longest = 0, 0.0
    with busy():
        for number in range(runs):
            with tempfile.TemporaryDirectory() as folder, run_space(Path(folder)) as space:
                outcome = diagnose(space, "run", "-n", str(ranks[number % len(ranks)]), "--timeout", f"{timeout}s")
            longest = max(longest, outcome.seconds)
            if outcome.code:
                alarms += 1
                print(f"false alarm: {outcome.verdict['class']}: {outcome.verdict['explanation']}", flush=True)
    print(f"{runs} healthy runs with every CPU busy: {alarms} false alarms; the longest took {longest:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--layouts", default="world,halves,grid")
    parser.add_argument("--timeout", type=float, default=3.0, help="the deadline, in seconds")
    parser.add_argument("--healthy", type=int, default=0, help="so many runs without a fault instead")
    given = parser.parse_args()
    ranks = [int(size) for size in given.ranks.split(",")]
    if given.healthy:
        _healthy(given.healthy, ranks, given.timeout)
    else:
        _inject_all(ranks, given.layouts.split(","), given.timeout)


if __name__ == "__main__":
    main()
