"""torch's backends: gloo as it is, nccl and hccl over a stub device with gloo below, all in real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from collectives.backends import BACKENDS, backend_named
from collectives.backends.torch import GLOO, HCCL, NCCL, TorchBackend
from collectives.backends.torch.link import Gone, Link
from collectives.backends.torch.memory import ASCEND, NVIDIA
from collectives.dtypes import DTYPES, OPERATORS
from collectives.errors import CollectiveError, RendezvousError, UsageError
from collectives.ops import COLLECTIVES
from tests.collectives.backends.torch_stand_ins import StubDevice, on_stub
from tests.collectives.processes import ROOT, Ended, assert_well, free_port, run_ranks
from tests.leftovers import RunSpace

with_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install '.[torch]'")
NAMES = ("gloo", "nccl", "hccl")
ROWS = (GLOO, NCCL, HCCL)
FAILURES = [("leaves", 1, "gloo"), ("leaves", 0, "gloo"), ("stays", 2, "nccl"), ("stops", 0, "gloo")]
RESET = """[/src/gloo/pair.cc:537] Read error [::1]:5: Connection reset by peer. This is typically caused by a remote \
worker hanging or bugs in the application. GLHF!"""
LATE = "[/src/gloo/unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete"


def run(space: RunSpace, size: int, library: str, *names: str, **variables: str) -> dict[int, Ended]:
    """Any warning of torch's is an error there, as it is here."""
    command = [sys.executable, "-W", "error", "-m", "tests.collectives.backends.torch_programs", library, *names]
    return run_ranks(space, command, size, **variables)


@with_torch
@pytest.mark.parametrize(("library", "size"), [("gloo", 3), ("nccl", 2)])
def test_what_is_not_lacked_works_and_what_is_lacked_fails(space: RunSpace, library: str, size: int) -> None:
    """nccl has gloo's limits here, and its own way to get there."""
    ended = run(space, size, library, "every_combination")
    assert_well(ended)
    assert not any(rank.stderr for rank in ended.values())


@with_torch
@pytest.mark.parametrize("library", ["gloo", "hccl"])
def test_everything_else_of_a_communicator(space: RunSpace, library: str) -> None:
    names = ("point_to_point", "groups", "works", "timing")
    assert_well(run(space, 3, library, *names, *(["on_a_device"] if library != "gloo" else [])))


@with_torch
def test_a_world_of_one(space: RunSpace) -> None:
    assert_well(run(space, 1, "gloo", "every_combination", "timing", "no_algorithm"))


@with_torch
def test_all_of_them_in_one_process(space: RunSpace) -> None:
    assert_well(run(space, 2, "gloo", "side_by_side"))


@with_torch
@pytest.mark.parametrize(("how", "lost", "library"), FAILURES)
def test_the_lost_rank_is_named_by_all_others(space: RunSpace, how: str, lost: int, library: str) -> None:
    """Rank 0 keeps torch's store, by which the others find out."""
    assert_well(run(space, 3, library, "failed", HOW=how, LOST=str(lost)))


@with_torch
def test_what_is_loaded_is_told_with_its_path(space: RunSpace) -> None:
    ended = run(space, 1, "gloo", "loaded")
    assert_well(ended)
    torch, gloo, path = ended[0].stdout.strip().split(", ")
    assert torch.startswith("torch 2.")
    assert gloo.startswith("gloo")
    assert Path(path).is_file()


@with_torch
def test_a_rank_that_does_not_come_is_named(space: RunSpace) -> None:
    ended = run_ranks(
        space, [sys.executable, "-m", "tests.collectives.backends.torch_programs", "gloo"], 2, [0], TIMEOUT="0.5"
    )
    assert "RendezvousError: 1 of 2 ranks did not arrive within 0.5 s: rank 1" in ended[0].stderr


@with_torch
def test_another_interface_can_be_named(space: RunSpace) -> None:
    """What the user has set wins: gloo says that there is no such interface."""
    ended = run(space, 1, "gloo", "loaded", GLOO_SOCKET_IFNAME="nowhere0")
    assert "RendezvousError: gloo: rank 0 could not connect" in ended[0].stderr
    assert "nowhere0" in ended[0].stderr


@with_torch
def test_two_ranks_do_not_share_a_device() -> None:
    nccl = on_stub(NCCL, StubDevice(devices=1))
    with pytest.raises(RendezvousError, match="local rank 1 has no device of its own: 1 visible"):
        nccl.memory(1)


@with_torch
@pytest.mark.parametrize("library", ["gloo", "nccl", "hccl"])
def test_ranks_of_several_hosts(space: RunSpace, library: str) -> None:
    """Each rank is told that it is on a host of its own, and how that is reached it finds out by itself."""
    store = f"tcp://127.0.0.1:{free_port()}"
    names = ("point_to_point", "groups", "works")
    assert_well(run(space, 3, library, *names, OPSDIST_LOCAL_SIZE="1", OPSDIST_STORE=store))


@with_torch
@pytest.mark.parametrize(("how", "lost", "library"), FAILURES)
def test_the_lost_rank_is_named_across_hosts(space: RunSpace, how: str, lost: int, library: str) -> None:
    variables = {"OPSDIST_LOCAL_SIZE": "1", "OPSDIST_STORE": f"tcp://127.0.0.1:{free_port()}"}
    assert_well(run(space, 3, library, "failed", HOW=how, LOST=str(lost), **variables))


def ask(code: str, **variables: str) -> str:
    """What a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_asking_loads_nothing() -> None:
    """Neither what is asked before ranks start nor what is loaded before they are forked."""
    code = """
