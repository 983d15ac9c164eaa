"""How ssh is called, and what its failures mean: texts as they are, and a stand-in for ssh that fails at first."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from suites.launch import local
from suites.launch.ssh import Far, argv, command, diagnose, forwarded
from tests.leftovers import RunSpace
from tests.perf_process import SMALL, perf

pytestmark = pytest.mark.any_engine


def test_the_users_options_come_first_and_the_host_after_the_end_of_options() -> None:
    words = argv("u@node1", Far(("ssh", "-F", "mine", "-p", "22"), "/opt/python"))
    assert words[:5] == ("ssh", "-F", "mine", "-p", "22")
    assert words[-3:] == ("--", "u@node1", "exec /opt/python -P -m suites.launch.far")
    assert "-oBatchMode=yes" in words
    assert not any("StrictHostKeyChecking" in word for word in words)


def test_a_prologue_comes_before_and_an_odd_path_is_one_word() -> None:
    words = argv("h", Far(python="/my tools/python", prologue="source set_env.sh"))
    assert words[-1] == "source set_env.sh && exec '/my tools/python' -P -m suites.launch.far"


def test_what_belongs_to_communication_goes_along_and_what_was_asked_for() -> None:
    here = {"NCCL_DEBUG": "INFO", "HCCL_X": "1", "LD_LIBRARY_PATH": "/lib", "SECRET": "s", "MINE": "m", "PATH": "p"}
    set_there = forwarded(here, [("MINE", None), ("OTHER", "a b"), ("OMP_NUM_THREADS", "7")])
    assert set_there == {
        **local.DEFAULTS, "NCCL_DEBUG": "INFO", "HCCL_X": "1", "LD_LIBRARY_PATH": "/lib", "MINE": "m", "OTHER": "a b",
        "OMP_NUM_THREADS": "7",
    }  # fmt: skip


def test_values_are_on_no_command_line() -> None:
    started = command("h", "h", Far(variables={"KEY": "value-of-it"}), {})
    assert "value-of-it" not in " ".join(started.argv)
    assert started.first == {"type": "environment", "variables": {"KEY": "value-of-it"}}


CHANGED = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
Host key verification failed.
"""


@pytest.mark.parametrize(
    ("words", "code", "kind", "phase"),
    [
        (CHANGED, 255, "launch", "host key"),
        ("No ED25519 host key is known for n1 and you have requested strict checking.", 255, "launch", "host key"),
        ("u@n1: Permission denied (publickey,password).", 255, "launch", "authentication"),
        ("ssh: Could not resolve hostname n1: Name or service not known", 255, "launch", "name"),
        ("ssh: connect to host n1 port 22: Connection refused", 255, "launch", "connection"),
        ("ssh: connect to host n1 port 22: Connection timed out", 255, "launch", "connection"),
        ("ssh: connect to host n1 port 22: No route to host", 255, "launch", "connection"),
        ("kex_exchange_identification: read: Connection reset by peer", 255, "launch", "connection"),
        ("Connection closed by 10.0.0.1 port 22", 255, "launch", "connection"),
        ("bash: line 1: exec: /no/python: not found", 127, "launch", "python"),
        ("fish: Unknown command: /no/python", 127, "launch", "python"),
        ("/usr/bin/python3: No module named 'suites'", 1, "launch", "opsdist"),
        ("Unknown option: -P\nusage: python3 [option] ...", 2, "launch", "python"),
        ("", 1, "launch", "start"),
        ("", None, "launch", "start"),
    ],
)
def test_what_it_means_that_no_agent_came(words: str, code: int | None, kind: str, phase: str) -> None:
    trouble = diagnose(words, code, "n1", greeted=False)
    assert (trouble.kind, trouble.phase) == (kind, phase)
    assert "n1" in trouble.message + "".join(trouble.advice)


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        ("Timeout, server n1 not responding.", 255, "unreachable"),
        ("client_loop: send disconnect: Broken pipe", 255, "unreachable"),
        ("Connection to n1 closed by remote host.", 255, "unreachable"),
        ("", 255, "agent"),
        ("Killed", 137, "agent"),
        ("", -9, "outside"),
    ],
)
def test_what_it_means_that_an_agent_is_gone(words: str, code: int, kind: str) -> None:
    assert diagnose(words, code, "n1", greeted=True).kind == kind


FLAKY = """\
#!/bin/sh
# Refuses as a busy sshd does, as often as there are files to take away; then runs the command on this host.
for file in {folder}/refusal*; do
    if [ -e "$file" ]; then
        rm "$file"
        echo "kex_exchange_identification: Connection closed by remote host" >&2
        exit 255
    fi
done
for command; do :; done
exec sh -c "$command"
"""


@pytest.mark.parametrize(("refusals", "code"), [(2, 0), (9, 3)])
def test_a_busy_server_is_asked_again_but_not_for_ever(space: RunSpace, refusals: int, code: int) -> None:
    script = space.folder / "flaky"
    script.write_text(FLAKY.format(folder=shlex.quote(str(space.folder))))
    script.chmod(0o755)
    for number in range(refusals):
        (space.folder / f"refusal{number}").touch()
    with perf(
        space, *SMALL, "--hosts", "elsewhere", "-n", "2", "--ssh", str(script), "--python", sys.executable
    ) as run:
        assert run.code() == code, run.stderr
    left = len(list(Path(space.folder).glob("refusal*")))
    assert left == (0 if code == 0 else refusals - 4)
    if code:
        assert "(phase: connection)" in run.record["verdict"]["explanation"]
