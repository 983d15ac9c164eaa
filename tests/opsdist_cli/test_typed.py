"""The command in records."""

from __future__ import annotations

import sys

import pytest

from opsdist_cli.typed import command_line


def test_secrets_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["perf", "--env", "API_TOKEN=abc", "--env=MY_SECRET=d e", "--env", "NCCL_DEBUG=INFO"]
    words += ["--prologue", "export A_KEY=f; g", "--hosts=n1,n2"]
    monkeypatch.setattr(sys, "argv", ["/bin/opsdist", *words])
    said = command_line()
    assert said == [
        "opsdist", "perf", "--env", "API_TOKEN=(hidden)", "--env=MY_SECRET=(hidden)", "--env", "NCCL_DEBUG=INFO",
        "--prologue", "export A_KEY=(hidden) g", "--hosts=n1,n2",
    ]  # fmt: skip
