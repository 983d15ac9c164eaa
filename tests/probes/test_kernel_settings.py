"""Settings of the kernel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import kernel_settings
from tests.tree_host import TreeHost


def test_settings_of_the_kernel(tree: TreeHost) -> None:
    ipv4 = "/proc/sys/net/ipv4"
    tree.write({
        "/proc/sys/net/core/somaxconn": "4096",
        "/proc/sys/net/core/rmem_max": "212992",
        f"{ipv4}/tcp_max_syn_backlog": "512",
        f"{ipv4}/ip_local_port_range": "32768\t60999",
        f"{ipv4}/ip_local_reserved_ports": "8080,60000-60031",
        f"{ipv4}/conf/all/rp_filter": "0",
        f"{ipv4}/conf/eth0/rp_filter": "1",
        f"{ipv4}/conf/eth1/other": "1",
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=made-up quiet iommu=pt hugepagesz=1G pci=noaer",
    })  # fmt: skip
    facts = kernel_settings.read(tree)
    assert (facts.somaxconn, facts.tcp_max_syn_backlog, facts.rmem_max, facts.wmem_max) == (4096, 512, 212992, None)
    assert (facts.port_range, facts.reserved_ports) == ((32768, 60999), ((8080, 8080), (60000, 60031)))
    assert facts.reverse_path_filter == {"all": 0, "eth0": 1}
    assert facts.options == ("iommu=pt", "hugepagesz=1G", "pci=noaer")


@pytest.mark.parametrize(
    ("text", "ports"), [("\n", ()), ("1-2,x", None), ("70,90-95\n", ((70, 70), (90, 95))), (None, None)]
)
def test_reserved_ports(text: str | None, ports: object) -> None:
    assert kernel_settings.parse_reserved(text) == ports


def test_a_range_of_one_port() -> None:
    assert kernel_settings.parse_ports("5 5") == (5, 5)


@pytest.mark.parametrize("text", ["", "1", "9 8", "1 70000", "1 2 3", "a b"])
def test_what_is_no_range_of_ports(text: str) -> None:
    assert kernel_settings.parse_ports(text) is None


@given(st.text(), st.text("0123456789-, \n"))
def test_no_text_is_too_strange(text: str, digits: str) -> None:
    kernel_settings.parse_reserved(text)
    kernel_settings.parse_reserved(digits)
    kernel_settings.parse_ports(digits)
    kernel_settings.parse_options(text)
