"""Tests that give hosts made-up NPUs are for machines without any: all hosts of a lab share one /dev."""

from __future__ import annotations

from pathlib import Path

import pytest

without_npus = pytest.mark.skipif(any(Path("/dev").glob("davinci[0-9]*")), reason="this machine has NPUs of its own")