import sys
from collectives.backends import BACKENDS, backend_named
from suites.jobs import job_named
for name in BACKENDS:
    backend_named(name).unavailable()
    backend_named(name).lacks("allreduce", "uint32", "avg")
job_named("perf")
print([name for name in ("torch", "torch_npu") if name in sys.modules])
"""
    assert ask(code) == "[]\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_them(name: str) -> None:
    backend = backend_named(name)
    assert BACKENDS[name] == f"collectives.backends.torch:{name.upper()}"
    assert backend.name == name
    assert not backend.plans
    assert len(backend.summary) <= 80


@pytest.mark.parametrize("backend", ROWS, ids=NAMES)
def test_without_torch_none_is_ready(backend: TorchBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectives.backends.torch.find_spec", lambda name: None)
    assert backend.unavailable() == "torch is not installed; pip install 'torch>=2.4'"


def test_without_torch_npu_hccl_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectives.backends.torch.find_spec", lambda name: None if name == "torch_npu" else name)
    reason = HCCL.unavailable()
    assert reason
    assert reason.startswith("torch_npu is not installed; pip install torch-npu")


@pytest.mark.parametrize(("installed", "ready"), [("2.13.0+cpu", False), ("2.13.0+cu130", True), ("2.13.0", True)])
def test_a_torch_for_cpus_has_no_nccl(monkeypatch: pytest.MonkeyPatch, installed: str, ready: bool) -> None:
    monkeypatch.setattr("collectives.backends.torch.find_spec", lambda name: name)
    monkeypatch.setattr("collectives.backends.torch.version", lambda name: installed)
    torch, _, build = NCCL.needs
    reason = replace(NCCL, needs=(torch, build)).unavailable()
    assert (reason is None) == ready
    assert ready or reason == (
        "torch 2.13.0+cpu was built without CUDA; install a build for your CUDA version from pytorch.org"
    )


@pytest.mark.parametrize(("files", "file"), [(NVIDIA, "nvidia0"), (ASCEND, "davinci3")], ids=["NVIDIA", "Ascend"])
def test_devices_are_looked_for_and_may_be_hidden(files: Any, file: str, tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").touch()
    (tmp_path / "davinci_manager").touch()
    none = files.missing(tmp_path, {})
    assert none.startswith(f"no {files.vendor} device is visible to torch (looked for {tmp_path}/")
    assert "; install the " in none
    (tmp_path / file).touch()
    assert files.missing(tmp_path, {}) is None
    assert files.missing(tmp_path, {files.variable: "0,1"}) is None
    for hidden in ("", "-1"):
        reason = files.missing(tmp_path, {files.variable: hidden})
        assert reason == (
            f"no {files.vendor} device is visible to torch ({files.variable}='{hidden}' hides all); "
            f"unset {files.variable}, or name devices in it"
        )


@pytest.mark.parametrize("backend", ROWS, ids=NAMES)
def test_what_is_lacked_is_said_in_words(backend: TorchBackend) -> None:
    assert backend.lacks("allreduce", "float32", "sum") is None
    assert backend.lacks("barrier", "uint8", "sum") is None
    assert backend.lacks("allgather", "int32", "avg") is None  # nothing is reduced
    assert backend.lacks("allreduce", "uint32", "max") == f"{backend.name} in torch has no allreduce of uint32"
    lacking = {(c, d, o) for c in COLLECTIVES for d in DTYPES for o in OPERATORS if backend.lacks(c, d, o)}
    assert {dtype for _, dtype, operator in lacking if operator == "max"} >= {"uint32", "uint64"}


def test_what_each_lacks_differs() -> None:
    assert GLOO.lacks("reduce", "int32", "avg") == "gloo in torch has no avg of int32"
    assert GLOO.lacks("reduce", "float16", "avg") is None
    assert GLOO.lacks("sendrecv", "uint64", "sum") is None
    assert NCCL.lacks("reduce", "int32", "avg") is None
    assert HCCL.lacks("reduce", "float32", "avg") == "hccl in torch has no avg of float32"
    assert HCCL.lacks("allreduce", "float64", "sum") == "hccl in torch has no sum of float64"
    assert HCCL.lacks("broadcast", "float64", "sum") is None


class OwnStore:
    """torch's store, as a rank sees it that is alone with it."""

    def set(self, key: str, value: str) -> None: ...

    def check(self, keys: list[str]) -> bool:
        return True


@pytest.fixture
def link() -> Link:
    pids = dict.fromkeys(range(3), os.getpid())
    return Link(object(), OwnStore(), 1, range(3), pids, 5.0, "127.0.0.1", "gloo")


def fail(text: str) -> None:
    raise RuntimeError(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RESET, "rank 1 lost the connection to one of ranks 0, 2 (gloo: Read error [::1]:5: Connection reset by peer)"),
        (LATE, f"nothing moved for 5 s: rank 1 waits for ranks 0, 2 (gloo: {LATE.partition('] ')[2]})"),
        ("Invalid scalar type\nmore", "rank 1 failed in gloo: Invalid scalar type"),
    ],
)
def test_where_all_answer_nobody_is_singled_out(link: Link, text: str, words: str) -> None:
    with pytest.raises(CollectiveError) as caught:
        link.guarded(lambda: fail(text))
    assert str(caught.value) == words
    with pytest.raises(CollectiveError) as again:
        link.guarded(lambda: link.group.allreduce([]))
    assert again.value is caught.value


def test_a_group_that_is_closed_says_so() -> None:
    with pytest.raises(UsageError, match="the communicator is closed"):
        Gone(UsageError("the communicator is closed")).barrier()
