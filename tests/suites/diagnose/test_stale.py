"""Lines of the kernel beside a job's evidence: only those of its time may be why it hangs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suites.diagnose.case import case_of
from suites.diagnose.facts import Call, Class, Fact, Level, Place, Raised, Signature, Stamp, Subject, Trouble, Who
from suites.diagnose.judge import judge
from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up.hangs import dumps, job

_HANG = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
_XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4321, name=python3, GPU has fallen off the bus."
_KILLED = "Out of memory: Killed process 4321 (python3) total-vm:81kB, anon-rss:70kB, file-rss:0kB"
_LINK = "mlx5_core 0000:17:00.0 ens1f0: Link down"
_EAST = timezone(timedelta(hours=8))

_FORMS: Mapping[str, Callable[[datetime, str], str]] = {
    "dmesg -T": lambda at, text: f"[{at:%a %b} {at.day:2} {at:%H:%M:%S %Y}] {text}",
    "dmesg --time-format iso": lambda at, text: f"{at.astimezone(_EAST):%Y-%m-%dT%H:%M:%S},123456+08:00 {text}",
    "journal short-iso": lambda at, text: f"{at.astimezone(_EAST):%Y-%m-%dT%H:%M:%S%z} node3 kernel: {text}",
    "journal short": lambda at, text: f"{at:%b %d %H:%M:%S} node3 kernel: {text}",
    "syslog": lambda at, text: f"{at:%b} {at.day:2} {at:%H:%M:%S} node3 kernel: [ 9912.104512] {text}",
    "syslog with a level": lambda at, text: f"<3>{at:%b} {at.day:2} {at:%H:%M:%S} node3 kernel: {text}",
    "ISO in UTC": lambda at, text: f"{at:%Y-%m-%dT%H:%M:%S}.500Z node3 kernel: [ 9912.104512] {text}",
    "ISO without a zone": lambda at, text: f"{at:%Y-%m-%d %H:%M:%S} | {text}",
}


def dump(folder: Path, missing: int | None = 1, began: float = _HANG.timestamp()) -> None:
    """Of a job that hangs at _HANG, in recordings of its calls."""
    made = job.joined(4, "world", "0", 5, 1) if missing is None else job.missing(4, "world", (missing,), "0", 5, 1)
    for rank in made.ranks:
        for call in rank.made:
            call.at += began - 1000.0
            call.ended = None if call.ended is None else call.ended + began - 1000.0
    dumps.write(made, folder)


def logs(folder: Path, head: str) -> None:
    """Of the same job, as its watchdogs tell it."""
    lines = [
        f"{head}[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=52, OpType=ALLREDUCE, "
        "NumelIn=11, NumelOut=11, Timeout(ms)=240000) ran for 240001 milliseconds before timing out."
        for rank in range(4)
    ]
    (folder / "job.log").write_text("\n".join(lines) + "\n")


def judged(folder: Path, *lines: str) -> dict[str, Any]:
    """Beside lines of a host's log, which stand in a file of their own."""
    if lines:
        (folder / "node3.txt").write_text("\n".join(lines) + "\n")
    return diagnose([str(folder)], ["opsdist"], now()).record()


