"""RDMA devices of a host: from sysfs, from tools, and from both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from probes import rdma
from probes.host import Answer
from probes.rdma import RdmaDevice, RdmaFacts, sysfs, words
from probes.reading import State
from probes.recorded.texthost import TextHost
from probes.visit import Visit
from tests.probes.rdma import samples
from tests.tree_host import TreeHost


def seen(files: Mapping[str, str] | None = None, **commands: str) -> RdmaFacts:
    """What is read of a host with these files and answers; `_` in a command's name is a blank."""
    answers = {line.replace("__", " "): Answer(0, text, "") for line, text in commands.items()}
    return rdma.read(Visit(TextHost(files or {}, answers)))


def only(facts: RdmaFacts) -> RdmaDevice:
    assert facts.devices is not None
    (device,) = facts.devices
    return device


def test_sysfs_tells_a_device_and_its_port() -> None:
    device = only(seen(samples.sysfs("mlx5_0", counters__port_rcv_data="25", hw_counters__out_of_buffer="3")))
    assert (device.kind, device.firmware, device.board) == ("MT4123", "20.99.1000", "XX_0000000999")
    (port,) = device.ports
    assert (port.id, port.state, port.physical_state, port.link_layer) == (1, "ACTIVE", "LinkUp", "InfiniBand")
    assert (port.rate_bits_per_second, port.rate_text) == (200_000_000_000, "200 Gb/sec (4X HDR)")
    assert (port.lid, port.sm_lid, port.gids) == (71, 5, None)
    assert port.counters == {"port_rcv_data": 100, "out_of_buffer": 3}
    assert port.sources["state"] == "/sys/class/infiniband/mlx5_0/ports/1/state"
    assert port.lines["state"] == "4: ACTIVE"


def test_the_rate_of_a_port_that_is_down_is_a_placeholder() -> None:
    (port,) = only(seen(samples.sysfs("mlx5_0", state="1: DOWN", rate="40 Gb/sec (4X QDR)"))).ports
    assert (port.rate_bits_per_second, port.rate_text) == (None, "40 Gb/sec (4X QDR)")


def test_counters_that_cannot_be_read_and_what_is_no_counter_are_left_out() -> None:
    (port,) = only(
        seen(samples.sysfs("mlx5_0", counters__symbol_error="x", counters__link_downed="2", hw_counters__lifespan="10"))
    ).ports
    assert port.counters == {"link_downed": 2}


def test_names_are_in_the_order_of_their_numbers() -> None:
    facts = seen(samples.devices(mlx5_10={}, mlx5_2={}, mlx5_0={}))
    assert [device.name for device in facts.devices or ()] == ["mlx5_0", "mlx5_2", "mlx5_10"]


def test_the_gid_table_keeps_slots_and_families_but_no_addresses() -> None:
    gids = {
        "gids__0": "fe80:0000:0000:0000:0000:00ff:fe00:0001", "gid_attrs__types__0": "IB/RoCE v1",
        "gids__1": "0000:0000:0000:0000:0000:ffff:c000:0207", "gid_attrs__types__1": "IB/RoCE v1",
        "gids__10": "0000:0000:0000:0000:0000:ffff:c000:0207", "gid_attrs__types__10": "RoCE v2",
        "gids__2": "0000:0000:0000:0000:0000:0000:0000:0000",
        "gids__3": "2001:0db8:0000:0000:0000:0000:0000:0001",
    }  # fmt: skip
    (port,) = only(seen(samples.sysfs("mlx5_0", link_layer=samples.ROCE, **gids))).ports
    assert port.gids == (
        sysfs.Gid(0, "IB/RoCE v1", "link-local"),
        sysfs.Gid(1, "IB/RoCE v1", "ipv4"),
        sysfs.Gid(3, None, "ipv6"),
        sysfs.Gid(10, "RoCE v2", "ipv4"),
    )
    assert port.roce_v2_ipv4_index == 10


@pytest.mark.parametrize(
    ("mtu", "active"), [("1500", 1024), ("4191", 2048), ("4192", 4096), ("9000", 4096), ("x", None)]
)
def test_the_mtu_of_a_roce_port_follows_its_interface(mtu: str, active: int | None) -> None:
    files = samples.sysfs("mlx5_0", link_layer=samples.ROCE, gid_attrs__ndevs__0="net1")
    (port,) = only(seen({**files, "/sys/class/net/net1/mtu": mtu})).ports
    assert (port.netdev, port.active_mtu) == ("net1", active)


def test_a_device_on_pcie(tree: TreeHost) -> None:
    place = "/sys/bus/pci/devices/0000:ba:00.1"
    tree.tools = {}
    tree.write(
        samples.sysfs("mlx5_0") | {
            f"{place}/current_link_width": "8", f"{place}/max_link_width": "16", f"{place}/numa_node": "1",
            f"{place}/current_link_speed": "16.0 GT/s PCIe", f"{place}/max_link_speed": "Unknown",
        }
    )  # fmt: skip
    (tree.folder / "sys/class/infiniband/mlx5_0").rename(tree.folder / "real")
    tree.write({}, {"/sys/class/infiniband/mlx5_0": "../../../devices/pci0000:b9/0000:ba:00.1/infiniband/mlx5_0"})
    target = tree.folder / "devices/pci0000:b9/0000:ba:00.1/infiniband"
    target.mkdir(parents=True)
    (tree.folder / "real").rename(target / "mlx5_0")
    device = only(rdma.read(Visit(tree)))
    assert (device.pci_slot, device.numa_node, device.card) == ("0000:ba:00.1", 1, "0000:ba:00")
    assert (device.pcie_width, device.pcie_width_max) == (8, 16)
    assert (device.pcie_speed, device.pcie_speed_max) == ("16.0 GT/s PCIe", None)


