"""Runs across hosts that are broken, interrupted or killed in the middle: a verdict, and nothing left on any host."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.lab import Lab, LabHost
from tests.leftovers import RunSpace, until
from tests.opsdist_cli.ssh.runs import HOSTS, MARGIN, end_hung, needs_lab, ranks_and_agents, run
from tests.perf_process import ENDLESS, PROMISED, SMALL

pytestmark = needs_lab


def test_a_rank_killed_on_another_host(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *SMALL, *HOSTS, "--inject", "kill:rank=1") as ended:
        assert ended.code() == 3
    found = ended.record["verdict"]
    assert found["class"] == "crashed"
    assert found["culprits"] == [{"kind": "rank", "rank": 1, "host": "node2"}]


def test_an_agent_killed(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *ENDLESS, *HOSTS, "-v") as started:
        started.until_row(4096)
        os.kill(agent_of(hosts.hosts[1]), signal.SIGKILL)
        assert started.code() == 3
    found = started.record["verdict"]
    assert (found["class"], found["culprits"]) == ("crashed", [{"kind": "host", "host": "node2"}])
    assert started.record["results"][0]["size"] == 4096  # what was measured is kept


def agent_of(host: LabHost) -> int:
    """The oldest of them, from which the ranks were forked."""
    return min(ranks_and_agents(host))


@pytest.mark.parametrize("harm", ["down", "blackhole"])
def test_the_way_to_a_host_breaks_in_the_middle(hosts: Lab, space: RunSpace, harm: str) -> None:
    host = hosts.hosts[1]
    with run(hosts, space, *ENDLESS, *HOSTS, "-v", "--timeout", "3s") as started:
        started.until_row(4096)
        getattr(host, harm)()
        assert started.code() == 3
    found = started.record["verdict"]
    assert (found["class"], [culprit["host"] for culprit in found["culprits"]]) == ("transport", ["node2"])
    assert "not known to have ended" in started.stdout
    # Nobody can tell them, yet they end: their controller is silent.
    until(lambda: not ranks_and_agents(host), 10.0 + MARGIN, "the end of ranks that cannot be reached")


def test_a_controller_that_was_suspended_for_long_learns_why_its_run_is_over(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *ENDLESS, *HOSTS, "-v", "--timeout", "1s") as started:
        started.until_row(4096)
        started.process.send_signal(signal.SIGSTOP)
        until(lambda: not any(map(ranks_and_agents, hosts.hosts)), 10.0 + MARGIN, "the end of ranks that hear nothing")
        started.process.send_signal(signal.SIGCONT)
        assert started.code() == 3
    found = started.record["verdict"]
    assert (found["class"], found["culprits"]) == ("undecided", [])
    assert "has heard nothing of this controller for 10 s" in found["explanation"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(hosts: Lab, space: RunSpace, number: int, code: int) -> None:
    with run(hosts, space, *ENDLESS, *HOSTS, "-v") as started:
        started.until_row(4096)
        started.process.send_signal(number)
        assert started.code() == code
    assert started.record["results"][0]["size"] == 4096
    assert not ranks_and_agents(hosts.hosts[1])


def test_interrupted_before_the_hosts_are_there(hosts: Lab, space: RunSpace) -> None:
    hosts.hosts[1].hang()
    with run(hosts, space, *SMALL, *HOSTS, "-v") as started:
        started.until(lambda: re.search(r"^# node2: ", started.stderr, re.MULTILINE) is not None, "the start of ssh")
        until(lambda: bool(hosts.hosts[1].processes()), MARGIN, "a session")
        started.process.send_signal(signal.SIGINT)
        assert started.code() == 130
    assert started.record["status"] == "error"
    end_hung(hosts.hosts[1])


def test_the_controller_killed(hosts: Lab, space: RunSpace) -> None:
    with run(hosts, space, *ENDLESS, *HOSTS, "-v") as started:
        started.until_row(4096)
        started.process.kill()
        started.code()
        for host in hosts.hosts:
            until(lambda host=host: not ranks_and_agents(host), PROMISED, f"the end of all on {host.name}")  # type: ignore[misc]
        space.gone(within=PROMISED)
