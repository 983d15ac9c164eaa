"""Rules about Ascend's driver, firmware and CANN."""

from __future__ import annotations

from typing import Any

import pytest

from suites.checks.ascend.software import within
from suites.report import Status
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

DRIVER = "/usr/local/Ascend/driver/version.info"
FIRMWARE = "/usr/local/Ascend/firmware/version.info"
TOOLKIT = "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"
CANN = "/usr/local/Ascend/cann/aarch64-linux/ascend_toolkit_install.info"


@pytest.mark.parametrize(
    ("version", "first", "last", "inside"),
    [
        ("7.1.0.11.220", "7.0.0", "7.1.99", True),
        ("7.1.99.5", "7.0.0", "7.1.99", True),
        ("7.2.0", "7.0.0", "7.1.99", False),
        ("6.9.9", "7.0.0", "7.1.99", False),
        ("7.9.0", "7.0.0", "7.10.99", True),
        ("24.1.rc3", "24.1", "24.1.", True),
        ("24.10", "24.1", "24.1.", False),
        ("24.1", "24.1", "24.1.", True),
        ("24.2.rc1", "24.1", "24.1.", False),
        ("23.0.rc3.2", "23.0.rc3", "23.0.rc3.", True),
        ("23.0.rc2", "23.0.rc3", "23.0.rc3.", False),
        ("23.0.0", "23.0.rc3", "23.0.0", True),
        ("23.0.0.3", "23.0.0", "23.0.0.", True),
        ("V100R001C42", "V100R001C42", "V100R001C42", True),
        ("V100R001C43", "V100R001C42", "V100R001C42", False),
    ],
)
def test_ranges(version: str, first: str, last: str, inside: bool) -> None:
    assert within(version, [[first, last]]) is inside
    assert within(version, [["1.0", "1.1"], [first, last], [""], []]) is inside


def pair(driver: str, firmware: str) -> dict[str, Any]:
    return facts_of({}, {DRIVER: driver, FIRMWARE: firmware})


@pytest.mark.parametrize(
    ("driver", "firmware", "status"),
    [
        ("Version=25.1.0\ncompatible_version_fw=[7.0.0,7.1.99]\n", "Version=7.1.0.1\n", Status.PASS),
        (
            "Version=25.1.0\ncompatible_version_fw=[7.0.0,7.1.99]\n",
            "Version=7.7.0\ncompatible_version_drv=[25.1,25.1.]\n",
            Status.PASS,
        ),
        (
            "Version=25.1.0\ncompatible_version_fw=[7.0.0,7.1.99]\n",
            "Version=7.7.0\ncompatible_version_drv=[24.1,24.1.]\n",
            Status.FAIL,
        ),
        ("Version=25.1.0\ncompatible_version_fw=[7.0.0,7.1.99]\n", "Version=7.7.0\n", Status.WARN),
        ("Version=25.1.0\n", "Version=7.7.0\n", Status.SKIP),
    ],
)
def test_driver_and_firmware(driver: str, firmware: str, status: Status) -> None:
    assert statuses(ruled("ascend.firmware_incompatible", pair(driver, firmware))) == [status]


def test_both_versions_are_in_the_evidence() -> None:
    driver = "Version=25.1.0\ncompatible_version_fw=[7.0.0,7.1.99]\n"
    (finding,) = ruled("ascend.firmware_incompatible", pair(driver, "Version=7.7.0\n"))
    assert finding.evidence["value"] == "driver 25.1.0, firmware 7.7.0"


def test_one_of_them_alone_is_not_judged() -> None:
    facts = facts_of({}, {DRIVER: "Version=25.1.0\ncompatible_version_fw=[7.0.0,7.1.99]\n"})
    assert ruled("ascend.firmware_incompatible", facts) == []


def release(version: str, inner: str, *works_with: str) -> str:
    lists = ",".join(f"[{one}]" for one in works_with)
    return (
        f"version={version}\ninnerversion={inner}\ncompatible_version={lists}\npackage_name=made-up\npath=/{version}\n"
    )


@pytest.mark.parametrize(
    ("driver", "cann", "status"),
    [
        (("1", "V100R001C15SPC1", "V100R001C13"), ("2", "V100R001C13B2", "V100R001C12"), Status.PASS),
        (("1", "V100R001C15SPC1", "V100R001C12"), ("2", "V100R001C25B2", "V100R001C15"), Status.PASS),
        (("1", "V100R001C15SPC1", "V100R001C12"), ("2", "V100R001C15B2", "V100R001C11"), Status.PASS),
        (("1", "V100R001C15SPC1", "V100R001C12"), ("2", "V100R001C25B2", "V100R001C20"), Status.WARN),
        (("1", "V100R001C15SPC1"), ("2", "V100R001C25B2", "V100R001C20"), Status.SKIP),
    ],
)
def test_driver_and_cann(driver: tuple[str, ...], cann: tuple[str, ...], status: Status) -> None:
    facts = facts_of({}, {DRIVER: release(*driver), TOOLKIT: release(*cann)})
    assert statuses(ruled("ascend.cann_driver_incompatible", facts)) == [status]


def test_several_versions_of_cann_are_told() -> None:
    files = {TOOLKIT: release("8.1", "V100R001C19"), CANN: release("9.2", "V100R001C25")}
    (finding,) = ruled("ascend.cann_several", facts_of({}, files))
    assert finding.status is Status.INFO
    assert "9.2, 8.1" in finding.message
    assert statuses(ruled("ascend.cann_several", facts_of({}, {CANN: files[CANN]}))) == [Status.PASS]


def test_a_home_that_is_not_recorded_is_no_fault() -> None:
    assert ruled("ascend.cann_home", facts_of({}, {}, {"ASCEND_HOME_PATH": "/opt/gone"})) == []


def test_a_home_that_is_gone() -> None:
    cann = {"source": "x", "state": "told", "values": {"home": "/opt/gone", "home_exists": False}}
    reading = {**cann, "counters": {}, "momentary": {}, "lines": {}}
    facts = {"accelerators": {"ascend": {"devices": [], "readings": {"cann": reading}}}}
    (finding,) = ruled("ascend.cann_home", facts)
    assert (finding.status, finding.evidence["value"]) == (Status.WARN, "/opt/gone")


def test_a_host_with_another_driver() -> None:
    one, other = (facts_of({}, {DRIVER: f"Version={version}\n"}) for version in ("25.1.0", "25.2.0"))
    (finding,) = fleet("ascend.versions_differ", a=one, b=other, c=one)
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b"})
    assert finding.evidence["line"] == "Version=25.2.0"
    assert statuses(fleet("ascend.versions_differ", a=one, b=one)) == [Status.PASS]
