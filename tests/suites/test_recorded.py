"""Recorded hosts are looked at like living ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probes.errors import ProbeError
from suites.errors import UsageError
from suites.hostinfo import Looked, Wanted
from suites.inforeport import Measure, report
from suites.recorded import seen_at
from suites.report import now

UP, DOWN = "link status: UP\n", "link status: DOWN\n"


def outputs(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def links(facts: dict[str, object]) -> list[str]:
    devices = facts["accelerators"]["ascend"]["devices"]  # type: ignore[index]
    return [device["readings"]["link"]["values"]["status"] for device in devices]


def test_a_folder_of_outputs(tmp_path: Path) -> None:
    (seen,), earlier = seen_at([outputs(tmp_path / "n1", hccn_link_a=UP, hccn_link_b=DOWN, holiday="")], Wanted())
    assert (seen.name, links(seen.facts), earlier) == ("n1", ["UP", "DOWN"], {})
    assert [finding.message.split(":")[0] for finding in seen.findings] == ["holiday.txt"]
    assert "backends" not in seen.facts


def test_several_are_a_fleet_and_names_are_made_different(tmp_path: Path) -> None:
    paths = [outputs(tmp_path / part / "n", hccn_link=UP) for part in ("a", "b")]
    assert [seen.name for seen in seen_at(paths, Wanted())[0]] == ["n", "n-2"]
    assert [seen.name for seen in seen_at([tmp_path / "a", tmp_path / "b"], Wanted())[0]] == ["n", "n-2"]


def test_only_what_is_wanted(tmp_path: Path) -> None:
    path = outputs(tmp_path / "n1", hccn_link_a=UP, hccn_link_b=DOWN)
    (seen,), _ = seen_at([path], Wanted(("accelerators",), ("npu1",)))
    assert list(seen.facts) == ["accelerators"]
    assert links(seen.facts) == ["DOWN"]
    with pytest.raises(UsageError, match="no device 'npu7'"):
        seen_at([path], Wanted((), ("npu7",)))
    with pytest.raises(UsageError, match="no section 'x'"):
        seen_at([path], Wanted(("x",)))


def test_records_of_info_are_hosts_too(tmp_path: Path) -> None:
    looked = Looked(*seen_at([outputs(tmp_path / "h" / name, hccn_link=UP) for name in ("n1", "n2")], Wanted()))
    record = report(["opsdist"], now(), looked, Measure()).record()
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "fleet.json").write_text(json.dumps(record))
    for path in (tmp_path / "r", tmp_path / "r" / "fleet.json"):
        again, _ = seen_at([path], Wanted())
        assert [(seen.name, seen.facts) for seen in again] == [(seen.name, seen.facts) for seen in looked.seen]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"kind": "perf"}', '{"kind": "info"}', '{"kind": "info", "hosts": [{"name": 3}]}']
)
def test_what_is_no_record_is_no_host(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(ProbeError, match=r"r\.json: no output that opsdist knows"):
        seen_at([tmp_path / "r.json"], Wanted(("accelerators",)))


def test_a_record_of_another_command_is_named(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"schema_version": 1, "kind": "perf"}')
    with pytest.raises(ProbeError, match="a record of `opsdist perf`"):
        seen_at([tmp_path / "r.json"], Wanted())


def test_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="nothing of a host"):
        seen_at([tmp_path], Wanted())


def test_a_host_before_and_after(tmp_path: Path) -> None:
    folder = outputs(
        tmp_path / "n1",
        npu_info_before="hccn_tool -i 0 -link -g\nlink status: UP\n\nhccn_tool -i 1 -link -g\nlink status: UP\n",
        npu_info_after="hccn_tool -i 0 -link -g\nlink status: DOWN\n",
    )
    looked = Looked(*seen_at([folder], Wanted(("accelerators",))))
    found = report(["opsdist"], now(), looked, Measure())
    changes = {change["key"]: (change["before"], change["after"]) for change in found.body["changes"]}
    assert changes["accelerators.ascend.devices.0.readings.link.values.status"] == ("UP", "DOWN")
    assert changes["accelerators.ascend.devices.1"] == ("there", "not there")


def test_one_host_earlier_is_that_host_whatever_it_is_called(tmp_path: Path) -> None:
    now_, before = (outputs(tmp_path / name, hccn_link=text) for name, text in (("n1", DOWN), ("before", UP)))
    measure = Measure(earlier={seen.name: seen.facts for seen in seen_at([before], Wanted())[0]})
    found = report(["opsdist"], now(), Looked(*seen_at([now_], Wanted())), measure)
    assert [change["host"] for change in found.body["changes"]] == ["n1"]
