"""`opsdist perf --backend mpi` as a user runs it: real mpiexec, real ranks; measured, and ended in every way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from collectives.ringreader import read
from tests.collectives.backends.mpi_processes import needs_mpi
from tests.leftovers import RunSpace, until
from tests.perf_process import PROMISED, SMALL, Perf, perf
from tests.schema import validate
from tests.suites.launch.loners import stand_in

pytestmark = needs_mpi

ENDLESS = (
    "allreduce", "--backend", "mpi", "--size", "4K,64M", "--loop", "3000", "--cache", "warm", "--no-check",
    "--peak", "100GB/s", "-v",
)  # fmt: skip
"""A row that is soon complete, then transfers with nothing between them, for minutes."""


def pids(space: RunSpace, words: str) -> list[int]:
    """Processes of the run with these words in their command line."""
    return [pid for pid, line in space.processes().items() if words in line]


def in_transfer(run: Perf) -> dict[int, int]:
    run.until_row(4096)
    run.until(lambda: all(map(_sends_much, run.rings().values())), "transfers that take a while")
    return run.ranks()


def _sends_much(data: bytes) -> bool:
    """Whether the rank has begun to transfer what the second row is of."""
    return any(entry.collective == "allreduce" and (entry.bytes or 0) >= 64 << 20 for entry in read(data).entries)


@pytest.mark.parametrize("sync", ["each", "none"])
def test_all_sizes_in_and_out_of_place_are_right(space: RunSpace, sync: str) -> None:
    arguments = ("allreduce", "--backend", "mpi", "-n", "2", "--size", "8,1K,1M", "--both", "--sync", sync)
    with perf(space, *arguments) as run:
        run.measured()
    validate(run.record)
    rows = run.record["results"]
    assert [(row["backend"], row["algorithm"], row["size"]) for row in rows] == [
        ("mpi", "library", size) for size in (8, 1 << 10, 1 << 20)
    ]
    assert all(row[side]["nwrong"] == 0 for row in rows for side in ("out_of_place", "in_place"))
    assert all(row[side]["time"] > 0 for row in rows for side in ("out_of_place", "in_place"))
    assert run.stderr == ""


def test_side_by_side_with_another_backend_in_the_same_ranks(space: RunSpace) -> None:
    with perf(space, "all", "--backend", "builtin,mpi", "-n", "3", "--size", "4K", "--loop", "2", "--both") as run:
        assert run.code() == 0, run.stderr
    backends = [row["backend"] for row in run.record["results"]]
    assert backends.count("mpi") == backends.count("builtin") == 11
    assert not any(row["skipped"] for row in run.record["results"])


def test_what_mpi_lacks_is_a_skipped_row(space: RunSpace) -> None:
    with perf(space, *SMALL, "--backend", "builtin,mpi", "--dtype", "bf16", "-n", "2") as run:
        assert run.code() == 0, run.stderr
    reasons = {row["backend"]: row["skipped"] for row in run.record["results"]}
    assert reasons == {"builtin": None, "mpi": "MPI has no bfloat16 that it could reduce; use float32"}


def test_ranks_are_pinned_as_forked_ones_are(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2") as run:
        ranks = in_transfer(run)
        allowed = {rank: os.sched_getaffinity(pid) for rank, pid in ranks.items()}
        run.process.send_signal(signal.SIGINT)
        assert run.code() == 130
    asked = {rank["rank"]: rank["cpu"] for rank in run.record["world"]["ranks"]}
    for rank, cpus in asked.items():
        assert cpus is None or allowed[rank] == set(cpus)
    validate(run.record)


def test_a_rank_killed_in_a_transfer_is_named(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2") as run:
        os.kill(in_transfer(run)[1], signal.SIGKILL)
        assert run.code() == 3
    assert (run.record["verdict"]["class"], run.culprits()) == ("crashed", [1])
    assert "SIGKILL" in run.record["verdict"]["explanation"]
    assert run.record["verdict"]["collective"]["group"] == "mpi world"
    assert run.record["verdict"]["collective"]["op"] in ("allreduce", "barrier")
    assert {place["rank"] for place in run.record["verdict"]["positions"]} == {0, 1}
    assert run.record["results"][0]["out_of_place"]["iterations"] > 0
    # mpiexec's own opinion is not asked.
    assert "BAD TERMINATION" not in run.stderr


def test_a_rank_stopped_in_a_transfer_is_named_although_the_others_are_busy_waiting(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2", "--timeout", "3s") as run:
        os.kill(in_transfer(run)[1], signal.SIGSTOP)
        assert run.code() == 3
    assert (run.record["verdict"]["class"], run.culprits()) == ("stuck", [1])
    assert "stopped" in run.record["verdict"]["explanation"]
    assert run.record["verdict"]["collective"]["group"] == "mpi world"


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [("sleep", "missing"), ("exit0", "missing"), ("raise", "crashed"), ("stop:at=rendezvous", "missing")],
)
def test_injected_faults_get_the_verdict_that_they_get_elsewhere(space: RunSpace, fault: str, verdict: str) -> None:
    with perf(space, *SMALL, "--backend", "mpi", "-n", "2", "--timeout", "3s", "--inject", fault) as run:
        assert run.code() == 3
    assert (run.record["verdict"]["class"], run.culprits()) == (verdict, [1])


@pytest.mark.parametrize("who", ["suites.launch.agent", "mpiexec", "hydra_pmi_proxy", "suites.launch.dial"])
def test_whoever_is_killed_between_controller_and_ranks_nothing_stays(space: RunSpace, who: str) -> None:
    with perf(space, *ENDLESS, "-n", "2") as run:
        ranks = in_transfer(run)
        victims = [pid for pid in pids(space, who) if pid not in ranks.values()]
        if not victims and who == "hydra_pmi_proxy":  # Open MPI has none
            victims = pids(space, "mpiexec")
        os.kill(victims[0], signal.SIGKILL)
        assert run.code() == 3
    validate(run.record)
    assert run.record["verdict"]["class"] in ("crashed", "stuck")
    assert run.record["results"][0]["out_of_place"]


@pytest.mark.parametrize("when", ["as the ranks start", "in a transfer"])
def test_no_process_outlives_a_killed_controller(space: RunSpace, when: str) -> None:
    with perf(space, *ENDLESS, "-n", "2") as run:
        if when == "in a transfer":
            in_transfer(run)
        else:
            run.until(lambda: len(pids(space, "suites.launch.dial")) > 1, "the first ranks")
        run.process.kill()
        run.process.wait()
        space.gone(within=PROMISED)


def test_when_everything_is_killed_at_once_no_shared_memory_stays(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2") as run:
        in_transfer(run)
        victims = list(space.processes())
        assert len(victims) >= 7
        for pid in victims:
            os.kill(pid, signal.SIGSTOP)  # so that nobody can clean up after another
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        run.process.wait()
        space.gone(within=PROMISED)


def test_interrupted_twice_it_ends_at_once(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2") as run:
        in_transfer(run)
        os.kill(pids(space, "suites.launch.agent")[0], signal.SIGSTOP)
        run.process.send_signal(signal.SIGINT)
        run.until(lambda: "stopping" in run.stderr, "the word that the signal was seen")
        run.process.send_signal(signal.SIGINT)
        assert run.code(PROMISED) == 130


def test_an_mpiexec_of_another_mpi_is_refused_with_both_names(space: RunSpace) -> None:
    mpiexec = stand_in(space, "loners")
    with perf(space, *SMALL, "--backend", "mpi", "-n", "2", variables={"OPSDIST_MPIEXEC": mpiexec}) as run:
        assert run.code() == 3
    verdict = run.record["verdict"]
    assert verdict["class"] == "launch"
    for words in (f"started by {mpiexec}", "libmpi", "do not belong together", "OPSDIST_MPIEXEC=", "MPI4PY_LIBMPI="):
        assert words in verdict["explanation"]
    assert not run.record["results"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import sys; sys.exit('no slots')", "ended with exit 1 before all ranks had come"),
        ("import sys, time\nif '--version' not in sys.argv: time.sleep(600)", "started 0 of 2 ranks within 10 s"),
    ],
)
def test_an_mpiexec_that_starts_nobody_is_told(space: RunSpace, text: str, words: str) -> None:
    mpiexec = stand_in(space, "nobody", text)
    variables = {"OPSDIST_MPIEXEC": mpiexec}
    with perf(space, *SMALL, "--backend", "mpi", "-n", "2", "--timeout", "1s", variables=variables) as run:
        assert run.code() == 3
    assert run.record["verdict"]["class"] == "launch"
    assert words in run.record["verdict"]["explanation"]
    assert mpiexec in run.record["verdict"]["explanation"]
    assert "no slots" not in text or "no slots" in run.stderr


def test_the_token_is_on_no_command_line(space: RunSpace) -> None:
    with perf(space, *ENDLESS, "-n", "2") as run:
        ranks = in_transfer(run)
        environment = Path(f"/proc/{ranks[0]}/environ").read_bytes().split(b"\0")
        token = next(line.partition(b"=")[2] for line in environment if line.startswith(b"OPSDIST_DIAL_TOKEN="))
        assert len(token) == 32
        assert not any(token.decode() in line for line in space.processes().values())
        run.process.send_signal(signal.SIGTERM)
        assert run.code() == 143
    until(lambda: not space.processes(), PROMISED, "the end of the run")
