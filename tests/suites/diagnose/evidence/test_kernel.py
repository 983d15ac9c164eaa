"""Lines of the kernel among other logs are read as what they mean for the job. May import: suites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence import kernel
from suites.diagnose.facts import Class, Ended, Level, Stamp, Subject, Trouble, Who
from tests.suites.diagnose.evidence.feeding import fed, only

_HOST = Who(rank=5, host="node03")
"""Whose log the kernel's lines were pasted into."""
_LOST = "[Wed Dec  2 03:04:05 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=4321, name=python3, GPU has fallen off the bus."
_KILLED = (
    "[ 9912.004512] Memory cgroup out of memory: Killed process 4321 (python3) total-vm:81kB, anon-rss:70kB, "
    "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0"
)


def trouble(text: str) -> Trouble:
    (found,) = only(fed(kernel.Kernel(), text, who=_HOST), Trouble)
    assert isinstance(found, Trouble)
    return found


def test_a_lost_gpu_is_the_cause_and_names_host_device_and_process() -> None:
    found = trouble(_LOST)
    assert (found.level, found.cause) == (Level.INITIATING, "device")
    assert found.about == (Subject("device", Who(host="node03", device="0000:3b:00.0", pid=4321)),)
    assert found.place.time == 1796180645.0
    assert "Xid 79" in found.what


@pytest.mark.parametrize(
    ("code", "level", "cause"),
    [
        (31, Level.INITIATING, "crashed"),
        (48, Level.INITIATING, "device"),
        (94, Level.INITIATING, "device"),
        (45, Level.CASCADE, None),
        (63, Level.CASCADE, None),
        (999, Level.INITIATING, None),
    ],
)
def test_an_xid_means_what_the_catalogue_says(code: int, level: Level, cause: Class | None) -> None:
    found = trouble(f"[ 77.125] NVRM: Xid (PCI:0000:3b:00): {code}, pid=4321, name=python3, words")
    assert (found.level, found.cause) == (level, cause)
    assert bool(found.about) == (cause is not None)
    assert found.place.time is None


@pytest.mark.parametrize("since", ["    7.125001", " 9912.004512", "12345.678901"])
def test_seconds_since_the_boot_are_no_date(since: str) -> None:
    assert trouble(f"[{since}] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.").place.time is None


@pytest.mark.parametrize(
    ("told", "stamp"),
    [
        ("[Wed Dec  2 03:04:05 2026]", Stamp(1796180645.0)),
        ("[Dec 02 2026 03:04:05]", Stamp(1796180645.0)),
        ("2026-12-02T03:04:05,250000+02:00", Stamp(1796173445.25, zoned=True)),
        ("2026-12-02 03:04:05.250", Stamp(1796180645.25)),
        ("Dec  2 03:04:05", Stamp(975726245.0, yearless=True)),
    ],
)
def test_the_time_is_told_as_exactly_as_it_stands_there(told: str, stamp: Stamp) -> None:
    place = trouble(f"{told} NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.").place
    assert (place.stamp, place.time) == (stamp, None if stamp.yearless else stamp.seconds)


def test_a_process_that_the_kernel_killed_has_ended_and_memory_is_why() -> None:
    found = fed(kernel.Kernel(), _KILLED, who=_HOST)
    (why,) = only(found, Trouble)
    (ended,) = only(found, Ended)
    who = Who(host="node03", pid=4321)
    assert (why.level, why.cause, why.about) == (Level.INITIATING, "resource", (Subject("rank", who),))
    assert (ended.who, ended.signal) == (who, 9)


@pytest.mark.parametrize(
    ("text", "cause", "kind", "device"),
    [
        ("[ 9.5] mlx5_core 0000:17:00.0 ens1f0: Link down", "device", "device", "ens1f0"),
        ("bond0: (slave ens1f0): link status definitely down, disabling slave", "device", "device", "ens1f0"),
        ("[ 9.5] mlx5_core 0000:17:00.0: Port module event[error]: module 0, Cable is unplugged", "device", "device",
         "0000:17:00.0"),
        ("[ 9.5] nvidia-nvswitch3: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "device", "device",
         "0000:85:00.0"),
        ("[ 9.5] pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0", "device", "device",
         "0000:3b:00.0"),
        ("[ 9.5] [ascend] device is abnormal, dev_id=3", "device", "device", "npu3"),
        ("[ 9.5] EDAC MC0: 1 UE memory read error on CPU_SrcID#0", "device", "host", None),
        ("[ 9.5] NVRM: API mismatch: the client has the version 1.2", "config", "host", None),
    ],
)  # fmt: skip
def test_hardware_that_failed_is_named(text: str, cause: Class, kind: str, device: str | None) -> None:
    found = trouble(text)
    assert (found.level, found.cause) == (Level.INITIATING, cause)
    assert [(subject.kind, subject.who.host, subject.who.device) for subject in found.about] == [
        (kind, "node03", device)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "worker3: link is down, trying again",
        "[ 9.5] mlx5_core 0000:17:00.0 ens1f0: Link up",
        "[ 9.5] pcieport 0000:00:01.0: AER: Corrected error received: 0000:3b:00.0",
        "[ 9.5] EDAC MC0: 1 CE memory read error on CPU_SrcID#0",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "[ERROR] the timeout of a collective was reached",
    ],
)
def test_what_is_no_fault_of_hardware_says_nothing(text: str) -> None:
    assert not fed(kernel.Kernel(), text, who=_HOST)


def test_a_switch_that_recovered_proves_nothing() -> None:
    found = trouble("[ 9.5] nvidia-nvswitch3: SXid (PCI:0000:85:00.0): 12028, Non-fatal, Link 32 egress error")
    assert (found.cause, found.about) == (None, ())


@given(st.sampled_from([_LOST, _KILLED, *kernel.Kernel().wakes]), st.text(), st.integers(0, 60))
def test_no_text_makes_it_raise(text: str, tail: str, cut: int) -> None:
    fed(kernel.Kernel(), text[cut:] + tail)
    fed(kernel.Kernel(), tail + text[: len(text) - cut])


def test_a_link_that_came_up_again_is_told_of_none_but_itself() -> None:
    before = "Jan 31 10:00:00 node03 kernel: mlx5_core 0000:5e:00.0 ens5f0np0: "
    lost, back = f"{before}Link down", f"{before}Link up"
    told = only(fed(kernel.Kernel(), f"{lost}\n{back}", who=_HOST), Trouble)
    assert [one.known_as for one in told] == ["kernel.link_lost", "kernel.link_back"]
    assert not only(fed(kernel.Kernel(), f"{back}\n{back}", who=_HOST), Trouble)
    told = only(fed(kernel.Kernel(), f"{lost}\n{back.replace('ens5f0np0', 'ens6')}", who=_HOST), Trouble)
    assert [one.known_as for one in told] == ["kernel.link_lost"]
