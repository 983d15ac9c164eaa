"""opsdist started by another launcher as many processes on one host: they are one world, and rank 0 speaks for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.leftovers import RunSpace, until
from tests.opsdist_cli.env_launchers import command, missing, processes, run, start
from tests.perf_process import ENDLESS, OPSDIST, PATIENCE, PROMISED, SMALL
from tests.schema import validate

pytestmark = pytest.mark.any_engine
LAUNCHERS = [
    pytest.param(name, marks=pytest.mark.skipif(missing(name) is not None, reason=f"{missing(name)}"))
    for name in ("by hand", "mpiexec", "mpirun", "torchrun")
]
every_launcher = pytest.mark.parametrize("launcher", LAUNCHERS)
LEAST = 10.0
"""Seconds for which ranks are waited for, at the least, whatever --timeout says."""


@every_launcher
def test_all_processes_are_one_world_and_only_rank_0_speaks(space: RunSpace, launcher: str) -> None:
    with run(space, launcher, 3, *SMALL) as ended:
        assert ended.code() == 0, ended.stderr
    validate(ended.record)
    world = ended.record["world"]
    assert (world["launcher"], world["size"]) == ("env", 3)
    assert [node["ranks"] for node in world["nodes"]] == [[0, 1, 2]]
    assert len({rank["pid"] for rank in world["ranks"]}) == 3
    assert ended.record["results"][0]["out_of_place"]["nwrong"] == 0
    assert ended.stdout.count("# passed: 1 of 1 cases measured") == 1
    assert ended.stdout.count("# 3 ranks, as ") == 1


def test_every_rank_returns_the_code_of_rank_0(space: RunSpace) -> None:
    with run(space, "by hand", 2, *SMALL, "--inject", "corrupt", name="wrong") as ended:
        assert ended.code() == 1, ended.stderr
    assert "codes 1 1" in ended.stderr
    with run(space, "by hand", 2, *SMALL, name="right") as ended:
        assert ended.code() == 0, ended.stderr
    assert "codes 0 0" in ended.stderr


@every_launcher
def test_a_rank_killed_is_named(space: RunSpace, launcher: str) -> None:
    with run(space, launcher, 2, *ENDLESS, "-v") as lost:
        lost.until_row(4096)
        os.kill(lost.ranks()[1], signal.SIGKILL)
        assert lost.code() != 0
    validate(lost.record)
    assert lost.record["exit_code"] == 3
    assert (lost.record["verdict"]["class"], lost.culprits()) == ("crashed", [1])
    assert lost.record["verdict"]["culprits"][0]["host"]
    assert lost.record["results"][0]["out_of_place"]["iterations"] > 0
    space.gone(within=PROMISED)


@every_launcher
def test_a_process_of_the_launcher_killed_is_the_end_of_its_rank(space: RunSpace, launcher: str) -> None:
    with run(space, launcher, 2, *ENDLESS, "-v") as lost:
        lost.until_row(4096)
        os.kill(processes(space)[1], signal.SIGKILL)
        lost.process.wait(PATIENCE)
        space.gone(within=PROMISED)
    if launcher == "by hand":  # the others end rank 0 at once, which may be before it has written
        assert (lost.record["verdict"]["class"], lost.culprits()) == ("crashed", [1])


@every_launcher
def test_without_rank_0_all_end(space: RunSpace, launcher: str) -> None:
    with run(space, launcher, 3, *ENDLESS, "-v") as lost:
        lost.until_row(4096)
        os.kill(processes(space)[0], signal.SIGKILL)
        assert lost.process.wait(PATIENCE) != 0
        space.gone(within=PROMISED)


def test_without_rank_0_the_others_end_by_themselves(space: RunSpace) -> None:
    with run(space, "by hand", 2, *ENDLESS, "-v") as lost:
        lost.until_row(4096)
        os.kill(processes(space)[0], signal.SIGKILL)
        assert lost.process.wait(PROMISED) == 3
    assert "codes -9 3" in lost.stderr


@every_launcher
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_launcher_is_the_end_of_all(space: RunSpace, launcher: str, number: int) -> None:
    with run(space, launcher, 2, *ENDLESS, "-v") as ended:
        ended.until_row(4096)
        ended.process.send_signal(number)
        assert ended.process.wait(PATIENCE) != 0
        space.gone(within=2 * PROMISED)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_as_a_whole_the_partial_report_is_kept(space: RunSpace, number: int, code: int) -> None:
    with run(space, "by hand", 2, *ENDLESS, "-v") as ended:
        ended.until_row(4096)
        for pid in processes(space).values():
            os.kill(pid, number)
        assert ended.code() == code
    assert f"codes {code} {code}" in ended.stderr
    assert ended.record["results"][0]["size"] == 4096


def test_one_process_told_to_end_is_a_lost_rank(space: RunSpace) -> None:
    with run(space, "by hand", 2, *ENDLESS, "-v") as lost:
        lost.until_row(4096)
        os.kill(processes(space)[1], signal.SIGTERM)
        lost.process.wait(PATIENCE)
    assert "codes 3 143" in lost.stderr
    assert (lost.record["verdict"]["class"], lost.culprits()) == ("crashed", [1])


def test_a_rank_that_was_not_started_is_named(space: RunSpace) -> None:
    variables = {"TEST_RANKS": "0,2"}
    with run(space, "by hand", 4, *SMALL, "--timeout", "1s", variables=variables) as ended:
        assert ended.code() == 3
    validate(ended.record)
    verdict = ended.record["verdict"]
    assert (verdict["class"], ended.culprits()) == ("launch", [1, 3])
    assert "ranks 1,3 of 4 did not come" in verdict["explanation"]
    assert "codes 3 3" in ended.stderr


def test_without_a_rank_0_to_be_found_that_is_said(space: RunSpace) -> None:
    with run(space, "by hand", 2, *SMALL, "--timeout", "1s", variables={"TEST_RANKS": "1"}) as ended:
        assert ended.code() == 3
    assert f"rank 0 was not found within {LEAST:g} s" in ended.stderr


def test_a_rank_that_comes_and_goes_is_named_at_once(space: RunSpace) -> None:
    with run(space, "by hand", 3, *SMALL, variables={"TEST_RANKS": "0,1"}) as ended:
        ended.until(lambda: 1 in processes(space) and _connected(processes(space)[1]), "rank 1's coming")
        os.kill(processes(space)[1], signal.SIGKILL)
        assert ended.process.wait(PATIENCE) == 3
    assert ended.culprits() == [1]
    assert "came and was gone before all ranks were here" in ended.record["verdict"]["explanation"]


def test_a_rank_that_hangs_before_the_start_is_named(space: RunSpace) -> None:
    shared = {"OPSDIST_STORE": f"test {space.mark}"}  # so that all know each other, whoever has started them
    arguments = (*SMALL, "--timeout", "1s")
    with run(space, "by hand", 3, *arguments, variables={**shared, "TEST_RANKS": "0,1"}) as ended:
        ended.until(lambda: 1 in processes(space) and _connected(processes(space)[1]), "rank 1's coming")
        os.kill(processes(space)[1], signal.SIGSTOP)
        last = start(space, OPSDIST, *arguments, name="last", variables={**shared, "OPSDIST_RANK": "2",
                                                                         "OPSDIST_WORLD_SIZE": "3"})  # fmt: skip
        assert last.process.wait(PATIENCE) == 3
        os.kill(processes(space)[1], signal.SIGKILL)
        assert ended.process.wait(PATIENCE) == 3
    assert ended.record["verdict"]["class"] == "launch"
    assert "rank 1 has not dialled within 10 s" in ended.record["verdict"]["explanation"]


def _connected(pid: int) -> bool:
    """Has told who it is, and waits for what it is to do: only for that does it take a selector."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            if "eventpoll" in os.readlink(link):
                return True
    return False


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"TEST_VARIABLES": ";OPSDIST_WORLD_SIZE=3"}, "is rank 1 of 3 by OPSDIST_RANK, where rank 0 is of 2"),
        ({"TEST_VARIABLES": ";;OPSDIST_RANK=1", "TEST_RANKS": "0,1,2"}, "say that they are rank 1"),
    ],
)
def test_a_world_that_is_none_is_refused(space: RunSpace, variables: dict[str, str], words: str) -> None:
    size = 2 if "TEST_RANKS" not in variables else 3
    with run(space, "by hand", size, *SMALL, variables=variables) as ended:
        assert ended.code() == 3
    assert words in ended.record["verdict"]["explanation"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "2"], "2 ranks, but OPSDIST_RANK has started 3 processes of opsdist"),
        (["--per-host", "2"], "--per-host 2: OPSDIST_RANK has started 3 on"),
        (["--hosts", "a,b"], "--hosts, but OPSDIST_RANK has started 3 processes"),
        (["--launcher", "ssh"], "--launcher ssh, but OPSDIST_RANK has started 3 processes"),
        (["--python", "x", "--env", "A=b"], "--python and --env, but OPSDIST_RANK has started 3 processes"),
        (["--loops"], "No such option '--loops'"),
    ],
)
def test_what_contradicts_the_launcher_is_said_once(space: RunSpace, arguments: list[str], words: str) -> None:
    with run(space, "by hand", 3, *SMALL, *arguments) as ended:
        assert ended.code() == 2
    assert ended.stderr.count(words) == 1
    assert "codes 2 2 2" in ended.stderr
    assert ended.stdout == ""


