"""Status files and rank tables, and what hccl_test prints."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from suites.diagnose.evidence import hccl_benchmark, hccl_rank_table, hccl_status
from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Class, Group, Identity, Level, Seen, Track, Trouble, Unread, Who
from tests.suites.diagnose.evidence.hccl_lines import of


def source(content: Any, name: str = "made_up.json") -> Source:
    data = content if isinstance(content, bytes) else json.dumps(content, indent=1).encode()
    return Source(name, lambda: io.BytesIO(data))


def status(**last: Any) -> dict[str, Any]:
    call = {"seq": 7, "op_type": "HcclAllreduce", "pg_id": "3", "comm_ids": "0 1 4 5 ", "status": "start", **last}
    return {"last_comm_op": [call], "is_master": False, "exception_message": "", "global_pg_end_time": 0}


NAME = "out/torch_hccl_status-5_192.0.2.7_5_8_4711_1772352000000.log"


@pytest.mark.parametrize(
    ("state", "completed", "pending"), [("start", 6, ["pending"]), ("end", 7, []), ("init", 6, ["entered"])]
)
def test_the_last_call_of_each_group(state: str, completed: int, pending: list[str]) -> None:
    file = source(status(status=state), NAME)
    assert hccl_status.recognises(file.open().read(4096), file.name)
    told = list(hccl_status.read(file))
    (track,) = of(Track, told)
    assert track.who == Who(rank=5, host="192.0.2.7", pid=4711, device="npu5")
    assert (track.group, track.enqueued, track.completed) == ("3", 7, completed)
    assert [call.state for call in track.pending] == pending
    assert track.history[0][1].op == "allreduce"
    assert [(fact.key, fact.ranks) for fact in of(Group, told)] == [("3", (0, 1, 4, 5))]


def test_all_ranks_are_not_listed() -> None:
    assert [fact.ranks for fact in of(Group, hccl_status.read(source(status(comm_ids="all"), NAME)))] == [None]


def test_a_status_without_a_name_that_tells_has_its_rank_inside() -> None:
    file = source({**status(), "global_rank": "9", "local_rank": 1, "node_ip": "192.0.2.8"})
    assert of(Track, hccl_status.read(file))[0].who == Who(rank=9, host="192.0.2.8", local_rank=1)


def test_the_exception_in_a_status_is_read_as_a_log() -> None:
    file = source({**status(), "exception_message": "wait\nEI0002: it timed out"}, NAME)
    assert [(fact.known_as, fact.who.rank) for fact in of(Trouble, hccl_status.read(file))] == [("hccl.notify", 5)]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b'{"last_comm_op": [{"seq": 1e400}, 3], "is_master": 1}', b"\xff" * 99]
)
def test_damaged_status_files(data: bytes) -> None:
    assert not of(Track, hccl_status.read(source(data, NAME)))


def table(addresses: list[str], **more: Any) -> dict[str, Any]:
    devices = [
        {"device_id": str(rank), "device_ip": address, "rank_id": str(rank)} for rank, address in enumerate(addresses)
    ]
    server = {"server_id": "192.0.2.7", "device": devices}
    return {"status": "completed", "version": "1.0", "server_count": "1", "server_list": [server], **more}


def test_a_rank_table_says_who_is_where() -> None:
    file = source(table([f"198.51.100.{rank}" for rank in range(4)]))
    assert hccl_rank_table.recognises(file.open().read(4096), file.name)
    told = list(hccl_rank_table.read(file))
    assert not of(Trouble, told)
    assert of(Identity, told)[3].who == Who(
        rank=3, host="192.0.2.7", device="npu3", group="hccl_world_group", group_rank=3
    )
    assert [fact.size for fact in of(Group, told)] == [4]
    assert of(Identity, told)[0].place.line is not None


def test_placeholders_for_addresses_name_the_ranks() -> None:
    told = of(Trouble, hccl_rank_table.read(source(table(["-.-.-.-"] * 8))))
    assert {(fact.level, fact.cause) for fact in told} == {(Level.INITIATING, "config")}
    (none,) = told
    assert "which is none" in none.what
    assert none.about[0].file == "made_up.json"
    assert none.what.endswith("(ranks 0-7)")
    assert [one.who.rank for one in none.about[1:]] == list(range(8))
    assert "hccn_tool -i N -ip -g" in none.remedy


@pytest.mark.parametrize("more", [{"status": "initializing"}, {"server_count": "2"}, {"server_list": 3}])
def test_other_faults_of_a_table(more: dict[str, Any]) -> None:
    told = of(Trouble, hccl_rank_table.read(source(table(["198.51.100.1"], **more))))
    assert [(fact.cause, fact.about[0].kind) for fact in told] == [("config", "file")]


@pytest.mark.parametrize(("ranks", "faults"), [([0, 1, 2], 0), ([0, 2], 1), ([0, 1, 1], 1)])
def test_the_second_version(ranks: list[int], faults: int) -> None:
    listed = [{"rank_id": rank, "local_id": rank, "device_id": rank} for rank in ranks]
    file = source({"version": "2.0", "status": "completed", "rank_count": len(ranks), "rank_list": listed})
    assert hccl_rank_table.recognises(file.open().read(4096), file.name)
    told = list(hccl_rank_table.read(file))
    assert [fact.who.rank for fact in of(Identity, told)] == ranks
    assert len(of(Trouble, told)) == faults


@pytest.mark.parametrize("data", [b'{"rank_list": [', b'{"rank_list": 7}', b'{"server_list": [', b"", b"\xff\x00" * 50])
def test_damaged_tables(data: bytes) -> None:
    told = list(hccl_rank_table.read(source(data)))
    assert not of(Identity, told)
    assert of(Trouble, told) or of(Unread, told) or of(Seen, told)


@pytest.mark.parametrize(
    ("text", "level", "cause"),
    [
        ("hccl interface return err ./made/up.cc:5, retcode: 7 ", Level.INITIATING, "resource"),
        ("hccl interface return err ./made/up.cc:5, retcode: 9 ", Level.TIMEOUT, None),
        ("hccl interface return err ./made/up.cc:5, retcode: 4 ", Level.CASCADE, None),
        ("This is an error in init_hcclComm.", Level.CASCADE, None),
        ("local rank_id 5, check result failed, 67108864          | 2630.20        | 23.7          | failed",
         Level.INITIATING, "corrupt"),
        ("32768             | 901.10         | 0.03636              | failed", Level.INITIATING, "corrupt"),
        ("MPID_nem_tcp_init(379)..: gethostbyname failed, node01 (errno 2)", Level.INITIATING, "config"),
    ],
)  # fmt: skip
def test_what_hccl_test_says(text: str, level: Level, cause: Class | None) -> None:
    (trouble,) = KnownTexts(hccl_benchmark.ROWS).feed(Line(text, 1, "hccl_test.txt"))
    assert isinstance(trouble, Trouble)
    assert (trouble.level, trouble.cause) == (level, cause)


def test_a_good_run_of_hccl_test_says_nothing() -> None:
    for text in ("64 | 901.10 | 0.03636 | success", "64 | 900.00 | 0.07282 | NULL"):
        assert not list(KnownTexts(hccl_benchmark.ROWS).feed(Line(text, 1, "hccl_test.txt")))
