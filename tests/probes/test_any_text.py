"""Whatever a file, a folder, a link or a command holds, no probe raises and no parser does."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes import PROBES, process
from probes.visit import Visit
from tests.scrambled_host import TEXT, ScrambledHost


@pytest.mark.parametrize("section", PROBES)
@settings(deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=6))
def test_no_probe_raises(section: str, texts: list[str | None]) -> None:
    facts: Any = import_module(PROBES[section]).read(Visit(ScrambledHost(texts)))
    assert type(facts).__name__ == f"{section.capitalize()}Facts"


@given(st.text())
def test_a_process_state_is_a_letter_and_a_word_or_unknown(text: str) -> None:
    state = process.parse_state(text)
    assert state is None or (state[1:3] == " (" and state.endswith(")"))
