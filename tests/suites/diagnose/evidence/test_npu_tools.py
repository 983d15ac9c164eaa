"""Answers of hccn_tool and npu-smi: only what differs between NPUs says something."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.npu_tools import NpuTools
from suites.diagnose.facts import Fact, Level, Subject, Trouble, Who
from tests.suites.diagnose.evidence.feeding import fed

_LOOP = "[root@node07 ~]# for i in {0..7}; do hccn_tool -i $i -link -g; done\n"


def troubles(text: str) -> list[Trouble]:
    told: list[Fact] = fed(NpuTools(), text)
    return [fact for fact in told if isinstance(fact, Trouble)]


def links(states: str) -> str:
    return "".join(f"link status: {'UP' if state == 'u' else 'DOWN'}\n" for state in states)


def asked(device: int) -> str:
    return f"[root@node07 ~]# hccn_tool -i {device} -link -g\n"


def table(*states: str) -> str:
    return "".join(
        f"| {n}     910B2               | {state:<13} | 94.9        36                0    / 0             |\n"
        f"| 0                         | 0000:C{n}:00.0  | 0           0    / 0          3499 / 65536         |\n"
        for n, state in enumerate(states)
    )


def of(device: int, host: str | None = None) -> Subject:
    return Subject("device", Who(host=host, device=f"npu{device}"))


@pytest.mark.parametrize(
    ("text", "about"),
    [
        (_LOOP + links("uuuduuuu"), (of(3, "node07"),)),
        (_LOOP + links("uduuuduu"), (of(1, "node07"), of(5, "node07"))),
        (asked(5) + links("d"), (of(5, "node07"),)),
        (asked(4) + links("u") + asked(5) + links("d"), (of(5, "node07"),)),
        ("[devid 6] link status: DOWN\n", (of(6),)),
        (links("ud"), ()),
    ],
)
def test_a_port_that_is_down(text: str, about: tuple[Subject, ...]) -> None:
    (trouble,) = troubles(text)
    assert (trouble.level, trouble.cause, trouble.about) == (Level.TRANSPORT, "device", about)


@pytest.mark.parametrize("text", [_LOOP + links("dddddddd"), _LOOP + links("uuuuuuuu"), _LOOP, table("OK", "Warning")])
def test_what_all_have_alike_is_nothing(text: str) -> None:
    assert not troubles(text)


@pytest.mark.parametrize("state", ["Alarm", "Critical"])
def test_an_npu_that_is_not_healthy(state: str) -> None:
    (trouble,) = troubles(table("OK", "OK", state, "OK"))
    assert (trouble.cause, trouble.about) == ("device", (of(2),))
    assert not troubles(table(state, state))


def test_tls_that_differs() -> None:
    text = "dev_id:0, tls switch[{}](0:disable, 1:enable), tls alarm time threshold[60]days\n"
    (trouble,) = troubles(text.format(0) + text.format(1))
    assert (trouble.cause, trouble.about) == ("config", ())
    assert not troubles(text.format(0) * 2)
