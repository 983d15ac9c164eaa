"""Rules about RDMA ports, from files and tools' outputs to findings."""

from __future__ import annotations

import pytest

from suites.checks import rules
from suites.report import Status
from tests.probes.rdma.samples import ROCE, devices, ibstat, sysfs
from tests.suites.checks.rdma_told import adapters, hosts_device, told
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

UP = [ibstat(f"mlx5_{number}") for number in (0, 1, 2)]


def test_a_port_that_is_down_among_active_ones_fails_with_its_line() -> None:
    (finding,) = ruled("rdma.port_down", adapters(*UP, ibstat("mlx5_3", state="Down", physical="Polling")))
    assert (finding.status, hosts_device(finding)) == (Status.FAIL, ("h", "mlx5_3"))
    assert finding.message == "port 1 of mlx5_3 is DOWN (Polling), while 3 like it on this host are active"
    assert "cable" in (finding.remedy or "")
    assert finding.evidence == {
        "command": "ibstat", "value": "DOWN", "line": "State: Down", "threshold": "ACTIVE", "physical_state": "Polling",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("physical", "word"),
    [("Disabled", "switched it off"), ("LinkUp", "not up"), ("LinkErrorRecovery", "replace the cable")],
)
def test_the_remedy_follows_the_physical_state(physical: str, word: str) -> None:
    (finding,) = ruled("rdma.port_down", adapters(*UP, ibstat("mlx5_3", state="Down", physical=physical)))
    assert word in (finding.remedy or "")


def test_two_of_three_are_most() -> None:
    facts = adapters(*UP[:2], ibstat("mlx5_3", state="Down", physical="Polling"))
    assert statuses(ruled("rdma.port_down", facts)) == [Status.FAIL]


def test_one_of_two_alike_may_be_meant_to_be_unused() -> None:
    facts = adapters(ibstat("mlx5_0"), ibstat("mlx5_1", state="Down", physical="Polling"))
    assert statuses(ruled("rdma.port_down", facts)) == [Status.WARN]


def test_another_port_of_a_card_in_use_is_only_mentioned() -> None:
    facts = adapters(*UP, ibstat("mlx5_3", card="y"), ibstat("mlx5_4", card="y", state="Down", physical="Polling"))
    (finding,) = ruled("rdma.port_down", facts)
    assert (finding.status, hosts_device(finding)) == (Status.INFO, ("h", "mlx5_4"))


def test_adapters_that_all_have_one_masked_guid_are_not_on_one_card() -> None:
    up = [ibstat(f"mlx5_{number}", card="y") for number in (0, 1, 2)]
    facts = adapters(*up, ibstat("mlx5_3", card="y", state="Down", physical="Polling"))
    assert statuses(ruled("rdma.port_down", facts)) == [Status.FAIL]


def test_a_second_port_of_a_device_is_named_with_its_number() -> None:
    link = "link ibp9s0/{} subnet_prefix fe80:0000:0000:0000 lid 3 sm_lid 5 lmc 0 state {} physical_state {}\n"
    facts = told(rdma__link=link.format(1, "ACTIVE", "LINK_UP") + link.format(2, "DOWN", "POLLING"))
    (finding,) = ruled("rdma.port_down", facts)
    assert (finding.status, hosts_device(finding)) == (Status.INFO, ("h", "ibp9s0/2"))


def test_an_unused_adapter_of_another_model_is_only_mentioned() -> None:
    facts = adapters(*UP, ibstat("mlx5_3", kind="MT4119", state="Down", physical="Disabled"))
    assert statuses(ruled("rdma.port_down", facts)) == [Status.INFO]


@pytest.mark.parametrize(
    ("phys_state", "status"), [("3: Disabled", Status.FAIL), ("5: LinkUp", Status.FAIL), ("2: Polling", Status.WARN)]
)
def test_a_host_without_any_active_port(phys_state: str, status: Status) -> None:
    facts = told(sysfs("mlx5_0", state="1: DOWN", phys_state=phys_state, rate="40 Gb/sec (4X QDR)"))
    assert statuses(ruled("rdma.port_down", facts)) == [status]
    assert ruled("rdma.rate_below_peers", facts) == []


def test_a_port_that_another_host_uses_fails() -> None:
    up, down = sysfs("mlx5_0"), sysfs("mlx5_0", state="1: DOWN", phys_state="2: Polling")
    found = fleet("rdma.port_down", a=told(up), b=told(down))
    assert [(finding.status, hosts_device(finding)) for finding in found] == [(Status.FAIL, ("b", "mlx5_0"))]


def test_software_and_management_devices_have_no_cable() -> None:
    facts = told(
        rdma__link="link smi1/1 state INIT physical_state LINK_UP\nlink rxe0/1 state DOWN physical_state POLLING\n"
    )
    for rule in ("rdma.port_down", "rdma.no_subnet_manager"):
        assert ruled(rule, facts) == []


