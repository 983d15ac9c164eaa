"""Tools that are asked in a thread, with a real clock and real processes: nothing is assumed of how long they take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from probes.host import Host, LocalHost
from probes.reading import Reading, State
from probes.traffic import Look
from probes.visit import Query, Tool, Visit
from suites.asker import Asker
from suites.monitor import Monitor, monitor
from tests.leftovers import RunSpace, until


class Told:
    """Tells that it was asked, and whatever else it is given."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self._name, self._error = name, error

    def looks(self) -> Iterator[Look]:
        yield Look(self._name, ())
        if self._error:
            raise self._error


def heard(asker: Asker, enough: Callable[[Sequence[Look]], bool]) -> list[Look]:
    """What has come until it is enough."""
    looks: list[Look] = []

    def enough_yet() -> bool:
        looks.extend(asker.collect())
        return enough(looks)

    until(enough_yet, 30, "that the sources were asked")
    return looks


def test_a_source_that_fails_does_not_take_others_with_it() -> None:
    asker = Asker(lambda: None, time.monotonic)
    asker.start([Told("first", ValueError("oh")), Told("second")])
    looks = heard(asker, lambda looks: any(look.scope == "second" for look in looks))
    asker.close()
    (failed,) = [look for look in looks if look.state is State.FAILED]
    assert failed.reason == "a mistake of opsdist: ValueError: oh"


def test_nothing_of_it_is_left_when_it_is_closed() -> None:
    before = threading.active_count()
    asker = Asker(lambda: None, time.monotonic)
    asker.start([Told("a")])
    heard(asker, bool)
    asker.close()
    assert threading.active_count() == before


def test_a_question_that_is_open_for_long_is_late() -> None:
    seconds = [0.0]
    asker = Asker(lambda: None, lambda: seconds[0])
    assert asker.late() is None
    asker.hear("npu-smi info")
    assert asker.late() is None
    seconds[0] = 5.5
    assert asker.late() == "npu-smi info"


class ImpatientVisit(Visit):
    """Waits for an answer as shortly as can be."""

    def ask(self, tool: Tool, query: Query, **which: object) -> Reading:
        return super().ask(tool, replace(query, seconds=0.01), **which)


def hanging(folder: Path, monkeypatch: pytest.MonkeyPatch, space: RunSpace) -> None:
    """A nvidia-smi that does not answer, in front of PATH."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(f"#!/bin/sh\n: > {folder}/asked\nexec sleep 600\n")
    (tools / "nvidia-smi").chmod(0o755)
    for name, value in space.environment(PATH=f"{tools}:/usr/bin:/bin").items():
        monkeypatch.setenv(name, value)


def watching(tree: Path, visit: type[Visit]) -> Monitor:
    def visited(host: Host, tell: Callable[[str], None]) -> Visit:
        return visit(host, tell=tell)

    return monitor(["opsdist"], 0.1, None, host=LocalHost(tree), visit=visited)


def test_a_tool_that_hangs_is_late_and_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: RunSpace
) -> None:
    hanging(tmp_path, monkeypatch, space)
    it = watching(tmp_path / "none", ImpatientVisit)
    looks = heard(it.asker, lambda looks: len([look for look in looks if look.state is State.LATE]) == 2)
    it.close()
    (first, second) = [look.reason or "" for look in looks if look.state is State.LATE]
    assert first.startswith("not asked: `nvidia-smi nvlink -s` had not ended")
    assert second == first
    assert not space.processes()


def test_closing_ends_the_tool_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: RunSpace) -> None:
    hanging(tmp_path, monkeypatch, space)
    it = watching(tmp_path / "none", Visit)
    until((tmp_path / "asked").exists, 30, "that the tool is asked")
    it.close()
    assert not [name for name in space.processes().values() if "sleep 600" in name]
