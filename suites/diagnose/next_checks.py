"""What to do next, by the class of a verdict, where a complaint does not say it itself.

May import: facts.
"""

from __future__ import annotations

from collections.abc import Mapping

from suites.diagnose.facts import Class

_STACK = "`py-spy dump --pid PID` (with --native where a device is used) of the named process while it hangs"

NEXT: Mapping[Class, tuple[str, ...]] = {
    "none": (),
    "missing": (
        _STACK,
        "the named rank's log of that time: an early return, a branch on data, an iterator that ended early",
    ),
    "crashed": ("the named rank's own output and core file; what others say after it follows from it",),
    "mismatch": (
        "the code before the call: a branch that depends on rank or data, uneven shards, modules built in other order",
        "TORCH_DISTRIBUTED_DEBUG=DETAIL compares calls before they run",
    ),
    "cycle": (
        "the order in which these ranks call: ranks that share groups must enter them in one order",
        "of two ranks that exchange messages one must receive first, or both use one batched send and receive",
    ),
    "stuck": (
        _STACK,
        "the named rank's device: `nvidia-smi -q`, `dmesg | grep -i xid`, `npu-smi info -t health`",
    ),
    "joined": (
        "the path between the ranks: `opsdist perf allreduce` on the same hosts; link, port and NIC counters",
        "stacks of all ranks (`py-spy dump`), NCCL_DEBUG=INFO or HCCL's plog of all ranks",
        "do not raise the time-out: nothing shows that anything moves",
    ),
    "device": ("`opsdist info` on the named host; take the device out of service until it is healthy",),
    "transport": (
        "`opsdist info --hosts` on both ends (port, MTU, GID index, interface); `opsdist perf sendrecv` between them",
    ),
    "resource": ("the limit inside the worker (`opsdist info -t limits` started the same way), not in a login",),
    "config": ("`opsdist info --hosts` compares versions, interfaces and variables of all hosts",),
    "launch": ("`opsdist hosts` and a plain `ssh HOST true` to each host",),
    "corrupt": ("run again; if it stays with this host or device, take it out of service and test memory",),
    "slow": ("what else runs on that host; `opsdist info` for clocks, throttling, link rate",),
    "undecided": (
        "the logs of all ranks, each line with its rank: `srun --label`, `torchrun --tee 3`",
        "the stacks of all ranks while it hangs: `py-spy dump --nonblocking --pid PID` of each",
        "of torch a flight recorder dump of each: TORCH_FR_BUFFER_SIZE=2000, TORCH_NCCL_DUMP_ON_TIMEOUT=1",
    ),
}
