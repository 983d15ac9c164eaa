"""What RDMA ports have carried."""

from __future__ import annotations

from collections import Counter

from probes.host import PassingHost
from probes.traffic.rdma import Ports
from tests.probes.traffic.ticking import ticking
from tests.tree_host import TreeHost

PORT = "/sys/class/infiniband/mlx5_0/ports/1"
FILES = {
    "state": "4: ACTIVE",
    "rate": "400 Gb/sec (4X NDR)",
    "counters/port_rcv_data": "1000",
    "counters/port_xmit_data": "3000000000000",
    "counters/port_rcv_packets": "10",
    "counters/port_xmit_packets": "20",
    "counters/symbol_error": "1",
    "counters/link_downed": "255",
    "counters/port_xmit_discards": "2",
    "counters/port_xmit_wait": "99",
    "hw_counters/packet_seq_err": "5",
    "hw_counters/out_of_sequence": "77",
    "hw_counters/rx_icrc_encapsulated": "0",
}


def port(tree: TreeHost, folder: str = PORT, **more: str) -> TreeHost:
    return tree.write({f"{folder}/{path}": text for path, text in (FILES | more).items()})


class CountingHost(PassingHost):
    """Remembers how often a file was asked for."""

    def __init__(self, host: TreeHost) -> None:
        super().__init__(host)
        self.asked: Counter[str] = Counter()

    def read(self, path: str) -> str | None:
        self.asked[path] += 1
        return super().read(path)


def test_a_port(tree: TreeHost) -> None:
    (found,) = Ports(port(tree), ticking()).look().sightings
    assert (found.link, found.kind, found.time, found.source, found.limit) == ("mlx5_0/1", "rdma", 1.0, PORT, 50e9)
    assert found.traffic == {"rx_bytes": 4000, "tx_bytes": 12_000_000_000_000, "rx_packets": 10, "tx_packets": 20}
    assert found.errors == {"symbol_error": 1, "link_downed": 255, "rx_icrc_encapsulated": 0}
    assert found.drops == {"port_xmit_discards": 2}
    # What adaptive routing alone makes grow is no retransmission.
    assert found.retransmits == {"packet_seq_err": 5}


def test_a_port_that_is_down_has_no_rate(tree: TreeHost) -> None:
    (found,) = Ports(port(tree, state="1: DOWN", rate="40 Gb/sec (4X QDR)"), ticking()).look().sightings
    assert found.limit is None


def test_a_device_that_counts_bytes_itself(tree: TreeHost) -> None:
    folder = "/sys/class/infiniband/efa_0/ports/1"
    counters = {"rx_bytes": "7", "tx_bytes": "8", "rx_pkts": "1", "tx_pkts": "2", "rx_drops": "3"}
    tree.write({f"{folder}/hw_counters/{name}": value for name, value in counters.items()})
    (found,) = Ports(tree, ticking()).look().sightings
    assert found.traffic == {"rx_bytes": 7, "tx_bytes": 8, "rx_packets": 1, "tx_packets": 2}
    assert found.drops == {"rx_drops": 3}


def test_a_counter_that_cannot_be_read_is_asked_for_once(tree: TreeHost) -> None:
    host = CountingHost(port(tree))
    ports = Ports(host, ticking())
    for _ in range(3):
        ports.look()
    assert host.asked[f"{PORT}/counters/symbol_error"] == 3
    assert host.asked[f"{PORT}/counters/local_link_integrity_errors"] == 1


def test_a_port_that_came_back_is_asked_for_everything(tree: TreeHost) -> None:
    host = CountingHost(port(tree))
    ports = Ports(host, ticking())
    ports.look()
    (tree.folder / "sys/class/infiniband").rename(tree.folder / "away")
    assert ports.look().sightings == ()
    (tree.folder / "away").rename(tree.folder / "sys/class/infiniband")
    ports.look()
    assert host.asked[f"{PORT}/counters/local_link_integrity_errors"] == 2


def test_a_host_without(tree: TreeHost) -> None:
    assert Ports(tree, ticking()).look().sightings == ()
