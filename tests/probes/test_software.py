"""System, packages and launchers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import software
from probes.host import Answer, Runtime
from probes.recorded.texthost import TextHost
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
        "Made Up Linux 7", "9.1.0-made", "libc 5", "3.99.1", {"numpy": "9.9", "torch": None}, (), (), None, None, None
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
    assert software.read(tree) == software.SoftwareFacts(None, None, None, None, None, (), (), None, None, None)


def test_recorded_lists_of_packages_and_the_kernel() -> None:
    listed = "Package    Version\n---------- -------\nTorch_NPU  2.6.0.post3\nmpi4py     9.9\nother      1\n"
    commands = {"pip list": Answer(0, listed, ""), "uname -a": Answer(0, "Linux node7 9.1.0-made #1 SMP x86_64\n", "")}
    facts = software.read(TextHost({}, commands))
    assert facts.kernel == "9.1.0-made"
    assert facts.packages is not None
    told = {name: version for name, version in facts.packages.items() if version}
    assert told == {"torch_npu": "2.6.0.post3", "mpi4py": "9.9"}
    assert facts.packages["torch"] is None  # the whole list does not have it


def test_a_freeze_tells_as_much_as_a_list() -> None:
    assert software.parse_packages("torch==9.1\nx @ file:///y\n") == {"torch": "9.1"}
    assert software.parse_packages("torch-npu    9.1.0\n") == {"torch_npu": "9.1.0"}  # what grep has left of a list
    assert software.parse_packages("") is None
    assert software.parse_packages(None) is None


@given(st.text())
def test_no_list_of_packages_is_too_strange(text: str) -> None:
    assert software.parse_packages(text) is None or text
    assert "torch" in (software.parse_packages(f"Package Version\n{text}") or {})


def test_a_kernel_is_told_by_a_whole_line() -> None:
    assert software.parse_uname("Linux node7 9.1.0") is None
    assert software.parse_uname("Other node7 9.1.0 #1") is None
    assert software.parse_uname("Linux node7 9.1.0 #1") == "9.1.0"
