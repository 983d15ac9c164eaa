"""Devices that wait for each other in a process of JAX."""

from __future__ import annotations

from suites.diagnose.evidence.xla import Rendezvous
from suites.diagnose.facts import Level, Trouble
from tests.suites.diagnose.cases.jax_inputs import device_waits
from tests.suites.diagnose.evidence.feeding import fed, only

UNSTUCK = "E0131 01:11:30.5 88 rendezvous.cc:107] Thread is unstuck! Warning above was a false-positive.\n"
ENDED = (
    "F0131 01:12:02.5 88 rendezvous.cc:127] [id=2] Termination timeout for `acquire clique for rank 2; "
    "clique=devices=[0,1]` of 40 seconds exceeded. Exiting to ensure a consistent program state.\n"
)


def told(text: str) -> list[str]:
    troubles = only(fed(Rendezvous(), text), Trouble)
    assert all((one.level, one.cause) == (Level.TIMEOUT, None) for one in troubles)
    return [one.what for one in troubles]


def test_a_thread_that_waits() -> None:
    (what,) = told(device_waits("acquire clique for rank 2; clique=devices=[0,1]; run_id=-4"))
    assert "20 s in `acquire clique for rank 2`" in what
    assert what.endswith("not all came")
    (what,) = told(device_waits("initialize clique", came=True))
    assert "all have come" in what


def test_a_thread_that_goes_on_was_but_slow() -> None:
    waits = device_waits("initialize clique")
    assert not told(waits + UNSTUCK)
    assert len(told(waits * 2 + UNSTUCK)) == 1


def test_a_thread_that_ends_its_process() -> None:
    (what,) = told(device_waits("acquire clique for rank 2") + ENDED)
    assert "40 s" in what
    assert "ends its process" in what