def test_what_only_rank_0_finds_out_is_the_code_of_all(space: RunSpace) -> None:
    with run(space, "by hand", 2, *SMALL, "--csv", "/no/such/folder/x.csv") as ended:
        assert ended.code() == 2
    assert "codes 2 2" in ended.stderr
    assert ended.stderr.count("/no/such/folder") == 1


def test_a_launcher_of_one_is_a_world_of_one_where_that_is_asked_for(space: RunSpace) -> None:
    with run(space, "by hand", 1, *SMALL, "--launcher", "env") as ended:
        assert ended.code() == 0, ended.stderr
    assert ended.record["world"]["why"] == "1 ranks, as OPSDIST_RANK has started them"


@pytest.mark.parametrize("arguments", [["-n", "3"], ["--per-host", "3"], ["--launcher", "env"]])
def test_what_agrees_with_the_launcher_is_taken(space: RunSpace, arguments: list[str]) -> None:
    with run(space, "by hand", 3, *SMALL, *arguments) as ended:
        assert ended.code() == 0, ended.stderr


@pytest.mark.parametrize("scheduler", ["127.0.0.1", "localhost"])
def test_the_workers_of_msrun_are_one_world_and_its_scheduler_is_none_of_it(space: RunSpace, scheduler: str) -> None:
    """As msrun does it, by its variables: it is not installed here."""
    shared = {"MS_WORKER_NUM": "2", "MS_SCHED_HOST": scheduler, "MS_SCHED_PORT": str(29_000 + os.getpid() % 1000)}
    text = f"""
import os, subprocess, sys
roles = [{{"MS_ROLE": "MS_SCHED"}}, *({{"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(rank)}} for rank in range(2))]
started = [subprocess.Popen(sys.argv[1:], env={{**os.environ, **{shared!r}, **role}}) for role in roles]
print("codes", *[process.wait() for process in started], file=sys.stderr)
"""
    ended = start(space, [sys.executable, "-c", text, *OPSDIST], *SMALL)
    assert ended.code() == 0, ended.stderr
    assert "codes 0 0 0" in ended.stderr
    assert ended.stdout.count("# 2 ranks, as msrun has started them") == ended.stdout.count("cases measured") == 1


