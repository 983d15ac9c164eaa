"""Hosts that offer others one address, in logs of NCCL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.suites.diagnose.cases.case import label

OFFERED = "node0{n}:1{n}:2{n} [0] NCCL INFO Bootstrap : Using docker0:172.17.0.{last}<0>\n"
REFUSED = (
    "node02:12:22 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 172.17.0.{last}<41010> failed : "
    "Connection refused\n"
)


def verdict(folder: Path, *logs: str) -> tuple[str, list[str]]:
    for number, text in enumerate(logs):
        (folder / f"{number}.log").write_text(text)
    told: dict[str, Any] = diagnose([str(folder)], [], now()).record()["verdict"]
    return told["class"], sorted(map(label, told["culprits"]))


def test_an_address_of_several_hosts_is_why_it_is_not_reached(tmp_path: Path) -> None:
    logs = (OFFERED.format(n=1, last=1), OFFERED.format(n=2, last=1) + REFUSED.format(last=1))
    assert verdict(tmp_path, *logs) == ("config", ["host node01", "host node02"])


@pytest.mark.parametrize(
    ("other", "tried", "culprit"),
    [
        pytest.param(3, 1, "link node02 - 172.17.0.1", id="each has its own"),
        pytest.param(1, 9, "link node02 - 172.17.0.9", id="it was another one"),
    ],
)
def test_otherwise_it_is_the_path(tmp_path: Path, other: int, tried: int, culprit: str) -> None:
    logs = (OFFERED.format(n=1, last=1), OFFERED.format(n=2, last=other) + REFUSED.format(last=tried))
    assert verdict(tmp_path, *logs) == ("transport", [culprit])


def test_an_address_of_several_hosts_alone_is_no_fault(tmp_path: Path) -> None:
    assert verdict(tmp_path, OFFERED.format(n=1, last=1), OFFERED.format(n=2, last=1))[0] == "none"
