"""What is understood of the fabric manager, its log and the driver's version."""

from __future__ import annotations

import pytest

from probes.nvidia.fabric import LOG, of_files, parse_driver, parse_log, parse_state
from tests.tree_host import TreeHost

ERROR = (
    "[Jan 01 2024 10:00:00] [ERROR] [tid 47] detected NVSwitch {} error {} on fid 0 on NVSwitch pci bus id "
    "00000000:86:00.0 physical id 3 port 61"
)
STARTED = "[Jan 01 2024 09:00:00] [INFO] [tid 46] Fabric Manager version 999.10.01 is running with these options"


def test_errors_of_switches() -> None:
    said = parse_log("\n".join([STARTED, ERROR.format("non-fatal", 12028), ERROR.format("fatal", 20034)]))
    assert said.values == {"version": "999.10.01"}
    assert said.momentary == {"switch_errors": [
        {"error": 12028, "fatal": False, "switch": "0000:86:00.0", "port": 61},
        {"error": 20034, "fatal": True, "switch": "0000:86:00.0", "port": 61},
    ]}  # fmt: skip


def test_other_errors_are_counted() -> None:
    assert parse_log(f"{STARTED}\n[x] [ERROR] [tid 1] quux\n[x] [ERROR] [tid 1] foo").momentary == {"errors": 2}


def test_a_log_without_errors() -> None:
    assert parse_log("[Jan 01 2024 09:00:00] [INFO] [tid 46] multicast group 0 is freed.\n").momentary == {"errors": 0}
    assert not parse_log("")


def test_a_complaint_about_versions() -> None:
    said = parse_log(
        "[x] [ERROR] [tid 1] fabric manager NVIDIA GPU driver interface version 999.10.01 don't match with driver "
        "version 999.11.02. Please update with matching NVIDIA driver package."
    )
    assert (said.values["version"], said.values["wanted"]) == ("999.10.01", "999.11.02")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  999.10.01  Sat Feb  3 01:00:00 UTC 2024\nGCC version: 1",
            "999.10.01",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  999.90  Release Build  (x@y)", "999.90"),
        ("GCC version:  gcc version 11.4.0", None),
    ],
)
def test_the_version_of_the_kernels_driver(text: str, version: str | None) -> None:
    assert parse_driver(text).values.get("driver") == version


def test_states_of_the_service() -> None:
    assert parse_state("inactive\n").values == {"state": "inactive"}
    assert not parse_state("Unit quux could not be found.\n")


def test_of_a_long_log_the_end_counts(tree: TreeHost) -> None:
    filler = "[Jan 01 2024 09:00:00] [INFO] [tid 46] nothing to tell of\n" * 20000
    tree.write({LOG: ERROR.format("fatal", 1) + "\n" + filler + ERROR.format("non-fatal", 2)})
    assert [error["error"] for error in of_files(tree)["fabric_log"].momentary["switch_errors"]] == [2]


@pytest.mark.parametrize("state", ["active", "inactive", "failed", "activating", "deactivating", "reloading"])
def test_every_state_of_a_service(state: str) -> None:
    assert parse_state(f"{state}\nactive\n").values == {"state": state}


@pytest.mark.parametrize("level", ["ERROR", "CRITICAL", "FATAL"])
def test_levels_that_are_errors(level: str) -> None:
    assert parse_log(f"{STARTED}\n[x] [{level}] [tid 1] quux").momentary == {"errors": 1}


@pytest.mark.parametrize("words", ["don't match", "doesn't match with", "does not match", "do not match with"])
def test_words_of_the_complaint(words: str) -> None:
    said = parse_log(f"[x] [ERROR] interface version 999.10.01 {words} driver version 999.11.02.")
    assert said.values["wanted"] == "999.11.02"


def test_an_error_without_a_port() -> None:
    (error,) = parse_log(ERROR.format("FATAL", 3).partition(" on fid")[0]).momentary["switch_errors"]
    assert error == {"error": 3, "fatal": True, "switch": None, "port": None}
