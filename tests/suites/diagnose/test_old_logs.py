"""Plogs of earlier jobs in the folder in which CANN keeps all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suites.diagnose.offline import diagnose
from suites.report import now

_BIND = "socket type[1], listen on ip[192.0.2.160] and specific port[16666] fail."
_LATE = "[Wait][LinkEstablish]wait socket establish timeout, role[1] rank[12] timeout[120]"


def plog(folder: Path, pid: int, day: int, text: str) -> None:
    line = f"[ERROR] HCCL({pid},python3):2026-03-{day:02}-10:00:00.100.200 [made.cc:1] [{pid}]{text}\n"
    (folder / f"plog-{pid}_202603{day:02}100000000.log").write_text(line)


def answer(folder: Path) -> dict[str, Any]:
    verdict: dict[str, Any] = diagnose([str(folder)], ["opsdist"], now()).record()["verdict"]
    return verdict


@pytest.mark.parametrize(("day", "name"), [(1, "undecided"), (8, "undecided"), (10, "resource")])
def test_what_was_more_than_a_day_before_is_of_another_job(tmp_path: Path, day: int, name: str) -> None:
    plog(tmp_path, 99, day, _BIND)
    plog(tmp_path, 31, 10, _LATE)
    assert answer(tmp_path)["class"] == name


def test_a_row_of_them_is_one_job(tmp_path: Path) -> None:
    for day in (8, 9, 10):
        plog(tmp_path, 30 + day, day, _BIND if day == 8 else _LATE)
    assert answer(tmp_path)["class"] == "resource"


def test_a_log_of_their_time_keeps_them(tmp_path: Path) -> None:
    plog(tmp_path, 99, 1, _BIND)
    plog(tmp_path, 31, 10, _LATE)
    (tmp_path / "train.log").write_text("[rank3]: EI0006: [PID: 7] 2026-03-01-10:02:00.100.200 late\n")
    assert answer(tmp_path)["class"] == "resource"
