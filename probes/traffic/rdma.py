"""What RDMA ports have carried, lost and sent again.

Source: /sys/class/infiniband/*/ports/*/{counters,hw_counters,state,rate}. The data counters of InfiniBand are in units
of four bytes, also on RoCE (IBTA 16.1.3.5, PortXmitData); EFA counts bytes among its hw_counters. May import: probes.
"""

from __future__ import annotations

from collections.abc import Iterator

from probes.host import Host
from probes.rdma import words
from probes.traffic import Clock, Look, Sighting, counter, known

SCOPE = "RDMA ports"
_DEVICES = "/sys/class/infiniband"
_WORDS = {"rx_bytes": "counters/port_rcv_data", "tx_bytes": "counters/port_xmit_data"}
"""In units of four bytes."""
_BYTES = {"rx_bytes": "hw_counters/rx_bytes", "tx_bytes": "hw_counters/tx_bytes"}
_PACKETS = {
    "rx_packets": ("counters/port_rcv_packets", "hw_counters/rx_pkts", "hw_counters/rcvd_pkts"),
    "tx_packets": ("counters/port_xmit_packets", "hw_counters/tx_pkts", "hw_counters/sent_pkts"),
}
_ERRORS = (
    "counters/symbol_error", "counters/link_error_recovery", "counters/link_downed", "counters/port_rcv_errors",
    "counters/port_rcv_remote_physical_errors", "counters/port_rcv_constraint_errors",
    "counters/port_xmit_constraint_errors", "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors", "hw_counters/rx_icrc_encapsulated", "hw_counters/retry_exceeded_err",
)  # fmt: skip
_DROPS = ("counters/port_xmit_discards", "hw_counters/out_of_buffer", "hw_counters/rx_drops")
_RETRANSMITS = (
    "hw_counters/packet_seq_err", "hw_counters/implied_nak_seq_err", "hw_counters/local_ack_timeout_err",
    "hw_counters/rnr_nak_retry_err", "hw_counters/duplicate_request",
    "hw_counters/to_retransmits", "hw_counters/retrans_pkts", "hw_counters/completer_retry_err",
)  # fmt: skip
"""mlx5's names, then those of bnxt_re, EFA and rxe. (Not out_of_sequence, which adaptive
routing makes grow, nor roce_adp_retrans, which congestion does.)"""


class Ports:
    """The ports of a host's RDMA devices. A counter that cannot be read is not tried again while its port is there: at
    each try, some functions of mlx5 write a line into the kernel's log."""

    def __init__(self, host: Host, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._unreadable: dict[str, set[str]] = {}

    def look(self) -> Look:
        ports = list(self._ports())
        self._unreadable = {folder: self._unreadable.get(folder, set()) for _, folder in ports}
        return Look(SCOPE, tuple(self._sighting(link, folder) for link, folder in ports))

    def _ports(self) -> Iterator[tuple[str, str]]:
        for device in self._host.listdir(_DEVICES) or ():
            for port in self._host.listdir(f"{_DEVICES}/{device}/ports") or ():
                yield f"{device}/{port}", f"{_DEVICES}/{device}/ports/{port}"

    def _sighting(self, link: str, folder: str) -> Sighting:
        time = self._clock()
        data = {name: self._counter(folder, path) for name, path in _WORDS.items()}
        traffic = known({name: None if value is None else 4 * value for name, value in data.items()})
        if not traffic:
            traffic = known({name: self._counter(folder, path) for name, path in _BYTES.items()})
        traffic |= known({name: self._first(folder, paths) for name, paths in _PACKETS.items()})
        return Sighting(
            link, "rdma", time, folder, traffic,
            errors=self._counters(folder, _ERRORS), drops=self._counters(folder, _DROPS),
            retransmits=self._counters(folder, _RETRANSMITS), limit=self._limit(folder),
        )  # fmt: skip

    def _counter(self, folder: str, path: str) -> int | None:
        unreadable = self._unreadable[folder]
        found = None if path in unreadable else counter(self._host.read(f"{folder}/{path}"))
        if found is None:
            unreadable.add(path)
        return found

    def _counters(self, folder: str, paths: tuple[str, ...]) -> dict[str, int]:
        return known({path.rpartition("/")[2]: self._counter(folder, path) for path in paths})

    def _first(self, folder: str, paths: tuple[str, ...]) -> int | None:
        values = (self._counter(folder, path) for path in paths)
        return next((value for value in values if value is not None), None)

    def _limit(self, folder: str) -> float | None:
        """A port that is not active shows a rate that means nothing."""
        if words.state(self._host.read(f"{folder}/state") or "") != words.ACTIVE:
            return None
        rate = words.rate(self._host.read(f"{folder}/rate") or "")
        return None if rate is None else rate / 8
