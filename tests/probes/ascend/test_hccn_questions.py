"""hccn_tool as a whole: what counts as an answer, and what as none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.ascend.config import parse_settings
from probes.ascend.hccn import QUERIES, of_device
from probes.ascend.identity import Identity
from probes.ascend.ranktable import parse_rank_table
from probes.ascend.versions import parse_version_cfg, parse_version_info
from probes.host import Answer
from probes.reading import Reading, State
from probes.recorded.texthost import TextHost
from probes.visit import Visit
from tests.probes.ascend.test_hccn_link_stat import LIST, TABLE
from tests.probes.ascend.test_hccn_optics import MODULE
from tests.probes.ascend.test_hccn_port import LLDP, PORTS, SPEEDS
from tests.probes.ascend.test_hccn_tls import CERTIFICATE, SWITCH
from tests.tree_host import TreeHost


def asked(name: str, answer: Answer) -> Reading:
    return of_device(Visit(TextHost({}, {f"hccn_tool -i 5 -{name} -g": answer})), Identity(5, True))[name]


def test_silence_is_an_address_that_was_never_set() -> None:
    reading = asked("ip", Answer(0, "\n\n", ""))
    assert (reading.state, reading.values) == (State.TOLD, {"configured": False})


def test_silence_after_a_failure_says_nothing() -> None:
    assert asked("ip", Answer(13, "", "")).state is State.FAILED
    assert asked("link", Answer(0, "", "")).state is State.FAILED


@pytest.mark.parametrize("on_stderr", [False, True])
def test_an_address_that_was_not_preset_is_none(on_stderr: bool) -> None:
    words = "Get ipconf failed, because no ip was preset there!\n"
    reading = asked("ip", Answer(13, "", words) if on_stderr else Answer(13, words, ""))
    assert (reading.state, reading.values) == (State.TOLD, {"configured": False})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("optical", "Optical module is not present."),
        ("optical", "Control link unreachable."),
        ("link", "The device is not exist!"),
        ("speed", "Execute failed: Link status is down."),
        ("tls", "The Certificate has expired!"),
    ],
)
@pytest.mark.parametrize("on_stderr", [False, True])
def test_a_fault_instead_of_an_answer_is_told(name: str, words: str, on_stderr: bool) -> None:
    reading = asked(name, Answer(1, "", words) if on_stderr else Answer(0, words, ""))
    assert reading.state is State.TOLD
    assert reading.values["fault"].startswith(words)


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("permission denied: pls check this cmd run permission.", State.REFUSED),
        ("hccn_tool is busy, please try again.", State.REFUSED),
        ("I2c is busy. Please try again.", State.REFUSED),
        ("The system is in optical module initializing, please try again later.", State.REFUSED),
        ("Get lock failed. Please try again.", State.REFUSED),
        ("The VM does not support this command.", State.UNSUPPORTED),
        ("The command is not supported on this product.", State.UNSUPPORTED),
        ("Command unsupported on this optical module.", State.UNSUPPORTED),
        ("Get unknown option!", State.UNSUPPORTED),
        ("Command execute failed!", State.FAILED),
    ],
)
def test_no_answer_is_no_fault(words: str, state: State) -> None:
    for query in QUERIES:
        reading = asked(query.name, Answer(1, "", words + "\n"))
        assert (reading.state, dict(reading.values)) == (state, {})


def test_a_quick_look_asks_for_link_health_and_address_only(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.tools = {f"hccn_tool -i 5 -{query.name} -g": "link status: UP" for query in QUERIES}
    told = of_device(Visit(host, hurry=True), Identity(5, True))
    assert [name for name, reading in told.items() if reading.state is not State.UNASKED] == [
        "link",
        "net_health",
        "ip",
    ]


PARSERS = [*(query.parse for query in QUERIES), parse_settings, parse_version_info, parse_version_cfg, parse_rank_table]
SAMPLES = [
    LIST, TABLE, MODULE, LLDP, PORTS, SPEEDS, SWITCH + CERTIFICATE, "default gateway:192.0.2.1, Iface:eth0\n",
    "address_0=192.0.2.1\n", "compatible_version_fw=[7.0.0,7.1.99]\n",
    '{"server_list": [{"device": [{"rank_id": 1}]}]}',
    "ipaddr:192.0.2.1\nnetmask:255.255.255.0", "bw_limit[1 Mbps], bw_max[2 Mbps]", "port 4 : UP", "a_b:1",
]  # fmt: skip


@given(st.text())
def test_no_parser_raises(text: str) -> None:
    for parse in PARSERS:
        parse(text)


@given(st.sampled_from(SAMPLES), st.data())
def test_no_parser_raises_on_a_sample_that_is_cut_or_changed(sample: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(sample)))
    end = data.draw(st.integers(place, len(sample)))
    changed = sample[:place] + data.draw(st.text(max_size=5)) + sample[end:]
    for parse in PARSERS:
        parse(changed)
        parse(sample[:place].replace("\n", "\r\n").expandtabs(4))