def test_launcher_local_leaves_the_launcher_out(space: RunSpace) -> None:
    with run(space, "by hand", 2, *SMALL, "-n", "1", "--launcher", "local") as ended:
        assert ended.code() == 0
    assert ended.stdout.count("# passed: 1 of 1 cases measured") == 2


def test_launcher_env_wants_one(space: RunSpace) -> None:
    ended = start(space, OPSDIST, *SMALL, "--launcher", "env")
    assert ended.code() == 2
    assert "no launcher's variables are set" in ended.stderr


def test_two_launchers_that_disagree_are_both_named(space: RunSpace) -> None:
    ended = start(space, OPSDIST, *SMALL, variables={"RANK": "1", "WORLD_SIZE": "2", "PMI_RANK": "1", "PMI_SIZE": "4"})
    assert ended.code() == 2
    assert "PMI says rank 1 of 4; torchrun says rank 1 of 2" in ended.stderr


def test_two_runs_at_once_do_not_meet(space: RunSpace) -> None:
    runs = [start(space, command("by hand", 2), *SMALL, "--loop", "100", name=f"run{n}") for n in range(2)]
    assert [ended.code() for ended in runs] == [0, 0]
    pids = [{rank["pid"] for rank in ended.record["world"]["ranks"]} for ended in runs]
    assert not pids[0] & pids[1]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_the_cpus_that_each_process_was_given_are_its_ranks(space: RunSpace) -> None:
    one, two = sorted(os.sched_getaffinity(0))[:2]
    script = space.folder / "bound"
    script.write_text(f'#!/bin/sh\nexec taskset -c "$CPU" {" ".join(OPSDIST)} "$@"\n')
    script.chmod(0o755)
    prefix = [*command("by hand", 2)[:4], str(script)]
    variables = {"TEST_VARIABLES": f"CPU={two};CPU={one}"}
    ended = start(space, prefix, *ENDLESS, "-v", variables=variables)
    ended.until_row(4096)
    allowed = [os.sched_getaffinity(ended.ranks()[rank]) for rank in (0, 1)]
    agent = next(pid for pid, words in space.processes().items() if "suites.launch.agent" in words)
    assert os.sched_getaffinity(agent) == {one, two}
    os.kill(processes(space)[0], signal.SIGINT)
    ended.process.wait(PATIENCE)
    assert allowed == [{two}, {one}]
    assert [rank["cpu"] for rank in ended.record["world"]["ranks"]] == [[two], [one]]


