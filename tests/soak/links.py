"""What runs between two hosts reach, beside iperf3 and beside other libraries on the same links of a lab.

    python -m tests.soak.links line --shape 1000 --times 5      64 MiB allreduce against iperf3 one way, 1 Gbit/s links
    python -m tests.soak.links line --bidir --times 5           the same, links as they are, against iperf3 --bidir
    python -m tests.soak.links library gloo --times 20          times of builtin over those of gloo, 8 B to 256 MiB
    python -m tests.soak.links library mpi --times 20           the same with MPICH, started by its mpiexec

Both sides are measured in turn, `--times` times; printed are the median of the ratios, and the least and the most.
Needs root, as the lab does; nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lab import Lab, lab
from tests.leftovers import until

SECONDS = 3
PATIENCE = 300.0
LIKE_THEM = ("--bind", "none", "--sync", "none", "--cache", "warm", "--peak", "100GB/s")
"""As others measure: calls back to back, on the same memory. No ceiling is measured, nor judged by."""
PORT = 5201
WHERE: tuple[str, ...] = ("--hosts", "node[1-2]", "--per-host", "1")
SIZES = (("8:64K:x8", "200"), ("512K:32M:x8", "20"), ("256M", "3"))
"""With their loops: small messages are repeated more often."""


def record(hosts: Lab, folder: Path, command: Sequence[str], *arguments: str) -> dict[str, Any]:
    """Of one run of `opsdist perf`, that `command` starts."""
    path = folder / "run.json"
    environment = {**os.environ, "OPSDIST_SSH": shlex.join(hosts.ssh)}
    done = subprocess.run(
        [*command, "perf", "allreduce", *arguments, *LIKE_THEM, "--json", str(path)],
        env=environment, check=False, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def here(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "opsdist_cli", *arguments)


@contextmanager
def iperf_server(hosts: Lab) -> Iterator[None]:
    far = hosts.hosts[1]
    server = far.popen(["iperf3", "-s", "-p", str(PORT)], stdout=subprocess.DEVNULL)
    try:
        until(lambda: f":{PORT}" in far.run(["ss", "-Hltn"]).stdout, 10.0, "iperf3")
        yield
    finally:
        server.kill()
        server.wait()


def iperf(hosts: Lab, bidirectional: bool) -> float:
    """Bytes/s one way; with both ways at once, of the slower one."""
    options = ["--bidir"] if bidirectional else []
    done = hosts.hosts[0].run(
        ["iperf3", "-c", hosts.hosts[1].address, "-p", str(PORT), "-t", str(SECONDS), "-J", *options],
        timeout=PATIENCE, check=True,
    )  # fmt: skip
    end = json.loads(done.stdout)["end"]
    sums = [end["sum_received"], *([end["sum_received_bidir_reverse"]] if bidirectional else [])]
    return float(min(each["bits_per_second"] for each in sums)) / 8


def line(hosts: Lab, folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Bandwidth of an allreduce over that of iperf3."""
    if options.shape:
        for host in hosts.hosts:
            host.shape(options.shape * 10**6)
    with iperf_server(hosts):
        for _ in range(options.times):
            found = record(hosts, folder, here(), *WHERE, "--size", options.size, "--loop", "20")
            ours = found["results"][0]["out_of_place"]["bus_bw"] * 1e9
            theirs = iperf(hosts, options.bidir)
            print(f"allreduce {options.size} {ours / 1e9:.3f} GB/s busbw, iperf3 {theirs / 1e9:.3f} GB/s", flush=True)
            yield options.size, ours / theirs


def library(hosts: Lab, folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Time of builtin over that of the other, at each size."""
    where, command = WHERE, here()
    if options.name == "mpi":
        where, command = (), (*mpiexec(hosts, folder), *here())
    for number in range(options.times):
        # Now the one is first, now the other.
        both = f"builtin,{options.name}" if number % 2 else f"{options.name},builtin"
        for size, loop in ((options.size, "20"),) if options.size else SIZES:
            found = record(hosts, folder, command, *where, "--backend", both, "--size", size, "--loop", loop)
            times: dict[str, dict[str, float]] = {}
            for row in found["results"]:
                times.setdefault(str(row["size"]), {})[row["backend"]] = row["out_of_place"]["time"]
            for nbytes, by in times.items():
                yield nbytes, by["builtin"] / by[options.name]


def mpiexec(hosts: Lab, folder: Path) -> Sequence[str]:
    """MPICH's own, by the lab's ssh. The lab's hosts are one machine, and UCX would find memory that they share."""
    ssh = folder / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {shlex.join(hosts.ssh)} "$@"\n')
    ssh.chmod(0o755)
    program = Path(sys.executable).with_name("mpiexec")
    return [
        str(program), "-launcher", "ssh", "-launcher-exec", str(ssh), "-localhost", hosts.address,
        "-hosts", ",".join(host.address for host in hosts.hosts), "-ppn", "1", "-n", "2",
        "-genv", "UCX_TLS", "tcp,self",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    of_line = kinds.add_parser("line")
    of_line.add_argument("--size", default="64M")
    of_line.add_argument("--shape", type=int, metavar="MBIT")
    of_line.add_argument("--bidir", action="store_true")
    of_library = kinds.add_parser("library")
    of_library.add_argument("name", choices=("gloo", "mpi"))
    of_library.add_argument("--size", help="only these, by default 8 to 256M")
    for each in (of_line, of_library):
        each.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    measure: Callable[..., Iterator[tuple[str, float]]] = line if options.kind == "line" else library
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, lab(2, Path(name)) as hosts:
        for what, ratio in measure(hosts, Path(name), options):
            ratios.setdefault(what, []).append(ratio)
    for what, found in ratios.items():
        print(f"{what}: median {statistics.median(found):.3f}, {min(found):.3f} to {max(found):.3f}, n {len(found)}")


if __name__ == "__main__":
    main()
