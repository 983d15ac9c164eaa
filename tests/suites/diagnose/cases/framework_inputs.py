"""What programs raise, and what the frameworks around torch say: DDP, Lightning, vLLM, SGLang, Ray."""

from __future__ import annotations

from collections.abc import Iterable

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


_HUB = "(ReadTimeoutError(\"HTTPSConnectionPool(host='hub.example', port=443): Read timed out. (read timeout=10)\"))"

CASES = (
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
         + raised("IndexError: index 7 is out of bounds", "(VllmWorker rank=1 pid=17) ERROR 06-15 11:30:16 [exec.py:5] ")
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
)  # fmt: skip
