"""How an agent is started here."""

from __future__ import annotations

import sys

from suites.launch import local


def test_a_folder_where_the_user_stands_shadows_nothing() -> None:
    assert local.argv() == [sys.executable, "-P", "-m", "suites.launch.agent"]


def test_ranks_have_one_thread_unless_the_user_says_otherwise() -> None:
    assert local.environment({})["OMP_NUM_THREADS"] == "1"
    assert local.environment({"OMP_NUM_THREADS": "4", "PATH": "/bin"})["OMP_NUM_THREADS"] == "4"
    assert local.environment({"PATH": "/bin"})["PATH"] == "/bin"
