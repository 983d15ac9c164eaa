"""Hosts that say different things of their set-up."""

from __future__ import annotations

import pytest

from suites.diagnose.case import case_of
from suites.diagnose.facts import Fact, Level, Place, Seen, Setting, Trouble, Who
from suites.diagnose.judge import judge
from suites.diagnose.verdict import Verdict


def setting(host: int, value: str, key: str = "nccl.devices") -> Setting:
    return Setting(Who(host=f"node{host:02}", pid=10 + host), Place(f"{host}.log", 1, value), key, value)


def verdict(*facts: Fact) -> Verdict:
    return judge(case_of([Seen(Place("1.log", 1), "NCCL log"), *facts]))


HANG = Trouble(Who(host="node01", pid=11), Place("1.log", 9), Level.TIMEOUT, "it has waited in vain")


@pytest.mark.parametrize("key", ["nccl.devices", "nccl.network", "nccl.version"])
def test_what_must_be_alike_is_a_fault_though_nobody_waits(key: str) -> None:
    told = verdict(setting(1, "a b", key), setting(2, "a", key))
    assert (told.name, told.confidence, told.about) == ("config", "hypothesis", ())


def test_the_minority_is_named_and_likely_where_somebody_waits() -> None:
    facts = [setting(1, "a b"), setting(2, "a"), setting(3, "a b")]
    for more, confidence in (((), "hypothesis"), ((HANG,), "likely")):
        told = verdict(*facts, *more)
        assert (told.confidence, [subject.who.host for subject in told.about]) == (confidence, ["node02"])
        assert told.place is not None
        assert told.place.file == "2.log"


def test_what_may_differ_counts_only_where_somebody_waits() -> None:
    facts = [setting(1, "eth0", "env.NCCL_SOCKET_IFNAME"), setting(2, "eth1", "env.NCCL_SOCKET_IFNAME")]
    assert verdict(*facts).name == "none"
    assert verdict(*facts, HANG).name == "config"


def test_what_matters_is_told_first() -> None:
    facts = [setting(1, "x", "env.A"), setting(2, "y", "env.A"), setting(1, "a"), setting(2, "b")]
    assert "nccl.devices" in verdict(*facts, HANG).explanation


@pytest.mark.parametrize("first", ["yes", "no"])
def test_the_end_of_a_path_that_lacks_something_is_named(first: str) -> None:
    path, second = "nccl.direct 9 -> 2", {"yes": "no", "no": "yes"}[first]
    for more in ((), (HANG,)):
        told = verdict(setting(1, first, path), setting(2, second, path), *more)
        assert (told.name, told.confidence) == ("config", "likely")
        assert [subject.who.host for subject in told.about] == ["node01" if first == "no" else "node02"]
        assert "modprobe nvidia-peermem" in told.next_checks[0]


def test_paths_of_one_name_between_several_hosts_are_not_compared() -> None:
    path = "nccl.direct 0 -> 1"
    assert verdict(setting(1, "yes", path), setting(2, "yes", path), setting(3, "no", path)).name == "none"
    assert verdict(setting(1, "no", path), setting(2, "no", path)).name == "none"
    assert verdict(setting(1, "yes", path), setting(2, "yes", path), setting(3, "no", path), HANG).name != "config"
