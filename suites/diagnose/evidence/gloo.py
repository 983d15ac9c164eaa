"""What Gloo says: interfaces it cannot use, peers it cannot reach, and peers that are gone.

The texts are those of gloo/transport/tcp/{device,pair,unbound_buffer}.cc, and of PyTorch's ProcessGroupGloo.cpp around
them. That a host's name cannot be resolved, and loopback is used, is no matter on one host: it counts where connecting
fails afterwards.
May import: facts, known, line, torch_speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from suites.diagnose.evidence.known import Known
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.torch_speaker import speaker
from suites.diagnose.facts import Fact, Level, Subject, Trouble, Who

TEXTS = (
    Known(
        "gloo.interface", "Unable to find address for", r"Unable to find address for:? (?P<name>\^\S{1,100})",
        Level.INITIATING, "GLOO_SOCKET_IFNAME is {name}: Gloo takes plain names, `^` is known to NCCL only", "config",
        "speaker", ("GLOO_SOCKET_IFNAME=NAME with an interface of `ip -br address`",),
    ),
    Known(
        "gloo.interface", "Unable to find address for", r"Unable to find address for:? (?P<name>\S{1,100})",
        Level.INITIATING, "GLOO_SOCKET_IFNAME is {name}: there is no such interface, or it has no address", "config",
        "speaker", ("GLOO_SOCKET_IFNAME=NAME with an interface of `ip -br address`",),
    ),
    Known(
        "gloo.interface", "Unable to find interface for", r"Unable to find interface for:? (?P<name>\S{1,100})",
        Level.INITIATING, "no interface has the address {name} that Gloo is to use", "config",
        "speaker", ("GLOO_SOCKET_IFNAME=NAME with an interface of `ip -br address`",),
    ),
    Known(
        "gloo.peer_closed", "Connection closed by peer",
        r"Connection closed by peer \[(?P<peer_address>[^\]\s]{1,100})\]", Level.CASCADE,
        "its peer at {peer_address} has closed the connection: that process has ended",
        remedy=("the log of the rank at {peer_address}: why it ended",),
    ),
    Known(
        "gloo.peer_closed", "Connection reset by peer", r"Read error \[(?P<peer_address>[^\]\s]{1,100})\]",
        Level.CASCADE, "its peer at {peer_address} is gone", remedy=("the log of the rank at {peer_address}",),
    ),
    Known(
        "gloo.peer_closed", "Broken pipe",
        r"[Ww]rite.{0,40}\[(?P<peer_address>[^\]\s]{1,100})\].{0,40}Broken pipe",
        Level.CASCADE, "its peer at {peer_address} is gone", remedy=("the log of the rank at {peer_address}",),
    ),
    Known(
        "gloo.timeout", "operation to complete",
        r"Timed out waiting (?P<limit>\d{1,12}) ?ms for (?P<way>recv|send) operation to complete", Level.TIMEOUT,
        "a {way} did not come to its end within {limit} ms",
    ),
    Known(
        "gloo.sizes", "Received data size doesn't match expected size",
        r"op\.preamble\.length <= op\.nbytes\. (?P<came>\d{1,18}) vs (?P<wanted>\d{1,18})", Level.TRANSPORT,
        "a peer sent {came} bytes where {wanted} were expected: ranks called different things", "mismatch",
        remedy=("TORCH_DISTRIBUTED_DEBUG=DETAIL: it compares what the ranks call, and names those who differ",),
    ),
)  # fmt: skip

_FAILED = re.compile(
    r"connectFullMesh failed with|connect(?:ion)? .{0,60}(?:timed out|refused|No route to host|is unreachable)|"
    r"Connection refused"
)
_REMOTE = re.compile(r"remote=\[(?P<address>[^\]\s]{1,100})\]|connect \[(?P<other>[^\]\s]{1,100})\]")
_LOOPBACK = re.compile(r"^(?:::ffff:)?127\.|^::1$")
_REMEDY = (
    "`getent hosts $(hostname)` on every host must not give 127.*: correct /etc/hosts",
    "or GLOO_SOCKET_IFNAME=NAME of the interface that reaches the others",
)


@dataclass(slots=True)
class Loopback:
    """Connecting that fails, and why where it is told: a rank has given the others an address that is only its own."""

    wakes: tuple[str, ...] = ("Using the loopback address as fallback", "connectFullMesh", "gloo/transport/tcp")
    awake: bool = False
    _fallback: Line | None = None

    def feed(self, line: Line) -> Iterable[Fact]:
        if "Using the loopback address as fallback" in line.text:
            self._fallback = self._fallback or line
        elif _FAILED.search(line.text):
            yield self._failed(line)

    def end(self) -> Iterable[Fact]:
        return ()

    def _failed(self, line: Line) -> Trouble:
        who = speaker(line).who
        found = _REMOTE.search(line.text)
        remote = (found["address"] or found["other"]) if found else None
        if remote is not None and _LOOPBACK.search(remote):
            words = f"a peer told {remote} as its address, which no other host can reach"
            return Trouble(who, line.place(), Level.INITIATING, words, "config", (), _REMEDY, "gloo.loopback")
        if self._fallback is not None:
            words = "the name of its host cannot be resolved, so it told the others a loopback address"
            place = self._fallback.place()
            about = (Subject("host", Who(host=who.host)),) if who.host else ()
            return Trouble(who, place, Level.INITIATING, words, "config", about, _REMEDY, "gloo.loopback")
        return Trouble(
            who, line.place(), Level.TRANSPORT, "it cannot connect to a peer", "transport",
            (Subject("link", who, Who(address=remote)),) if remote else (), _REMEDY, "gloo.connect",
        )  # fmt: skip
