"""Samples of monitor as a table, and as lines."""

from __future__ import annotations

import json
from typing import Any

from opsdist_cli.output.monitor import json_line, render
from tests.schema import validate


def link(name: str, kind: str = "nic", **more: Any) -> dict[str, Any]:
    rates = {f"{way}_{what}_per_second": 0.0 for way in ("rx", "tx") for what in ("bytes", "packets")}
    sums = {"rx_bytes": 0, "tx_bytes": 0, "share": None, "late": False}
    return {"link": name, "kind": kind, **rates, **sums, "errors": {}, "retransmits": None, "drops": {}} | more


def sample(*links: dict[str, Any], late: str | None = None) -> dict[str, Any]:
    told = {
        "kind": "sample", "number": 3, "time": "2030-01-02T03:04:08.000Z", "seconds": 3.0, "links": list(links),
        "events": [], "late": late,
    }  # fmt: skip
    validate(told)
    return told


def test_a_busy_link_has_a_row_and_idle_ones_are_counted() -> None:
    busy = link(
        "mlx5_0/1", "rdma", rx_bytes_per_second=12.5e9, tx_bytes_per_second=25e9, rx_packets_per_second=1000.0,
        tx_packets_per_second=500.0, share=0.5, rx_bytes=5, errors={"symbol_error": 2, "link_downed": 1},
        retransmits={"packet_seq_err": 7},
    )  # fmt: skip
    links = [busy, link("eth0"), link("lo"), link("tcp", "tcp")]
    title, header, row, idle = render("host", 1.0, sample(*links), []).split("\n")
    assert title == "# opsdist monitor on host: every 1 s, for 3.0 s"
    assert header.split() == [
        "link",
        "kind",
        "receives",
        "sends",
        "of",
        "link",
        "packets/s",
        "errors",
        "sent",
        "again",
        "drops",
    ]
    assert [cell.strip() for cell in row.split("  ") if cell.strip()] == [
        "mlx5_0/1", "rdma", "12.5 GB/s", "25 GB/s", "50.0%", "1500", "3", "7", "0"
    ]  # fmt: skip
    assert idle == "  idle: 2 nic, 1 tcp"


def test_one_that_carried_something_before_stays_in_sight() -> None:
    assert "  eth1" in render("host", 1.0, sample(link("eth1", tx_bytes=100)), [])
    assert "  eth1" in render("host", 1.0, sample(link("eth1", errors={"rx_errors": 1})), [])


def test_a_tool_that_has_not_answered_is_late() -> None:
    nothing = dict.fromkeys(("rx_bytes_per_second", "tx_bytes_per_second", "rx_bytes", "tx_bytes"))
    text = render("host", 1.0, sample(link("npu0/hccs1", "hccs", late=True, **nothing), late="npu-smi info"), [])
    assert text.split("\n")[2].split()[:4] == ["npu0/hccs1", "hccs", "late", "late"]
    assert "late: `npu-smi info` has not answered yet" in text


def test_events_are_told_the_latest_ones() -> None:
    events = [{"time": f"2030-01-02T03:04:0{n}.500Z", "change": "vanished", "link": f"eth{n}"} for n in range(9)]
    text = render("host", 1.0, sample(), events)
    assert "03:04:08 eth8: it has vanished" in text
    assert "eth3" not in text


def test_names_are_shown_and_not_obeyed() -> None:
    assert "\x1b" not in render("host", 1.0, sample(link("e\x1b[2J", tx_bytes=1)), [])


def test_a_line_is_one_line() -> None:
    told = sample(link("a\nb"))
    assert json_line(told).count("\n") == 1
    assert json.loads(json_line(told)) == told
