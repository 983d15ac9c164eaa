"""The store at start-up: masters that cannot be reached, and keys that do not come."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.torch_store import Store
from suites.diagnose.facts import Level, Trouble, Waiting, Who
from tests.suites.diagnose.evidence.torch_lines import of, told

TIMED_OUT = "TimeoutError: The client socket has timed out after 900s while trying to connect to ({host}, 29400)."
RETRY = (
    "[W611 03:04:05.6 socket.cpp:663] [c10d] The client socket has failed to connect to [{host}]:29400 (errno: {why})."
)
REFUSED, TIME_OUT = "111 - Connection refused", "110 - Connection timed out"
NAMELESS = (
    "[W611 03:04:05.6 socket.cpp:764] [c10d] The IPv6 network addresses of ({host}, 29400) cannot be retrieved "
    "(gai error: -2 - Name or service not known)."
)


@pytest.mark.parametrize(
    ("text", "level", "cause", "name"),
    [
        (TIMED_OUT.format(host="127.0.0.1"), Level.TRANSPORT, "config", "torch.master_loopback"),
        (TIMED_OUT.format(host="localhost"), Level.TRANSPORT, "config", "torch.master_loopback"),
        (TIMED_OUT.format(host="192.0.2.7"), Level.TIMEOUT, None, "torch.master_unreachable"),
        (TIMED_OUT.format(host="255.255.255.0"), Level.INITIATING, "config", "torch.master_invalid"),
        (RETRY.format(host="::ffff:255.255.0.0", why=TIME_OUT), Level.INITIATING, "config", "torch.master_invalid"),
        (RETRY.format(host="::ffff:192.0.2.7", why=REFUSED), Level.TIMEOUT, None, "torch.master_unreachable"),
        (RETRY.format(host="node01", why=TIME_OUT), Level.TIMEOUT, None, "torch.master_unreachable"),
        (
            RETRY.format(host="node01", why="113 - No route to host"),
            Level.TRANSPORT,
            "transport",
            "torch.master_no_route",
        ),
        (
            NAMELESS.format(host="node09") + "\n" + TIMED_OUT.format(host="node09"),
            Level.INITIATING,
            "config",
            "torch.master_nameless",
        ),
        (
            NAMELESS.format(host="node08") + "\n" + TIMED_OUT.format(host="node09"),
            Level.TIMEOUT,
            None,
            "torch.master_unreachable",
        ),
        (
            "[c10d] TCP client failed to connect/validate to host 192.0.2.7:29400 - timed out (try=1, timeout=9ms): x",
            Level.TIMEOUT,
            None,
            "torch.master_unreachable",
        ),
    ],
)
def test_why_the_master_is_not_reached(text: str, level: Level, cause: str | None, name: str) -> None:
    (trouble,) = of(Trouble, told(Store(), text))
    assert (trouble.level, trouble.cause, trouble.known_as) == (level, cause, name)
    assert trouble.remedy


@pytest.mark.parametrize(
    "line",
    [
        NAMELESS.format(host="node01"),
        RETRY.format(host="localhost", why="99 - Cannot assign requested address"),
        RETRY.format(host="::ffff:127.0.0.1", why=REFUSED),
    ],
)
def test_what_is_said_in_good_times_too(line: str) -> None:
    assert not told(Store(), line)


UNIQUE = (
    "[rank5]: torch.distributed.DistBackendError: [{own}] is setting up NCCL communicator and retrieving ncclUniqueId "
    "from [0] via c10d key-value store by key '0', but store->get('0') got error: {why}"
)


@pytest.mark.parametrize(
    ("text", "waits", "on"),
    [
        (
            UNIQUE.format(own=5, why="wait timeout after 9000ms, keys: /default_pg/0//cuda//0"),
            Who(rank=5, group="0", group_rank=5),
            Who(rank=0, group="0", group_rank=0),
        ),
        (
            UNIQUE.format(own=1, why="wait timeout after 9000ms, keys: //worker/attempt_0/default_pg/0//3//cuda//0"),
            Who(rank=5, group="3", group_rank=1),
            Who(group="3", group_rank=0),
        ),
        (
            UNIQUE.format(own=5, why="Connection reset by peer"),
            Who(rank=5, group="default", group_rank=5),
            Who(rank=0, group="default", group_rank=0),
        ),
        (
            "[rank2]: torch.distributed.DistStoreError: wait timeout after 9000ms, keys: /default_pg/0//cpu//0/7",
            Who(rank=2, group="0", group_rank=2),
            Who(rank=7, group="0", group_rank=7),
        ),
        (
            "[rank2]: torch.distributed.DistStoreError: wait timeout after 9000ms, keys: /default_pg/0//cuda//1:2",
            Who(rank=2, group="0", group_rank=2),
            Who(rank=1, group="0", group_rank=1),
        ),
    ],
)
def test_a_key_names_the_rank_that_has_to_write_it(text: str, waits: Who, on: Who) -> None:
    facts = told(Store(), text)
    (waiting,) = of(Waiting, facts)
    assert (waiting.who, waiting.on) == (waits, (on,))
    assert [trouble.level for trouble in of(Trouble, facts)] == ([Level.TIMEOUT] if "timeout" in text else [])


def test_keys_of_programs_name_nobody() -> None:
    assert not told(Store(), "RuntimeError: wait timeout after 9000ms, keys: /worker_count")
