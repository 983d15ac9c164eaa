"""Addresses that count on one link only, which NCCL may choose where no interface is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.suites.diagnose.cases.case import label

CHOSEN = "node0{n}:1{n}:2{n} [0] NCCL INFO Bootstrap : Using [0]tun{n}:fe80::a{n}%tun{n}<0> [1]eth0:192.0.2.{n}<0>\n"
TRIED = "node02:12:22 [0] misc/socket.cc:403 NCCL WARN Connect to fe80::a1%tun1<40012> failed : Connection timed out\n"
COMPLETE = "node0{n}:1{n}:2{n} [0] NCCL INFO comm 0xaaa rank {n} nranks 4 cudaDev 0 busId 1000 - Init COMPLETE\n"


def verdict(folder: Path, text: str) -> tuple[str, str, list[str]]:
    (folder / "job.log").write_text(text)
    told: dict[str, Any] = diagnose([str(folder)], [], now()).record()["verdict"]
    return told["class"], told["confidence"], sorted(map(label, told["culprits"]))


def test_who_offers_it_is_why_others_cannot_connect(tmp_path: Path) -> None:
    both = CHOSEN.format(n=1) + CHOSEN.format(n=2)
    assert verdict(tmp_path, both + TRIED) == ("config", "likely", ["host node01"])


def test_who_complains_is_not_named_where_it_is_not_told_whose_it_is(tmp_path: Path) -> None:
    assert verdict(tmp_path, TRIED) == ("config", "likely", [])


def test_where_nothing_else_is_wrong_it_is_doubtful(tmp_path: Path) -> None:
    both = CHOSEN.format(n=1) + CHOSEN.format(n=2)
    assert verdict(tmp_path, both) == ("config", "hypothesis", ["host node01", "host node02"])
    failed = "node02:12:22 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1\n"
    assert verdict(tmp_path, both + failed) == ("transport", "likely", ["link node02"])


@pytest.mark.parametrize(
    "text",
    [
        CHOSEN.format(n=1) + COMPLETE.format(n=1),
        CHOSEN.format(n=1).replace(
            "[0]tun1:fe80::a1%tun1<0> [1]eth0:192.0.2.1<0>", "[0]eth0:192.0.2.1<0> [1]t:fe80::1<0>"
        ),
    ],
)
def test_an_address_that_works_or_is_not_the_first_is_no_fault(tmp_path: Path, text: str) -> None:
    assert verdict(tmp_path, text)[0] != "config"
