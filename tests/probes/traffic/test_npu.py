"""What npu-smi and hccn_tool tell of NPUs' links."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.host import Answer
from probes.reading import State
from probes.traffic import Sighting
from probes.traffic.npu import Npus, parse_bandwidth, parse_hccs_bandwidth
from probes.visit import Visit
from tests.probes.traffic.ticking import ticking
from tests.tree_host import TreeHost

HCCS = """\
hccs link                      tx_bandwidth(GB/S)             rx_bandwidth(GB/S)
1                                   1.500000                       0.250000
2                                   0.000000                       3.000000
total                               1.500000                       3.250000
"""
MEASURED = "Bandwidth TX: 12.50 MB/sec\nBandwidth RX:       0.25 MB/sec\n"
COUNTED = """\
packet statistics:
mac_tx_total_pkt_num:20
mac_tx_total_oct_num:2000
mac_rx_total_pkt_num:10
mac_rx_total_oct_num:1000
mac_rx_bad_pkt_num:3
mac_tx_pfc_pkt_num:9
roce_rx_err_pkt_num:1
roce_new_pkt_rty_num:4
"""
MAP = """\
	NPU ID                         Chip ID                        Chip Logic ID                  Chip Name
	4                              0                              0                              Ascend 910B3
	4                              1                              -                              Mcu
"""
LINKS = """\
	hccs health status             : OK
	hccs link speed                : [224  112  ]
	hccs tx packets                : [100  200  ]
	hccs tx bytes                  : [2000 4000 ]
	hccs rx bytes                  : [6000 8000 ]
	hccs retry count               : [0    7    ]
	hccs error count               : [3    0    ]
