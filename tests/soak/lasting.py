"""Runs that go on for longer than any deadline, one under each launcher, all at the same time on two hosts of a lab.

    python -m tests.soak.lasting --seconds 120

Prints for each whether it was still measuring after so long; where one was not, what it said. A deadline that somebody
runs into who only had nothing to say shows nowhere else: tests are over before.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from tests import lab as labs
from tests import slurm as slurms
from tests.leftovers import RunSpace, until
from tests.opsdist_cli.env_launchers import across, command, missing, start
from tests.perf_process import OPSDIST, Perf

LASTING = (
    "allreduce", "--size", "64K", "--loop", "100000000", "--warmup", "1", "--cache", "warm", "--no-check",
    "--peak", "100GB/s", "--bind", "none", "--timeout", "5s", "-v",
)  # fmt: skip
"""Its deadlines are the shortest that there are: ten seconds."""
PATIENCE = 300.0
"""For all of them to start, on a machine with fewer cores than there are ranks that spin."""


@dataclass(frozen=True)
class Setting:
    """Where runs are started. `space` marks them, so that all can be ended."""

    hosts: labs.Lab
    slurm: slurms.Slurm | None
    space: RunSpace

    def start(self, name: str, prefix: Sequence[str], *more: str, **variables: str) -> Perf:
        own = self.space.folder / f"launcher-{name}"
        own.mkdir()
        ssh = {"OPSDIST_SSH": shlex.join(self.hosts.ssh), "TMPDIR": str(own)}
        return start(self.space, prefix, *LASTING, *more, name=name, variables={**ssh, **variables})


def over_ssh(setting: Setting) -> list[Perf]:
    return [setting.start("ssh", OPSDIST, "--hosts", "node[1-2]", "--per-host", "1")]


def with_this_host(setting: Setting) -> list[Perf]:
    return [setting.start("mixed", OPSDIST, "--hosts", "localhost,node2", "--per-host", "1")]


def by_hand(setting: Setting) -> list[Perf]:
    return [setting.start("hand", command("by hand", 2))]


def across_by(launcher: str) -> Callable[[Setting], list[Perf]]:
    def begin(setting: Setting) -> list[Perf]:
        return [
            setting.start(f"{launcher}{number}", prefix, **variables)
            for number, (prefix, variables) in enumerate(across(launcher, setting.hosts, 1))
        ]

    return begin


def by_srun(setting: Setting) -> list[Perf]:
    out, err, record = (setting.space.folder / f"srun.{kind}" for kind in ("out", "err", "json"))
    assert setting.slurm
    words = ["srun", "-N2", "--ntasks-per-node=1", *OPSDIST, "perf", *LASTING, "--json", str(record)]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = setting.slurm.popen(words, setting.space.environment(), stdout=stdout, stderr=stderr)
    return [Perf(process, out, err, record)]


def of_mpi(setting: Setting) -> list[Perf]:
    return [setting.start("mpi", OPSDIST, "-n", "2", "--backend", "mpi")]


def of_gloo(setting: Setting) -> list[Perf]:
    return [setting.start("gloo", OPSDIST, "--hosts", "node[1-2]", "--per-host", "1", "--backend", "gloo")]


WAYS: Mapping[str, tuple[Callable[[Setting], list[Perf]], Callable[[], str | None]]] = {
    "ssh": (over_ssh, lambda: None),
    "ssh and this host": (with_this_host, lambda: None),
    "by hand, one host": (by_hand, lambda: None),
    "mpiexec": (across_by("mpiexec"), lambda: missing("mpiexec")),
    "mpirun": (across_by("mpirun"), lambda: missing("mpi4py") or missing("mpirun")),
    "torchrun": (across_by("torchrun"), lambda: missing("torchrun")),
    "srun": (by_srun, slurms.unavailable),
    "backend mpi, one host": (of_mpi, lambda: missing("mpiexec")),
    "backend gloo": (of_gloo, lambda: missing("torchrun")),
}
"""name -> (what starts it, why it cannot be started here)."""


def last(names: Sequence[str], seconds: float, folder: Path) -> dict[str, str | None]:
    """Start these, and look after so many seconds: None for one that was still measuring, else what it said."""
    space = RunSpace(folder)
    space.temporary.mkdir()
    with ExitStack() as stack:
        hosts = stack.enter_context(labs.lab(2, folder))
        slurm = None
        if "srun" in names:
            nodes = [slurms.Host(host.name, host.address, tuple(host.enter([]))) for host in hosts.hosts]
            slurm = stack.enter_context(slurms.slurm(nodes, folder, address=hosts.address))
        started = {}
        stack.callback(_end, space, started)
        for name in names:
            started[name] = WAYS[name][0](Setting(hosts, slurm, space))
        for runs in started.values():
            until(lambda runs=runs: "ranks started" in runs[0].stderr or _over(runs), PATIENCE, "the ranks")  # type: ignore[misc]
        ends = time.monotonic() + seconds
        until(lambda: time.monotonic() > ends or all(map(_over, started.values())), 2 * seconds + PATIENCE, "the time")
        return {name: runs[0].stdout + runs[0].stderr if _over(runs) else None for name, runs in started.items()}


def _over(runs: Sequence[Perf]) -> bool:
    return any(run.process.poll() is not None for run in runs)


def _end(space: RunSpace, started: Mapping[str, Sequence[Perf]]) -> None:
    """All processes that bear the mark; what launchers have started elsewhere ends with the hosts."""
    while processes := space.processes():
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for runs in started.values():
        for run in runs:
            run.process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0)
    seconds = parser.parse_args().seconds
    lacking = {name: reason for name, (_, why) in WAYS.items() if (reason := why())}
    with tempfile.TemporaryDirectory() as folder:
        found = last([name for name in WAYS if name not in lacking], seconds, Path(folder))
    for name in WAYS:
        words = lacking.get(name) or found.get(name)
        print(f"{name:24}{'not tried: ' if name in lacking else 'ENDED: ' if words else 'lasts'}{words or ''}")
    lasting = sum(words is None for words in found.values())
    print(f"{lasting} of {len(found)} were still measuring after {seconds:g} s")
    return 0 if lasting == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
