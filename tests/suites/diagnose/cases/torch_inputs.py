"""What torch's process groups say, their watchdogs, barriers, store, and comparisons; and Horovod's inspector."""

from __future__ import annotations

from collections.abc import Iterable

from tests.suites.diagnose.cases.case import Case


def late(rank: int, seq: int, op: str = "ALLREDUCE", numel: int | None = 4096, out: int | None = None,
         named: bool = True) -> str:  # fmt: skip
    """What a watchdog says."""
    numbers = "" if numel is None else f"NumelIn={numel}, NumelOut={numel if out is None else out}, "
    before = (
        f"[rank{rank}]:[E131 01:11:21.16083{rank:04} ProcessGroupNCCL.cpp:629] "
        if named
        else ("[E ProcessGroupNCCL.cpp:475] ")
    )
    return (
        f"{before}[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, "
        f"{numbers}Timeout(ms)=1800000) ran for 180001{rank % 10} milliseconds before timing out.\n"
    )


def all_late(ranks: Iterable[int], *told: object) -> str:
    return "".join(late(rank, *told) for rank in ranks)  # type: ignore[arg-type]


def stood(rank: int, seq: int, enqueued: int, completed: int) -> str:
    """What newer ones say as well."""
    return (
        f"[rank{rank}]:[E131 12:22:50.18610{rank:04} ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank "
        f"{rank}] "
        f" failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {enqueued}, last "
        f"completed work: {completed}\n"
    )


def differ(one: int, other: int, mine: str, its: str) -> str:
    return (
        f"[rank{one}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {one} is running collective: "
        f"CollectiveFingerPrint({mine}, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)), but Rank "
        f"{other} is running collective: CollectiveFingerPrint({its}, TensorDeviceTypes=TensorOptions(dtype=float "
        f"(default), device=cuda)).\n"
    )


_SHORT = "SequenceNumber=7, OpType=_ALLGATHER_BASE, TensorShape=[359, 1, 1435, 16], TensorDtypes=BFloat16"
_LONG = "SequenceNumber=7, OpType=_ALLGATHER_BASE, TensorShape=[359, 1, 1436, 16], TensorDtypes=BFloat16"
_CAST = "SequenceNumber=21, OpType=BROADCAST, TensorShape=[1], TensorDtypes=Long"
_SUM = "SequenceNumber=21, OpType=ALLREDUCE, TensorShape=[], TensorDtypes=Float"
_SLOW = "sizes [48, 12, 3, 3] appears not to match sizes of the same param in process 0."

