"""Rules about how NPU ports are set."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of


def asked(question: str, *answers: str) -> dict[str, Any]:
    """The answers of devices 0, 1 and so on to one question."""
    return facts_of({f"hccn_tool -i {device} -{question} -g": said for device, said in enumerate(answers)})


@pytest.mark.parametrize(
    ("rule", "question", "usual", "other"),
    [
        ("ascend.speed_differs", "speed", "Speed: 200000 Mb/s", "Speed: 100000 Mb/s"),
        ("ascend.mtu_differs", "mtu", "mtu:4200", "mtu:1500"),
        ("ascend.fec_differs", "fec", "fec mode: rs FEC mode", "fec mode: no FEC mode"),
    ],
)
def test_one_port_that_is_set_in_another_way(rule: str, question: str, usual: str, other: str) -> None:
    (finding,) = ruled(rule, asked(question, usual, other, usual))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "h", "device": "npu1"})
    assert finding.evidence["line"] == other
    (finding,) = fleet(rule, a=asked(question, usual), b=asked(question, other))
    assert (finding.status, finding.subject.get("host")) == (Status.WARN, None)
    assert statuses(fleet(rule, a=asked(question, usual), b=asked(question, usual))) == [Status.PASS]


def test_a_refusal_is_no_difference() -> None:
    facts = asked("mtu", "mtu:4200", "hccn_tool is busy, please try again.")
    assert statuses(ruled("ascend.mtu_differs", facts)) == [Status.SKIP]


def test_a_speed_that_is_unknown_is_odd_unless_the_link_is_down() -> None:
    speed = {"hccn_tool -i 0 -speed -g": "Speed: Unknown!\n"}
    up, down = ({"hccn_tool -i 0 -link -g": f"link status: {state}\n"} for state in ("UP", "DOWN"))
    assert statuses(ruled("ascend.speed_unknown", facts_of({**speed, **up}))) == [Status.WARN]
    assert statuses(ruled("ascend.speed_unknown", facts_of(speed))) == [Status.WARN]
    assert ruled("ascend.speed_unknown", facts_of({**speed, **down})) == []
    assert ruled("ascend.speed_differs", facts_of(speed)) == []


@pytest.mark.parametrize(
    ("duplex", "status"), [("Full", Status.PASS), ("Half", Status.WARN), ("Unknown!", Status.PASS)]
)
def test_duplex(duplex: str, status: Status) -> None:
    assert statuses(ruled("ascend.duplex_half", asked("duplex", f"Duplex: {duplex}\n"))) == [status]


@pytest.mark.parametrize(
    ("mode", "speed", "status"),
    [
        ("rs", None, Status.PASS),
        ("no", None, Status.WARN),
        ("no", 200000, Status.WARN),
        ("no", 25000, Status.PASS),
        ("auto", None, Status.PASS),
    ],
)
def test_error_correction(mode: str, speed: int | None, status: Status) -> None:
    commands = {"hccn_tool -i 0 -fec -g": f"fec mode: {mode} FEC mode\n"}
    if speed:
        commands["hccn_tool -i 0 -speed -g"] = f"Speed: {speed} Mb/s\n"
    assert statuses(ruled("ascend.fec_off", facts_of(commands))) == [status]


def tls(device: int, switch: int, *certificates: str) -> str:
    first = f"dev_id:{device}, tls switch[{switch}](0:disable, 1:enable), tls alarm time threshold[60]days\n"
    return first + "".join(
        f"dev_id:{device}, [{one.split('=')[0]}] info:\n end_time[Sun Jan  4 03:00:00 2026 GMT]\n"
        f" tls expiration status[{one.split('=')[1]}](0:normal, 1:near expiration, 2:has expired)\n"
        for one in certificates
    )


def test_encryption_on_some_npus_only() -> None:
    (finding,) = ruled("ascend.tls_differs", asked("tls", tls(0, 0), tls(1, 0), tls(2, 1)))
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "h", "device": "npu2"})
    (finding,) = ruled("ascend.tls_differs", asked("tls", tls(0, 0) + tls(1, 1)))
    assert "npu0: off" in finding.message
    assert "npu1: on" in finding.message
    assert statuses(ruled("ascend.tls_differs", asked("tls", tls(0, 1), tls(1, 1)))) == [Status.PASS]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (tls(0, 1, "pub cert=0"), Status.PASS),
        (tls(0, 1, "pub cert=0", "crl=1"), Status.WARN),
        (tls(0, 1, "pub cert=2", "crl=0"), Status.FAIL),
        (tls(0, 0, "pub cert=2"), Status.WARN),
        ("The Certificate has expired!\n", Status.FAIL),
    ],
)
def test_certificates_and_their_end(text: str, status: Status) -> None:
    assert statuses(ruled("ascend.tls_certificate", asked("tls", text))) == [status]


def test_without_certificates_there_is_nothing_to_say() -> None:
    assert ruled("ascend.tls_certificate", asked("tls", tls(0, 0))) == []


def port(name: str) -> str:
    return f"Port ID TLV\n\tIfname: {name}\n"


def test_a_rail_that_is_cabled_in_another_way_is_told() -> None:
    usual = {host: asked("lldp", port(f"200GE1/1/{number}:1")) for host, number in (("a", 3), ("b", 4), ("c", 5))}
    assert statuses(fleet("ascend.switch_port_differs", **usual)) == [Status.PASS]
    odd = {**usual, "c": asked("lldp", port("200GE1/1/5:2"))}
    (finding,) = fleet("ascend.switch_port_differs", **odd)
    assert (finding.status, finding.subject) == (Status.INFO, {"host": "c", "device": "npu0"})
    assert finding.evidence["port"] == "200GE1/1/5:2"


def rails(*switches: str) -> dict[str, Any]:
    text = "System Name TLV\n\t{}\n"
    return facts_of({f"hccn_tool -i {id_} -lldp -g": text.format(name) for id_, name in enumerate(switches)})


def test_two_cables_that_are_swapped() -> None:
    usual = rails("leaf-0", "leaf-1", "leaf-2", "leaf-3")
    swapped = rails("leaf-0", "leaf-1", "leaf-3", "leaf-2")
    found = fleet("ascend.rails_swapped", a=usual, b=usual, c=swapped)
    bad = [each for each in found if each.status is not Status.PASS]
    assert [(each.status, each.subject) for each in bad] == [
        (Status.WARN, {"host": "c", "device": "npu2"}), (Status.WARN, {"host": "c", "device": "npu3"}),
    ]  # fmt: skip
    assert bad[0].message == "npu2 is on switch leaf-3, where npu3 of most hosts is, and not on leaf-2"


@pytest.mark.parametrize("other", [("leaf-4", "leaf-5", "leaf-6", "leaf-7"), ("leaf-3", "leaf-2", "leaf-1", "leaf-0")])
def test_a_host_in_another_part_of_the_fabric_is_not_swapped(other: tuple[str, ...]) -> None:
    usual = rails("leaf-0", "leaf-1", "leaf-2", "leaf-3")
    assert set(statuses(fleet("ascend.rails_swapped", a=usual, b=usual, c=rails(*other)))) == {Status.PASS}
    assert Status.WARN not in statuses(fleet("ascend.rails_swapped", a=usual, c=rails("leaf-1", "leaf-0")))


@pytest.mark.parametrize(
    ("limit", "most", "status"),
    [(10000, 200000, Status.WARN), (200000, 200000, Status.PASS), (400000, 200000, Status.PASS), (0, 1, Status.PASS)],
)
def test_a_limit_that_somebody_left(limit: int, most: int, status: Status) -> None:
    facts = asked("shaping", f"bw_limit[{limit} Mbps], bw_max[{most} Mbps]\n")
    assert statuses(ruled("ascend.port_shaped", facts)) == [status]


@pytest.mark.parametrize(
    ("state", "status"),
    [("not downgrade", Status.PASS), ("downgrade success", Status.FAIL), ("downgrade failure", Status.FAIL)],
)
def test_lanes_that_were_given_up(state: str, status: Status) -> None:
    facts = asked("auto_downgrade", f"downgrade status : {state}\n")
    assert statuses(ruled("ascend.lanes_downgraded", facts)) == [status]
