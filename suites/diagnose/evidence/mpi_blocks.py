"""What Open MPI, PRRTE and PMIx tell in paragraphs: a sentence, and below it lines of `Local host: NAME`.

The texts are those of their help files (help-mpi-btl-tcp.txt, help-oob-tcp.txt, help-mpi-btl-openib.txt, ...).
May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import NOBODY, Class, Fact, Level, Subject, Trouble, Who


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """`head`: a piece of its first line. Of the names of fields the first that it has counts."""

    name: str
    head: str
    level: Level
    what: str
    """May name `own`, `peer` and `why`."""
    cause: Class
    about: Literal["own", "peer", "link"] = "own"
    remedy: tuple[str, ...] = ()


_INTERFACES = (
    "`ip -br address` on both: addresses that others do not reach (docker0, virbr0, 169.254.*) must not be used",
    "mpirun --mca btl_tcp_if_include NETWORK/BITS --mca oob_tcp_if_include NETWORK/BITS",
)
_FIREWALL = ("firewall rules on {peer} for connections of {own}", *_INTERFACES)
_SPACE = ("`df -h /dev/shm /tmp` inside the worker on {own}; `--shm-size=1g` or more, for a container",)

_PARAGRAPHS = (
    _Paragraph("mpi.tcp_connect", "failed to TCP connect to a peer", Level.TRANSPORT, "{own} does not reach {peer}: "
    "{why}",
               "transport", "link", _INTERFACES),
    _Paragraph("mpi.tcp_unexpected", "detected an inbound MPI TCP connection", Level.INITIATING,
               "a peer came to {own} from an address that it had not told", "config", "own", _INTERFACES),
    _Paragraph("mpirun.tcp", "unable to complete a TCP connection", Level.INITIATING,
               "the daemon on {own} does not reach {peer}", "launch", "link", _FIREWALL),
    _Paragraph("mpirun.daemon_lost", "has lost communication with its daemon", Level.TRANSPORT,
               "mpirun has lost its daemon on {own}", "transport", "own", ("whether {own} is up: `ssh {own} uptime`",)),
    _Paragraph("mpirun.route", "does not know how to route a message", Level.TRANSPORT,
               "the daemon on {peer} has not reported to {own}", "launch", "peer",
               ("`getent hosts {own}` on {peer}: the daemon there must find where mpirun runs",)),
    _Paragraph("mpi.retry", "retry count between two", Level.TRANSPORT,
               "{peer} did not acknowledge what {own} sent", "transport", "link",
               ("`ibstat` on both; counters of the ports and of the switch", "`ib_write_bw` between the two")),
    _Paragraph("mpi.unreachable", "pair of MPI processes are unable to reach", Level.INITIATING,
               "{own} and {peer} have no transport that both may use", "config", "link",
               ("`--mca btl` and `--mca pml` as given, against what `ompi_info` lists on both hosts",)),
    _Paragraph("mpi.memlock", "allocate some locked memory", Level.INITIATING,
               "it may not lock enough memory for its network card", "resource", "own",
               ("`ulimit -l` inside the worker must be unlimited: limits.conf, the limits of sshd or slurmd",)),
    _Paragraph("mpi.shm", "call failed during shared memory initialization", Level.INITIATING,
               "no shared memory on {own}: {why}", "resource", "own", _SPACE),
    _Paragraph("mpi.shm", "not enough space for ", Level.INITIATING, "no space for shared memory on {own}", "resource",
               "own", _SPACE),
    _Paragraph("mpi.component", "requested component was not found", Level.INITIATING,
               "a component that was asked for, {why}, is not there on {own}", "config", "own",
               ("`ompi_info`, `pmix_info` on {own}; OMPI_MCA_* and PMIX_MCA_* variables",)),
)  # fmt: skip
_FIELD = re.compile(
    r"^\s{0,9}(?P<name>Local host|Local hostname|Remote host|Peer host|Peer hostname|hostname|my node|target node|"
    r"Local adapter|Local device|Host|Message|Error|Framework|Component|"
    r"Process (?P<which>[12]) \(\S{1,60}\) is on host)(?: name)?: {0,20}(?P<value>\S.{0,300})$"
)
_OWN = ("Local host", "Local hostname", "hostname", "my node", "Process 1", "Host")
_PEER = ("Remote host", "Peer host", "Peer hostname", "target node", "Process 2")
_ADDRESS = re.compile(r"connect\(\) to (?P<address>[\da-fA-F.:]{2,45}?)(?::\d{1,5})? failed")
_NAME = re.compile(r"[\w.:-]{1,255}")
_RULE = re.compile(r"^\s{0,4}-{20,}\s*$")
_MOST_LINES = 24
"""Of a paragraph."""


@dataclass(slots=True)
class _Open:
    kind: _Paragraph
    line: Line
    fields: dict[str, str] = field(default_factory=dict)
    lines: int = 0


@dataclass(slots=True)
class MpiParagraphs:
    """One at a time by speaker. It ends with a ruled line, the next one, or where it has got too long."""

    wakes: tuple[str, ...] = tuple(one.head for one in _PARAGRAPHS)
    awake: bool = False
    _open: dict[Who, _Open] = field(default_factory=dict)

    def feed(self, line: Line) -> Iterable[Fact]:
        if kind := next((one for one in _PARAGRAPHS if one.head in line.text), None):
            yield from self._close(line.who)
            self._open[line.who] = _Open(kind, line)
        elif (within := self._open.get(line.who)) is not None:
            within.lines += 1
            if found := _FIELD.match(line.text):
                name = f"Process {found['which']}" if found["which"] else found["name"]
                within.fields.setdefault(name, found["value"].strip())
            elif _RULE.match(line.text) or within.lines > _MOST_LINES:
                yield from self._close(line.who)
        self.awake = bool(self._open)

    def end(self) -> Iterable[Fact]:
        for speaker in list(self._open):
            yield from self._close(speaker)

    def _close(self, speaker: Who) -> Iterable[Fact]:
        done = self._open.pop(speaker, None)
        if done is not None:
            yield _told(done)


def _told(done: _Open) -> Trouble:
    kind, told = done.kind, done.fields
    own, peer = Who(host=_first(told, _OWN)), Who(host=_first(told, _PEER))
    if found := _ADDRESS.search(told.get("Message", "")):
        peer = Who(address=found["address"])
    words = {
        "own": own.host or "a host",
        "peer": peer.host or peer.address or "another",
        "why": told.get("Error") or "/".join(told[name] for name in ("Framework", "Component") if name in told) or "?",
    }
    speaker = merged(done.line.who, own)
    about: tuple[Subject, ...] = ()
    if kind.about == "link" and own != NOBODY:
        about = (Subject("link", speaker, peer if peer != NOBODY else None),)
    elif kind.about == "own" and own != NOBODY:
        about = (Subject("host", own),)
    elif kind.about == "peer" and peer != NOBODY:
        about = (Subject("host", peer),)
    remedy = tuple(step.format(**words) for step in kind.remedy)
    return Trouble(
        speaker, done.line.place(), kind.level, kind.what.format(**words), kind.cause, about, remedy, kind.name
    )


def _first(told: Mapping[str, str], names: Iterable[str]) -> str | None:
    for name in names:
        if name in told and (found := _NAME.match(told[name])):
            return found[0]
    return None
