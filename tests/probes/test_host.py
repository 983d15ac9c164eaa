"""The door: missing, forbidden and slow are answers, never exceptions."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from probes.host import Answer, LocalHost, Space
from probes.recorded.folder import RecordedHost
from probes.recorded.texthost import TextHost


def test_what_is_missing_is_unknown(tmp_path: Path) -> None:
    host = LocalHost(tmp_path)
    assert host.read("/proc/cpuinfo") is None
    assert host.listdir("/sys/class/net") is None
    assert host.link("/sys/class/net/eth0") is None
    assert host.space("/dev/shm") is None
    assert not host.exists("/.dockerenv")


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "speed").mkdir()  # a driver refuses with an error of read(2), as a folder does
    (tmp_path / "plain").write_text("7")
    host = LocalHost(tmp_path)
    assert host.read("/speed") is None
    assert host.listdir("/plain") is None
    assert host.link("/plain") is None
    assert host.read("/embedded\0zero") is None


def test_paths_are_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "name").write_bytes(b"bl\xffue\n")
    (tmp_path / "way").symlink_to("../there")
    host = LocalHost(tmp_path)
    assert host.read("/etc/name") == "bl\N{REPLACEMENT CHARACTER}ue\n"
    assert host.listdir("/") == ("etc", "way")
    assert host.link("/way") == "../there"
    assert host.exists("/way")  # though it leads nowhere


def test_files_of_the_kernel_are_read() -> None:
    """They have no size, and those of /proc/sys are not given out in large pieces."""
    assert (LocalHost().read("/proc/sys/kernel/hostname") or "").strip() == socket.gethostname()
    assert "MemTotal" in (LocalHost().read("/proc/meminfo") or "")


def test_a_large_file_is_read_whole(tmp_path: Path) -> None:
    text = "0123456789" * 20_000
    (tmp_path / "large").write_text(text)
    assert LocalHost(tmp_path).read("/large") == text


def test_a_command_is_below_the_root(tmp_path: Path) -> None:
    assert LocalHost(tmp_path).run(["/usr/bin/python3", "--version"], timeout=60) is None
    (tmp_path / "tool").write_text("#!/bin/sh\necho $LC_ALL\n")
    (tmp_path / "tool").chmod(0o755)
    assert LocalHost(tmp_path).run(["/tool"], timeout=60) == Answer(0, "C\n", "")


def test_only_plain_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe would be waited for, and a device never ends."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "large").write_text("12345")
    monkeypatch.setattr("probes.host._LARGEST", 4)
    for path in ("/pipe", "/zero", "/large"):
        assert LocalHost(tmp_path).read(path) is None
    for path in ("/pipe", "/zero"):
        assert LocalHost(tmp_path).tail(path, 10) is None


def test_space_is_in_bytes_and_free_is_what_anyone_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = SimpleNamespace(f_bsize=1, f_frsize=4096, f_blocks=100, f_bfree=50, f_bavail=30)
    monkeypatch.setattr(os, "statvfs", lambda path: blocks)
    assert LocalHost().space("/") == Space(total=409_600, free=122_880)


def test_runtime() -> None:
    runtime = LocalHost().runtime()
    assert runtime is not None
    assert (runtime.architecture, runtime.python) == (platform.machine(), platform.python_version())
    assert (runtime.c_library or "") == " ".join(filter(None, platform.libc_ver()))


def test_environment_of_any_bytes_can_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "NCCL_NAME", os.fsdecode(b"caf\xe9"))
    assert LocalHost().environ["NCCL_NAME"] == "caf\N{REPLACEMENT CHARACTER}"


def test_addresses_hold_no_hardware_address() -> None:
    addresses = LocalHost().addresses()
    assert addresses is not None
    for text, _ in (entry for entries in addresses.values() for entry in entries):
        assert text.count(":") != 5 or "::" in text


def test_packages_are_not_imported(tmp_path: Path) -> None:
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("raise SystemExit('imported')")
    info = tmp_path / "mpi4py-9.8.7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mpi4py\nVersion: 9.8.7\n")
    script = "from probes.host import LocalHost; print(LocalHost().packages(['mpi4py', 'no_such_package']))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'mpi4py': '9.8.7', 'no_such_package': None}"


def test_a_recorded_host_answers_from_its_folder_only(tmp_path: Path) -> None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "environ").write_text("RANK=3\0EMPTY=\0junk\0")
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands" / "%2Fusr%2Fbin%2Fmpirun --version").write_text("mpirun 1.2\n")
    host = RecordedHost(tmp_path)
    assert host.environ == {"RANK": "3", "EMPTY": ""}
    assert host.run(["/usr/bin/mpirun", "--version"], timeout=1) == Answer(0, "mpirun 1.2\n", "")
    assert host.run(["hostname"], timeout=1) is None
    assert (host.space("/"), host.addresses(), host.runtime(), host.packages(["numpy"])) == (None, None, None, None)


@pytest.mark.parametrize(
    ("size", "kept"), [(100, "eins\nzwei\ndrei\n"), (15, "eins\nzwei\ndrei\n"), (14, "zwei\ndrei\n"), (1, "")]
)
def test_the_end_of_a_log_begins_with_a_whole_line(tmp_path: Path, size: int, kept: str) -> None:
    (tmp_path / "log").write_text("eins\nzwei\ndrei\n")
    assert LocalHost(tmp_path).tail("/log", size) == kept
    assert TextHost({"/log": "eins\nzwei\ndrei\n"}, {}).tail("/log", size) == kept
    assert LocalHost(tmp_path).tail("/none", size) is None
