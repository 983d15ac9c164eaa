"""The hosts of a run: which they are, what they have, and the agents by which ranks are started there.

May import: collectives, probes, world, hosts, local, reach, slurm, ssh, supervise.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from collectives.address import any_port
from probes.host import Host, LocalHost
from suites import world
from suites.errors import UsageError
from suites.launch import deadlines, local, reach, slurm, ssh
from suites.launch.job import Event, Job, Output
from suites.launch.launched.assembly import Assembly
from suites.launch.link import AgentCommand
from suites.launch.lists.hosts import HostEntry
from suites.launch.protocol import Frame
from suites.launch.supervise import Supervisor
from suites.verdict import Fault

FAR: Mapping[str, Callable[[str, str, ssh.Far, Mapping[str, str]], AgentCommand]] = {
    "ssh": ssh.command,
    "slurm": slurm.command,
}
"""launcher -> how it starts the agent of a host: the name it knows that by, the host's name here, the far side, and the
environment."""
KNOCK_SECONDS = 5.0


@dataclass(slots=True)
class Crew:
    """Hosts and their agents. `slots` are what a host list says of each. Close it, whatever happens."""

    launcher: str
    commands: Sequence[AgentCommand]
    slots: Sequence[int | None]
    facts: Sequence[world.HostFacts] = ()
    """Of every host, in order; of others than this one once they are connected."""
    only: reach.Filter | None = None
    """Which interfaces may be taken."""
    links: Mapping[str, reach.Candidate] = field(default_factory=dict)
    """By host, where there are several: what it is reached by."""
    assembly: Assembly | None = None
    """Where another launcher has started the ranks."""
    _supervisor: Supervisor | None = None
    _closed: bool = False

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where each host is reached by the others; none where there are no others."""
        return tuple(str(self.links[name].address.ip) for name in self.names if name in self.links)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(command.host for command in self.commands)

    @property
    def far(self) -> set[str]:
        """Those that are another machine."""
        return {command.host for command in self.commands if command.far}

    @property
    def faults(self) -> list[Fault]:
        if self._supervisor:
            return self._supervisor.faults
        return self.assembly.faults if self.assembly else []

    @property
    def survivors(self) -> list[tuple[str, int]]:
        return self._supervisor.survivors if self._supervisor else []

    @property
    def rings(self) -> dict[int, bytes]:
        """By rank, what was recorded, as the run ended before its time or the job wants it: see ringreader."""
        return self._supervisor.rings if self._supervisor else {}

    @property
    def pids(self) -> dict[int, int]:
        """Process ids of the ranks."""
        return self._supervisor.pids if self._supervisor else {}

    def greet(self, timeout: float) -> Iterator[Output]:
        """Start the agents; `faults` says of which hosts none is there."""
        patience = max(timeout, deadlines.GREETING_SECONDS)
        if self.assembly:
            self.commands = self.assembly.start_agents(self.commands, patience)
        if self.faults:
            return
        self._supervisor = (
            Supervisor(self.commands, self.assembly.summon) if self.assembly else Supervisor(self.commands)
        )
        self._supervisor.open()
        yield from self._supervisor.greet(patience)

    def ask(self, phase: str, questions: Sequence[Frame], seconds: float) -> Iterator[Output]:
        """Ask each agent that is there something: see `answers`, and `faults` for those that have none."""
        if self._supervisor:
            yield from self._supervisor.ask(phase, questions, seconds)

    @property
    def answers(self) -> Sequence[Frame | None]:
        return self._supervisor.answers if self._supervisor else [None] * len(self.commands)

    def connect(self, timeout: float) -> Iterator[Output]:
        """Reach all hosts, and hear what they say of themselves: `facts`, or else `faults`."""
        if self._supervisor or self.faults:
            return
        yield from self.greet(timeout)
        if self._supervisor and not self.faults and not self.facts:
            hellos = zip(self.commands, self._supervisor.hellos, strict=True)
            self.facts = [facts_of(hello["facts"], command.host) for command, hello in hellos]
            if self.assembly:
                self.facts = seated(self.facts, self.assembly)
            if len(self.commands) > 1:
                self._choose_addresses(self._supervisor)
                yield from self._knock()

    def _choose_addresses(self, supervisor: Supervisor) -> None:
        found = zip(self.names, supervisor.hellos, strict=True)
        try:
            self.links = reach.choose({name: reach.candidates(hello["interfaces"], self.only) for name, hello in found})
        except reach.Unreachable as error:
            advice = "`ip -brief address` there; give an interface or a network that all hosts have: --interface"
            supervisor.faults.append(
                Fault(None, "launch", "addresses", message=str(error), notes=(advice,), host=error.host)
            )

    def _knock(self) -> Iterator[Output]:
        """Have each host reach the next one, the last one the first, before anything depends on it."""
        secret = secrets.token_hex(16)
        doors = [{"type": "listen", "address": address, "secret": secret} for address in self.addresses]
        if not self.faults:
            yield from self.ask("addresses", doors, deadlines.GREETING_SECONDS)
        if self.faults:
            return
        ports = [answer["port"] for answer in self.answers if answer]
        doors_of_next = [*zip(self.addresses[1:], ports[1:], strict=True), (self.addresses[0], ports[0])]
        knocks = [
            {"type": "knock", "address": address, "port": port, "secret": secret, "seconds": KNOCK_SECONDS}
            for address, port in doors_of_next
        ]
        yield from self.ask("addresses", knocks, KNOCK_SECONDS + deadlines.GREETING_SECONDS)
        if self.faults:
            return
        why = [answer["why"] if answer else None for answer in self.answers]
        self.faults.extend(reach.blame(self.names, self.addresses, why))

    def starter(self, wanted: str) -> str:
        """What starts ranks here that want this starter. Raises UsageError where nothing can."""
        if self.assembly:
            if wanted == "mpiexec" and not self.assembly.mpi:
                raise UsageError(
                    f"--backend mpi among processes that {self.assembly.launcher} has started, which are no world of "
                    "MPI: start opsdist once, with -n, and it starts mpiexec itself; or give --launcher local"
                )
            return "env"
        if wanted == "mpiexec" and len(self.commands) > 1:
            raise UsageError(
                f"--backend mpi on {len(self.commands)} hosts: MPI's own launcher must start the ranks; give "
                "--launcher mpirun"
            )
        return wanted

    def job(
        self,
        name: str,
        arguments: Mapping[str, Any],
        where: world.World,
        timeout: float,
        starter: str,
        *,
        spins: bool,
        record: bool = False,
    ) -> Job:
        """A job for ranks that are placed like this. See `starter` for what they can be started by."""
        several = len(self.commands) > 1
        patience = min(deadlines.AGENT_SECONDS, max(timeout, deadlines.GREETING_SECONDS))
        store = any_port(self.addresses[0]) if several else f"ipc://@opsdist-store-{secrets.token_hex(8)}"
        return Job(
            name, arguments, where.placements, where.cpus, secrets.token_hex(16), store, timeout, starter, spins,
            self.addresses, patience if self.far else None, record,
        )  # fmt: skip

    def run(self, job: Job) -> Iterator[Event]:
        """Start the ranks; what they report and print, until all have ended."""
        yield from self.connect(job.timeout)
        assert self._supervisor
        if not self.faults:
            yield from self._supervisor.events(job)

    def close(self) -> None:
        """End every process of the run."""
        if self._supervisor and not self._closed:
            self._closed = True
            self._supervisor.close()


