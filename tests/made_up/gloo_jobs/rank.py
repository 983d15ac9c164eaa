"""The ranks of a job. `python -m tests.made_up.gloo_jobs.rank FOLDER TOLD FALL DUMP END` reads the plan in the folder,
and forks a process for each rank; the numbers are open file descriptors.

What a rank comes to is written to TOLD, a line each. The other three are gates: a gate opens when whoever holds its
other end closes it, or is gone. FALL: those that are to die do so. DUMP: every rank writes its dump. END: all end.
"""

from __future__ import annotations

import datetime
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tests.made_up.gloo_jobs.plan import WORLD, Call, Plan, Stop

PATIENCE = datetime.timedelta(minutes=5)
"""Of torch: longer than any job is left alone, so that no time-out of its own ends one."""


@dataclass(frozen=True)
class Gate:
    """Passed by everybody at once, in whatever process, when its other end is closed."""

    descriptor: int

    def wait(self) -> None:
        while os.read(self.descriptor, 1):
            pass


@dataclass(frozen=True)
class Rank:
    number: int
    plan: Plan
    folder: Path
    told: int
    fall: Gate
    dump: Gate
    end: Gate

    def tell(self, what: str, value: object = None) -> None:
        """In one write, which does not mix with those of others."""
        os.write(self.told, (json.dumps([self.number, what, value]) + "\n").encode())

    def live(self) -> NoReturn:
        threading.Thread(target=self._write_dump_and_end, daemon=True).start()
        try:
            self._follow()
        except Exception as error:
            print(type(error).__name__, error, flush=True)
            self.tell("raised", str(error)[:200])
        finally:
            self.end.wait()
            os._exit(0)

    def _write_dump_and_end(self) -> None:
        """Beside the program, which may be in a call for ever."""
        from torch._C import _distributed_c10d

        recorder: Any = _distributed_c10d  # whose types lack it
        try:
            self.dump.wait()
            written = self.folder / f"{self.number}.part"
            written.write_bytes(recorder._dump_fr_trace())
            written.rename(self.folder / f"nccl_trace_rank_{self.number}")
            self.tell("dumped")
            self.end.wait()
        finally:  # also where nobody listens any more
            os._exit(0)

    def _follow(self) -> None:
        groups = self._connect()
        self.tell("ready", {name: group.group_name for name, group in groups.items()})
        calls, pending = _calls(), []
        for index, call in enumerate(self.plan.programs[self.number]):
            if call.stop:
                self.tell("stops", index)
                self._stop(call.stop)
            self.tell("calls", index)
            members = self.plan.groups[call.group]
            pending.append(calls[call.operation](call, groups[call.group], members))
            if call.waits:
                _finish(pending)
        _finish(pending)
        self.tell("finished")

    def _connect(self) -> dict[str, Any]:
        import torch
        from torch import distributed

        torch.set_num_threads(1)
        store = f"file://{self.folder}/store"
        distributed.init_process_group(
            "gloo", init_method=store, rank=self.number, world_size=self.plan.size, timeout=PATIENCE
        )
        groups = {WORLD: distributed.group.WORLD}
        for name, members in self.plan.groups.items():
            if name != WORLD and (self.number in members or not self.plan.local):
                groups[name] = distributed.new_group(
                    list(members), group_desc=f"G{name}", use_local_synchronization=self.plan.local
                )
        return {name: groups[name] for name in self.plan.groups_of(self.number)}

    def _stop(self, how: Stop) -> None:
        match how:
            case "sleep":
                self.end.wait()
            case "busy":
                while True:
                    sum(range(1_000_000))
            case "raise":
                raise ValueError("a sample that cannot be read")
            case "exit":
                self.fall.wait()
                os._exit(0)
            case "kill":
                self.fall.wait()
                os.kill(os.getpid(), signal.SIGKILL)


def _calls() -> Mapping[str, Callable[[Call, Any, Sequence[int]], Any]]:
    """Operation -> what begins it."""
    import torch
    from torch import distributed

    dtypes = {"Float": torch.float32, "Int": torch.int32, "Double": torch.float64}

    def tensor(call: Call, parts: int = 1) -> Any:
        return torch.zeros(call.count // parts, dtype=dtypes[call.dtype])

    return {
        "all_reduce": lambda call, group, members: distributed.all_reduce(tensor(call), group=group, async_op=True),
        "all_gather": lambda call, group, members: distributed.all_gather(
            [tensor(call) for _ in members], tensor(call), group=group, async_op=True
        ),
        "broadcast": lambda call, group, members: distributed.broadcast(
            tensor(call), members[0], group=group, async_op=True
        ),
        "reduce": lambda call, group, members: distributed.reduce(tensor(call), members[0], group=group, async_op=True),
        "barrier": lambda call, group, members: distributed.barrier(group=group, async_op=True),
        "all_to_all": lambda call, group, members: distributed.all_to_all_single(
            tensor(call), tensor(call), group=group, async_op=True
        ),
        "reduce_scatter": lambda call, group, members: distributed.reduce_scatter_tensor(
            tensor(call, len(members)), tensor(call), group=group, async_op=True
        ),
    }


def _finish(pending: list[Any]) -> None:
    while pending:
        pending.pop(0).wait()


def _load_torch() -> None:
    """Once for all ranks, which are forked from here. The first stack that is told as text takes a second."""
    from torch._C import _profiler as profiler

    profiler.symbolize_tracebacks([profiler.gather_traceback(python=True, script=False, cpp=False)])


def main() -> None:
    folder, (told, fall, dump, end) = Path(sys.argv[1]), map(int, sys.argv[2:])
    plan = Plan.from_json((folder / "plan.json").read_text())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # gloo aborts a rank whose peer sends what it does not expect
    os.environ.update(
        GLOO_SOCKET_IFNAME="lo", TORCH_FR_BUFFER_SIZE=str(plan.entries), TORCH_FR_CPP_STACK="0", OMP_NUM_THREADS="1"
    )
    _load_torch()
    ranks = {}
    for number in range(plan.size):
        rank = Rank(number, plan, folder, told, Gate(fall), Gate(dump), Gate(end))
        pid = os.fork()
        if pid == 0:
            rank.live()
        ranks[pid] = rank
    while ranks:
        pid, status = os.wait()
        ranks.pop(pid).tell("gone", status)
    os._exit(0)  # to take torch down takes a second


if __name__ == "__main__":
    main()
