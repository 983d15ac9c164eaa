"""What ranks had recorded when their run was ended from outside: it is kept, and says who stood where."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from collectives.ringreader import read
from opsdist_cli.recording import keep
from opsdist_cli.screen import Screen
from suites.diagnose.evidence.rings import moving
from suites.diagnose.offline import diagnose
from suites.launch import crew
from suites.report import now
from tests.leftovers import RunSpace
from tests.perf_process import ENDLESS, Perf, perf

RANKS = 3


def waiting(run: Perf, ranks: Sequence[int]) -> bool:
    """Whether these are in calls, and nobody has moved for a moment."""
    found = run.rings()
    waits = {rank: read(data).entries[-1].outcome == "under way" for rank, data in found.items()}
    return all(waits.get(rank) for rank in ranks) and not moving(found)


def folder_told(run: Perf) -> Path:
    (told,) = re.findall(r"^# what the ranks recorded: opsdist diagnose deadlock (.+)$", run.stderr, re.MULTILINE)
    return Path(told)


@pytest.mark.parametrize(
    ("number", "code", "named"), [(signal.SIGINT, 130, True), (signal.SIGINT, 130, False), (signal.SIGTERM, 143, False)]
)
def test_a_run_that_hangs_and_is_ended_leaves_its_rings(
    space: RunSpace, number: signal.Signals, code: int, named: bool
) -> None:
    wanted = space.folder / "rings"
    asked = ("--record", str(wanted)) if named else ()
    with perf(space, *ENDLESS, "-n", str(RANKS), "-v", *asked) as run:
        run.until_row(4096)
        os.kill(run.ranks()[1], signal.SIGSTOP)
        run.until(lambda: waiting(run, (0, 2)), "ranks that wait")
        run.process.send_signal(number)
        assert run.code() == code
    folder = folder_told(run)
    assert folder == wanted if named else folder.parent == space.folder / "state" / "opsdist"
    assert {path.name for path in folder.iterdir()} == {"run.json", *(f"rank-{rank}.ring" for rank in range(RANKS))}
    told = diagnose([str(folder)], ["opsdist"], now()).record()
    # Wherever it was stopped: behind the others, or in the call that they are in too.
    assert told["verdict"]["class"] in ("stuck", "missing", "joined")
    assert told["verdict"]["collective"]["group"] == "world"
    assert {culprit["rank"] for culprit in told["verdict"]["culprits"]} <= {1}
    assert {place["rank"] for place in told["stands"]} >= {0, 2}
    # The run itself found no fault.
    assert run.record["verdict"] is None
    assert run.record["exit_code"] == code


def test_where_nothing_was_recorded_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(Screen(), crew.here(), ["here"], now(), tmp_path)
    assert f"nothing is in {tmp_path}" in capsys.readouterr().err
    keep(Screen(), crew.here(), ["here"], now(), None)
    assert capsys.readouterr().err == ""
