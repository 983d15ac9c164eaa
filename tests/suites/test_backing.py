"""Which backends a run uses, and what `auto` means."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from suites import backing
from suites.errors import SuiteError, UsageError
from suites.world import HostFacts


@dataclass(frozen=True)
class Told:
    """A backend, as far as it is asked here: with devices or without, ready or not."""

    name: str
    claimed: bool = False
    reason: str | None = None

    def claims(self) -> bool:
        return self.claimed

    def unavailable(self) -> str | None:
        return self.reason


@pytest.fixture(name="told")
def _told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Told]:
    table = {name: Told(name) for name in ("builtin", "mpi", "nccl")}
    monkeypatch.setattr(backing, "BACKENDS", table)
    monkeypatch.setattr(backing, "backend_named", lambda name: table[name])
    return table


def names(*asked: str) -> list[str]:
    return [backend.name for backend in backing.ready(asked)]


def test_auto_is_the_built_in_one_where_no_devices_are_visible(told: dict[str, Told]) -> None:
    assert names("auto") == ["builtin"]
    assert names("mpi", "auto", "builtin", "mpi") == ["mpi", "builtin"]


def test_auto_is_the_one_whose_devices_are_visible(told: dict[str, Told]) -> None:
    told["nccl"] = Told("nccl", claimed=True)
    assert names("auto", "builtin") == ["nccl", "builtin"]


def test_devices_that_cannot_be_used_leave_no_verdict_and_a_way_out(told: dict[str, Told]) -> None:
    told["nccl"] = Told("nccl", claimed=True, reason="torch is not installed; pip install torch")
    with pytest.raises(
        SuiteError, match="torch is not installed; pip install torch; or use --backend builtin"
    ) as caught:
        names("auto")
    assert not isinstance(caught.value, UsageError)  # exit 3, not 2
    assert names("builtin") == ["builtin"]


def test_what_was_asked_for_by_name_and_cannot_be_used_is_refused(told: dict[str, Told]) -> None:
    told["mpi"] = Told("mpi", reason="no MPI; install one")
    with pytest.raises(UsageError, match="backend mpi cannot be used: no MPI; install one"):
        names("builtin", "mpi")
    with pytest.raises(UsageError, match="did you mean 'nccl'"):
        names("ncll")


def test_a_host_without_the_core_is_named_with_what_to_install_there() -> None:
    there = HostFacts("a", (0,), 1, None, 0)
    lacking = replace(there, name="b", without_core="the native core is missing (no cc); install a C compiler")
    (finding,) = backing.judge_cores([there, lacking])
    assert finding.subject == {"host": "b"}
    assert finding.message == "b: the native core is missing (no cc); and so they do on all 2 hosts"
    assert finding.remedy == "there: install a C compiler"
    assert backing.judge_cores([there, there]) == backing.judge_cores([lacking, lacking]) == []