def test_active_and_polling_is_how_software_ports_look() -> None:
    facts = told(rdma__link="link rdma9/1 state ACTIVE physical_state POLLING netdev eth0\n")
    assert statuses(ruled("rdma.port_down", facts)) == [Status.PASS]


def test_a_port_in_init_has_no_subnet_manager() -> None:
    facts = told(devices(mlx5_0={}, mlx5_1={"state": "2: INIT"}))
    (finding,) = ruled("rdma.no_subnet_manager", facts)
    assert (finding.status, hosts_device(finding)) == (Status.FAIL, ("h", "mlx5_1"))
    assert finding.evidence["file"] == "/sys/class/infiniband/mlx5_1/ports/1/state"
    assert statuses(ruled("rdma.port_down", facts)) == [Status.PASS]


def test_a_port_in_init_beside_an_active_one_of_the_device() -> None:
    link = "link ibp9s0/{} subnet_prefix fe80:0000:0000:0000 lid 3 sm_lid 5 lmc 0 state {} physical_state LINK_UP\n"
    found = ruled("rdma.no_subnet_manager", told(rdma__link=link.format(1, "ACTIVE") + link.format(2, "INIT")))
    assert [(finding.status, hosts_device(finding)) for finding in found] == [(Status.WARN, ("h", "ibp9s0/2"))]


def test_a_port_in_init_that_may_be_of_anything_is_not_judged() -> None:
    facts = told(rdma__link="link dev9/1 state INIT physical_state LINK_UP\n")
    assert ruled("rdma.no_subnet_manager", facts) == []


def test_one_port_that_is_slower_than_its_like() -> None:
    (finding,) = ruled("rdma.rate_below_peers", adapters(*UP, ibstat("mlx5_3", rate=100)))
    assert (finding.status, hosts_device(finding)) == (Status.WARN, ("h", "mlx5_3"))
    assert finding.message == "mlx5_3 runs at 100 Gb/s, and mlx5_0 and 2 more at 200 Gb/s"
    assert finding.evidence["line"] == "Rate: 100"


def test_adapters_of_other_models_or_on_shared_cards_may_be_slower() -> None:
    facts = adapters(
        *UP,
        ibstat("mlx5_3", kind="MT4125", rate=100),
        ibstat("mlx5_4", card="y", rate=100),
        ibstat("mlx5_5", card="y", rate=100),
        ibstat("mlx5_6", layer="Ethernet", rate=40),
    )
    assert statuses(ruled("rdma.rate_below_peers", facts)) == [Status.PASS]


def test_a_slower_port_beside_the_same_port_of_another_host() -> None:
    nameless = {"device_hca_type": "", "device_board_id": ""}
    slow = told(sysfs("mlx5_8", rate="100 Gb/sec (4X EDR)", **nameless))
    found = fleet("rdma.rate_below_peers", a=told(sysfs("mlx5_8", **nameless)), b=slow)
    assert [(finding.status, hosts_device(finding)) for finding in found] == [(Status.WARN, ("b", "mlx5_8"))]
    assert found[0].message == "mlx5_8 runs at 100 Gb/s, and a mlx5_8 at 200 Gb/s"


@pytest.mark.parametrize(("slow", "status"), [(1, Status.WARN), (2, Status.PASS)])
def test_of_unknown_models_one_against_all_the_others_is_slow(slow: int, status: Status) -> None:
    rates = ["200"] * (5 - slow) + ["100"] * slow
    blocks = "".join(
        f"Infiniband device 'mlx5_{number}' port 1 status:\n\tstate:\t4: ACTIVE\n\trate:\t{rate} Gb/sec (4X)\n"
        "\tlink_layer:\tInfiniBand\n"
        for number, rate in enumerate(rates)
    )
    assert statuses(ruled("rdma.rate_below_peers", told(ibstatus=blocks))) == [status]


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({"device_board_id": "MT_0000000838", "rate": "200 Gb/sec (4X HDR)"}, Status.WARN),
        ({"device_board_id": "MT_0000000838", "rate": "400 Gb/sec (4X NDR)"}, Status.PASS),
        ({"rate": "50 Gb/sec (1X HDR)"}, Status.WARN),
        ({"rate": "100 Gb/sec (2X HDR)"}, Status.PASS),
        ({"rate": "25 Gb/sec (1X EDR)", "link_layer": ROCE}, Status.PASS),
        ({"rate": "100 Gb/sec (4X EDR)"}, Status.PASS),
        ({"rate": "100 Gb/sec (4X EDR)", "device_hca_type": "", "device_board_id": ""}, Status.PASS),
    ],
)
def test_rates_that_cannot_be_meant(files: dict[str, str], status: Status) -> None:
    assert statuses(ruled("rdma.rate_below_nominal", told(sysfs("mlx5_0", **files)))) == [status]


def roce(**files: str) -> dict[str, str]:
    return sysfs("mlx5_1", link_layer=ROCE, gid_attrs__ndevs__0="net1", **files)