"""
COUNTS = "npu-smi info -t hccs -i 4 -c 0"
ASKED = "npu-smi info -t hccs-bw -i 4 -c 0 -time 200"
STAT = "hccn_tool -i 4 -stat -g"


def npus(tree: TreeHost, tools: Mapping[str, str | Answer]) -> Npus:
    """A host with one of them, that has these tools besides what finds it."""
    tree.write({"/dev/davinci4": ""})
    tree.tools = {"npu-smi info -m": MAP, "hccn_tool -i 4 -speed -g": "Speed: 200000 Mb/s\n", **tools}
    return Npus(Visit(tree), ticking())


def told(source: Npus) -> dict[str, tuple[Sighting, ...]]:
    """What the looks at which anything was told have to say, by the question."""
    return {look.scope: look.sightings for look in source.looks() if look.state is State.TOLD}


def test_rates_of_hccs_links_whatever_the_order_of_columns() -> None:
    expected = {"1 tx_bytes": 1.5e9, "1 rx_bytes": 0.25e9, "2 tx_bytes": 0.0, "2 rx_bytes": 3e9}
    assert parse_hccs_bandwidth(HCCS).momentary == expected
    turned = "xlink link | rx_bandwidth(GB/S) | tx_bandwidth(GB/S)\r\n1 | 0.25 | 1.5\r\ntotal | 0.25 | 1.5\r\n"
    assert parse_hccs_bandwidth(turned).momentary == {"1 tx_bytes": 1.5e9, "1 rx_bytes": 0.25e9}


def test_rates_of_a_port() -> None:
    assert parse_bandwidth(MEASURED).momentary == {"tx_bytes": 12.5e6, "rx_bytes": 0.25e6}
    assert not parse_bandwidth("Peak Bandwidth TX: 12.50 MB/sec\n")


def test_hccs_links_and_the_port_of_an_npu(tree: TreeHost) -> None:
    found = told(npus(tree, {ASKED: HCCS, STAT: COUNTED}))
    assert [(each.link, each.kind, each.source) for each in found["npu4 hccs-bw"]] == [
        ("npu4/hccs1", "hccs", ASKED),
        ("npu4/hccs2", "hccs", ASKED),
    ]
    assert found["npu4 hccs-bw"][0].rates == {"tx_bytes": 1.5e9, "rx_bytes": 0.25e9}
    (port,) = found["npu4 stat"]
    assert (port.link, port.kind, port.limit) == ("npu4/port", "npu port", 25e9)
    assert port.traffic == {"rx_bytes": 1000, "tx_bytes": 2000, "rx_packets": 10, "tx_packets": 20}
    assert port.errors == {"mac_rx_bad_pkt_num": 3, "roce_rx_err_pkt_num": 1}
    assert port.retransmits == {"roce_new_pkt_rty_num": 4}


def test_errors_of_hccs_links_go_with_their_rates(tree: TreeHost) -> None:
    found = told(npus(tree, {ASKED: HCCS, COUNTS: LINKS}))
    counted = found["npu4 hccs"]
    assert [each.link for each in counted] == [each.link for each in found["npu4 hccs-bw"]]
    assert [each.errors for each in counted] == [{"error_count": 3}, {"error_count": 0}]
    assert [each.retransmits for each in counted] == [{"retry_count": 0}, {"retry_count": 7}]
    assert [each.limit for each in counted] == [28e9, 14e9]
    assert [each.traffic for each in counted] == [{}, {}]


def test_where_hccs_links_are_not_measured_what_they_count_is_there(tree: TreeHost) -> None:
    assert [(each.link, each.traffic) for each in told(npus(tree, {COUNTS: LINKS}))["npu4 hccs"]] == [
        ("npu4/hccs0", {"tx_packets": 100, "tx_bytes": 2000, "rx_bytes": 6000}),
        ("npu4/hccs1", {"tx_packets": 200, "tx_bytes": 4000, "rx_bytes": 8000}),
    ]


def test_a_port_that_does_not_count_is_measured(tree: TreeHost) -> None:
    tools = {STAT: "packet statistics:\nroce_rx_err_pkt_num:0\n", "hccn_tool -i 4 -bandwidth -g": MEASURED}
    found = told(npus(tree, tools))
    (counted,), (measured,) = found["npu4 stat"], found["npu4 bandwidth"]
    assert counted.traffic == {}
    assert measured.rates == {"tx_bytes": 12.5e6, "rx_bytes": 0.25e6}
    assert measured.link == counted.link


def test_what_a_device_does_not_know_it_is_not_asked_again(tree: TreeHost) -> None:
    unknown = "This device does not support querying hccs-bw.\n"
    source = npus(tree, {ASKED: unknown, STAT: COUNTED})
    first = {look.scope: look.state for look in source.looks()}
    assert first["npu4 hccs-bw"] is State.UNSUPPORTED
    assert [look.scope for look in source.looks()] == ["npu4 stat"]


def test_links_have_one_name_even_if_the_tool_is_busy_at_first(tree: TreeHost) -> None:
    source = npus(tree, {ASKED: "The device is busy, please try again later\n", COUNTS: LINKS})
    assert "npu4 hccs" not in told(source)
    assert tree.tools is not None
    tree.tools[ASKED] = HCCS
    assert [each.link for each in told(source)["npu4 hccs"]] == ["npu4/hccs1", "npu4/hccs2"]


def test_a_tool_that_is_busy_is_asked_again(tree: TreeHost) -> None:
    source = npus(tree, {ASKED: HCCS, STAT: "hccn_tool is busy, please try again.\n"})
    for _ in range(2):
        states = {look.scope: look.state for look in source.looks()}
        assert states["npu4 stat"] is State.REFUSED


def test_a_host_without(tree: TreeHost) -> None:
    tree.tools = {}
    assert list(Npus(Visit(tree), ticking()).looks()) == []


@pytest.mark.parametrize("sample", [HCCS, MEASURED])
@given(data=st.data())
def test_no_parser_raises(sample: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(sample)))
    text = sample[:cut] + data.draw(st.text(max_size=20)) + sample[cut:]
    for parse in (parse_hccs_bandwidth, parse_bandwidth):
        assert all(rate >= 0 for rate in parse(text).momentary.values())
