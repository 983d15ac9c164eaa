"""Faults injected into a real `opsdist perf`: each is caught, and named with rank and phase."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from opsdist_cli import main
from suites.launch.supervise import Supervisor
from tests.leftovers import RunSpace, run_space
from tests.perf_process import PATIENCE, SMALL, Perf, perf
from tests.schema import validate

INJECTED = {
    ("raise", "rendezvous"): ("crashed", "rendezvous"),
    ("raise", "first"): ("crashed", "case 0"),
    ("raise", "middle"): ("crashed", "case 0"),
    ("exit0", "rendezvous"): ("missing", "rendezvous"),
    ("exit0", "first"): ("missing", "case 0"),
    ("exit0", "middle"): ("missing", "case 0"),
    ("kill", "rendezvous"): ("crashed", "rendezvous"),
    ("kill", "first"): ("crashed", "case 0"),
    ("kill", "middle"): ("crashed", "case 0"),
    ("stop", "rendezvous"): ("missing", "rendezvous"),
    ("stop", "first"): ("missing", "case 0"),
    ("stop", "middle"): ("missing", "case 0"),
    ("sleep", "rendezvous"): ("missing", "rendezvous"),
    ("sleep", "first"): ("missing", "case 0"),
    ("sleep", "middle"): ("missing", "case 0"),
}
"""(fault, point) -> (class of the verdict, the phase its message names)."""


def _run(folder: Path, fault: str, at: str) -> Perf:
    """One run of three ranks, to its end."""
    folder.mkdir()
    deadline = ("--timeout", "2s") if fault in ("stop", "sleep") else ()
    with (
        run_space(folder) as space,
        perf(space, *SMALL, "-n", "3", *deadline, "--inject", f"{fault}:rank=1,at={at}") as run,
    ):
        run.code()
        return run


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Future[Perf]]]:
    """All runs of INJECTED, a few at a time, since they mostly wait for deadlines."""
    folder = tmp_path_factory.mktemp("lost")
    with ThreadPoolExecutor(4) as pool:
        yield {(fault, at): pool.submit(_run, folder / f"{fault}-{at}", fault, at) for fault, at in INJECTED}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize(("fault", "at"), INJECTED)
def test_a_lost_rank_is_named_and_only_that_one(lost: dict[tuple[str, str], Future[Perf]], fault: str, at: str) -> None:
    wanted, phase = INJECTED[fault, at]
    run = lost[fault, at].result(4 * PATIENCE)
    assert run.code() == 3, run.stderr
    validate(run.record)
    verdict = run.record["verdict"]
    assert (verdict["class"], run.culprits(), verdict["suspects"]) == (wanted, [1], [])
    assert "rank 1 " in verdict["explanation"]
    assert phase in verdict["explanation"]
    assert set(verdict["waiting"]) <= {0, 2}
    assert f"opsdist: error: {verdict['explanation']}" in run.stderr
    assert run.record["status"] == "error"


@pytest.mark.parametrize("sync", ["each", "none"])
@pytest.mark.parametrize("at", ["first", "middle"])
def test_wrong_data_is_named_to_the_element(space: RunSpace, at: str, sync: str) -> None:
    with perf(space, *SMALL, "-n", "2", "--sync", sync, "--inject", f"corrupt:rank=1,at={at}") as run:
        assert run.code() == 1, run.stderr
    validate(run.record)
    [finding] = [finding for finding in run.record["findings"] if finding["status"] == "fail"]
    assert finding["subject"]["rank"] == 1
    evidence = finding["evidence"]
    assert evidence["expected"] != evidence["got"]
    for word in ("rank 1", f"index {evidence['index']}", str(evidence["expected"]), str(evidence["got"]), "sometimes"):
        assert word in finding["message"]
    assert run.record["results"][0]["out_of_place"]["nwrong"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--inject", "corrupt:rank=1,at=rendezvous"),
        ("--inject", "kill:rank=7"),
        ("--inject", "kill:rank=1,at=4"),
        ("--inject", "corrupt:rank=1", "--no-check"),
        ("--inject", "kil:rank=1"),
    ],
)
def test_a_fault_that_would_never_strike_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(Supervisor, "__enter__", None)  # no rank may be started
    assert main.run(["perf", *SMALL, "-n", "2", *arguments]) == 2
    assert "--inject" in capsys.readouterr().err
