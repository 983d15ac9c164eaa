"""Which device a single output is about, by its text and by the name of its file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.recorded.devices import by_chip, parts
from probes.recorded.outputs import Outputs, gather
from probes.recorded.transcript import parse

UP, DOWN = "link status: UP\n", "link status: DOWN\n"
ECC = "\tNPU ID                    : {}\n\tHBM Double Bit Error Count : 2\n"
DIES = """\
\tNPU ID                         : 2
\tChip Count                     : 2

\tHBM Capacity(MB)               : 65536
\tChip ID                        : 0

\tHBM Capacity(MB)               : 32768
\tChip ID                        : 1
"""
HEADED = """\
\tNPU ID                         : 2
\tChip Count                     : 1

\tChip ID                        : 0
\tTemperature(C)                 : 50

\tChip Name                      : mcu
\tTemperature(C)                 : 46
"""


def answers(found: Outputs) -> dict[str, str]:
    return {line: answer.stdout for line, answer in found.commands.items()}


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("hccn_link_3.txt", 3), ("hccn_link_i3.txt", 3), ("hccn_link_npu-3.txt", 3), ("hccn_link_NPU3.txt", 3),
        ("hccn_link_card3.log", 3), ("hccn_link_03", 3), ("hccn_link_v2.txt", 0), ("hccn_link_910b3.txt", 0),
        ("hccn_link_25.0.txt", 0), ("hccn_link_down_2.txt", 0), ("hccn_link_200.txt", 0), ("hccn_link_2024-09-03", 0),
    ],
)  # fmt: skip
def test_the_number_in_a_name(name: str, device: int) -> None:
    assert list(gather([(name, UP)]).commands) == [f"hccn_tool -i {device} -link -g"]


def test_names_that_differ_in_a_number_alone_are_sorted_by_it() -> None:
    found = answers(gather([(f"hccn_link_n1_{number}.txt", f"link status: {number}\n") for number in range(16)]))
    assert found == {f"hccn_tool -i {number} -link -g": f"link status: {number}\n" for number in range(16)}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("npu-smi_ecc_x.txt", ECC.format(3), "npu-smi info -t ecc -i 3 -c 0"),
        ("npu-smi_board_card_x.txt", "\tNPU ID : 3\n\tCompatibility : NOK\n", "npu-smi info -t board -i 3"),
        ("npu-smi_health_x.txt", "\tNPU ID : 3\n\tChip ID : 1\n\tHealth : OK\n", "npu-smi info -t health -i 3 -c 1"),
        ("hccn_link_stat_x.txt", "[devid 3]link up count : 1\n", "hccn_tool -i 3 -link_stat -g"),
        ("hccn_tls_x.txt", "dev_id:3, tls switch[0](0:disable, 1:enable)\n", "hccn_tool -i 3 -tls -g"),
    ],
)
def test_the_text_names_its_device(name: str, text: str, line: str) -> None:
    assert list(gather([(name, text)]).commands) == [line]


def test_the_text_counts_where_the_name_contradicts_it() -> None:
    found = gather([("npu-smi_ecc_npu1.txt", ECC.format(3))])
    assert list(found.commands) == ["npu-smi info -t ecc -i 3 -c 0"]
    assert found.doubts == [
        "npu-smi_ecc_npu1.txt: its text is about device 3 and its name about 1; the text counts"
    ]  # fmt: skip
    assert gather([("npu-smi_ecc_npu3.txt", ECC.format(3))]).doubts == []


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"[devid {number}]last: {DOWN if number == 5 else UP}" for number in range(8)),
        "".join(f"== npu {number} ==\n{DOWN if number == 5 else UP}" for number in range(8)),
        "".join(DOWN if number == 5 else UP for number in range(8)),
    ],
)
def test_the_answers_of_a_loop(text: str) -> None:
    found = gather([("hccn_link_all.txt", text)])
    down = [line for line, answer in answers(found).items() if "DOWN" in answer]
    assert (len(found.commands), down, found.doubts) == (8, ["hccn_tool -i 5 -link -g"], [])


@pytest.mark.parametrize(("name", "count"), [("hccn_link_all.txt", 3), ("hccn_link_npu0.txt", 8)])
def test_answers_that_cannot_be_told_apart_are_mentioned(name: str, count: int) -> None:
    found = gather([(name, UP + DOWN * (count - 1))])
    assert "DOWN" not in answers(found)["hccn_tool -i 0 -link -g"]
    assert found.doubts == [f"{name}: {count} answers, of no device that is named; only the first is looked at"]


def test_each_die_has_its_block() -> None:
    held = {f"npu-smi info -t usages -i 2 -c {chip}": size for chip, size in ((0, "65536"), (1, "32768"))}
    for found in (gather([("npu-smi_usages_x.txt", DIES)]), parse(f"npu-smi info -t usages -i 2\n{DIES}")):
        sizes = {line: [size for size in held.values() if size in found.commands[line].stdout] for line in held}
        assert sizes == {line: [size] for line, size in held.items()}
        assert len(found.commands) == 2


def test_helper_chips_are_no_dies() -> None:
    (only,) = by_chip(HEADED).values()
    assert "50" in only
    assert "46" not in only
    named = HEADED.replace("Chip Name", "Chip ID : 1\n\tChip Name")
    for text in (named, named.replace("\tChip Count                     : 1\n", "")):
        assert list(by_chip(text)) == [0]
    assert list(parse(f"npu-smi info -t common -i 2\n{named}").commands) == ["npu-smi info -t common -i 2"]


@given(st.text() | st.text("NPU IDChip:0123 \n[devid]mcu="))
def test_any_text_has_parts(text: str) -> None:
    for line in ("npu-smi info -t health -i {device} -c 0", "hccn_tool -i {device} -link -g"):
        assert parts(line, text, None)[0]
    by_chip(text)