def here(host: Host | None = None) -> Crew:
    """This host alone, whose facts are known at once."""
    facts = world.look(host or LocalHost())
    return Crew("local", [local.command(facts.name)], [None], [facts])


def of(entries: Sequence[HostEntry], far: ssh.Far, only: reach.Filter | None = None, launcher: str = "ssh") -> Crew:
    """The hosts of a list, reached by a launcher of FAR. One that is this machine needs none."""
    own, reached = own_names(), FAR[launcher]
    commands = [
        local.command(name) if name in own else reached(entry.name, name, far, os.environ)
        for entry in entries
        for name in [entry.name.rpartition("@")[2]]
    ]
    if not any(command.far for command in commands):
        launcher = "local"
    return Crew(launcher, commands, [entry.slots for entry in entries], only=only)


def launched(assembly: Assembly, only: reach.Filter | None = None) -> Crew:
    """The hosts on which another launcher has started the ranks; with faults from the start where not all are there."""
    slots = [len(post.present) for post in assembly.posts]
    return Crew("env", assembly.commands(), slots, only=only, assembly=assembly)


def seated(facts: Sequence[world.HostFacts], assembly: Assembly) -> list[world.HostFacts]:
    """What is known of the hosts, and whom the launcher has put there."""
    seats = [tuple(world.Seat(one.rank, one.cpus) for one in post.present) for post in assembly.posts]
    return [
        world.TakenHost(**asdict(found), launcher=assembly.launcher, seats=given)
        for found, given in zip(facts, seats, strict=True)
    ]


def own_names() -> set[str]:
    """What this machine is called by itself, addresses included. No name is looked up, which could take long."""
    name = socket.gethostname()
    known = LocalHost().addresses() or {}
    addresses = {address.partition("%")[0] for entries in known.values() for address, _ in entries}
    return {name, name.partition(".")[0], "localhost", "127.0.0.1", "::1"} | addresses


def facts_of(told: Mapping[str, Any], name: str) -> world.HostFacts:
    """As an agent tells them, under the name that the host has in this run."""
    return world.HostFacts(**{**told, "name": name, "core_cpus": tuple(told["core_cpus"])})
