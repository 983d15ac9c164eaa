"""Facts of other versions and hands, brought into shape."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdist_cli.output import facts as text
from probes import PROBES
from probes.host import LocalHost
from suites.factshape import shaped
from suites.hostinfo import Looked, Wanted, look
from suites.inforeport import Measure, report
from suites.recorded import seen_at
from suites.report import Status, now
from tests.made_up.npu_host import NpuHost
from tests.suites.checks.told import facts_of


def npus() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(json.dumps(facts_of(NpuHost().commands(), NpuHost().files(), sections=())))
    return facts


def here() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(json.dumps(look("h", LocalHost(), Wanted(tuple(PROBES))).facts))
    return facts


NPUS = npus()


@pytest.mark.parametrize("host", [npus, here])
def test_what_probes_write_stays(host: Any) -> None:
    facts = host()
    assert {section: shaped(section, facts[section]) for section in PROBES} == facts


def test_what_is_missing_is_unknown_and_what_is_not_known_is_left_out() -> None:
    facts = copy.deepcopy(NPUS["accelerators"])
    device = facts["ascend"]["devices"][3]
    del device["bus"], device["readings"], facts["nvidia"]["readings"]
    device["colour"] = facts["trainium"] = 1
    told = shaped("accelerators", facts)
    assert (told["ascend"]["devices"][3]["bus"], told["ascend"]["devices"][3]["readings"]) == (None, {})
    assert told["nvidia"]["readings"] == {}
    assert "trainium" not in told
    assert "colour" not in told["ascend"]["devices"][3]


@pytest.mark.parametrize(
    ("section", "facts", "said"),
    [
        ("memory", [], ": [] has no parts"),
        ("cpu", {"physical_cores": "many"}, ".physical_cores: 'many' is no int"),
        ("cpu", {"physical_cores": True}, ".physical_cores: True is no int"),
        ("network", {"interfaces": {}}, ".interfaces: {} is no list"),
        ("network", {"interfaces": [{"name": "eth0"}, {"mtu": 1}]}, ".interfaces.1.name: it is not there"),
        ("clock", {"readings": {"x": {"source": "a", "state": "blue"}}}, ".readings.x.state: 'blue' is no State"),
    ],
)
def test_what_is_of_another_kind_is_refused(section: str, facts: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        shaped(section, facts)
    assert str(raised.value) == said


def test_a_section_that_cannot_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    record = {"kind": "info", "opsdist": "9.9", "hosts": [{"name": "a", "facts": {**NPUS, "cpu": {"model": 3}}}]}
    (tmp_path / "record.json").write_text(json.dumps(record))
    ((seen,), _) = seen_at([tmp_path / "record.json"], Wanted())
    assert set(seen.facts) == set(NPUS) - {"cpu"}
    (finding,) = seen.findings
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "a"})
    assert "cpu.model" in finding.message
    assert "9.9" in str(finding.remedy)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_record_that_somebody_edited_never_breaks_the_report(tmp_path_factory: Any, data: st.DataObject) -> None:
    """But for the values of readings, which may be anything."""
    facts = copy.deepcopy(NPUS)
    for _ in range(data.draw(st.integers(1, 3))):
        place = facts
        while True:
            key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or key in ("values", "counters", "momentary", "lines"):
                break
            if data.draw(st.integers(0, 5)) == 0:
                break
            place = inner
        if isinstance(place, dict) and data.draw(st.booleans()):
            del place[key]
        elif key not in ("values", "counters", "momentary"):
            place[key] = data.draw(_JSON)
    folder = tmp_path_factory.mktemp("edited")
    (folder / "record.json").write_text(json.dumps({"kind": "info", "hosts": [{"name": "a", "facts": facts}]}))
    looked = Looked(*seen_at([folder], Wanted(("hccl", *PROBES))))
    found = report(["opsdist"], now(), looked, Measure(), Wanted(("hccl", *PROBES)))
    assert not [each for each in found.findings if "could not judge" in each.message]
    text.render(found.record())
