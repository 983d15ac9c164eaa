"""Paths that fail at once, in logs of NCCL: what they have in common is named, and nothing where that is not told."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from suites.diagnose.offline import diagnose
from suites.report import now


def log(
    folder: Path,
    host: int,
    failed: Iterable[tuple[float, int]],
    card: str = "",
    cards: str = "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE",
) -> None:
    """Of one process on a host, with the second and the host at the other end of each path that failed."""
    text = "transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 192.0.2.{}<4100> with status=12"
    over = f" opcode=0 len=0 vendor err 129 (Recv){f' hca {card}' if card else ''}"
    said = [
        (0.0, f"NCCL INFO Bootstrap : Using eth0:192.0.2.{host}<0>"),
        (0.0, f"NCCL INFO NET/IB : Using {cards} [RO]"),
        *((second, text.format(peer) + over) for second, peer in failed),
    ]
    lines = [f"2026-03-01T10:00:{second:09.6f} node0{host}:7{host}:8{host} [0] {text}\n" for second, text in said]
    (folder / f"node0{host}.log").write_text("".join(lines))


def verdict(folder: Path) -> dict[str, Any]:
    record = diagnose([str(folder)], ["opsdist"], now()).record()
    assert record["verdict"]["class"] == "transport"
    told: dict[str, Any] = record["verdict"]
    return told


def test_a_host_at_one_end_of_all_is_named_with_the_card_that_it_says(tmp_path: Path) -> None:
    log(tmp_path, 1, [(30.0, 3)], "mlx5_4")
    log(tmp_path, 2, [(30.5, 3)], "mlx5_5")
    log(tmp_path, 3, [(31.0, 4), (31.1, 1)], "mlx5_1")
    log(tmp_path, 4, [])
    told = verdict(tmp_path)
    assert told["culprits"] == [{"kind": "link", "host": "node03", "device": "mlx5_1"}]
    assert "all have one end on node03" in told["explanation"]


def test_several_paths_between_two_hosts_are_one_link(tmp_path: Path) -> None:
    log(tmp_path, 1, [(30.0, 2), (30.1, 2)])
    log(tmp_path, 2, [(30.2, 1)])
    log(tmp_path, 3, [])
    assert verdict(tmp_path)["culprits"] == [{"kind": "link", "host": "node01", "peer": "node02"}]


def test_paths_over_the_same_of_several_cards_are_a_rail(tmp_path: Path) -> None:
    log(tmp_path, 1, [(30.0, 2)], "mlx5_1")
    log(tmp_path, 3, [(30.2, 4)], "mlx5_1")
    for host in (2, 4):
        log(tmp_path, host, [])
    told = verdict(tmp_path)
    assert told["culprits"] == [{"kind": "link", "device": "mlx5_1"}]
    assert "one rail" in told["explanation"]


@pytest.mark.parametrize(
    ("second", "peer", "cards"),
    [
        pytest.param(40.0, 3, "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE", id="it fails later, as when ranks have gone"),
        pytest.param(30.1, 9, "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE", id="nobody tells whose the address is"),
        pytest.param(30.1, 4, "[0]mlx5_1:1/RoCE", id="a card that is the only one is no rail"),
    ],
)
def test_otherwise_it_is_the_first_path_alone(tmp_path: Path, second: float, peer: int, cards: str) -> None:
    log(tmp_path, 1, [(30.0, 3)], "mlx5_1", cards)
    log(tmp_path, 2, [(second, peer)], "mlx5_1", cards)
    for host in (3, 4):
        log(tmp_path, host, [], cards=cards)
    (link,) = verdict(tmp_path)["culprits"]
    assert (link["kind"], link["host"], link["peer"]) == ("link", "node01", "192.0.2.3")


def untimed(folder: Path, ends: dict[int, int]) -> None:
    """One log of all hosts, each of which has lost a path."""
    text = "NET/IB : Got completion from peer 192.0.2.{}<4100> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    lines = (
        f"node0{host}:7{host}:8{host} [0] transport/net_ib.cc:1295 NCCL WARN {text.format(end)}\n"
        for host, end in ends.items()
    )
    (folder / "job.log").write_text("".join(lines))


def test_a_silent_host_that_all_lost_is_named_without_times_too(tmp_path: Path) -> None:
    untimed(tmp_path, {1: 9, 2: 9, 3: 9})
    told = verdict(tmp_path)
    assert told["culprits"] == [{"kind": "link", "host": "192.0.2.9"}]
    assert "all lead to 192.0.2.9" in told["explanation"]


@pytest.mark.parametrize("ends", [{1: 9, 2: 8}, {1: 9}])
def test_without_times_the_first_path_is_named_where_they_lead_apart(tmp_path: Path, ends: dict[int, int]) -> None:
    untimed(tmp_path, ends)
    assert "node01" in str(verdict(tmp_path)["culprits"])


def test_without_times_a_host_that_complains_too_is_no_end_of_all(tmp_path: Path) -> None:
    log(tmp_path, 1, [])
    untimed(tmp_path, {1: 2, 2: 9, 3: 9})
    assert "node01" in str(verdict(tmp_path)["culprits"])