def said(record: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    return record["verdict"]["class"], record["verdict"]["culprits"]


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("days", [-40, -2, 2, 40])
@pytest.mark.parametrize("text", [_XID, _KILLED, _LINK])
def test_a_line_of_another_time_is_seen_and_blamed_by_nobody(tmp_path: Path, form: str, days: int, text: str) -> None:
    dump(tmp_path)
    alone = judged(tmp_path)
    record = judged(tmp_path, _FORMS[form](_HANG + timedelta(days=days), text))
    assert said(record) == said(alone)
    (note,) = [note for note in record["notes"] if "not taken for its cause" in note]
    assert f"{abs(days)} days {'older' if days < 0 else 'later'}" in note
    assert "node3.txt:1" in note
    assert " of node3 at " in note


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("minutes", [-20, 0, 3])
def test_a_line_of_the_jobs_time_is_the_cause(tmp_path: Path, form: str, minutes: int) -> None:
    dump(tmp_path, missing=None)
    told = _FORMS[form]
    record = judged(
        tmp_path, told(_HANG - timedelta(days=3), _LINK), told(_HANG + timedelta(minutes=minutes), _XID),
    )  # fmt: skip
    assert record["verdict"]["class"] == "device"
    assert [culprit["device"] for culprit in record["verdict"]["culprits"]] == ["0000:3b:00.0"]
    assert sum("ens1f0" in note for note in record["notes"]) == 1


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("head", ["[E304 12:00:00.160832730 ProcessGroupNCCL.cpp:629] ", "2026-03-04 12:00:00,500 - "])
def test_logs_tell_the_time_of_a_job_too(tmp_path: Path, form: str, head: str) -> None:
    logs(tmp_path, head)
    alone = judged(tmp_path)
    assert said(judged(tmp_path, _FORMS[form](_HANG - timedelta(days=2), _XID))) == said(alone)
    assert said(judged(tmp_path, _FORMS[form](_HANG - timedelta(hours=2), _XID)))[0] == "device"


@pytest.mark.parametrize("form", _FORMS)
def test_the_year_may_turn_between_a_line_and_the_job(tmp_path: Path, form: str) -> None:
    logs(tmp_path, "[E101 00:20:00.160832730 ProcessGroupNCCL.cpp:629] ")
    year = datetime(2027, 1, 1, tzinfo=UTC)
    assert said(judged(tmp_path, _FORMS[form](year - timedelta(minutes=5), _XID)))[0] == "device"
    assert said(judged(tmp_path, _FORMS[form](year - timedelta(days=5), _XID)))[0] != "device"


@pytest.mark.parametrize("hours", [-13, 13])
@pytest.mark.parametrize("form", ["dmesg -T", "syslog", "ISO without a zone"])
def test_hours_between_zones_that_are_not_told_are_no_difference(tmp_path: Path, form: str, hours: int) -> None:
    dump(tmp_path, missing=None)
    assert said(judged(tmp_path, _FORMS[form](_HANG + timedelta(hours=hours), _XID)))[0] == "device"


@pytest.mark.parametrize("form", ["dmesg --time-format iso", "journal short-iso", "ISO in UTC"])
@pytest.mark.parametrize("beside", ["", "[E304 12:30:00.160832730 ProcessGroupNCCL.cpp:629] "])
def test_hours_count_where_zones_are_told_and_calls_recorded(tmp_path: Path, form: str, beside: str) -> None:
    dump(tmp_path)
    if beside:
        logs(tmp_path, beside)
    alone = judged(tmp_path)
    record = judged(tmp_path, _FORMS[form](_HANG - timedelta(hours=5), _XID))
    assert said(record) == said(alone)
    assert any(note.startswith("5 hours older") and "at 2026-03-04 07:00 UTC" in note for note in record["notes"])


@pytest.mark.parametrize("line", [f"[ 9912.104512] {_XID}", f"[12345.678901] {_XID}", f"[    7.104512] {_XID}", _XID])
def test_a_line_without_a_time_counts(tmp_path: Path, line: str) -> None:
    dump(tmp_path, missing=None)
    assert said(judged(tmp_path, line))[0] == "device"


def test_seconds_since_the_boot_tell_the_time_where_the_kernel_has_said_when_it_booted(tmp_path: Path) -> None:
    dump(tmp_path, missing=None)
    set_at = int(_HANG.timestamp()) - 5 * 86400
    clock = f"[    2.500000] rtc_cmos 00:01: setting system clock to 2026-02-27T12:00:00 UTC ({set_at})"
    old, new = f"[ 8000.000000] {_XID}", f"[431900.000000] {_XID}"
    assert said(judged(tmp_path, clock, old))[0] == "joined"
    assert said(judged(tmp_path, clock, old, new))[0] == "device"
    assert said(judged(tmp_path, clock, "[    0.000000] Linux version 6.1.0 (made up)", old))[0] == "device"


def test_a_line_counts_beside_evidence_without_times(tmp_path: Path) -> None:
    logs(tmp_path, "")
    assert said(judged(tmp_path, _FORMS["dmesg -T"](_HANG, _XID)))[0] == "device"


def test_a_line_counts_beside_calls_whose_clock_tells_no_date(tmp_path: Path) -> None:
    dump(tmp_path, missing=None, began=1000.0)
    assert said(judged(tmp_path, _FORMS["dmesg -T"](_HANG, _XID)))[0] == "device"


def test_a_line_of_a_clock_that_is_not_set_counts(tmp_path: Path) -> None:
    dump(tmp_path, missing=None)
    unset = datetime(1970, 1, 1, 3, tzinfo=UTC)
    assert said(judged(tmp_path, _FORMS["dmesg -T"](unset, _XID)))[0] == "device"


def test_a_job_of_which_only_the_start_is_timed_may_have_ended_days_later(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text(
        "2026-03-04 12:00:00,500 - node3:71:71 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in step\n'
        "RuntimeError: NCCL communicator was aborted on rank 0.\n"
    )
    assert said(judged(tmp_path, _FORMS["dmesg -T"](_HANG + timedelta(days=6), _XID)))[0] == "device"


def test_many_old_lines_do_not_push_out_the_one_that_counts(tmp_path: Path) -> None:
    dump(tmp_path, missing=None)
    told = _FORMS["journal short-iso"]
    old = [told(_HANG + timedelta(days=-9, minutes=minute), _XID) for minute in range(0, 600, 5)]
    later = [told(_HANG + timedelta(days=9, minutes=minute), _XID) for minute in range(30)]
    record = judged(tmp_path, *old, told(_HANG + timedelta(seconds=5), _XID), *later)
    assert record["verdict"]["class"] == "device"
    assert record["verdict"]["initiating"]["line"] == len(old) + 1
    assert len(record["notes"]) == 1


def test_notes_of_many_kinds_are_few(tmp_path: Path) -> None:
    dump(tmp_path)
    lines = [_FORMS["dmesg -T"](_HANG - timedelta(days=3), _LINK.replace("f0:", f"f{port}:")) for port in range(9)]
    notes = judged(tmp_path, *lines)["notes"]
    assert len(notes) == 3
    assert notes[-1].startswith("7 more lines")


def _facts(pending: bool, ended: str) -> list[Fact]:
    state: Any = "pending" if pending else "entered"
    found: list[Fact] = [
        Call(Who(rank=rank), Place("dump"), "0", 3, Signature("allreduce"), state, entered=_HANG.timestamp())
        for rank in range(3)
    ]
    if ended:
        where = Place("log", 9, ended, _HANG.timestamp() + 60)
        found.append(Raised(Who(rank=2, host="node3", pid=4321), where, "ValueError", ended))
    return found


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    pending=st.booleans(), ended=st.sampled_from(["", "bad batch", "timed out"]),
    hours=st.one_of(st.integers(-20000, -28), st.integers(28, 20000)), zoned=st.booleans(),
    cause=st.sampled_from(["device", "resource", "crashed", "transport", None]), level=st.sampled_from(list(Level)),
    who=st.sampled_from([Who(), Who(host="node3"), Who(host="node3", pid=4321), Who(rank=1)]),
    front=st.booleans(),
)  # fmt: skip
def test_a_line_of_another_time_never_changes_class_or_culprits(
    pending: bool, ended: str, hours: int, zoned: bool, cause: Class | None, level: Level, who: Who, front: bool,
) -> None:  # fmt: skip
    facts = _facts(pending, ended)
    if hours > 0 and not (pending or ended):
        return  # nothing tells when such a job ended
    time = _HANG.timestamp() + hours * 3600.0
    place = Place("node3.txt", 4, "words", time, Stamp(time, zoned))
    line = Trouble(who, place, level, "words", cause, (Subject("rank", who),), (), "kernel.xid")
    alone, beside = (judge(case_of(one)) for one in (facts, [line, *facts] if front else [*facts, line]))
    assert (beside.name, beside.culprits, beside.about) == (alone.name, alone.culprits, alone.about)
