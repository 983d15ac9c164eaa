"""How tools are asked: with deadlines, one at a time, and never again after they have hung."""

from __future__ import annotations

import fcntl
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from probes.host import Answer
from probes.reading import Said, State
from probes.recorded.texthost import TextHost
from probes.visit import Query, Tool, Visit


def number(text: str) -> Said:
    said = Said()
    for line in text.splitlines():
        if line.isdecimal():
            said.value("number", int(line), line)
    return said


TOOL = Tool("gauge", ("/opt/gauge",), ((r"no permission", State.REFUSED), (r"unknown option", State.UNSUPPORTED)))
QUICK = Query("quick", "-n {device}", number, seconds=3.0, quick=True)
SLOW = Query("slow", "-all", number)


@dataclass
class Asked(TextHost):
    """A host of one answer, that remembers what it was asked."""

    answer: Answer | None
    at: str = "gauge"
    questions: list[tuple[str, float]] = field(default_factory=list)

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        self.questions.append((" ".join(argv), timeout))
        return self.answer if argv[0] == self.at else None


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        (Answer(0, "7\n", ""), State.TOLD, None),
        (Answer(0, "a warning\n7\n", "and more"), State.TOLD, None),
        (Answer(3, "7\n", ""), State.TOLD, "exit status 3 after that"),
        (Answer(1, "", "gauge: No permission.\n"), State.REFUSED, "gauge: No permission."),
        (Answer(1, "Unknown option -n\nusage\n", ""), State.UNSUPPORTED, "Unknown option -n"),
        (Answer(1, "gobbledygook\n", ""), State.FAILED, "gobbledygook (exit status 1)"),
        (Answer(0, "", ""), State.FAILED, "it said nothing"),
        (Answer(-11, "", ""), State.FAILED, "it said nothing (killed by SIGSEGV)"),
        (Answer(0, "\N{REPLACEMENT CHARACTER}\x02PNG\x00", ""), State.FAILED, "what it said is no text"),
        (Answer(126, "", "/opt/gauge: permission denied"), State.REFUSED, "/opt/gauge: permission denied"),
        (Answer(0, "7\n", "", cut=True), State.TOLD, "its output was cut after 2 characters"),
        (Answer(None, "", ""), State.LATE, "no end after 3 s, it was killed"),
        (Answer(None, "7\n", ""), State.LATE, "it did not end and was killed"),
        (None, State.ABSENT, "there is no gauge here"),
    ],
)
def test_an_answer_has_a_state_and_a_reason(answer: Answer | None, state: State, reason: str | None) -> None:
    host = Asked(answer)
    reading = Visit(host).ask(TOOL, QUICK, device=4)
    assert (reading.source, reading.state, reading.reason) == ("gauge -n 4", state, reason)
    assert host.questions[0] == ("gauge -n 4", 3.0)
    told = answer is not None and "7" in answer.stdout
    assert reading.values == ({"number": 7} if told else {})
    assert reading.lines == ({"number": "7"} if told else {})


def test_a_tool_that_is_not_on_the_path_may_be_elsewhere() -> None:
    reading = Visit(Asked(Answer(0, "7", ""), "/opt/gauge")).ask(TOOL, QUICK, device=1)
    assert (reading.state, reading.source) == (State.TOLD, "gauge -n 1")


def test_what_hung_is_not_asked_again() -> None:
    host = Asked(Answer(None, "", ""))
    visit = Visit(host)
    first, second = visit.ask(TOOL, QUICK, device=0), visit.ask(TOOL, SLOW)
    assert (first.state, second.state) == (State.LATE, State.LATE)
    assert second.reason == "not asked: `gauge -n 0` had not ended after 3 s"
    assert len(host.questions) == 1


def test_in_a_hurry_only_quick_questions_are_asked() -> None:
    host = Asked(Answer(0, "7", ""))
    readings = Visit(host, hurry=True).ask_all(TOOL, [QUICK, SLOW], device=0)
    assert {name: reading.state for name, reading in readings.items()} == {"quick": State.TOLD, "slow": State.UNASKED}
    assert len(host.questions) == 1


def test_tools_that_are_not_there_have_no_reading() -> None:
    assert Visit(Asked(None)).ask_all(TOOL, [QUICK, SLOW], device=0) == {}


def test_the_time_for_all_questions_is_bounded() -> None:
    host = Asked(Answer(0, "7", ""))
    assert Visit(host, seconds=0.0).ask(TOOL, SLOW).state is State.UNASKED
    assert Visit(host, seconds=1.0).ask(TOOL, SLOW).state is State.TOLD
    ((_, timeout),) = host.questions
    assert 0 < timeout <= 1.0


def test_who_listens_hears_what_is_asked() -> None:
    heard: list[str] = []
    Visit(Asked(None), tell=heard.append).ask(TOOL, SLOW)
    assert heard == ["gauge -all"]


def test_while_another_process_asks_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probes.visit._TURN_SECONDS", 0.0)
    host = Asked(Answer(0, "7", ""))
    visit = Visit(host)
    descriptor = os.open("/", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        reading = visit.ask(TOOL, QUICK, device=0)
        # Who has waited in vain does not wait again.
        monkeypatch.setattr("probes.visit._TURN_SECONDS", math.inf)
        again = visit.ask(TOOL, QUICK, device=1)
    finally:
        os.close(descriptor)
    assert (reading.state, again.state, host.questions) == (State.TAKEN, State.TAKEN, [])
    assert visit.ask(TOOL, QUICK, device=0).state is State.TOLD


def test_identities_are_shown_to_those_who_ask_for_them() -> None:
    def all_of(text: str) -> Said:
        said = Said()
        said.value("text", "x", text)
        return said

    query, host = Query("q", "", all_of), Asked(Answer(0, "Serial Number : 12AB\n", ""))
    hidden, shown = Visit(host).ask(TOOL, query), Visit(host, identities=True).ask(TOOL, query)
    assert (hidden.lines["text"], hidden.identities) == ("Serial Number : (hidden)", {})
    assert (shown.lines["text"], shown.identities) == ("Serial Number : 12AB", {"Serial Number": "12AB"})


def test_what_was_not_understood_is_told_without_identities() -> None:
    host = Asked(Answer(3, "Serial Number : 12AB\n", ""))
    hidden, shown = Visit(host).ask(TOOL, SLOW), Visit(host, identities=True).ask(TOOL, SLOW)
    assert hidden.reason is not None
    assert hidden.reason.startswith("Serial Number : (hidden)")
    assert "12AB" not in hidden.reason
    assert shown.reason == "Serial Number : 12AB (exit status 3)"
