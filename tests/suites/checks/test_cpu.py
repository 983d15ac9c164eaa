"""Rules about processors."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, found_on, host, silent
from tests.suites.checks.ruled import fleet, ruled, statuses

CPUS = "/sys/devices/system/cpu"


def governed(*governors: str, commands: dict[str, str] | None = None, **frequencies: str) -> dict[str, Any]:
    files = {f"{CPUS}/online": f"0-{max(0, len(governors) - 1)}\n"}
    files |= {f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor": f"{name}\n" for cpu, name in enumerate(governors)}
    files |= {f"{CPUS}/cpu0/cpufreq/{name}": f"{value}\n" for name, value in frequencies.items()}
    return host("cpu", "accelerators", commands=commands, files=files)


def test_a_governor_that_saves_power() -> None:
    (finding,) = found_on("cpu.governor", governed("performance", "powersave", "powersave", commands=GPUS))
    assert finding.status is Status.WARN
    assert "powersave on 2 CPUs" in finding.message
    assert statuses(found_on("cpu.governor", governed("ondemand"))) == [Status.INFO]
    assert silent("cpu.governor", governed("performance", commands=GPUS))


def test_a_virtual_machine_has_no_governor_and_no_verdict() -> None:
    assert ruled("cpu.governor", governed(commands=GPUS)) == []


def test_a_frequency_that_is_capped() -> None:
    capped = governed("performance", commands=GPUS, scaling_max_freq="2600000", cpuinfo_max_freq="3000000")
    assert statuses(found_on("cpu.frequency_capped", capped)) == [Status.WARN]
    free = governed("performance", commands=GPUS, scaling_max_freq="2700000", cpuinfo_max_freq="3000000")
    assert silent("cpu.frequency_capped", free)
    assert ruled("cpu.frequency_capped", governed("performance")) == []


def test_processors_of_a_fleet() -> None:
    def machine(cpus: int) -> dict[str, Any]:
        return host("cpu", files={f"{CPUS}/online": f"0-{cpus - 1}\n", "/proc/cpuinfo": "model name : Quux\n"})

    (finding,) = fleet("cpu.differs", a=machine(64), b=machine(32), c=machine(64))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b"})
    assert finding.message == "the number of CPUs is 32, and 64 on 2 of 3"
    assert statuses(fleet("cpu.differs", a=machine(64), b=machine(64))) == [Status.PASS]


@pytest.mark.parametrize(
    ("present", "online", "siblings", "cpuinfo", "found"),
    [
        ("0-7", "0-7", "0", "flags : fpu", []),
        ("0-7", "0-6", "0", "flags : fpu", [Status.WARN]),
        ("0-7", "0-3", "0", "flags : fpu", [Status.INFO]),  # the other threads of all cores
        ("0-7", "0-3", "0-1", "flags : fpu", [Status.WARN]),
        ("0-7", "0-1", "0", "flags : hypervisor", [Status.INFO]),
    ],
)
def test_cpus_that_are_switched_off(
    present: str, online: str, siblings: str, cpuinfo: str, found: list[Status]
) -> None:
    files = {
        f"{CPUS}/present": present,
        f"{CPUS}/online": online,
        f"{CPUS}/cpu0/topology/thread_siblings_list": siblings,
        "/proc/cpuinfo": cpuinfo,
    }
    assert statuses(found_on("cpu.offline", host("cpu", files=files))) == found


def test_lscpu_tells_what_is_switched_off_too() -> None:
    told = "CPU(s): 8\nOn-line CPU(s) list: 0-6\nOff-line CPU(s) list: 7\n"
    (finding,) = found_on("cpu.offline", host("cpu", commands={"lscpu": told}))
    assert finding.message == "1 CPUs are switched off, 7 are on"
    assert silent("cpu.offline", host("cpu", commands={"lscpu": "CPU(s): 8\nOn-line CPU(s) list: 0-7\n"}))
    assert ruled("cpu.offline", host("cpu", commands={"lscpu": "CPU(s): 8\n"})) == []
