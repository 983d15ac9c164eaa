"""What programs raise, and what the frameworks around torch say: DDP, Lightning, vLLM, SGLang, Ray."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.suites.diagnose.cases.case import Case
from tests.suites.diagnose.cases.torch_inputs import late, stood


def raised(error: str, before: str = "", file: str = "/srv/train.py") -> str:
    """A traceback, with something in front of each line."""
    lines = (
        "Traceback (most recent call last):",
        f'  File "{file}", line 88, in main',
        "    step(batch)",
        f'  File "{file}", line 31, in step',
        "    return call(batch)",
        *error.splitlines(),
    )
    return "".join(f"{before}{line}\n" for line in lines)


def waiting(ranks: Iterable[int], seq: int = 33) -> str:
    return "".join(late(rank, seq) + stood(rank, seq, seq, seq - 1) for rank in ranks)


def signalled(rank: int, enqueued: int, completed: int, by: str = "this local rank") -> str:
    """That dumps are to be written."""
    return (
        f"[rank{rank}]:[E131 01:11:22.04119{rank:04} ProcessGroupNCCL.cpp:1870] [PG ID 0 PG GUID 0(default_pg) Rank "
        f"{rank}] Received a dump signal due to a collective timeout from {by} and we will try our best to dump the "
        f"debug info. Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}.This is most likely\n"
    )


def grouped(places: Mapping[int, int], size: int) -> str:
    """Of ranks in a group that has no name, by their places in it."""
    return "".join(
        f"[rank{rank}]:[E131 01:11:21.7941{rank:04} ProcessGroupNCCL.cpp:633] [Rank {place}] Watchdog caught "
        f"collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLGATHER, NumelIn=1, NumelOut={size}, "
        f"Timeout(ms)=600000) ran for 600023 milliseconds before timing out.\n[rank{rank}]:[E131 01:11:21.7946{rank} "
        f"ProcessGroupNCCL.cpp:2289] [PG ID 1 PG GUID 9 Rank {place}]  failure detected by watchdog at work sequence "
        "id: 1 PG status: last enqueued work: 1, last completed work: -1\n"
        for rank, place in places.items()
    )


def models(rank: int, own: int, other: int, its: int) -> str:
    """What DDP says of models that differ."""
    found = f"Rank {rank} has {own} params, while rank {other} has inconsistent {its} params."
    return raised(f"RuntimeError: DDP expects same model across all ranks, but {found}", f"[rank{rank}]: ")


_HUB = "(ReadTimeoutError(\"HTTPSConnectionPool(host='hub.example', port=443): Read timed out. (read timeout=10)\"))"

CASES = (
    Case("C127 only that the engine has ended", {"job.log": "(APIServer pid=100) ERROR 01-31 04:23:45 "
         "[async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n"},
         "undecided"),
    *(
        Case(f"C35 an exception that sounds like a peer's: {error.partition(':')[0]}",
             {"job.log": raised(error, "[rank3]: ") + waiting((0, 1, 2))},
             "crashed", ("rank 3",), ("allreduce", 33), error.partition(":")[0])
        for error in (
            f"requests.exceptions.ReadTimeout: {_HUB}",
            "requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'reset by peer'))",
            "TypeError: prepare() got an unexpected keyword argument 'timeout'",
            "KeyError: 'socket'",
            "TimeoutError: the scorer did not answer",
        )
    ),
    Case("C35 an exception that is a peer's", {"job.log": raised(
        "TimeoutError: call of step timed out", "[rank3]: ", "/venv/site-packages/torch/distributed/rpc/api.py"
    )}, "undecided"),
    *(
        Case(f"C69 no rendezvous: {error}", {"job.log": raised(f"torch.distributed.elastic.rendezvous.api.{error}")},
             "undecided")
        for error in ("RendezvousConnectionError: The connection to the C10d store has failed. See inner exception.",
                      "RendezvousClosedError", "RendezvousTimeoutError")
    ),
    Case("C104 a worker of vLLM", {"job.log": "(Worker_TP0 pid=16) INFO 06-15 11:30:15 [worker.py:44] step\n"
         + raised("IndexError: index 7 is too large", "(VllmWorker rank=1 pid=17) ERROR 06-15 11:30:16 [exec.py:5] ")
         + "".join(f"(VllmWorker rank={rank} pid={16 + rank}) {late(rank, 33)}".replace("E131 01:11", "E615 11:45")
                   for rank in (0, 2, 3))},
         "crashed", ("rank 1",), ("allreduce", 33), "IndexError"),
    Case("C104 a scheduler of SGLang, which tells its rank once", {"job.log": "[2026-01-31 02:05:39 TP4] Scheduler hit "
         "an exception: " + raised("IndexError: index 7 is out of bounds")}, "crashed", ("rank 4",), None,
         "IndexError"),
    Case("C104 a trial of Determined", {"job.log": "".join(
        f"[2026-01-31T02:05:39.1{number}Z] fa88a9df || [rank=2] {line}\n"
        for number, line in enumerate(raised("ValueError: bad shard").splitlines()))},
         "crashed", ("rank 2",), None, "ValueError"),
    Case("C110 a worker of vLLM is gone", {"job.log": "(EngineCore_DP0 pid=15) ERROR 06-15 11:30:16 [executor.py:154] "
         "Worker proc VllmWorker-1 died unexpectedly, shutting down executor.\n"}, "crashed", ("rank 1",), None,
         "died unexpectedly"),
    Case("C110 a worker of vLLM is gone, on Ray", {"job.log": "ERROR 06-15 11:30:16 [ray_executor.py:464] "
         "RayWorkerProc rank=[3] died unexpectedly, shutting down executor.\n"}, "crashed", ("rank 3",), None,
         "died unexpectedly"),
    Case("C110 a worker of vLLM that waited in vain is gone", {"job.log": waiting((0, 1)) + "(EngineCore_DP0 pid=15) "
         "ERROR 01-31 12:30:16 [executor.py:154] Worker proc VllmWorker-1 died unexpectedly, shutting down executor\n"},
         "joined", (), ("allreduce", 33)),
    Case("C110 a child of Lightning", {"job.log": "[rank: 1] Child process with PID 4123 terminated with code -9. "
         "Forcefully terminating all other processes to avoid zombies\n"}, "crashed", ("rank 1",), None,
         "Child process"),
    Case("C110 a child of Lightning that had waited", {"job.log": waiting((0, 1)) + "[rank: 1] Child process with PID "
         "4123 terminated with code -6. Forcefully terminating all other processes to avoid zombies\n"},
         "joined", (), ("allreduce", 33)),
    Case("C80 nothing but dump signals", {"job.log": "".join(signalled(rank, 22, 21) for rank in (1, 2, 3))
         + signalled(0, 21, 21, " rank 1")}, "missing", ("rank 0",), ("unknown", 22)),
    Case("C80 the call, then a dump signal", {"job.log": "".join(
        late(rank, 22, "BROADCAST") + stood(rank, 22, 23, 21) + signalled(rank, 23, 21) for rank in (1, 2, 3))
         + signalled(0, 21, 21, " rank 1")}, "missing", ("rank 0",), ("broadcast", 22)),
    Case("C100 a dump signal of a rank that waits for nothing", {"job.log": signalled(1, -1, -1) + signalled(2, 9, 9)},
         "undecided"),
    Case("C11 told where it is waited for", {"job.log": "".join(
        late(rank, 2109, "_ALLGATHER_BASE", numel, 2 * numel).replace("Watchdog caught collective operation timeout: ",
            "Work ").replace(") ran for", ") timed out in blocking wait (TORCH_NCCL_BLOCKING_WAIT=1). ran for")
        for rank, numel in ((0, 40960), (1, 262711296)))}, "mismatch", (), ("allgather", 2109)),
    Case("C12 models of DDP", {"job.log": models(1, 38, 0, 36) + models(0, 36, 1, 38)}, "mismatch", (), None,
         "inconsistent"),
    Case("C105 a model of none", {"job.log": models(0, 161, 1, 0)}, "undecided"),
    Case("C105 a model that is read after a time-out", {"job.log": late(5, 1, "ALLGATHER", 1, 8)
         + models(5, 128, 0, 150665)}, "undecided"),
    Case("C06 no route for Gloo", {"rank_1.log": raised("RuntimeError: [gloo/transport/tcp/pair.cc:799] connect "
         "[192.0.2.7]:33333: No route to host")}, "transport", ("link rank 1 - 192.0.2.7",), None, "No route"),
    Case("C45 workers of a data loader", {"rank_1.log": raised("RuntimeError: DataLoader worker (pid(s) 4711, 4712) "
         "exited unexpectedly")}, "crashed", ("rank 1",), None, "4711"),
    Case("C30 half of a group, of one of two nodes", {"job.log": grouped({rank: rank for rank in range(8)}, 16)},
         "undecided", (), ("allgather", 1), suspects=()),
    Case("C80 a rank by its place between others", {"job.log": grouped({3: 0, 4: 1, 6: 3}, 4)}, "missing", ("rank 5",),
         ("allgather", 1), apart="undecided"),
    Case("C80 a place that several ranks may have", {"job.log": grouped({1: 0, 4: 1, 7: 3}, 4)}, "missing",
         ("group rank 2",), ("allgather", 1), apart="undecided"),
    Case("C35 all ranks raise the same", {"job.log": "".join(
        raised("ValueError: bad shard", f"[rank{rank}]: ") for rank in (2, 0, 1))}, "crashed",
         ("rank 0", "rank 1", "rank 2"), None, "ValueError"),
    Case("C35 what a child of torch's spawn raised", {"job.log": raised(
        "torch.multiprocessing.spawn.ProcessRaisedException: ") + "\n-- Process 1 terminated with the following "
         "error:\n" + raised("ZeroDivisionError: division by zero")}, "crashed", (), None, "ZeroDivisionError"),
)  # fmt: skip
