"""What misleads: the cause last in the file, exceptions that follow, clocks that differ, several jobs,
groups that fit no
plan, dumps and logs mixed."""

from __future__ import annotations

from collections.abc import Iterable

from tests.suites.diagnose.cases.case import Case
from tests.suites.diagnose.cases.dump_inputs import at, dump, entry
from tests.suites.diagnose.cases.torch_inputs import all_late, late, stood


def raised(rank: int, error: str, second: int, file: str = "train.py") -> str:
    stamp = f"2026-01-31T12:{second // 60:02}:{second % 60:02}.000Z "
    return "".join(
        f"{stamp}[rank{rank}]: {line}\n"
        for line in ("Traceback (most recent call last):", f'  File "{file}", line {rank + 3}, in step', error)
    )


def in_group(rank: int, group: int, group_rank: int, seq: int, op: str = "ALLREDUCE", done: int | None = None) -> str:
    """Of a watchdog that names its group."""
    return (
        f"[rank{rank}]:[E131 12:22:50.103110475 ProcessGroupNCCL.cpp:629] [PG ID {group} PG GUID "
        f"{group * 7}(tp{group}) Rank "
        f"{group_rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=8, "
        f"NumelOut=8, Timeout(ms)=240000) ran for 240000 milliseconds before timing out.\n"
        f"[rank{rank}]:[E131 12:22:50.186106643 ProcessGroupNCCL.cpp:2168] [PG ID {group} PG GUID "
        f"{group * 7}(tp{group}) Rank "
        f"{group_rank}]  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {seq}, "
        f"last completed work: {seq - 1 if done is None else done}\n"
    )


def shm(second: int, host: str = "node05") -> str:
    return (
        f"[2026-01-31 12:{second // 60:02}:{second % 60:02}] {host}:701:733 [2] misc/shmutils.cc:88 NCCL WARN Error: "
        f"failed to "
        f"extend /dev/shm/nccl-Qx81aa to 33030532 bytes, error: No space left on device (28)\n"
    )


def memory(rank: int, second: int) -> str:
    return raised(rank, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total "
                  "capacity of 79.10 GiB", second)  # fmt: skip


def xid(host: str, second: int) -> str:
    return (
        f"2026-01-31T12:{second // 60:02}:{second % 60:02}.000000+00:00 {host} kernel: NVRM: Xid (PCI:0000:3b:00): 79, "
        f"pid=4711, name=python3, GPU has fallen off the bus.\n"
    )


def desync(rank: int, lines: Iterable[str]) -> str:
    head = (
        f"[rank{rank}]:[E131 ProcessGroupNCCL.cpp:1182] [Rank {rank}] NCCL watchdog thread terminated with exception\n"
    )
    return head + "".join(f"{line}\n" for line in lines)


_RING = tuple(range(4))

