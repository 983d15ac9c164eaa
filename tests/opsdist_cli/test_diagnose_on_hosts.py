"""`opsdist diagnose deadlock` on hosts of a lab: healthy, and with the paths between them cut; a slice of the soak."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from tests.lab import Lab, lab, unavailable
from tests.leftovers import RunSpace
from tests.schema import validate
from tests.soak.cables import WAYS, on_hosts, pull
from tests.soak.injected import Injection, diagnose, faults_of, inject, of_link

TIMEOUT = 3.0
pytestmark = pytest.mark.skipif(unavailable() is not None, reason=f"no lab of hosts: {unavailable()}")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(4, tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts


def test_nothing_is_wrong_with_healthy_hosts(hosts: Lab, space: RunSpace) -> None:
    arguments = ("--hosts", "node[1-4]", "--per-host", "2", "--timeout", f"{TIMEOUT}s")
    outcome = diagnose(space, "run", *arguments, OPSDIST_SSH=shlex.join(hosts.ssh))
    assert (outcome.code, outcome.verdict["class"], outcome.verdict["culprits"]) == (0, "none", [])


@pytest.mark.parametrize(
    "injection",
    [
        Injection("link-down", 2, "world", 1, hosts=2),
        Injection("link-down", 4, "halves", 2, hosts=4),
        Injection("link-down", 8, "grid", 5, hosts=4),
        Injection("stop inside", 4, "world", 2, hosts=4),
        Injection("missing", 4, "grid", 3, hosts=2),
        Injection("mismatch-size", 4, "halves", 1, hosts=4),
    ],
    ids=str,
)
def test_what_is_injected_is_named(hosts: Lab, space: RunSpace, injection: Injection) -> None:
    outcome = inject(space, injection, TIMEOUT, *on_hosts(hosts, injection), OPSDIST_SSH=shlex.join(hosts.ssh))
    validate(outcome.record)
    assert (outcome.code, faults_of(injection, outcome)) == (1, [])


@pytest.mark.parametrize("way", WAYS)
def test_a_host_whose_cable_is_cut_is_named(hosts: Lab, space: RunSpace, way: str) -> None:
    """From the controller as well, so that nothing is known of its ranks."""
    record, _ = pull(space, hosts, Injection("link-down", 8, "all", 4, hosts=4), way, TIMEOUT)
    assert (record["exit_code"], record["verdict"]["class"]) == (1, "transport")
    assert of_link(record["verdict"], "node3")
    assert record["verdict"]["suspects"] == []
