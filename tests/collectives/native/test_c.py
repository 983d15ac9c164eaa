"""The core's C programs, compiled and run as they are: plainly, under the sanitizers, and on an emulated aarch64.

A program is a row of PROGRAMS; how it may be built and run is a row of WAYS. Emulation proves build, alignment and
results on aarch64; it does not prove memory ordering.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.collectives.native.scenarios import write_all

pytestmark = pytest.mark.any_engine
HERE = Path(__file__).parent
SOURCES = HERE.parents[2] / "collectives" / "native" / "src"
DEADLINE = 300
"""Seconds for a compilation or a run; both take a few."""


@dataclass(frozen=True)
class Way:
    """How a program is built and run: the compiler, its flags, and the command that the program is an argument of."""

    compiler: str
    flags: tuple[str, ...]
    runner: tuple[str, ...] = ()
    package: str = "gcc"


@dataclass(frozen=True)
class Program:
    """A test program beside this file, the sources it is linked with, its own flags, and the rows of WAYS it takes.

    `arguments` writes what the program reads into a folder, and says what it is called with.
    """

    sources: tuple[str, ...]
    flags: tuple[str, ...]
    ways: tuple[str, ...]
    arguments: Callable[[Path], list[str]] = lambda folder: []


STRICT = ("-std=c11", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror")
SANITIZED = ("-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")

WAYS = {
    "plain": Way("gcc", ("-O3",)),
    "address": Way("gcc", (*SANITIZED, "-fsanitize=address,undefined")),
    "thread": Way("gcc", (*SANITIZED, "-fsanitize=thread")),
    "aarch64": Way(
        "aarch64-linux-gnu-gcc",
        ("-O3",),
        ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"),
        "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user",
    ),
}

PROGRAMS = {
    "fold_test.c": Program(("fold.c", "copy.c"), ("-lm",), ("plain", "address", "aarch64")),
    # Its ranks are threads, so that the thread sanitizer sees who may touch what.
    "ranks_test.c": Program(
        ("channel.c", "copy.c", "execute.c", "fold.c", "program.c", "record.c", "wait.c", "wire.c"),
        ("-pthread", "-DOD_CHUNK=512"),
        tuple(WAYS),
        lambda folder: write_all(folder, times=100),
    ),
    # Threads that record at once, and one that reads meanwhile.
    "record_test.c": Program(("record.c",), ("-pthread",), tuple(WAYS)),
}


@pytest.mark.parametrize(("name", "way"), [(name, way) for name, program in PROGRAMS.items() for way in program.ways])
def test_program(name: str, way: str, tmp_path: Path) -> None:
    program, how = PROGRAMS[name], WAYS[way]
    for command in (how.compiler, *how.runner[:1]):
        if shutil.which(command) is None:
            pytest.skip(f"no {command}: apt-get install {how.package}")
    built = tmp_path / "program"
    sources = [HERE / name, *(SOURCES / source for source in program.sources)]
    run([how.compiler, *STRICT, *how.flags, f"-I{SOURCES}", *map(str, sources), "-o", str(built), *program.flags])
    run([*how.runner, str(built), *program.arguments(tmp_path)])


def run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def test_every_program_has_a_row() -> None:
    assert {path.name for path in HERE.glob("*.c")} == set(PROGRAMS)
