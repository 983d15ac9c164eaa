"""PyTorch's store, over which ranks find each other at start-up: it cannot be reached, or somebody's key never comes.

The texts are those of torch/csrc/distributed/c10d/{socket,TCPStore,ProcessGroupNCCL}.cpp. That an IPv6 address cannot
be had is said on every host that has none; it means something only where the connection fails too.
May import: facts, line, torch_speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.evidence.torch_speaker import WORLD, Speaker, speaker
from suites.diagnose.facts import Fact, Level, Subject, Trouble, Waiting, Who

_NAME = re.compile(r"network addresses of \((?P<host>[^,()]{1,300}), \d{1,6}\) cannot be retrieved \(gai error:")
_RETRY = re.compile(r"client socket has failed to connect to \[(?P<host>[^\]\s]{1,300})\]:(?P<port>\d{1,6})")
"""Said of every try while the master is not there yet."""
_TARGETS = (
    re.compile(r"while trying to connect to \((?P<host>[^,()]{1,300}),\s{0,9}(?P<port>\d{1,6})\)"),
    re.compile(r"any network address of \((?P<host>[^,()]{1,300}),\s{0,9}(?P<port>\d{1,6})\)"),
    re.compile(r"failed to connect/validate to host (?P<host>\S{1,300}):(?P<port>\d{1,6}) - timed out"),
)
_NO_ROUTE = "errno: 113"
_MAPPED = "::ffff:"
_KINDS: Mapping[str, re.Pattern[str]] = {
    "invalid": re.compile(r"^(?:255(?:\.\d{1,3}){3}|0(?:\.\d{1,3}){3}|(?:22[4-9]|23\d)(?:\.\d{1,3}){3})$"),
    "loopback": re.compile(r"^(?:127(?:\.\d{1,3}){3}|::1|localhost)$"),
}
"""Of addresses that no other host can be reached at."""
_WORDS: Mapping[str, tuple[Level, str, str]] = {
    "invalid": (
        Level.INITIATING, "the address of the master, {host}, is no host's",
        "set MASTER_ADDR (--rdzv-endpoint, --master-addr) to an address or name of the first host",
    ),
    "nameless": (
        Level.INITIATING, "the name of the master, {host}, cannot be resolved",
        "`getent hosts {host}` on this host; add it to DNS or /etc/hosts, or give an address in MASTER_ADDR",
    ),
    "loopback": (
        Level.TRANSPORT, "the master is looked for at {host}, which is this host itself",
        "on the master `getent hosts $(hostname)` must not give 127.*; on one host: why is nobody on {port}?",
    ),
}  # fmt: skip
_KEYS = re.compile(r"keys: (?P<path>[^\s,]{0,300})//(?P<device>[a-z]\w{1,20})//(?P<key>[\w:/]{1,60})")
_RETRIEVING = re.compile(
    r"\[(?P<own>\d{1,7})\] is setting up \w{1,10} communicator and retrieving \w{1,20} from \[(?P<on>\d{1,7})\]"
)


@dataclass(slots=True)
class Store:
    """Reads them."""

    wakes: tuple[str, ...] = (
        "gai error", "client socket", "failed to connect/validate", "keys: ", "communicator and retrieving",
    )  # fmt: skip
    awake: bool = False
    _nameless: set[str] = field(default_factory=set)

    def feed(self, line: Line) -> Iterable[Fact]:
        if (found := _NAME.search(line.text)) and len(self._nameless) < 1024:
            self._nameless.add(found["host"])
        for pattern in _TARGETS:
            if found := pattern.search(line.text):
                yield self._unreachable(found["host"].removeprefix(_MAPPED), found["port"], line)
                break
        if found := _RETRY.search(line.text):
            yield from _retried(found["host"].removeprefix(_MAPPED), found["port"], line)
        yield from _waits(line)

    def end(self) -> Iterable[Fact]:
        return ()

    def _unreachable(self, host: str, port: str, line: Line) -> Trouble:
        kind = "nameless" if host in self._nameless else _kind(host)
        return _not_reached(host, port, line) if kind is None else _wrong(kind, host, port, line)


def _retried(host: str, port: str, line: Line) -> Iterator[Fact]:
    """A try that failed tells something only where it never can succeed, or others than this host are meant."""
    kind = _kind(host)
    if kind == "invalid":
        yield _wrong(kind, host, port, line)
    elif kind is None:
        yield _not_reached(host, port, line)


def _kind(host: str) -> str | None:
    return next((kind for kind, pattern in _KINDS.items() if pattern.match(host)), None)


def _wrong(kind: str, host: str, port: str, line: Line) -> Trouble:
    level, words, remedy = _WORDS[kind]
    return Trouble(
        speaker(line).who, line.place(), level, words.format(host=host), "config", (),
        (remedy.format(host=host, port=port),), f"torch.master_{kind}",
    )  # fmt: skip


def _not_reached(host: str, port: str, line: Line) -> Trouble:
    """Nobody listens yet, or a firewall drops what is sent; with this number there is no route."""
    remedy = f"on the master `ss -ltn | grep {port}`, from here `nc -vz {host} {port}`; then why rank 0 has not started"
    words, place = f"the store of the master, {host} port {port}, cannot be reached", line.place()
    who = speaker(line).who
    if _NO_ROUTE not in line.text:
        return Trouble(who, place, Level.TIMEOUT, words, remedy=(remedy,), known_as="torch.master_unreachable")
    peer = Who(address=host) if _is_address(host) else Who(host=host)
    return Trouble(
        who, place, Level.TRANSPORT, f"{words}: no route to it", "transport", (Subject("link", who, peer),),
        (f"`ip route get {host}` here; the addresses and the subnet of the master",), "torch.master_no_route",
    )  # fmt: skip


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdecimal()


def _waits(line: Line) -> Iterator[Fact]:
    """A rank waits for what another one has to write into the store."""
    retrieving, keys = _RETRIEVING.search(line.text), _KEYS.search(line.text)
    if retrieving is None and keys is None:
        return
    said = speaker(line)
    on: int | None = None
    if keys is not None:
        group = keys["path"].rpartition("/")[2] or WORLD
        said = replace(said, group=group)
        on = _writer(keys["device"], keys["key"])
    if retrieving is not None:
        said, on = replace(said, group_rank=int(retrieving["own"])), int(retrieving["on"])
    said = _in_the_world(said)
    place = line.place()
    if "timeout" in line.text.lower():
        words = "a key of the store did not come in time"
        yield Trouble(said.member, place, Level.TIMEOUT, words, known_as="torch.store_key")
    if on is not None and said.group_rank != on:
        yield said.fact(place)
        yield Waiting(said.member, place, (said.other(on),), said.key)


def _in_the_world(said: Speaker) -> Speaker:
    if said.group != WORLD:
        return said
    rank = said.who.rank if said.who.rank is not None else said.group_rank
    return replace(said, who=merged(said.who, Who(rank=rank)), group_rank=rank)


def _writer(device: str, key: str) -> int | None:
    """Rank in the group that has to write a key: with gloo's its own address, else the first one of those who meet."""
    if device == "cpu":
        last = key.rpartition("/")[2]
        return int(last) if last.isdecimal() else None
    first = key.partition(":")[0] if ":" in key else "0"
    return int(first) if first.isdecimal() else None
