"""Whatever the tools and files of Ascend say, no rule about ports and software fails on it."""

from __future__ import annotations

import json
from importlib import import_module

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.ascend.hccn import QUERIES
from suites.checks.judging import judge
from suites.report import Status
from tests.probes.ascend.test_hccn_questions import SAMPLES
from tests.suites.checks.told import facts_of

SUBJECTS = (
    "port", "address", "port_settings", "ub", "port_errors", "optics", "software", "ranktable",
)  # fmt: skip
RULES = [rule for subject in SUBJECTS for rule in import_module(f"suites.checks.ascend.{subject}").RULES]
FILES = (
    "/etc/hccn.conf", "/usr/local/Ascend/driver/version.info", "/usr/local/Ascend/firmware/version.info",
    "/usr/local/Ascend/ascend-toolkit/latest/x86_64-linux/ascend_toolkit_install.info", "/t.json",
)  # fmt: skip


@st.composite
def scrambled(draw: st.DrawFn) -> str:
    """Samples, cut and put together, with something in between."""
    text = ""
    for sample in draw(st.lists(st.sampled_from(SAMPLES), min_size=1, max_size=3)):
        end = draw(st.integers(0, len(sample)))
        text += draw(st.one_of(st.just(sample), st.just(sample[:end]), st.text(max_size=6))) + "\n"
    return text


@settings(deadline=None, max_examples=60)
@given(texts=st.lists(scrambled(), min_size=6, max_size=6), same=st.booleans())
def test_no_rule_fails(texts: list[str], same: bool) -> None:
    commands = {
        f"hccn_tool -i {device} -{query.name} -g": texts[(index * (device + 1)) % len(texts)]
        for device in range(3)
        for index, query in enumerate(QUERIES)
    }
    files = {path: texts[0 if same else index] for index, path in enumerate(FILES)}
    facts = facts_of(commands, files, {"RANK_TABLE_FILE": "/t.json"})
    json.dumps(facts, allow_nan=False)
    found = judge({"a": facts, "b": facts}, RULES, {}, {"a": facts})
    assert [each for each in found if each.status is Status.ERROR] == []
