"""A slice of the runs that last: each way for a moment, so that the soak itself works when it is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import unavailable
from tests.soak.lasting import WAYS, last

pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}"),
]

LACKING = {name: why() for name, (_, why) in WAYS.items()}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.skipif(why is not None, reason=str(why))) for name, why in LACKING.items()],
)
def test_a_run_lasts(name: str, tmp_path: Path) -> None:
    assert last([name], 0.5, tmp_path) == {name: None}
