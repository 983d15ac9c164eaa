"""A lab by hand: `up COUNT` keeps one until Ctrl-C or `down`; `down [NUMBER ...]` ends those, and removes leftovers."""

from __future__ import annotations

import argparse
import shlex
import signal
from contextlib import suppress
from types import FrameType

from tests.lab import Lab, lab, registry, unavailable


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="set up a lab, and keep it until Ctrl-C or `down`")
    up.add_argument("count", type=int, help="how many hosts")
    down = commands.add_parser("down", help="end labs kept by `up`, remove what killed runs left; not a running test's")
    down.add_argument("numbers", type=int, nargs="*", metavar="NUMBER", help="only these labs")
    arguments = parser.parse_args()
    reason = unavailable()
    if reason:
        parser.exit(2, f"no lab here: {reason}\n")
    return _up(arguments.count) if arguments.command == "up" else _down(arguments.numbers)


def _up(count: int) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    registry.ROOT.mkdir(mode=0o700, exist_ok=True)
    with suppress(KeyboardInterrupt), lab(count, registry.ROOT, standing=True) as hosts:
        print(_instructions(hosts), flush=True)
        while True:
            signal.pause()
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _instructions(hosts: Lab) -> str:
    ssh = shlex.join(hosts.ssh)
    rows = [f"    {host.name:8} {host.address:16} {host.address6:28} {host.netns}" for host in hosts.hosts]
    return "\n".join(
        (
            f"lab {hosts.number}: {len(hosts.hosts)} hosts; this machine is {hosts.address} there",
            *rows,
            "",
            "A command on a host, from here:",
            f"    {ssh} {hosts.hosts[0].name} hostname",
            "A shell in its network, without ssh:",
            f"    ip netns exec {hosts.hosts[0].netns} sh",
            "For opsdist:",
            f"    export OPSDIST_SSH={shlex.quote(ssh)}",
            f"    hosts: {','.join(host.name for host in hosts.hosts)}",
            "",
            f"Ctrl-C ends it, and so does, elsewhere: python -m tests.lab down {hosts.number}",
        )
    )


def _down(numbers: list[int]) -> int:
    outcomes = [registry.remove(number) for number in numbers or registry.numbers()]
    print("\n".join(line for _, line in outcomes) or "no lab is there")
    return 0 if all(gone for gone, _ in outcomes) or not numbers else 1


if __name__ == "__main__":
    raise SystemExit(main())
