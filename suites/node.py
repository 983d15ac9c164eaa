"""`suite node`: are the hosts whole? All rules of `suites.checks`, on this host, on those named, or on recorded ones.

May import: catalogue's setting, checks, hostinfo, report.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from suites.catalogue import Setting
from suites.checks import rules
from suites.checks.judging import judge
from suites.expectation import violations
from suites.hostinfo import Wanted
from suites.report import Finding

_LOOKING = 0.9
"""The part of the budget that looking may take."""


def run(setting: Setting) -> Iterator[list[Finding]]:
    """The suite: what could not be looked at first, then rule by rule."""
    looked = setting.look(Wanted(hurry=setting.hurry, seconds=_LOOKING * setting.budget))
    unread = [*looked.unreached, *(finding for host in looked.seen for finding in host.findings)]
    unread += setting.measure.unmatched(looked)
    if unread:
        yield unread
    facts = {host.name: host.facts for host in looked.seen}
    earlier = setting.measure.earlier_of(looked)
    judged = judge(facts, rules().values(), setting.measure.limits, earlier)
    yield from (list(found) for _, found in groupby(judged, key=lambda finding: finding.check))
    if setting.measure.expectation:
        yield violations(setting.measure.expectation, facts)
