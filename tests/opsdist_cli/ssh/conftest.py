"""Two hosts of a lab for every file here. After each test they are as before, and nothing of a run is left on them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab import Lab, lab
from tests.opsdist_cli.ssh.runs import gone


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(2, tmp_path_factory.mktemp("cluster")) as hosts:
        yield hosts


@pytest.fixture
def hosts(cluster: Lab) -> Iterator[Lab]:
    """The cluster as it should be, before and after; at the end nothing of a run is on any host."""
    yield cluster
    for host in cluster.hosts:
        host.restore()
        host.up()
        host.plain()
        host.accept_key()
        host.know()
        gone(host)