@pytest.mark.skipif(missing("mpi4py") is not None, reason=f"{missing('mpi4py')}")
@pytest.mark.parametrize("launcher", LAUNCHERS[1:3])
def test_mpi_itself_runs_in_the_ranks_that_its_launcher_has_started(space: RunSpace, launcher: str) -> None:
    """Where both MPIs are there, mpi4py is told which one belongs to the launcher."""
    variables = {"MPI4PY_MPIABI": "openmpi"} if launcher == "mpirun" else {}
    with run(space, launcher, 2, *SMALL, "--backend", "builtin,mpi", variables=variables) as ended:
        assert ended.code() == 0, ended.stderr
    assert {row["backend"]: row["skipped"] for row in ended.record["results"]} == {"builtin": None, "mpi": None}
    assert "BAD TERMINATION" not in ended.stdout + ended.stderr


@pytest.mark.skipif(missing("mpirun") is not None, reason=f"{missing('mpirun')}")
@pytest.mark.skipif(missing("mpiexec") is not None, reason=f"{missing('mpiexec')}")
def test_an_mpi_that_is_not_the_launchers_is_no_world(space: RunSpace) -> None:
    """Open MPI starts ranks of MPICH: each would be a world of its own."""
    mpich = {"MPI4PY_LIBMPI": str(Path(sys.prefix, "lib", "libmpi.so.12"))}
    with run(space, "mpirun", 2, *SMALL, "--backend", "mpi", variables=mpich) as ended:
        assert ended.code() == 3
    assert "do not belong together" in ended.record["verdict"]["explanation"]


@pytest.mark.skipif(missing("mpi4py") is not None, reason=f"{missing('mpi4py')}")
def test_without_mpi_the_way_to_it_is_said(space: RunSpace) -> None:
    with run(space, "by hand", 2, *SMALL, "--backend", "mpi") as ended:
        assert ended.code() == 2
    assert "start opsdist once, with -n" in ended.stderr
    assert "codes 2 2" in ended.stderr


@pytest.mark.skipif(missing("torchrun") is not None, reason=f"{missing('torchrun')}")
def test_torchrun_may_start_the_world_anew(space: RunSpace) -> None:
    restarts = {"PET_MAX_RESTARTS": "1"}
    with run(space, "torchrun", 2, *SMALL, "--inject", "kill", variables=restarts) as ended:
        assert ended.code() == 1
    assert ended.stdout.count("crashed: rank 1") == 2
    assert "did not come" not in ended.stderr + ended.stdout


def test_a_suite_runs_its_checks_one_after_the_other_in_the_same_world(space: RunSpace) -> None:
    with run(space, "by hand", 3, "smoke", verb="suite") as ended:
        assert ended.code() == 0, ended.stdout
    assert ended.stdout.count("5 passed, 0 failed, 0 skipped") == 1
    assert "codes 0 0 0" in ended.stderr


def test_info_is_said_once(space: RunSpace) -> None:
    with run(space, "by hand", 2, "-t", "limits", verb="info") as ended:
        assert ended.code() == 0, ended.stderr
    assert ended.stdout.count("info: 1 section read") == 1


def test_info_of_a_world_that_is_not_complete_is_none(space: RunSpace) -> None:
    with run(space, "by hand", 3, "-t", "limits", verb="info", variables={"TEST_RANKS": "0,1"}) as ended:
        ended.until(lambda: 1 in processes(space) and _connected(processes(space)[1]), "rank 1's coming")
        os.kill(processes(space)[1], signal.SIGKILL)
        assert ended.process.wait(PATIENCE) == 3
    assert "came and was gone before all ranks were here" in ended.record["findings"][0]["message"]


def test_nothing_is_started_for_a_dry_run(space: RunSpace) -> None:
    with run(space, "by hand", 2, *SMALL, "--dry-run") as ended:
        assert ended.code() == 0, ended.stderr
    assert ended.stdout.count("ranks 0-1") == 1


def test_the_token_of_the_run_is_on_no_command_line(space: RunSpace) -> None:
    with run(space, "by hand", 2, *ENDLESS, "-v") as ended:
        environment = Path(f"/proc/{ended.ranks()[1]}/environ").read_bytes().split(b"\0")
        token = next(line.partition(b"=")[2] for line in environment if line.startswith(b"OPSDIST_DIAL_TOKEN="))
        assert len(token) == 32
        assert not any(token.decode() in words for words in space.processes().values())
        os.kill(processes(space)[0], signal.SIGINT)
        assert ended.process.wait(PATIENCE) == 130


def test_a_reader_that_leaves_changes_nothing(space: RunSpace) -> None:
    process = subprocess.Popen(
        [*command("by hand", 2), "perf", *SMALL], env=space.environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout
    process.stdout.close()
    assert process.wait(PATIENCE) == 0
    until(lambda: not space.processes(), PROMISED, "the end")
