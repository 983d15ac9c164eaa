"""What codes and complaints mean: how close to the cause, and what they prove."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.hccl_log import HcclLog
from suites.diagnose.evidence.hccl_texts import ROWS
from suites.diagnose.evidence.known import Known
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Level, Trouble, Who
from tests.suites.diagnose.evidence.hccl_lines import facts, of, record, troubles

CODES = {
    "EI0001": (Level.INITIATING, "config"), "EI0003": (Level.INITIATING, "crashed"),
    "EI0004": (Level.INITIATING, "config"), "EI0005": (Level.INITIATING, "mismatch"),
    "EI0007": (Level.INITIATING, "resource"), "EI0008": (Level.INITIATING, "config"),
    "EI0011": (Level.INITIATING, "resource"), "EI0014": (Level.INITIATING, "config"),
    "EI0016": (Level.INITIATING, "config"), "EI0019": (Level.INITIATING, "resource"),
    "EJ0001": (Level.INITIATING, "resource"), "EJ0002": (Level.INITIATING, "device"),
    "EJ0004": (Level.INITIATING, "config"), "EL0005": (Level.INITIATING, "resource"),
    "EI0010": (Level.TRANSPORT, "transport"), "EI0013": (Level.TRANSPORT, "transport"),
    "EI0012": (Level.TRANSPORT, None), "EI0002": (Level.TIMEOUT, None), "EI0006": (Level.TIMEOUT, None),
    "EI0009": (Level.TIMEOUT, None), "EI0015": (Level.TIMEOUT, None), "EE1002": (Level.TIMEOUT, None),
    "EI9999": (Level.CASCADE, None), "EE9999": (Level.CASCADE, None), "EH9999": (Level.CASCADE, None),
}  # fmt: skip


@pytest.mark.parametrize("form", ["{}: [PID: 31] 2026-03-01-08:00:00.250.000 text", "Some_Name({}): text", "{}: text"])
@pytest.mark.parametrize("code", CODES)
def test_each_code_in_all_its_forms(code: str, form: str) -> None:
    (trouble,) = troubles(form.format(code))
    assert (trouble.level, trouble.cause) == CODES[code]


def fed_by_turns(*lines: tuple[Who, str]) -> list[Trouble]:
    """Lines of a log that several write, with who is told around each."""
    reader = HcclLog()
    told = [fact for n, (who, text) in enumerate(lines, 1) for fact in reader.feed(Line(text, n, "job.log", who))]
    return of(Trouble, [*told, *reader.end()])


def test_a_code_that_is_only_mentioned_is_no_complaint() -> None:
    assert not troubles("see the chapter on EI0006 and EJ0002 in the manual")


def test_a_taken_port_is_the_cause_and_what_follows_is_not() -> None:
    told = troubles(
        "\n".join(
            [
                record(21, "[HcclSocket][Listen] socket type[1], listen on ip[198.51.100.4] and specific port[16666] "
                       "fail. Please check the port status and whether the port is been using by other process."),
                record(21, "[Wait][LinkEstablish]wait socket establish timeout, role[1] rank[12] timeout[120]",
                       "2026-03-01-08:02:00.000.000"),
            ]
        )
    )  # fmt: skip
    first, second = told
    assert (first.level, first.cause, first.about[0].who.pid) == (Level.INITIATING, "resource", 21)
    assert "16666" in first.what
    assert (second.level, second.cause, second.about) == (Level.TIMEOUT, None, ())


def test_a_port_that_is_down_is_the_device_of_that_process() -> None:
    (trouble,) = troubles("RuntimeError: EJ0002: [PID: 38] 2026-03-01-08:00:00.250.000 The network port is down.")
    assert (trouble.cause, trouble.about[0].kind, trouble.about[0].who.pid) == ("device", "device", 38)


def test_the_npu_that_waited_is_a_victim() -> None:
    line = (
        "The error from device(chipId:5, dieId:0), serial number is 3, hccl fftsplus task timeout occurred during task "
        "execution, stream_id:7, sq_id:7, task_id:12, stuck notify num:3, timeout:{}.[FUNC:Made][FILE:up.cc][LINE:1]"
    )
    (default,), (short,) = troubles(line.format(1836)), troubles(line.format(300))
    assert (default.level, default.about, default.known_as) == (Level.TIMEOUT, (), "hccl.idle")
    assert "1836" in default.what
    assert (short.level, short.about, short.known_as) == (Level.TIMEOUT, (), "hccl.notify")


def test_an_operator_that_failed_is_never_the_first() -> None:
    told = troubles(
        record(55, "[Wait][LinksEstablishCompleted] is failed. ret[9].").replace("python3", "")
        + "\ncall aclnnMoeDistributeDispatchV4 failed, error code is 561000"
    )
    assert [trouble.level for trouble in told] == [Level.TIMEOUT, Level.CASCADE]
    assert told[0].who.pid == 55


def test_a_late_dispatch_that_came_after_all_is_nothing() -> None:
    late = "[W301 08:00:00 made_up.cpp:1] [Rank 3] allreduce dispatch timeout."
    came = "[W301 08:01:00 made_up.cpp:1] [Rank 3] allreduce dispatch success. This warning log can be ignored."
    who = Who(rank=3)
    assert not troubles(f"{late}\n{came}", who)
    assert [trouble.level for trouble in troubles(late, who)] == [Level.TIMEOUT]


def test_no_abnormal_periods_clears_the_network() -> None:
    (trouble,) = of(Trouble, facts(record(3, "No abnormal periods were discovered. Check the behavior of the ranks.")))
    assert (trouble.known_as, trouble.cause) == ("hccl.behaviour", None)


def test_it_does_where_it_is_the_reason_of_a_code_too() -> None:
    (trouble,) = troubles("Get_Socket(EI0006): Getting socket times out. Reason: No abnormal periods were discovered.")
    assert trouble.known_as == "hccl.behaviour"


@pytest.mark.parametrize("told", ["timeout:1836.", "timeout=1836s.", "timeout:30min(default)."])
def test_the_default_time_in_all_its_forms(told: str) -> None:
    (trouble,) = troubles(
        f"hccl fftsplus task timeout occurred during task execution, stuck notify num:1, {told}[FUNC:X]"
    )
    assert (trouble.known_as, trouble.level) == ("hccl.idle", Level.TIMEOUT)


@pytest.mark.parametrize("kind", ["event wait", "notify wait", "wait"])
def test_a_wait_on_the_npu_that_timed_out_is_a_victim(kind: str) -> None:
    (trouble,) = troubles(
        f"The error from device(chipId:5, dieId:0), serial number is 3, {kind} timeout occurred during task execution, "
        "stream_id:4, sq_id:4, task_id:12, timeout=1868s.[FUNC:Made]"
    )
    assert (trouble.level, trouble.cause, trouble.about) == (Level.TIMEOUT, None, ())


@pytest.mark.parametrize(
    "text",
    [
        "there is an aicore error, core id is 0, error code = 0x800000",
        "there is an fftsplus aivector error exception, core id is 3",
        "Aicore kernel execute failed, device_id=4, stream_id=2, task_id=81, flip_num=0, fault kernel_name=MatMul_9a0",
    ],
)
def test_a_kernel_that_failed_is_of_its_own_process(text: str) -> None:
    (trouble,) = troubles(f"[ERROR] RUNTIME(91,python3):2026-03-01-08:00:00.250.000 [made.cc:1]92 Up:{text}")
    assert (trouble.level, trouble.cause, trouble.about[0].who.pid) == (Level.INITIATING, "crashed", 91)
    assert ("MatMul_9a0" in trouble.what) == ("MatMul_9a0" in text)


def test_a_copy_that_failed_is_a_path_at_nobodys_end() -> None:
    for kind in ("sdma", "fftsplus sdma"):
        (trouble,) = troubles(
            f"The error from device(chipId:1), serial number is 6. there is a {kind} error, channel 2"
        )
        assert (trouble.level, trouble.cause, trouble.about) == (Level.TRANSPORT, None, ())


def test_an_error_that_is_not_known_is_not_passed_over() -> None:
    (trouble,) = troubles(record(7, "[Init][CommRootInfoConfig]errNo[0x0000000005000002]Made up failed."))
    assert (trouble.known_as, trouble.level, trouble.who.pid) == ("hccl.unknown", Level.CASCADE, 7)
    known = troubles(record(7, "[Made]up failed.") + "\n" + record(7, "[Wait][P2P]Wait timeout for get P2P status"))
    assert [one.known_as for one in known] == ["hccl.connect"]


@pytest.mark.parametrize("module", ["RUNTIME", "ASCENDCL", "TDT", "DRV"])
def test_nor_is_one_of_other_parts_of_cann(module: str) -> None:
    (trouble,) = troubles(record(7, "Made:up failed.").replace("HCCL", module))
    assert (trouble.known_as, trouble.level) == ("hccl.unknown", Level.CASCADE)


def test_a_process_without_an_error_tells_of_none() -> None:
    assert not troubles(record(7, "[Made]up done.", level="INFO"))


def test_blocks_that_ranks_write_by_turns_are_kept_apart() -> None:
    told = fed_by_turns(
        (Who(rank=1), "[ERROR] 2026-03-01-08:00:00 (PID:11, Device:1, RankID:1) ERR02200 DIST call hccl api failed."),
        (Who(rank=0), "EJ0001: 2026-03-01-08:00:00.100.200 Failed to initialize the HCCP process."),
    )
    (busy,) = [trouble for trouble in told if trouble.known_as == "hccl.npu_busy"]
    assert (busy.who.rank, busy.who.pid) == (0, None)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name} {row.wakes}")
def test_only_what_is_ones_own_or_a_path_proves_something(row: Known) -> None:
    if row.level > Level.TRANSPORT:
        assert row.cause is None
        assert row.about == "nobody"
