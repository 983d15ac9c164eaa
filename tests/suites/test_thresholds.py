"""Thresholds from a file: what is meant is taken, what is not is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites.errors import UsageError
from suites.thresholds import read_thresholds


def read(folder: Path, text: str) -> object:
    path = folder / "t.toml"
    path.write_text(text, encoding="latin-1")
    return read_thresholds(path)


@pytest.mark.parametrize("table", ["memory.shm_small", '"memory.shm_small"'])
def test_a_table_a_rule(tmp_path: Path, table: str) -> None:
    assert read(tmp_path, f"[{table}]\nleast = 5\n[limits.nofile_low]\nleast = 9\n") == {
        "memory.shm_small": {"least": 5}, "limits.nofile_low": {"least": 9},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[memory.shm_smal]\nleast = 5", "no rule 'memory.shm_smal'; did you mean 'memory.shm_small'"),
        ("[zzzzzz]\nleast = 5", "`opsdist checks` lists them"),
        ("least = 5", r"no rule '\(none\)'"),
        ("[memory.shm_small]\nmost = 5", "no threshold 'most'; it has least, enough"),
        ("[memory.shm_small]\nleast = 'much'", "memory.shm_small.least is 'much', and the rule's own is 1073741824"),
        ("[memory.shm_small]\nleast = true", "is True"),
        ("[memory.shm_small]\nleast = 1979-05-27", "is datetime.date"),
        ("[memory.shm_small]\nleast = nan", "is nan"),
        ("[memory.shm_small]\nleast = inf", "is inf"),
        ("[memory.shm_smal]", "no rule 'memory.shm_smal'"),
        ("[memory.shm_small", "no TOML"),
        ("\xff", "no TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_thresholds(tmp_path / "none")
