"""What wrappers of lines tell, and what stays for the readers of libraries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence.peel import Peeler
from suites.diagnose.facts import NOBODY, Who

NCCL = "node01:11:22 [3] NCCL INFO Using network IB"
TORCH = "[E424 01:11:21.160832730 ProcessGroupNCCL.cpp:629] [Rank 2] Watchdog caught something"
MOMENT = 1796195941.5


@pytest.mark.parametrize(
    ("line", "text", "who"),
    [
        (f"[1,2]<stdout>:{NCCL}", NCCL, Who(rank=2)),
        (f"[1,2]<stderr>: {NCCL}", NCCL, Who(rank=2)),
        (f"[prterun-node01-77@1,12]<stdout>: {NCCL}", NCCL, Who(rank=12)),
        (f"[rank3]:{TORCH}", TORCH, Who(rank=3)),
        (f"trainer/2 [1]:{TORCH}", TORCH, Who(host="trainer/2", local_rank=1)),
        (f"trainer/2 {NCCL}", NCCL, Who(host="trainer/2")),
        (f"[default0]:[rank3]: {TORCH}", TORCH, Who(rank=3, local_rank=0)),
        (f"1: [rank5]:{TORCH}", TORCH, Who(rank=5)),
        (f"2026-03-14 03:11:02,478 - Tuner - INFO - [rank5]: {TORCH}", TORCH, Who(rank=5)),
        (f"[80746] [rank0]:{TORCH}", TORCH, Who(rank=0)),
        (
            f"\x1b[36m(RayWorkerWrapper pid=4009, ip=192.0.2.8)\x1b[0m {TORCH}",
            TORCH,
            Who(pid=4009, address="192.0.2.8"),
        ),
        (f"[36m(Worker pid=4009, ip=2001:db8::8)[0m {TORCH}", TORCH, Who(pid=4009, address="2001:db8::8")),
        (f"(Worker pid=9) {NCCL} [repeated 3x across cluster]", NCCL, Who(pid=9)),
        ("(EngineCore_DP0 pid=323240) INFO 12-09", "INFO 12-09", Who(pid=323240)),
        (f"(Worker_TP1 pid=17) {TORCH}", TORCH, Who(rank=1, pid=17)),
        (f"(Worker_PP1_TP1 pid=17) {TORCH}", TORCH, Who(pid=17)),
        (f"(VllmWorker rank=3 pid=17) {TORCH}", TORCH, Who(rank=3, pid=17)),
        (
            f"(PolicyWorker[rank=31] pid=17, ip=192.0.2.8) {TORCH}",
            TORCH,
            Who(rank=31, pid=17, address="192.0.2.8"),
        ),
        ("(Worker pid=9) ERROR 06-15 11:30:16 [multi/executor.py:527] KeyError: 7", "KeyError: 7", Who(pid=9)),
        ("ERROR 06-15 11:30:16 worker_base.py:574] KeyError: 7", "KeyError: 7", NOBODY),
        ("[2026-12-02 07:19:01 TP4] Watchdog", "Watchdog", Who(rank=4)),
        ("[2026-12-02 07:19:01 DP1 TP4 EP4] Watchdog", "Watchdog", NOBODY),
        ("[2026-12-02T07:19:01.5Z] fa88a9df || [rank=2] KeyError: 7", "KeyError: 7", Who(rank=2)),
        (f"[pod/train-worker-1/pytorch] {NCCL}", NCCL, Who(host="train-worker-1")),
        (f"train-worker-1 pytorch {NCCL}", NCCL, Who(host="train-worker-1")),
        (f"web_1  | {NCCL}", NCCL, Who(host="web_1")),
        (f"Dec  2 07:19:01 node01 python[4711]: {NCCL}", NCCL, Who(host="node01", pid=4711)),
        ("Dec  2 07:19:01 node01 kernel: NVRM: Xid", "NVRM: Xid", Who(host="node01")),
        ("Dec  2 07:19:01 node01 dockerd[12]: hello", "hello", Who(host="node01")),
        (f"node01: {TORCH}", TORCH, Who(host="node01")),
        (f"logs/rank_3.log:120:{TORCH}", TORCH, Who(rank=3)),
        (f"logs/rank_3.log-121-{TORCH}", TORCH, Who(rank=3)),
        (f"train.log-7-[rank2]: {TORCH}", TORCH, Who(rank=2)),
        ("wrote train.log:12 lines", "wrote train.log:12 lines", NOBODY),
        (f"> {TORCH}", TORCH, NOBODY),
        (f">  {TORCH}", TORCH, NOBODY),
        (f"> > {TORCH}", TORCH, NOBODY),
        ('>   File "a.py", line 1, in f', '  File "a.py", line 1, in f', NOBODY),
    ],
)
def test_wrappers_are_taken_off(line: str, text: str, who: Who) -> None:
    peeled = Peeler().peel(line)
    assert (peeled.text, peeled.who) == (text, who)


@pytest.mark.parametrize(
    "line",
    [
        f"  | 2026-12-02T07:19:01.500Z | {NCCL}",
        f"2026-12-02T07:19:01.5Z {NCCL}",
        f"2026-12-02 07:19:01,500 - {NCCL}",
        f"[2026-12-02 07:19:01.5] {NCCL}",
        f"2026-12-02T09:19:01.500+02:00 node01 python[4711]: {NCCL}",
        f"2026-12-02T01:49:01.500-0530 {NCCL}",
    ],
)
def test_a_full_time_is_read(line: str) -> None:
    peeled = Peeler().peel(line)
    assert (peeled.text, peeled.time) == (NCCL, MOMENT)


@pytest.mark.parametrize(
    "line",
    [
        NCCL,
        TORCH,
        "[Rank 3] Watchdog",
        "[PG 1 Rank 0] Exception",
        "[ERROR] HCCL(11,python):2026-12-02-07:19:01.500.001 [a.cc:1] [22] text",
        "[1] misc/shmutils.cc:103 NCCL WARN Cuda failure",
        "1: [HorovodAllreduce_a, HorovodAllreduce_b]",
        "0: 12.5 GB/s",
        "2026-99-99 99:99:99",
        "[2026-12-02 07:19:01.123: W horovod/common/stall_inspector.cc:107] One",
    ],
)
def test_what_belongs_to_the_text_stays(line: str) -> None:
    peeled = Peeler(f"{line}\nsomething\nelse\nthere\n").peel(line)
    assert (peeled.text, peeled.who, peeled.time) == (line, NOBODY, None)


def test_a_number_before_every_line_is_a_launchers_label() -> None:
    peeler = Peeler("0: a\n1: b\n11: c\n1:   File\n")
    assert peeler.peel('11:   File "a.py", line 1').who == Who(rank=11)
    assert peeler.peel('11:   File "a.py", line 1').text == '  File "a.py", line 1'
    peeler = Peeler("[0] a\n[1] b\n[1] c\n")
    assert peeler.peel(f"[1] {NCCL}").who == Who(rank=1)
    assert peeler.peel("[1] misc/shmutils.cc:103 NCCL WARN Cuda").who == NOBODY


def test_numbers_before_some_lines_are_no_labels() -> None:
    peeler = Peeler("0: a\n1: b\n2: c\n" + "another line\n" * 5)
    assert peeler.peel("1: b").who == NOBODY


@given(st.text(alphabet="[](){}|:,. >\x1b0123456789rankpid=TZ-<stdou", max_size=200))
def test_any_line_is_taken(line: str) -> None:
    Peeler(line).peel(line)


@pytest.mark.parametrize("piece", ["(", "[1,", "a", "a ", "> ", "\x1b[", "\x1b]", "0", "node1-", "[repeated 1"])
def test_a_long_line_of_one_kind_is_taken(piece: str) -> None:
    line = (piece * 65536)[:65536]
    Peeler(line).peel(line)
