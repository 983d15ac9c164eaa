"""Rules about what a container does not show of its host."""

from __future__ import annotations

from typing import Any

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, NPUS, adapters, found_on, host, interfaces, silent
from tests.suites.checks.ruled import ruled, statuses

DRIVER = {"/sys/module/nvidia/version": "9"}
DOCKER = {"/.dockerenv": ""}


def shown(files: dict[str, str], commands: dict[str, str] | None = None) -> dict[str, Any]:
    return host("cgroup", "software", "network", "rdma", "accelerators", commands=commands, files=files)


def test_devices_that_the_container_was_not_given() -> None:
    (finding,) = found_on("container.devices_hidden", shown(DRIVER | DOCKER))
    assert finding.status is Status.INFO
    assert "this docker container was given none of its devices" in finding.message
    assert "--gpus all" in (finding.remedy or "")


def test_devices_that_it_was_given() -> None:
    assert silent("container.devices_hidden", shown(DRIVER | DOCKER, GPUS))
    ascend = {"/sys/module/drv_devmng/x": "", **DOCKER}
    assert silent("container.devices_hidden", shown(ascend | NPUS))
    assert statuses(found_on("container.devices_hidden", shown(ascend))) == [Status.INFO]


def test_no_container() -> None:
    assert ruled("container.devices_hidden", shown(DRIVER)) == []
    assert ruled("container.own_network", shown({}, GPUS | adapters(0) | interfaces(eth0="192.0.2.1/24"))) == []


def test_a_network_of_its_own_has_no_address_for_rdma() -> None:
    facts = shown(DOCKER, GPUS | adapters(0) | interfaces(eth0="192.0.2.1/24"))
    (finding,) = found_on("container.own_network", facts)
    assert finding.status is Status.WARN
    facts["network"]["interfaces"][1]["virtual"] = False
    assert silent("container.own_network", facts)
    assert silent("container.own_network", shown(DOCKER, GPUS | interfaces(eth0="192.0.2.1/24")))
