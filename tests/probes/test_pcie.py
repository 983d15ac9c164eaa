"""PCI devices from sysfs, and from the text of lspci where that is all there is."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import pcie
from probes.host import Answer
from probes.pcie import lspci, sysfs
from probes.pcie.isolation import iommu, virtual
from probes.pcie.kinds import kind
from probes.reading import State
from probes.recorded.texthost import TextHost
from probes.visit import Visit
from tests.tree_host import TreeHost

DEVICES = "/sys/bus/pci/devices"
PLACE = "../../../devices/pci0000:40/0000:40:01.0/0000:41:00.0/0000:42:02.0/0000:43:00.0"

SWITCHED = """\
40:01.0 PCI bridge: Intel Corporation Device 352a (rev 04) (prog-if 00 [Normal decode])
	NUMA node: 1
	Bus: primary=40, secondary=41, subordinate=4f, sec-latency=0
	Capabilities: [40] Express (v2) Root Port (Slot-), MSI 00
		DevCtl:	CorrErr- NonFatalErr- FatalErr+ UnsupReq-
			RlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop-
			MaxPayload 256 bytes, MaxReadReq 128 bytes
		LnkCap:	Port #1, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 32GT/s, Width x16
		ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
42:02.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)
	Bus: primary=42, secondary=43, subordinate=43, sec-latency=0
		ACSCtl:	SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
43:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	NUMA node: 1
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
			MaxPayload 256 bytes, MaxReadReq 4096 bytes
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 16GT/s (downgraded), Width x8 (downgraded)
			TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
	Kernel driver in use: mlx5_core
50:00.0 PCI bridge: Intel Corporation Device 352c (rev 04)
	Bus: primary=50, secondary=51, subordinate=51, sec-latency=0
		ACSCtl:	SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
51:00.0 Non-Volatile memory controller: Made Up Storage Inc Disk 9
		LnkSta:	Speed 8GT/s, Width x2 (downgraded)