CASES = (
    Case("H1 first in time, last in the file", {"job.log": memory(3, 600) * 3 + memory(4, 605) + shm(1)}, "resource",
         ("host node05",), None, "No space left"),
    Case("H2 exceptions of many, one is first", {"job.log": "".join(raised(r, "KeyError: 'loss'", 300 + r) for r in (
        0, 1, 3))
                                                + raised(2, "ValueError: bad shard", 60)}, "crashed", ("rank 2",), None,
         "ValueError"),
    Case("H3 an exception after its own time-out is none", {"job.log": "2026-01-31T12:00:00.000Z "
         + late(1, 50).replace("\n", "\n2026-01-31T12:00:00.000Z ", 0) + "".join(
             f"2026-01-31T12:00:01.000Z {late(r, 50)}" for r in (0, 2))
         + raised(1, "RuntimeError: CUDA error: the launch timed out and was terminated", 30)
         + raised(0, "KeyError: 'result'", 31)}, "joined missing undecided"),
    Case("H4 an exception while others wait", {"job.log": all_late((0, 1, 3), 50) + raised(2,
        "IndexError: list index", 5)},
         "crashed", ("rank 2",), ("allreduce", 50), "IndexError"),
    Case("H5 memory of the GPU of one, others wait", {"job.log": all_late((0, 1, 3), 50) + memory(2, 5)}, "resource",
         ("rank 2",), ("allreduce", 50), "out of memory"),
    Case("H6 an interrupt is no crash", {"job.log": all_late((0, 1, 2, 3), 50) + raised(0, "KeyboardInterrupt", 900)},
         "joined", (), ("allreduce", 50)),
    Case("H7 a card is lost", {"node02.log": xid("node02", 0), "job.log": all_late(_RING, 9)}, "device", (
        "device 0000:3b:00.0 of node02",), None,
         "Xid"),
    Case("H8 two groups, one rank behind in its own", {"job.log": in_group(0, 1, 0, 40) + in_group(1, 1, 1, 40)
                                                       + in_group(2, 2, 0, 12) + in_group(3, 2, 1, 11)}, "stuck",
         ("rank 3",), ("allreduce", 11)),
    Case("H9 ranks of subgroups are not the world's", {"job.log": in_group(6, 3, 1, 7) + in_group(7, 3, 2, 7)},
         "missing", ("group rank 0",), apart="undecided"),
    Case("H10 the default group in a subgroup's clothes", {"job.log": "".join(
        late(r, 30).replace(f"[Rank {r}]", f"[Rank {r % 2}]") for r in range(4))}, "undecided joined"),
    Case("H11 a dump and logs of one group", {
        "nccl_trace_rank_0.json": at(4, 9, 8), "nccl_trace_rank_1.json": at(4, 9, 8), "nccl_trace_rank_2.json": at(4,
        8, 8),
        "nccl_trace_rank_3.json": at(4, 9, 8), "job.log": "".join(late(r, 9) + stood(r, 9, 9, 8) for r in (0, 1, 3))},
        "missing", ("rank 2",), ("allreduce", 9)),
    Case("H12 logs of all, dumps of some", {
        "nccl_trace_rank_0.json": at(4, 9, 8), "job.log": "".join(late(r, 9) + stood(r, 9, 9, 8) for r in range(4))},
        "joined", (), ("allreduce", 9)),
    Case("H13 a barrier is an allreduce of one element", {
        "nccl_trace_rank_0.json": dump(2, entry(3, "all_reduce_barrier", "scheduled")),
        "job.log": late(0, 3, "ALLREDUCE", 1) + late(1, 3, "ALLREDUCE", 1)}, "joined", (), None),
    Case("H14 an empty dump of one that never called", {
        **{f"nccl_trace_rank_{r}.json": at(4, 1, 0) for r in (0, 1, 3)}, "nccl_trace_rank_2.json": dump(4)}, "missing",
        ("rank 2",), ("allreduce", 1)),
    Case("H15 a dump cut off in the middle", {
        **{f"nccl_trace_rank_{r}.json": at(4, 5, 4) for r in (0, 1, 3)}, "nccl_trace_rank_2.json": at(4, 5, 4)[:300]},
        "undecided", suspects=(2,)),
    Case("H16 two jobs in one folder", {
        "a/job.log": all_late((0, 1, 3), 50), "b/job.log": "INFO: training finished\n" * 4}, "missing undecided",
        ("rank 2",)),
    Case("H17 the desync report", {"job.log": desync(0, (
        "[rank0]:[E131 ProcessGroupNCCL.cpp:1182] [Rank 0] Timeout at collective: nothing",
        "\t - [0] Timeout at collective: ALLREDUCE, #31",
        "\t - To our best knowledge, the lagging ranks that caused this timeout are:",
        "\t - [2] finished collective #30, but didn't join collective #31 (count from 1)",
        "\t - Snapshot of ranks' latest states:",
        "\t\t#31 started ranks:", "\t\t  [0,1,3] started ALLREDUCE", "\t\t#30 finished ranks:",
        "\t\t  [2] finished ALLREDUCE"))}, "missing", ("rank 2",), ("allreduce", 31)),
    Case("H18 a watchdog that was stuck", {"job.log": "[rank1]:[F131 ProcessGroupNCCL.cpp:1480] [PG ID 0 PG GUID "
                                                      "0(default_pg) "
                                           "Rank 1] [PG ID 0 PG GUID 0(default_pg) Rank 1] ProcessGroupNCCL's "
                                           "watchdog got "
                                           "stuck for 480 seconds without making progress in monitoring enqueued "
                                           "collectives.\n"}, "undecided"),
    Case("H19 names of Python's errors in what a program logs", {"job.log": "INFO retrying after TimeoutError: read "
        "timed out\n"
                                                                 "INFO epoch 3 done, 0 errors, ValueError: none "
                                                                 "seen\n" * 3},
         "none undecided"),
    Case("H20 a warning that NCCL takes back", {"job.log": "node01:10:11 [0] NCCL INFO NET/Plugin: Could not find: "
                                                "libnccl-net.so. Using internal network plugin.\nnode01:10:11 [0] "
                                                "NCCL INFO "
                                                "NET/IB : No device found.\nnode01:10:11 [0] NCCL INFO Using network "
                                                "Socket\n"},
         "none undecided"),
    Case("H21 a progress bar and time-outs", {"job.log": "".join(f"\rstep {n}/900" for n in range(30)) + "\n"
                                              + all_late((0, 1, 2), 88) }, "joined undecided", ()),
    Case("H22 the same watchdog in two files", {"out.log": all_late((0, 1, 3), 50), "err.log": all_late((0, 1, 3), 50)},
         "missing", ("rank 2",), ("allreduce", 50), apart="undecided missing"),
    Case("H23 a port that is retried and then had", {"job.log": "[W131 socket.cpp:464] [c10d] The server socket "
                                                                "cannot be "
                                                    "initialized on [::]:29500 (errno: 97 - Address family not "
                                                    "supported by "
                                                    "protocol).\n" * 4}, "none undecided"),
    Case("H24 tries before the master is there", {"job.log": "[W131 socket.cpp:697] [c10d] The client socket has "
                                                 "failed to connect to [localhost]:29500 (errno: 111 - Connection "
                                                 "refused).\n" * 4},
         "none undecided"),
    Case("H25 a signal among time-outs", {"job.log": all_late((0, 1, 3), 50)
                                          + "srun: error: node03: task 2: Segmentation fault\n"}, "crashed", (
                                              "rank 2",),
         ("allreduce", 50), "Segmentation fault"),
    Case("H26 what waited is aborted", {"job.log": all_late((0, 1, 3), 50) + "".join(
        f"srun: error: node03: task {r}: Aborted (core dumped)\n" for r in (0, 1, 3))}, "missing", ("rank 2",),
        ("allreduce", 50)),
    Case("H27 Terminated by the launcher", {"job.log": all_late((0, 1, 3), 50) + "srun: error: node03: task 2: "
        "Terminated\n"},
         "missing", ("rank 2",), ("allreduce", 50)),
    Case("H28 a peer that is gone is named", {"job.log": "[rank1]: RuntimeError: "
                                                         "[../third_party/gloo/gloo/transport/tcp/"
                                              "pair.cc:534] Connection closed by peer [192.0.2.9]:40112\n"},
                                              "undecided"),
    Case("H29 what a stalled loader says", {"job.log": all_late((0, 1, 3), 50) + "[rank2]: RuntimeError: DataLoader "
        "worker (pid "
                                            "991) is killed by signal: Killed.\n"}, "crashed", ("rank 2",),
         ("allreduce", 50)),
    Case("H30 cut off before a rank's group is told", {"job.log": (
        "".join(late(r, 52) + stood(r, 52, 52, 51) for r in range(4)))[:-100]}, "undecided joined"),
    Case("H31 cut off within a number", {"job.log": (
        "".join(late(r, 900) + stood(r, 900, 900, 899) for r in (0, 1, 3))
        + late(2, 900).partition("SeqNum=9")[0] + "SeqNum=9")}, "undecided joined missing", ("rank 2",)),
)  # fmt: skip
