"""The record of a suite as monitors and schedulers want it, with their codes."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from opsdist_cli.output.adapters import ADAPTERS, adapted

STATUSES = ("pass", "info", "warn", "fail", "skip", "error")


def finding(status: str, check: str = "a.b", device: str | None = None, message: str = "it is so") -> dict[str, Any]:
    subject = {"host": "n1", **({"device": device} if device else {})}
    return {"check": check, "status": status, "subject": subject, "message": message, "remedy": None, "evidence": {}}


def record(*findings: dict[str, Any], code: int = 0) -> dict[str, Any]:
    counts = Counter(each["status"] for each in findings)
    return {
        "opsdist": "9.9", "ended": "2026-01-02T03:04:05.5Z", "exit_code": code, "findings": list(findings),
        "counts": {status: counts[status] for status in STATUSES},
    }  # fmt: skip


WELL = record(finding("pass"), finding("info"), finding("skip"))
WARNED = record(finding("pass"), finding("warn", "x.y", "npu3"))
SICK = record(
    finding("warn"), finding("fail", "ascend.link_down", "npu3", "no\nlink | at all"), finding("error", "t.hung")
)
HUNG = record(finding("pass"), finding("error", "tools.hung"))
NOTHING = record(finding("skip"), code=3)


@pytest.mark.parametrize(
    ("format_", "codes"),
    [
        ("nagios", (0, 1, 2, 2, 3)),
        ("npd", (0, 0, 1, 1, 2)),
        ("slurm-prolog", (0, 0, 1, 1, 0)),
    ],
)
def test_codes_are_those_of_the_consumer(format_: str, codes: tuple[int, ...]) -> None:
    assert tuple(adapted(format_, each)[1] for each in (WELL, WARNED, SICK, HUNG, NOTHING)) == codes


def test_prometheus_has_the_codes_of_opsdist() -> None:
    assert [adapted("prometheus", each)[1] for each in (WELL, NOTHING)] == [0, 3]


def test_nagios() -> None:
    first, *rest = adapted("nagios", SICK)[0].splitlines()
    assert first == (
        "OPSDIST CRITICAL: ascend.link_down npu3: no link / at all (and 2 more) | "
        "'pass'=0 'info'=0 'warn'=1 'fail'=1 'skip'=0 'error'=1"
    )
    assert [line.split(":")[0] for line in rest] == ["fail", "error", "warn"]
    assert adapted("nagios", WELL)[0].startswith("OPSDIST OK: 1 checks passed | ")
    assert adapted("nagios", NOTHING)[0].startswith("OPSDIST UNKNOWN: no check ran | ")
    assert adapted("nagios", WARNED)[0].startswith("OPSDIST WARNING: x.y npu3: it is so | ")


def test_npd_is_one_short_line() -> None:
    assert adapted("npd", SICK)[0] == "ascend.link_down npu3: no link | at all (+1)\n"
    (line,) = adapted("npd", record(finding("fail", message="x" * 200), finding("error")))[0].splitlines()
    assert len(line) == 80
    assert line.endswith("... (+1)")
    assert adapted("npd", WARNED)[0] == "1 checks passed\n"


def test_a_prolog_says_whose_reason_it_is() -> None:
    (line,) = adapted("slurm-prolog", record(finding("fail", message="y" * 300)))[0].splitlines()
    assert line.startswith("OPSDIST: [node_problem] a.b: yyy")
    assert len(line) < 200
    assert adapted("slurm-prolog", WARNED)[0] == ""


def test_prometheus() -> None:
    text = adapted("prometheus", record(finding("pass", 'odd"name\\'), finding("fail", "x.y"), finding("pass", "x.y")))[
        0
    ]
    assert text.endswith("\n")
    lines = text.splitlines()
    assert 'opsdist_check_status{check="odd\\"name\\\\",node="n1"} 1' in lines
    assert 'opsdist_check_status{check="x.y",node="n1"} 0' in lines
    assert "opsdist_last_run_timestamp_seconds 1767323045.500" in lines
    samples = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z_]+(\{([a-z]+=\"([^\"\\]|\\.)*\",?)*\})? [0-9.]+", line) for line in samples)
    assert len({line.rpartition(" ")[0] for line in samples}) == len(samples)


def test_prometheus_leaves_out_what_does_not_apply() -> None:
    assert "opsdist_check_status{" not in adapted("prometheus", NOTHING)[0]


def test_every_adapter_is_described() -> None:
    assert set(ADAPTERS) == {"nagios", "npd", "slurm-prolog", "prometheus"}
