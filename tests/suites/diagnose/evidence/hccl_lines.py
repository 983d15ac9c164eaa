"""Lines of a log through the reader of HCCL's, and what of a kind it told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from suites.diagnose.evidence.hccl_log import HcclLog
from suites.diagnose.facts import NOBODY, Fact, Trouble, Who
from tests.suites.diagnose.evidence.feeding import fed

Kind = TypeVar("Kind")


def facts(text: str, who: Who = NOBODY) -> list[Fact]:
    return fed(HcclLog(), text, "plog-1.log", who)


def of(kind: type[Kind], told: Iterable[Fact]) -> list[Kind]:
    return [fact for fact in told if isinstance(fact, kind)]


def troubles(text: str, who: Who = NOBODY) -> list[Trouble]:
    return of(Trouble, facts(text, who))


def record(pid: int, text: str, time: str = "2026-03-01-08:00:00.250.000", level: str = "ERROR") -> str:
    """A line of a plog."""
    return f"[{level}] HCCL({pid},python3):{time} [made_up.cc:12] [{pid}]{text}"
