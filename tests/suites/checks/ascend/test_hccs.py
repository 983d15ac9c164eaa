"""Rules about HCCS links and super pods, from what npu-smi prints to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.probes.ascend.npu_samples import details, links
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

LANES = "ascend.hccs_lane_lost"


def chips(*told: str) -> dict[str, Any]:
    return facts_of({f"npu-smi info -t hccs -i {n} -c 0": text for n, text in enumerate(told)})


def pod(pod_id: int, *sdids: int) -> dict[str, Any]:
    return facts_of({
        f"npu-smi info -t spod-info -i {n} -c 0": details(SDID=sdid, Super_Pod_Size=384, Super_Pod_ID=pod_id)
        for n, sdid in enumerate(sdids)
    })  # fmt: skip


def test_links_that_are_not_healthy_name_the_first_port() -> None:
    (finding,) = ruled("ascend.hccs_bad", chips(links([4] * 7), links([4] * 7, "NOK")))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu1")
    assert finding.message == "the HCCS links of npu1 are not healthy, first at link 4"


def test_healthy_links_pass() -> None:
    facts = chips(links([4] * 7), links([4] * 7))
    for rule in ("ascend.hccs_bad", LANES):
        assert statuses(ruled(rule, facts)) == [Status.PASS]


@pytest.mark.parametrize("name", ["hccs", "xlink"])
def test_a_link_with_fewer_lanes_fails(name: str) -> None:
    told = links([4, 4, 2, 4], name=name)
    (finding,) = ruled(LANES, facts_of({f"npu-smi info -t {name} -i 0 -c 0": told}))
    assert (finding.status, finding.message) == (Status.FAIL, "HCCS link 2 (of 0 to 3) of npu0 has 2 of 4 lanes")
    assert finding.evidence["line"].startswith(f"{name} lane mode")


def test_a_link_that_siblings_have_and_this_one_has_not_fails() -> None:
    (finding,) = ruled(LANES, chips(links([4, 4, 4]), links([4, 0, 4])))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu1")
    assert "link 1 (of 0 to 2)" in finding.message


@pytest.mark.parametrize(
    "told",
    [
        (links([0] + [4] * 7),),
        (links([0] * 7),),
        (links([4, 0, 4]), links([4, 0, 4])),
    ],
    ids=["first of eight", "no links at all", "not wired"],
)
def test_links_that_are_not_there_are_no_fault(told: tuple[str, ...]) -> None:
    assert statuses(ruled(LANES, chips(*told))) == [Status.PASS]


def test_a_link_without_lanes_of_a_chip_that_is_alone() -> None:
    assert statuses(ruled(LANES, chips(links([4, 0, 4])))) == [Status.WARN]
    assert statuses(ruled(LANES, chips(links([4, 0, 4], "NOK")))) == [Status.FAIL]


@pytest.mark.parametrize("lanes", [[4, 0] + [4] * 6, [0, 4, 4]], ids=["second of eight", "first of three"])
def test_only_the_first_of_eight_is_no_link(lanes: list[int]) -> None:
    assert statuses(ruled(LANES, chips(links(lanes)))) == [Status.WARN]


def test_a_chip_without_links_is_no_verdict() -> None:
    assert ruled(LANES, chips("This device does not support querying hccs.\n")) == []


def test_hosts_of_several_super_pods() -> None:
    (finding,) = fleet("ascend.super_pod_differs", a=pod(0, 1), b=pod(1, 1), c=pod(0, 2))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b"})
    (finding,) = fleet("ascend.super_pod_differs", a=pod(0, 1), b=pod(1, 1))
    assert finding.subject == {}
    assert statuses(fleet("ascend.super_pod_differs", a=pod(0, 1), b=pod(0, 2))) == [Status.PASS]


def test_a_host_whose_chips_are_in_two_super_pods() -> None:
    both = facts_of({
        f"npu-smi info -t spod-info -i {n} -c 0": details(SDID=n, Super_Pod_ID=n) for n in range(2)
    })  # fmt: skip
    (finding,) = fleet("ascend.super_pod_differs", a=pod(0, 5), b=both, c=pod(0, 6))
    assert (finding.subject, finding.evidence["value"]) == ({"host": "b"}, [0, 1])


def test_an_id_in_a_super_pod_that_two_chips_have() -> None:
    (finding,) = fleet("ascend.sdid_twice", a=pod(0, 7, 8), b=pod(0, 8), c=pod(1, 7))
    assert finding.message == "npu0 of b has the super pod device id of npu1 of a"
    assert finding.subject == {"host": "b", "device": "npu0"}
    assert statuses(fleet("ascend.sdid_twice", a=pod(0, 7), b=pod(1, 7))) == [Status.PASS]
