"""Whatever npu-smi prints, no parser raises, and what it understood is what a record can hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.ascend.npu_smi import CARD_QUERIES, CHIP_QUERIES, HOST_QUERIES, LINKS, LSPCI_QUERIES
from probes.ascend.npu_table import ROWS
from probes.visit import Query
from tests.probes.ascend.npu_samples import (
    A3,
    A310P,
    A910A,
    A950,
    COLUMNS_A3,
    details,
    eight,
    idle,
    links,
    listing,
    lspci,
    mapping,
    mesh,
    rows,
    table,
)

QUERIES = [*HOST_QUERIES, *CARD_QUERIES, *CHIP_QUERIES, LINKS, *LSPCI_QUERIES]
SAMPLES = [
    A3, A310P, A910A, A950, eight(), table([rows(1)], idle(1)), links([4, 0], "NOK"), listing([1, 2]), mesh(3),
    mapping(COLUMNS_A3, ("0", "0", "0", "0", "Ascend910")), lspci("c1:00.0"), "Invalid card id.\n",
    details(HBM_Capacity__MB=9, Health_Status="OK", Error_Code="80E01801", HBM_Double_Bit_Error_Count=1),
    "dcmi module initialize failed. ret is -8005\n",
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A sample that was cut, and in which something was put in the place of something else."""
    text = draw(st.sampled_from(SAMPLES))
    start, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    others = ["", "\r\n", "\t", "|", "\x1b[4m", "\ufeff", "\ufffd", "-", "9" * 40, "1e999", "NA", ":", "[", "\n"]
    other = draw(st.sampled_from(others))
    return draw(st.sampled_from([text[:start] + other + text[end:], text[start:end], text.replace(" ", other)]))


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
@settings(deadline=None, max_examples=60)
@given(text=st.one_of(damaged(), st.text(max_size=200)))
def test_no_parser_raises(query: Query, text: str) -> None:
    said = query.parse(text)
    momentary = {name: value for name, value in said.momentary.items() if name != ROWS}
    json.dumps([said.values, said.counters, momentary, said.lines], allow_nan=False)
    assert all(isinstance(count, int) and count >= 0 for count in said.counters.values())
