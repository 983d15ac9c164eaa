"""What nvidia-smi tells of NVLinks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.host import Answer
from probes.reading import State
from probes.traffic.nvlink import NvLinks, parse_errors, parse_rates, parse_throughput
from probes.visit import Visit
from tests.probes.traffic.ticking import ticking
from tests.tree_host import TreeHost

HEAD = "GPU 0: Quick 9 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"
CARRIED = HEAD + "\t Link 0: Data Tx: 100 KiB\n\t Link 0: Data Rx: 2 MiB\n" + HEAD.replace("0:", "1:", 1) + (
    "         Link 17: Data Tx: 1,024 KiB\n         Link 17: Data Rx: N/A\n"
)  # fmt: skip
ERRORS = HEAD + (
    "\t Link 0: Replay Errors: 4\n\t Link 0: Recovery Errors: 0\n\t Link 0: CRC Errors: 2\n\n"
    "\t Link 1: Tx packets: 10\n\t Link 1: Rx packets: 11\n\t Link 1: Tx bytes: 12\n"
    "\t Link 1: Malformed packet Errors: 1\n\t Link 1: Tx discards: 3\n\t Link 1: Symbol Errors: 500\n"
    "\t Link 1: FEC Errors - 0: 123456789\n\t Link 1: Effective BER: 15e-254\n"
)
RATES = HEAD + "\t Link 0: 25 GB/s\n\t Link 1: 26.562 GB/s\n\t Link 2: <inactive>\n"


def test_what_was_carried() -> None:
    assert parse_throughput(CARRIED).counters == {
        "gpu0/nvlink0 tx_bytes": 102_400,
        "gpu0/nvlink0 rx_bytes": 2 << 20,
        "gpu1/nvlink17 tx_bytes": 1 << 20,
    }


def test_errors_but_not_what_was_put_right() -> None:
    assert parse_errors(ERRORS).counters == {
        "gpu0/nvlink0 replay": 4, "gpu0/nvlink0 recovery": 0, "gpu0/nvlink0 crc": 2, "gpu0/nvlink1 tx_packets": 10,
        "gpu0/nvlink1 rx_packets": 11, "gpu0/nvlink1 malformed_packet": 1, "gpu0/nvlink1 tx_discards": 3,
    }  # fmt: skip


def test_rates_of_the_links_that_are_up() -> None:
    assert parse_rates(RATES).momentary == {"gpu0/nvlink0": 25.0, "gpu0/nvlink1": 26.562}


def test_each_question_is_a_look(tree: TreeHost) -> None:
    tree.tools = {"nvidia-smi nvlink -s": RATES, "nvidia-smi nvlink -gt d": CARRIED, "nvidia-smi nvlink -e": ERRORS}
    carried, errors = NvLinks(Visit(tree), ticking()).looks()
    assert (carried.scope, errors.scope) == ("nvlink -gt d", "nvlink -e")
    first, last = carried.sightings
    assert (first.link, first.kind, first.source, first.limit) == (
        "gpu0/nvlink0", "nvlink", "nvidia-smi nvlink -gt d", 25e9
    )  # fmt: skip
    assert first.traffic == {"tx_bytes": 102_400, "rx_bytes": 2 << 20}
    assert (last.link, last.limit) == ("gpu1/nvlink17", None)
    assert [each.errors for each in errors.sightings] == [{"recovery": 0, "crc": 2}, {"malformed_packet": 1}]
    assert [each.retransmits for each in errors.sightings] == [{"replay": 4}, {}]
    assert errors.sightings[1].traffic == {"tx_packets": 10, "rx_packets": 11}


def test_what_was_not_understood_is_not_asked_again(tree: TreeHost) -> None:
    tree.tools = {
        "nvidia-smi nvlink -s": RATES,
        "nvidia-smi nvlink -gt d": HEAD + "\t Link 0: Data Tx: N/A\n",
        "nvidia-smi nvlink -e": Answer(1, "", "Insufficient Permissions\n"),
    }
    links = NvLinks(Visit(tree), ticking())
    assert [look.state for look in links.looks()] == [State.FAILED, State.REFUSED]
    assert [look.scope for look in links.looks()] == ["nvlink -e"]


def test_a_host_without(tree: TreeHost) -> None:
    tree.tools = {}
    links = NvLinks(Visit(tree), ticking())
    assert [look.state for look in links.looks()] == [State.ABSENT, State.ABSENT]
    assert list(links.looks()) == []


@pytest.mark.parametrize("sample", [CARRIED, ERRORS, RATES])
@given(data=st.data())
def test_no_parser_raises(sample: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(sample)))
    text = sample[:cut] + data.draw(st.text(max_size=20)) + sample[cut:]
    for parse in (parse_throughput, parse_errors, parse_rates):
        said = parse(text)
        assert all(value >= 0 for value in (*said.counters.values(), *said.momentary.values()))
