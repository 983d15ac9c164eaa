"""Where findings are, folded."""

from __future__ import annotations

from typing import Any

import pytest

from opsdist_cli.output.places import alike, several_hosts, where


def finding(host: str, device: str | None = None, message: str = "it is so") -> dict[str, Any]:
    subject = {"host": host, **({"device": device} if device else {})}
    return {"status": "warn", "check": "x.y", "message": message, "subject": subject}


@pytest.mark.parametrize(
    ("findings", "several", "place"),
    [
        ([finding("n1")], False, ""),
        ([finding("n1", "npu3"), finding("n1", "npu4")], False, "npu[3-4]"),
        ([finding("n1", "npu3", "npu3 is so")], False, ""),
        ([finding("n1", "npu3", "npu33 is so")], False, "npu3"),
        ([finding("n1"), finding("n2"), finding("n4")], True, "n[1-2,4]"),
        ([finding("n1", "npu3"), finding("n2", "npu3"), finding("n3", "npu5")], True, "n[1-2] npu3, n3 npu5"),
        ([finding("n1", "npu3", "npu3 is so"), finding("n2", "npu3", "npu3 is so")], True, "n[1-2]"),
        (
            [finding(f"n{n}", f"npu{n}") for n in range(8)],
            True,
            ", ".join(f"n{n} npu{n}" for n in range(6)) + " and 2 more",
        ),
        ([{**finding("n1"), "subject": {}}], True, ""),
    ],
)
def test_where(findings: list[dict[str, Any]], several: bool, place: str) -> None:
    assert where(findings, several) == place


def test_what_is_said_of_several_is_said_once() -> None:
    one, other = finding("n1"), finding("n1", message="it is not")
    assert list(alike([one, other, finding("n2")])) == [[one, finding("n2")], [other]]


def test_whether_hosts_have_to_be_named() -> None:
    assert several_hosts([finding("n1"), finding("n2")])
    assert not several_hosts([finding("n1"), finding("n1", "npu3"), {"subject": {}}])
