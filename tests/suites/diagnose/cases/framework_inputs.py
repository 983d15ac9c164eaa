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
)  # fmt: skip
