"""What hccn_tool counts."""

from __future__ import annotations

from probes.ascend.hccn_counters import parse_counters


def test_packets() -> None:
    said = parse_counters("packet statistics:\nmac_rx_total_pkt_num:18446744073709551615\r\nroce_rx_err_pkt_num:\t3\n")
    assert said.counters == {"mac_rx_total_pkt_num": 18446744073709551615, "roce_rx_err_pkt_num": 3}
    assert said.lines["roce_rx_err_pkt_num"] == "roce_rx_err_pkt_num:\t3"


def test_code_words_and_the_rate_of_wrong_bits() -> None:
    said = parse_counters("extra statistics info:\ncw_uncorrect_cnt : 7\ncorrecting_bit_rate : 2.5e-06\n")
    assert (said.counters, said.momentary) == ({"cw_uncorrect_cnt": 7}, {"correcting_bit_rate": 2.5e-06})


def test_no_traffic_has_no_wrong_bits() -> None:
    assert parse_counters("correcting_bit_rate : 0\n").momentary == {"correcting_bit_rate": 0.0}


def test_what_is_no_counter() -> None:
    assert not parse_counters("packet statistics:\nError: 5\nmac_rx_bad_pkt_num:-\nmac_rx_bad_pkt_num:0.5\nMac: 1\n")
