"""A slice of the timing of looks: a small fleet and quick tools, so that it works when it is wanted."""

from __future__ import annotations

import pytest

from tests.soak.looking import main

pytestmark = pytest.mark.any_engine


def test_looks_are_timed(capfd: pytest.CaptureFixture[str]) -> None:
    main(["--times", "1", "--hosts", "5", "--tool-seconds", "0"])
    lines = capfd.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[:-1]] == [
        "info here",
        "info -t accelerators --quick, 8 NPUs, tools of 0 s a question",
        "info -t accelerators, 8 NPUs, tools of 0 s a question",
        "info --from a recorded host with 8 NPUs",
        "info --from 5 records",
    ]
    assert lines[-1].startswith("memory of the largest: ")
