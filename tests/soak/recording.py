"""What it costs to record a call, in nanoseconds.

    python -m tests.soak.recording

First the record alone, as C. Then whole calls of the native engine, recorded and not, in pairs that take turns: the
ranks are threads, as many as there are cores for each to have its own. Load from elsewhere widens the spread, so a
quiet machine is wanted.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from collectives.backends.builtin import BuiltinCommunicator
from collectives.communicator import Call
from collectives.native import core
from collectives.native.engine import NativeEngine
from tests.collectives.inproc_world import run_threads
from tests.collectives.native.native_world import TOKEN, engines

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "collectives" / "native" / "src"
CLOCKS = {"counter": 1, "clock_gettime": 0}


def records(folder: Path, repeats: int, calls: int, steps: int, clock: str) -> list[float]:
    """Nanoseconds a record, of each repeat."""
    program = folder / "recording"
    sources = [str(HERE / "recording.c"), str(SOURCES / "record.c")]
    subprocess.run(["gcc", "-std=c11", "-O3", f"-I{SOURCES}", *sources, "-o", str(program)], check=True, timeout=60)
    command = [str(program), *map(str, (repeats, calls, steps, CLOCKS[clock]))]
    done = subprocess.run(command, check=True, timeout=600, capture_output=True, text=True)
    return [float(line) for line in done.stdout.splitlines()]


def pairs(ranks: int, collective: str, repeats: int, calls: int) -> list[tuple[float, float]]:
    """Nanoseconds a call, not recorded and recorded, of each repeat."""
    with ExitStack() as stack:
        bound = [_bound(stack.enter_context(engines(ranks, crowded=False)), collective, on) for on in (False, True)]
        return [(_seconds(bound[0], calls), _seconds(bound[1], calls)) for _ in range(repeats)]


def _bound(world: Sequence[NativeEngine], collective: str, recorded: bool) -> list[Call]:
    for engine in world:
        if not recorded:
            _unrecorded(engine)
    comms = [BuiltinCommunicator(engine, range(len(world)), TOKEN, "world", engine.close) for engine in world]
    arrays = [comm.allocate(1, "float64") if collective != "barrier" else None for comm in comms]
    return [comm.bind(collective, array, array) for comm, array in zip(comms, arrays, strict=True)]


def _unrecorded(engine: NativeEngine) -> None:
    """The same world without a ring, which nothing in opsdist makes."""
    native = core()
    assert native
    addresses = [mapped.address if mapped else 0 for mapped in engine._regions]
    engine.world = native.World(engine.rank, addresses, engine.region.length, 4000, 200, 32 << 20, None)


def _seconds(calls: Sequence[Call], number: int) -> float:
    """A call, as the slowest rank sees it; in nanoseconds."""
    stamps = run_threads([lambda call=call: call.time(number, "none", number) for call in calls])  # type: ignore[misc]
    return max(float(np.diff(each)[0, 0]) for each in stamps) / number


def told(name: str, found: Sequence[float]) -> str:
    low, high = np.percentile(found, (10, 90))
    return f"{name:44} n {len(found):3}  median {statistics.median(found):8.1f}  10-90 % {low:8.1f} .. {high:8.1f} ns"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--calls", type=int, default=100_000)
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for clock in CLOCKS:
            for steps in (1, 3):
                found = records(Path(folder), wanted.repeats, wanted.calls, steps, clock)
                print(told(f"record alone, {steps} steps, {clock}", found))
    for ranks in (1, 2):
        for collective in ("barrier", "allreduce"):
            both = pairs(ranks, collective, wanted.repeats, wanted.calls)
            print(told(f"{collective} of {ranks}, not recorded", [off for off, _ in both]))
            print(told(f"{collective} of {ranks}, recorded less not", [on - off for off, on in both]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
