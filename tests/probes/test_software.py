"""System, packages and launchers."""

from __future__ import annotations

import pytest

from probes import software
from probes.host import Runtime
from tests.tree_host import TreeHost


def program(tree: TreeHost, path: str, script: str) -> None:
    tree.write({path: f"#!/bin/sh\n{script}"})
    (tree.folder / path.lstrip("/")).chmod(0o755)


def test_read(tree: TreeHost) -> None:
    tree.system = Runtime("made64", "libc 5", "3.99.1")
    tree.installed = {"numpy": "9.9", "torch": None}
    tree.write(
        {"/etc/os-release": 'NAME="Made"\nPRETTY_NAME="Made Up Linux 7"', "/proc/sys/kernel/osrelease": "9.1.0-made"}
    )
    facts = software.read(tree)
    assert facts == software.SoftwareFacts(
        "Made Up Linux 7", "9.1.0-made", "libc 5", "3.99.1", {"numpy": "9.9", "torch": None}, ()
    )


def test_launchers_are_those_first_on_path_and_say_what_they_are(tree: TreeHost) -> None:
    tree.variables["PATH"] = "/none:/opt/mpi:/usr/bin"
    program(tree, "/opt/mpi/mpirun", "echo; echo 'mpirun (Made MPI) 4.2'; echo more")
    program(tree, "/usr/bin/mpirun", "echo wrong")
    program(tree, "/usr/bin/torchrun", "echo imported a framework")
    assert software.read(tree).launchers == (
        software.Launcher("mpirun", "/opt/mpi/mpirun", "mpirun (Made MPI) 4.2"),
        software.Launcher("torchrun", "/usr/bin/torchrun", None),
    )


def test_a_launcher_that_does_not_answer_has_no_version(tree: TreeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "_VERSION_SECONDS", 0.05)
    tree.variables["PATH"] = "/bin"
    program(tree, "/bin/srun", "exec tail -f /dev/null")
    assert software.read(tree).launchers == (software.Launcher("srun", "/bin/srun", None),)


def test_os_release_is_found_in_its_second_place(tree: TreeHost) -> None:
    assert software.read(tree.write({"/usr/lib/os-release": "PRETTY_NAME=Plain"})).system == "Plain"


def test_unknown_without_files(tree: TreeHost) -> None:
    assert software.read(tree) == software.SoftwareFacts(None, None, None, None, None, ())