"""


def of_text(text: str, command: str = "lspci -vvv") -> pcie.PcieFacts:
    return pcie.read(Visit(TextHost({}, {command: Answer(0, text, "")})))


def card(tree: TreeHost, slot: str = "0000:43:00.0", place: str = PLACE, **files: str) -> TreeHost:
    return tree.write({f"{DEVICES}/{slot}/{name}": text for name, text in files.items()}) if not place else tree.write(
        {f"{place.replace('../../..', '/sys')}/{name}": text for name, text in files.items()},
        {f"{DEVICES}/{slot}": place},
    )  # fmt: skip


def test_a_gpu_in_sysfs_and_the_bridges_above_it(tree: TreeHost) -> None:
    tree.tools = {}
    card(
        tree, **{
            "class": "0x030200", "vendor": "0x10de", "device": "0x2330", "numa_node": "1", "current_link_width": "8",
            "max_link_width": "16", "current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe",
        },
    )  # fmt: skip
    bridge = {"class": "0x060400", "vendor": "0x1000", "max_link_width": "16"}
    card(tree, "0000:42:02.0", PLACE.rpartition("/")[0], **bridge)
    card(tree, "0000:99:00.0", "../../../devices/pci0000:99/0000:99:00.0", **bridge)
    found = {device.id: device for device in pcie.read(Visit(tree)).devices or ()}
    assert list(found) == ["0000:42:02.0", "0000:43:00.0"]  # a bridge that leads to no such device is left out
    gpu = found["0000:43:00.0"]
    assert (gpu.kind, gpu.class_code, gpu.vendor, gpu.device) == ("accelerator", "030200", "10de", "2330")
    assert (gpu.width, gpu.width_max, gpu.speed, gpu.speed_max, gpu.numa_node) == (8, 16, 16.0, 32.0, 1)
    assert gpu.upstream == ("0000:40:01.0", "0000:41:00.0", "0000:42:02.0")
    assert (gpu.relaxed_ordering, gpu.access_control, gpu.virtual_function) == (None, None, False)


def test_what_only_root_may_see_comes_from_lspci(tree: TreeHost) -> None:
    card(tree, **{"class": "0x020700", "vendor": "0x15b3", "current_link_width": "16"})
    tree.tools = {"lspci -vvv": SWITCHED}
    (nic,) = pcie.read(Visit(tree)).devices or ()
    assert (nic.width, nic.relaxed_ordering, nic.max_read_request) == (16, True, 4096)
    assert nic.name == "Mellanox Technologies MT2910 Family [ConnectX-7]"
    assert set(nic.lines) == {"relaxed_ordering", "max_read_request"}


def test_without_root_lspci_says_so(tree: TreeHost) -> None:
    card(tree, **{"class": "0x020700", "vendor": "0x15b3"})
    tree.tools = {"lspci -vvv": "43:00.0 Infiniband controller: Mellanox MT1\n\tCapabilities: <access denied>\n"}
    capabilities = pcie.read(Visit(tree)).capabilities
    assert capabilities is not None
    assert (capabilities.state, capabilities.values) == (State.REFUSED, {})
    assert "root" in (capabilities.reason or "")


def test_where_no_device_matters_lspci_is_not_asked(tree: TreeHost) -> None:
    card(tree, **{"class": "0x010802", "vendor": "0x144d"})
    tree.tools = None
    asked: list[str] = []
    assert pcie.read(Visit(tree, tell=asked.append)).devices == ()
    assert asked == []


def test_text_alone() -> None:
    found = {device.id: device for device in of_text(SWITCHED).devices or ()}
    assert list(found) == ["0000:40:01.0", "0000:42:02.0", "0000:43:00.0"]
    nic = found["0000:43:00.0"]
    assert (nic.kind, nic.vendor, nic.driver, nic.numa_node) == ("network", "15b3", "mlx5_core", 1)
    assert (nic.width, nic.width_max, nic.speed, nic.speed_max) == (8, 16, 16.0, 32.0)
    assert nic.upstream == ("0000:40:01.0", "0000:42:02.0")
    assert nic.lines["width"] == "LnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)"
    assert [found[bridge].access_control for bridge in nic.upstream] == [True, False]


@pytest.mark.parametrize("command", ["lspci -vvv", "lspci -vv -nn", "/usr/bin/lspci -vvv -s 43:00.0", "lspci"])
def test_however_it_was_typed(command: str) -> None:
    assert len(of_text(SWITCHED, command).devices or ()) == 3


def test_of_several_lists_that_which_tells_most_counts() -> None:
    short = Answer(0, "43:00.0 Ethernet controller: Mellanox MT1\n", "")
    host = TextHost({}, {"lspci": short, "lspci -vvv": Answer(0, SWITCHED, ""), "lspci -tv": short})
    assert len(pcie.read(Visit(host)).devices or ()) == 3


def test_folders_that_do_not_say_what_a_device_is_leave_it_to_lspci() -> None:
    host = TextHost({f"{DEVICES}/0000:43:00.0/infiniband/mlx5_0/fw_ver": "9"}, {"lspci -vvv": Answer(0, SWITCHED, "")})
    assert len(pcie.read(Visit(host)).devices or ()) == 3


def test_bridges_alone_are_an_excerpt_and_all_of_interest() -> None:
    text = SWITCHED[SWITCHED.index("50:00.0") : SWITCHED.index("51:00.0")]
    (bridge,) = of_text(text).devices or ()
    assert (bridge.id, bridge.kind, bridge.access_control) == ("0000:50:00.0", "bridge", True)


def test_a_list_without_capabilities_still_has_devices() -> None:
    facts = of_text("3d:00.0 Processing accelerators: Huawei Technologies Co., Ltd. Device d801 (rev 20)\n", "lspci")
    assert [(device.id, device.kind) for device in facts.devices or ()] == [("0000:3d:00.0", "accelerator")]
    assert facts.capabilities is not None
    assert facts.capabilities.state is State.UNSUPPORTED


def test_a_virtual_function_says_nothing_of_its_link() -> None:
    facts = of_text(
        "01:00.1 Ethernet controller: Mellanox Technologies ConnectX Family mlx5Gen Virtual Function\n"
        "\t\tLnkSta:\tSpeed unknown, Width x0\n"
    )
    (function,) = facts.devices or ()
    assert (function.virtual_function, function.width, function.speed) == (True, None, None)


def test_unknown_without_anything(tree: TreeHost) -> None:
    tree.tools = {}
    assert pcie.read(Visit(tree)) == pcie.PcieFacts(None)


@pytest.mark.parametrize(
    ("line", "width", "speed"),
    [
        ("LnkSta: Speed 8GT/s, Width x16, TrErr- Train- SlotClk+", 16, 8.0),
        ("LnkSta:\tSpeed 2.5GT/s (ok), Width x4 (downgraded)", 4, 2.5),
        ("LnkSta: Speed unknown, Width x0", None, None),
        ("LnkSta2: Current De-emphasis Level: -6dB", None, None),
    ],
)
def test_links_in_old_and_new_spelling(line: str, width: int | None, speed: float | None) -> None:
    block = lspci.parse(f"0000:0A:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330]\n\t{line}\n")
    (found,) = block.values.values()
    assert (list(block.values), found.title) == (["0000:0a:00.0"], "3D controller")
    assert (found.width, found.speed) == (width, speed)


@pytest.mark.parametrize(("text", "width"), [("16", 16), ("0", None), ("255", None), ("x", None), (None, None)])
def test_width(text: str | None, width: int | None) -> None:
    assert sysfs.parse_width(text) == width


@pytest.mark.parametrize(
    ("text", "speed"), [("32.0 GT/s PCIe", 32.0), ("2.5 GT/s", 2.5), ("Unknown", None), (None, None)]
)
def test_speed(text: str | None, speed: float | None) -> None:
    assert sysfs.parse_speed(text) == speed


@pytest.mark.parametrize(
    ("class_code", "vendor", "what"),
    [
        ("030200", "10de", "accelerator"),
        ("120000", "19e5", "accelerator"),
        ("030000", "1a03", None),  # the display of a board's management controller
        ("020000", "14e4", "network"),
        ("020700", "15b3", "network"),
        ("060400", "8086", "bridge"),
        ("010802", "144d", None),
        ("", None, None),
    ],
)
def test_kinds(class_code: str, vendor: str | None, what: str | None) -> None:
    assert kind(class_code, vendor) == what


def test_a_device_of_which_nobody_recorded_what_it_is(tree: TreeHost) -> None:
    tree.tools = {}
    tree.write({f"{DEVICES}/0000:07:00.0/max_link_width": "16", f"{DEVICES}/0000:08:00.0/numa_node": "0"})
    assert [(each.id, each.kind) for each in pcie.read(Visit(tree)).devices or ()] == [("0000:07:00.0", "other")]


@pytest.mark.parametrize(
    ("files", "mode"),
    [
        ({}, None),
        ({"/sys/class/net/x": ""}, "off"),
        ({"/sys/class/iommu/dmar0/x": ""}, None),
        ({"/sys/class/iommu/dmar0/x": "", "/proc/cmdline": "quiet iommu=pt"}, "passthrough"),
        ({"/sys/class/iommu/smmu3.0/x": "", "/proc/cmdline": "iommu.passthrough=1 ro"}, "passthrough"),
        ({"/sys/class/iommu/dmar0/x": "", "/proc/cmdline": "intel_iommu=on,sm_on"}, "translated"),
        ({"/sys/class/iommu/dmar0/x": "", f"{DEVICES}/a/iommu_group/type": "DMA-FQ"}, "translated"),
        ({"/sys/class/iommu/dmar0/x": "", f"{DEVICES}/a/iommu_group/type": "identity"}, "passthrough"),
    ],
)
def test_iommu(tree: TreeHost, files: dict[str, str], mode: str | None) -> None:
    assert iommu(tree.write(files), ["a"]) == mode


@pytest.mark.parametrize(
    ("files", "names", "is_one"),
    [
        ({}, [], None),
        ({"/proc/cpuinfo": "flags\t\t: fpu hypervisor avx"}, [], True),
        ({"/proc/cpuinfo": "flags\t\t: fpu avx"}, ["Red Hat, Inc. Virtio network device"], False),
        ({"/sys/class/dmi/id/product_name": "KVM Virtual Machine"}, [], True),
        ({"/sys/class/dmi/id/sys_vendor": "Huawei"}, [], False),
        ({}, ["Red Hat, Inc. Virtio network device"], True),
    ],
)
def test_virtual_machines(tree: TreeHost, files: dict[str, str], names: list[str], is_one: bool | None) -> None:
    assert virtual(tree.write(files), names) is is_one


@given(st.text(), st.integers(0, len(SWITCHED)), st.randoms(use_true_random=False))
def test_no_text_makes_it_raise(text: str, cut: int, chance: random.Random) -> None:
    place = chance.randrange(len(SWITCHED))
    for each in (text, SWITCHED[:cut] + text, SWITCHED[:place] + text + SWITCHED[place:]):
        of_text(each)