def test_small_packets_on_roce() -> None:
    (finding,) = ruled("rdma.active_mtu", told({**roce(), "/sys/class/net/net1/mtu": "1500"}))
    assert (finding.status, hosts_device(finding)) == (Status.WARN, ("h", "mlx5_1"))
    assert "ip link set net1 mtu" in (finding.remedy or "")
    assert (finding.evidence["file"], finding.evidence["line"]) == ("/sys/class/net/net1/mtu", "1500")
    assert statuses(ruled("rdma.active_mtu", told({**roce(), "/sys/class/net/net1/mtu": "9000"}))) == [Status.PASS]


def test_small_packets_beside_an_infiniband_fabric_are_only_mentioned() -> None:
    facts = told({**sysfs("mlx5_0"), **roce(), "/sys/class/net/net1/mtu": "1500"})
    assert statuses(ruled("rdma.active_mtu", facts)) == [Status.INFO]


def gid(index: int, address: str, kind: str = "RoCE v2") -> dict[str, str]:
    return {f"gids__{index}": address, f"gid_attrs__types__{index}": kind}


IPV4, IPV6, LINK_LOCAL = "0000:0000:0000:0000:0000:ffff:c000:0207", "2001:0db8::0001", "fe80::0001"


@pytest.mark.parametrize(
    ("gids", "status"),
    [
        (gid(0, LINK_LOCAL), Status.WARN),
        (gid(0, LINK_LOCAL) | gid(1, IPV4, "IB/RoCE v1"), Status.WARN),
        (gid(0, LINK_LOCAL) | gid(1, IPV6), Status.INFO),
        (gid(0, LINK_LOCAL) | gid(3, IPV4), Status.PASS),
    ],
)
def test_a_roce_port_needs_an_address(gids: dict[str, str], status: Status) -> None:
    assert statuses(ruled("rdma.no_ipv4_gid", told(roce(**gids)))) == [status]


def test_a_port_that_is_down_needs_no_address() -> None:
    assert ruled("rdma.no_ipv4_gid", told(roce(state="1: DOWN", **gid(0, LINK_LOCAL)))) == []


def test_one_gid_index_for_all_hosts() -> None:
    three, five = told(roce(**gid(3, IPV4))), told(roce(**gid(5, IPV4)))
    assert statuses(fleet("rdma.gid_index", a=three, b=three)) == [Status.PASS]
    (finding,) = fleet("rdma.gid_index", a=three, b=three, c=five)
    assert (finding.status, hosts_device(finding)) == (Status.WARN, ("c", "mlx5_1"))
    (finding,) = fleet("rdma.gid_index", a=three, b=five)
    assert (finding.status, finding.subject.get("host")) == (Status.WARN, None)
    assert "differs" in finding.message


def test_hosts_of_which_none_has_the_majority_are_one_finding_a_model() -> None:
    def host(index: int) -> dict[str, object]:
        ports = {name: {"link_layer": ROCE, **gid(index, IPV4)} for name in ("mlx5_0", "mlx5_1")}
        return told(devices(**ports))

    assert statuses(fleet("rdma.gid_index", a=host(3), b=host(5))) == [Status.WARN]


def test_one_mtu_for_all_hosts() -> None:
    large, small = ({**roce(), "/sys/class/net/net1/mtu": mtu} for mtu in ("9000", "1500"))
    (finding,) = fleet("rdma.mtu_differs", a=told(large), b=told(large), c=told(small))
    assert hosts_device(finding) == ("c", "mlx5_1")
    assert finding.message.startswith("mlx5_1: the MTU is 1024, and 4096 on ")


def test_the_mtu_of_an_interface_is_told_by_the_rule_of_the_network() -> None:
    hosts = {
        name: facts_of({}, {**roce(), "/sys/class/net/net1/mtu": mtu}, sections=("rdma", "network"))
        for name, mtu in (("a", "9000"), ("b", "9000"), ("c", "1500"))
    }
    assert [finding.subject["host"] for finding in fleet("network.mtu_differs", **hosts)] == ["c"]
    for rule in ("rdma.mtu_differs", "rdma.active_mtu"):
        assert set(statuses(fleet(rule, **hosts))) == {Status.PASS}
    alike = dict.fromkeys(("a", "b"), hosts["c"])
    assert set(statuses(fleet("rdma.active_mtu", **alike))) == {Status.WARN}


def test_infiniband_here_and_ethernet_there() -> None:
    found = fleet("rdma.link_layer", a=told(sysfs("mlx5_0")), b=told(sysfs("mlx5_0", link_layer=ROCE)))
    assert statuses(found) == [Status.WARN]


def test_a_healthy_host_is_silent() -> None:
    facts = told({**devices(mlx5_0={}, mlx5_1={}), "/dev/infiniband/uverbs0": ""}, ibstat=UP[0] + UP[1])
    found = [finding for name in rules() if name.startswith("rdma.") for finding in ruled(name, facts)]
    assert set(statuses(found)) == {Status.PASS}


def test_what_is_not_known_is_not_judged() -> None:
    assert [finding for name in rules() if name.startswith("rdma.") for finding in ruled(name, told())] == []
