"""`--inject` as it is typed."""

from __future__ import annotations

import contextlib
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdist_cli.injection import InjectIntoCalls, InjectIntoLoop

NOWHERE = {"rank": 1, "at": "middle"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kill", {}),
        ("stop:rank=3,inside=1", {"rank": 3, "inside": True}),
        ("missing:at=last", {"at": "last"}),
        ("reorder:group=rows,columns,rank=2", {"groups": ["rows", "columns"], "rank": 2}),
        ("reorder:group=rows,group=columns", {"groups": ["rows", "columns"]}),
        ("mismatch-op:group=row0,at=7", {"groups": ["row0"], "at": "7"}),
    ],
)
def test_a_fault_among_calls(text: str, wanted: dict[str, Any]) -> None:
    got = InjectIntoCalls().convert(text, None, None)
    assert got == {"fault": text.partition(":")[0], **NOWHERE, "groups": [], "inside": False, **wanted}


@pytest.mark.parametrize("text", ["kill:rank=x", "kill:at=never", "kill:rows", "kill:color=1", "stop:inside=2", "kil"])
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"kil"):
        InjectIntoCalls().convert(text.replace("stop", "kill"), None, None)


@pytest.mark.parametrize("text", ["slow", "missing", "kill:group=world", "kill:at=last", "kill:inside=1"])
def test_a_loop_of_one_collective_has_fewer(text: str) -> None:
    InjectIntoCalls().convert(text, None, None)
    with pytest.raises(click.BadParameter):
        InjectIntoLoop().convert(text, None, None)


def test_a_fault_in_a_loop() -> None:
    got = InjectIntoLoop().convert("corrupt:rank=2,at=first", None, None)
    assert got == {"fault": "corrupt", "rank": 2, "at": "first"}


@given(st.text())
def test_any_text_is_understood_or_refused(text: str) -> None:
    for kind in (InjectIntoCalls(), InjectIntoLoop()):
        with contextlib.suppress(click.BadParameter):
            kind.convert(f"kill:{text}", None, None)