CASES = (
    Case("C11", {"job.log": differ(1, 2, _SHORT, _LONG)}, "mismatch", (), ("allgather", 7), "Detected mismatch"),
    Case("C11 three against one", {"job.log": "".join(differ(rank, 2, _SHORT, _LONG) for rank in (0, 1, 3))},
        "mismatch",
         ("rank 2",), ("allgather", 7), "Detected mismatch"),
    Case("C13", {"job.log": differ(1, 0, _CAST, _SUM)}, "mismatch", (), ("broadcast", 21), "Detected mismatch"),
    Case("C13 three against one", {"job.log": "".join(differ(1, rank, _CAST, _SUM) for rank in (0, 2, 3))}, "mismatch",
         ("rank 1",), ("allreduce", 21), "Detected mismatch"),
    Case("C12 a length in place of an operation",
         {"job.log": "".join(differ(rank, 3, _SUM, "SequenceNumber=0OpType=REDUCE") for rank in range(3))
          + differ(3, 0, _CAST, "SequenceNumber=0OpType=REDUCE")}, "mismatch", ("rank 3",), ("allreduce", 21)),
    Case("C29", {"job.log": all_late(range(1, 8), 4, "BROADCAST", 112)}, "missing", ("rank 0",), ("broadcast", 4),
         apart="undecided", suspects=(0,)),
    Case("C30 all are there, and the device is behind",
         {"job.log": "".join(late(rank, 52) + stood(rank, 52, 60, 51) for rank in range(4))}, "joined", (),
         ("allreduce", 52)),
    Case("C31", {"job.log": all_late(range(4), 640, "_ALLGATHER_BASE", 1024, 8192)
                 + all_late(range(4, 8), 640, "REDUCE", 1)}, "mismatch", (), ("allgather", 640)),
    Case(
        "C31 one against the others",
        {"job.log": "".join(late(r, 640, "REDUCE" if r < 7 else "BROADCAST", 1) + stood(r, 640, 640,
            639) for r in range(8))},
        "mismatch", ("rank 7",), ("reduce", 640),
    ),
    Case("C31 one against the others, of no named group", {
        "job.log": all_late(range(7), 640, "REDUCE", 1) + late(7, 640, "BROADCAST", 1)}, "mismatch", (), ("reduce",
        640)),
    Case("C33", {"rank_2.log": late(2, 9001, "_ALLGATHER_BASE", 1000, 4000)}, "undecided", (), ("allgather", 9001),
         suspects=(0, 1, 3)),
    Case("C33 all four", {"job.log": all_late(range(4), 9001, "_ALLGATHER_BASE", 1000, 4000)}, "joined", (),
         ("allgather", 9001)),
    Case("C33 one of four is missing", {"job.log": all_late((0, 1, 3), 9001, "_ALLGATHER_BASE", 1000, 4000)}, "missing",
         ("rank 2",), ("allgather", 9001), apart="undecided", suspects=(2,)),
    Case(
        "C34 all ranks of a host",
        {"rank_0.log": "[rank0]: RuntimeError: [Rank 0]: Ranks 4, 5, 6, 7 failed to pass monitoredBarrier in 2000000 "
            "ms\n"},
        "missing", ("rank 4", "rank 5", "rank 6", "rank 7"), ("barrier", None),
    ),
    Case(
        "C35",
        {"job.log": "[rank3]: RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while "
            "waiting "
         "for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n"
         "[rank0]: RuntimeError: [Rank 0]: Ranks 3 failed to pass monitoredBarrier in 30000 ms\n"},
        "undecided",
    ),
    Case(
        "C36 a barrier without contradiction",
        {"job.log": "".join(f"[rank{rank}]: RuntimeError: Rank {rank} successfully reached monitoredBarrier, but "
            f"received "
                            f"errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty "
                            f"rank.\n"
                            for rank in (1, 2))
         + "[rank0]: RuntimeError: [Rank 0]: Ranks 3 failed to pass monitoredBarrier in 30000 ms\n"},
        "missing", ("rank 3",), ("barrier", None),
    ),
    Case(
        "C35 by an exception that came first",
        {"job.log": "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"train.py\", line 10, in main\n"
         "[rank3]: ValueError: bad shard\n"
         "[rank0]: RuntimeError: [Rank 0]: Ranks 3 failed to pass monitoredBarrier in 30000 ms\n"},
        "crashed", ("rank 3",), None, "ValueError",
    ),
    Case("C69", {"rank_5.log": "TimeoutError: The client socket has timed out after 1800s while trying to connect to "
                 "(127.0.0.1, 42649).\n"}, "config", (), None, "127.0.0.1"),
    Case("C69 newer", {"rank_5.log": "[rank5]: torch.distributed.DistNetworkError: The client socket has timed out "
        "after "
                       "600000ms while trying to connect to (localhost, 29500).\n"}, "config", (), None, "localhost"),
    Case("C71", {"rank_1.log": "[W socket.cpp:663] [c10d] The client socket has failed to connect to "
                 "[::ffff:255.255.0.0]:29500 (errno: 110 - Connection timed out).\n"}, "config", (), None,
                 "255.255.0.0"),
    Case("C70 no name", {"rank_1.log": "[W131 socket.cpp:697] [c10d] The IPv6 network addresses of (node99x, 29500) "
        "cannot be "
                         "retrieved (gai error: -2 - Name or service not known).\n[E131 socket.cpp:1019] [c10d] The "
                         "client "
                         "socket has timed out after 60000ms while trying to connect to (node99x, 29500).\n"}, "config",
         (), None, "node99x"),
    Case(
        "C75",
        {"job.log": "".join(
            f"[E ProcessGroupNCCL.cpp:458] [Rank {rank}] Watchdog caught collective operation timeout: "
            f"WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 256248{rank}7 milliseconds before "
            f"timing out.\n" for rank, seq in ((0, 96120), (7, 64088)))},
        "undecided",
    ),
    Case("C76 one step behind, no group named", {"job.log": "".join(late(rank, 50 - (rank == 3), named=False)
                                                                  for rank in range(4))},
         "stuck", ("rank 3",), ("allreduce", 49)),
    Case("C77", {"job.log": all_late(range(64, 68), 1559, "_REDUCE_SCATTER_BASE", 3121908768, 32519883)}, "undecided",
        (),
         ("reduce_scatter", 1559), suspects=(0, 63, 95)),
    Case(
        "C79",
        {"job.log": "(RayWorkerWrapper pid=4009) [rank1]:[E ProcessGroupNCCL.cpp:1537] [PG 1 Rank 1] Timeout at NCCL "
            "work: "
         "158046, last enqueued NCCL work: 158046, last completed NCCL work: 158045.\n(RayWorkerWrapper pid=4009) "
         "[rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=158046, OpType=GATHER, NumelIn=2867200, NumelOut=0, Timeout(ms)=600000) ran for 600027 "
         "milliseconds before timing out.\n"},
        "undecided", (), ("gather", 158046),
    ),
    Case("C78 memory that no GPU has", {"job.log": all_late((0, 2, 3), 31, "ALLGATHER", 1, 4)
                                        + "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
                                            "88000000.00 "
                                        "GiB. GPU 1 has a total capacity of 79.10 GiB\n"}, "missing", ("rank 1",),
         ("allgather", 31), apart="undecided", suspects=(1,)),
    Case("C80 one does not complain", {"job.log": "".join(late(r, 33) + stood(r, 33, 33, 32) for r in (0, 1, 2, 4, 5,
        6, 7))},
         "missing", ("rank 3",), ("allreduce", 33), apart="undecided", suspects=(3,)),
    Case("C81 the shortest iterator", {"job.log": "".join(late(r, 900) + stood(r, 900, 900, 899) for r in (0, 1, 3))
                                       + "[rank2]:[E131 12:22:51.186102222 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID "
                                       "0(default_pg) Rank 2]  failure detected by watchdog at work sequence id: 880 "
                                       "PG "
                                       "status: last enqueued work: 880, last completed work: 880\n"},
         "missing stuck", ("rank 2",)),
    Case(
        "C105",
        {"rank_3.log": f"RuntimeError: replicas[0][0] in this process with {_SLOW}\n  what():  [Rank 3] Watchdog "
            f"caught "
         "collective operation timeout: WorkNCCL(OpType=BROADCAST, Timeout(ms)=60000) ran for 65026 milliseconds "
         "before "
         "timing out.\n"},
        "undecided",
    ),
    Case("C107", {"job.log": all_late((0, 1, 3, 4, 6, 7), 70426, "ALLREDUCE", 1)}, "missing", ("rank 2", "rank 5"),
         ("allreduce", 70426), apart="undecided", suspects=(2, 5)),
    Case("C107 one is behind", {"job.log": all_late((0, 1, 2, 3), 70426, "ALLREDUCE", 1) + late(4, 70425, "ALLREDUCE",
        1)},
         "stuck missing", ("rank 4",), ("allreduce", 70425)),
    Case("C109", {"job.log": late(1, 52, "ALLREDUCE", 11) + stood(1, 52, 52, 51) + late(2, 52, "ALLREDUCE", 11)
                  + stood(2, 52, 52, 51)}, "missing undecided", ("rank 0",), ("allreduce", 52), suspects=(0,)),
    Case("C109 all of them", {"job.log": "".join(late(r, 52, "ALLREDUCE", 11) + stood(r, 52, 52, 51) for r in range(
        4))},
         "joined", (), ("allreduce", 52)),
    Case("C94 the port is taken", {"job.log": "[rank0]: torch.distributed.DistNetworkError: The server socket has "
        "failed to "
                                   "listen on any local network address. port: 29500, useIpv6: false, code: -98, name: "
                                   "EADDRINUSE, message: address already in use\n"}, "resource", ("rank 0",), None,
         "EADDRINUSE"),
    Case(
        "C110 what a process that ended did to others",
        {"job.log": "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"train.py\", line 88, in step\n"
         "[rank2]: ZeroDivisionError: float division by zero\n"
         + "".join(f"[rank{rank}]: torch.distributed.DistBackendError: NCCL error, remote process exited or there was "
             f"a "
                   f"network error, ncclRemoteError\n" for rank in (0, 1, 3))},
        "crashed", ("rank 2",), None, "ZeroDivisionError",
    ),
    Case("C123", {"rank_1.log": "RuntimeError: [enforce fail at /src/gloo/transport/tcp/device.cc:84] ifa != nullptr. "
        "Unable "
                  "to find address for: ^lo\n"}, "config", ("rank 1",), None, "^lo"),
    Case("C123 in two lines", {"rank_1.log": "RuntimeError: [enforce fail at /src/gloo/transport/tcp/device.cc:84]\n  "
        "ifa != "
                               "nullptr. Unable to find address for: ^docker0\n"}, "config", ("rank 1",), None,
                               "^docker0"),
    Case(
        "C17",
        {"job.log": "[1,0]<stderr>:[2026-01-31 12:00:00.123: W /src/horovod/common/stall_inspector.cc:105] One or "
            "more tensors "
         "were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of "
         "ranks "
         "for more than 60 seconds.\n[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:1: "
         "[Tape_Allreduce/cond_163/then/_1304/Tape_Allreduce/cond_163/HorovodAllreduce_AddN_103_0, "
         "Tape_Allreduce/cond_164/HorovodAllreduce_1 ...]\n"},
        "missing", ("rank 1",), None,
    ),
    Case(
        "C18 who is ready",
        {"job.log": "WARNING: One or more tensors were submitted to be reduced, gathered or broadcasted by subset of "
            "ranks and "
         "are waiting for remainder of ranks for more than 60 seconds.\nStalled ops:\nHorovodAllreduce_grad_7 [ready "
         "ranks: 0, 2, 3]\n"},
        "missing", ("rank 1",), None,
    ),
)  # fmt: skip