def test_tools_add_what_sysfs_does_not_tell() -> None:
    facts = seen(samples.sysfs("mlx5_0", link_layer=samples.ROCE), ibv_devinfo=samples.IBV_DEVINFO)
    (port,) = only(facts).ports
    assert (port.active_mtu, port.sources["active_mtu"]) == (1024, "ibv_devinfo")
    assert port.sources["state"].startswith("/sys/")


class LivingHost(TextHost):
    """One that can be asked anything, as far as anybody knows."""

    def recorded(self) -> None:
        return None


def test_a_living_host_is_asked_by_tools_where_it_has_devices() -> None:
    answers = {"ibv_devinfo": Answer(0, samples.IBV_DEVINFO, "")}
    assert rdma.read(Visit(LivingHost(samples.sysfs("mlx5_0"), answers))).readings.keys() == {"ibv_devinfo"}
    assert rdma.read(Visit(LivingHost({}, answers))).readings.keys() == {"ibv_devinfo"}


def test_a_quick_look_asks_for_what_breaks() -> None:
    commands = {
        line: Answer(0, "x", "") for line in ("rdma -j link", "ibstat", "ibstatus", "ibv_devinfo", "ofed_info -s")
    }
    readings = rdma.read(Visit(TextHost({}, commands), hurry=True)).readings
    asked = {name for name, reading in readings.items() if reading.state is not State.UNASKED}
    assert asked == {"ibstat", "ibv_devinfo"}


@pytest.mark.parametrize("line", ["rdma__link", "rdma__-j__link"])
def test_either_form_of_rdma_link_will_do(line: str) -> None:
    facts = seen(None, **{line: samples.JSON_LINK if "-j" in line else samples.LINK})
    assert len(facts.devices or ()) == 2
    assert facts.readings["rdma"].state is State.TOLD
    assert facts.readings["rdma"].values == {}


def test_a_host_on_which_nothing_can_be_asked_is_unknown() -> None:
    assert seen() == RdmaFacts(None, None, {})


def test_a_host_without_rdma_starts_no_tool(tree: TreeHost) -> None:
    tree.write({"/sys/class/infiniband/.keep": ""})
    (tree.folder / "sys/class/infiniband/.keep").unlink()
    facts = rdma.read(Visit(tree))
    assert (facts.devices, facts.readings) == ((), {})


def test_no_devices_by_the_word_of_a_tool() -> None:
    assert seen(ibv_devinfo="No IB devices found\n").devices == ()


def test_programs_need_a_file_to_open() -> None:
    files = samples.sysfs("mlx5_0")
    assert seen(files).user_access is None
    assert seen({**files, "/dev/null": ""}).user_access is False
    assert seen({**files, "/dev/infiniband/uverbs0": ""}).user_access is True


@pytest.mark.parametrize(
    ("names", "cards"),
    [
        (("ens1f0np0", "ens1f1np1"), {"ens1"}),
        (("enp9s0", "enp9s0d1"), {"enp9s0"}),
        (("enp9s0np0", "enp8s0np0"), {"enp9s0", "enp8s0"}),
        (("ib0", "ib1"), {"mlx5_0", "mlx5_1"}),
    ],
)
def test_names_of_interfaces_tell_which_ports_share_a_card(names: tuple[str, ...], cards: set[str]) -> None:
    text = "".join(f"link mlx5_{n}/1 state ACTIVE physical_state LINK_UP netdev {names[n]}\n" for n in (0, 1))
    assert {device.card for device in seen(rdma__link=text).devices or ()} == cards


@pytest.mark.parametrize(
    ("name", "virtual"), [("smi1", "smi"), ("rxe0", "soft"), ("siw_net1", "soft"), ("mlx5_0", None)]
)
def test_what_is_no_adapter_of_its_own(name: str, virtual: str | None) -> None:
    assert only(seen(rdma__link=f"link {name}/1 state INIT physical_state LINK_UP\n")).virtual == virtual


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("4: ACTIVE", "ACTIVE"), ("PORT_ACTIVE (4)", "ACTIVE"), ("Active", "ACTIVE"), ("Initializing", "INIT"),
        ("PORT_INIT (2)", "INIT"), ("5: ACTIVE_DEFER", "ACTIVE_DEFER"), ("3: ARMED", "ARMED"), ("?", None),
    ],
)  # fmt: skip
def test_all_words_for_a_state_are_one(text: str, state: str | None) -> None:
    assert words.state(text) == state


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("5: LinkUp", "LinkUp"), ("LINK_UP", "LinkUp"), ("LINK_UP (5)", "LinkUp"), ("2: Polling", "Polling"),
        ("PORT_CONFIGURATION TRAINNING (4)", "PortConfigurationTraining"), ("LINK_ERROR_RECOVER", "LinkErrorRecovery"),
        ("", None),
    ],
)  # fmt: skip
def test_all_words_for_a_physical_state_are_one(text: str, state: str | None) -> None:
    assert words.physical_state(text) == state


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("400 Gb/sec (4X NDR)", 400e9),
        ("2.5 Gb/sec (1X SDR)", 2.5e9),
        ("56 (FDR10)", 56e9),
        ("0", None),
        ("Unknown", None),
    ],
)
def test_rates(text: str, rate: Any) -> None:
    assert words.rate(text) == rate
