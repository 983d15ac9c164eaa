"""Fixtures that more than one package's tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tree_host import TreeHost


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """An empty host in a folder of its own."""
    root = tmp_path / "host"
    root.mkdir()
    return TreeHost(root)
