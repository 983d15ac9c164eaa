"""Versions of the Ascend software, and where CANN is."""

from __future__ import annotations

from pathlib import Path

from probes.ascend import versions
from probes.recorded.texthost import TextHost
from tests.tree_host import TreeHost

DRIVER = "/usr/local/Ascend/driver/version.info"
OLD = "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"
NEW = "/usr/local/Ascend/cann/x86_64-linux/ascend_toolkit_install.info"


def info(version: str, path: str = "") -> str:
    return f"package_name=Made-up-toolkit\nversion={version}\ninnerversion=V100R001C42B007\npath={path}"


def test_ranges_and_lists() -> None:
    said = versions.parse_version_info(
        "Version=1.2.3\r\nInnerversion=V100R001C42SPC1\ncompatible_version=[V100R001C41],[V100R001C42]\n"
        "compatible_version_fw=[7.0.0,7.1.99], [8.0.0, 8.1.99]\npackage_version=1.2.3\n"
    )
    assert said.values == {
        "version": "1.2.3", "inner": "V100R001C42SPC1", "package": "1.2.3",
        "works_with": [["V100R001C41"], ["V100R001C42"]],
        "works_with_firmware": [["7.0.0", "7.1.99"], ["8.0.0", "8.1.99"]],
    }  # fmt: skip
    assert said.lines["version"] == "Version=1.2.3"


def test_a_host_without_any() -> None:
    assert versions.of_host(TextHost({}, {})) == {}


def test_driver_and_cann_where_they_were_and_where_they_are_now() -> None:
    for place in (OLD, NEW):
        found = versions.of_host(TextHost({DRIVER: "Version=1.2.3\n", place: info("9.1")}, {}))
        assert found["driver"].values == {"version": "1.2.3"}
        assert found["cann"].source == place
        assert [one["version"] for one in found["cann"].values["installed"]] == ["9.1"]


def test_the_environment_says_which_of_several_is_used(tmp_path: Path) -> None:
    host = TreeHost(tmp_path).write(
        {OLD: info("8.1"), "/opt/made/x86_64-linux/ascend_toolkit_install.info": info("9.2")}
    )
    assert versions.of_host(host)["cann"].values["version"] == "8.1"
    host.variables = {"ASCEND_HOME_PATH": "/opt/made"}
    cann = versions.of_host(host)["cann"].values
    assert (cann["version"], cann["home"], cann["home_exists"]) == ("9.2", "/opt/made", True)
    assert [one["version"] for one in cann["installed"]] == ["9.2", "8.1"]


def test_two_ways_to_one_installation(tmp_path: Path) -> None:
    real = "/usr/local/Ascend/ascend-toolkit/8.1"
    host = TreeHost(tmp_path).write(
        {f"{real}/aarch64-linux/ascend_toolkit_install.info": info("8.1", real)},
        {"/usr/local/Ascend/ascend-toolkit/latest": "8.1"},
    )
    assert len(versions.of_host(host)["cann"].values["installed"]) == 1


def test_a_home_that_is_gone_is_known_only_of_a_living_host(tmp_path: Path) -> None:
    host = TreeHost(tmp_path).write({"/etc/hosts": ""})
    host.variables = {"ASCEND_HOME_PATH": "/opt/gone"}
    assert versions.of_host(host)["cann"].values["home_exists"] is False
    recorded = TextHost({}, {}, {"ASCEND_HOME_PATH": "/opt/gone"})
    assert versions.of_host(recorded)["cann"].values["home_exists"] is None


def test_the_parts_of_cann() -> None:
    text = "runtime_running_version=[7.0.0.5.242:CANN-7.0]\ncompiler_running_version=[7.0.1:CANN-7.0]\nother=1\n"
    assert versions.parse_version_cfg(text).values == {"runtime": "7.0.0.5.242", "compiler": "7.0.1"}
    path = "/usr/local/Ascend/ascend-toolkit/latest/version.cfg"
    assert versions.of_host(TextHost({path: text}, {}))["components"].source == path
    mine = TextHost({path: text, "/opt/made/version.cfg": text}, {}, {"ASCEND_TOOLKIT_HOME": "/opt/made"})
    assert versions.of_host(mine)["components"].source == "/opt/made/version.cfg"


def test_a_file_without_a_version() -> None:
    assert versions.of_host(TextHost({DRIVER: "?\n"}, {}))["driver"].reason == "it has no version"
