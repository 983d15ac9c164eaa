"""A host that is recorded and read back tells what it told before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from probes import PROBES
from probes.errors import ProbeError
from probes.host import Answer, Host, LocalHost, Runtime, Space
from probes.recorded import open_recorded
from probes.recorded.folder import RecordedHost
from probes.recorded.recorder import Recorder, save
from suites.hostinfo import Wanted, look
from tests.scrambled_host import TEXT, ScrambledHost
from tests.tree_host import TreeHost


class Living(ScrambledHost):
    """One that can be asked anything, and lists only names that files can have."""

    def listdir(self, path: str) -> tuple[str, ...] | None:
        names = super().listdir(path)
        return names and tuple(name for name in names if not {"/", "\0"} & set(name))

    def recorded(self) -> None:
        return None


def facts(host: Host) -> object:
    seen = look("h", host, Wanted(tuple(PROBES)))
    assert seen.findings == []
    return seen.facts


def test_this_machine(tmp_path: Path) -> None:
    recorder = Recorder(LocalHost())
    before = facts(recorder)
    save(recorder.texts(), tmp_path / "r")
    assert facts(RecordedHost(tmp_path / "r")) == before


@settings(deadline=None, max_examples=30)
@given(texts=st.lists(TEXT, min_size=1, max_size=6))
def test_any_host(texts: list[str | None], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("recorded")
    recorder = Recorder(Living(texts), identities=True)
    before = facts(recorder)
    try:
        save(recorder.texts(), folder)
    except ProbeError:
        reject()  # such a host has files that are folders too
    assert facts(RecordedHost(folder)) == before


def test_commands_come_back_with_all_they_said(tmp_path: Path, tree: TreeHost) -> None:
    long = "nvidia-smi --query-gpu=" + ",".join(["field"] * 60)
    tree.tools = {long: "x\n", "a/b -c": Answer(3, "half", "broken"), "hung": Answer(None, "ha", "")}
    recorder = Recorder(tree)
    for line in [*tree.tools, "absent"]:
        recorder.run(line.split(), 1.0)
    save(recorder.texts(), tmp_path / "r")
    host = RecordedHost(tmp_path / "r")
    assert host.run(long.split(), 1.0) == Answer(0, "x\n", "")
    assert host.run(["hung"], 1.0) == Answer(None, "ha", "")
    assert host.run(["absent"], 1.0) is None


def test_what_no_file_holds(tmp_path: Path, tree: TreeHost) -> None:
    tree.write({"/sys/class/net/eth0/mtu": "9000", "/sys/class/net/lo/mtu": "1"}, {"/sys/way": "../there"})
    tree.spaces["/dev/shm"] = Space(7, 3)
    tree.network = {"eth0": (("192.0.2.1", "255.255.255.0"), ("2001:db8::1", None))}
    tree.system = Runtime("aarch64", None, "3.11.9")
    tree.installed = {"torch": "2.1", "mpi4py": None}
    tree.variables = {"NCCL_DEBUG": "INFO", "MY_NAME": "me", "PATH": "/bin", "HCCL_TOKEN": "hush"}
    recorder = Recorder(tree)
    recorder.listdir("/sys/class/net")
    recorder.read("/sys/class/net/eth0/mtu")
    recorder.link("/sys/way")
    recorder.space("/dev/shm")
    recorder.exists("/sys/class/net/lo/mtu")
    recorder.addresses()
    recorder.runtime()
    recorder.packages(["torch", "mpi4py"])
    save(recorder.texts(), tmp_path / "r")
    host = RecordedHost(tmp_path / "r")
    assert host.listdir("/sys/class/net") == ("eth0", "lo")
    assert host.read("/sys/class/net/eth0/mtu") == "9000\n"
    assert host.read("/sys/class/net/lo/mtu") is None
    assert host.exists("/sys/class/net/lo/mtu")
    assert not host.exists("/sys/class/net/ib0/mtu")
    assert host.link("/sys/way") == "../there"
    assert host.space("/dev/shm") == Space(7, 3)
    assert host.addresses() == tree.network
    assert host.runtime() == tree.system
    assert host.packages(["torch", "mpi4py"]) == tree.installed
    assert host.environ == {"NCCL_DEBUG": "INFO", "PATH": "/bin", "HCCL_TOKEN": "(hidden)"}


def test_identities_are_taken_out_unless_they_are_asked_for(tmp_path: Path, tree: TreeHost) -> None:
    tree.tools = {"npu-smi": "\tSerial Number : 1023ABC\n\tPCIe Bus Info : 0000:C1:00.0\n"}
    for name, asked in (("without", False), ("with", True)):
        recorder = Recorder(tree, identities=asked)
        recorder.run(["npu-smi"], 1.0)
        save(recorder.texts(), tmp_path / name)
        answer = RecordedHost(tmp_path / name).run(["npu-smi"], 1.0)
        assert answer is not None
        assert ("1023ABC" in answer.stdout) is asked
        assert "0000:C1:00.0" in answer.stdout


def test_a_key_in_a_file_of_settings_is_not_recorded(tmp_path: Path, tree: TreeHost) -> None:
    tree.write({"/etc/nccl.conf": "NCCL_PSK=hush-hush\nNCCL_DEBUG=INFO"})
    recorder = Recorder(tree, identities=True)
    recorder.read("/etc/nccl.conf")
    save(recorder.texts(), tmp_path / "r")
    text = RecordedHost(tmp_path / "r").read("/etc/nccl.conf") or ""
    assert ("hush-hush" in text, "NCCL_DEBUG=INFO" in text) == (False, True)


def test_a_folder_that_holds_something_is_refused(tmp_path: Path, tree: TreeHost) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(ProbeError, match="holds something"):
        save(Recorder(tree).texts(), tmp_path)
    with pytest.raises(ProbeError, match="cannot be recorded"):
        save(Recorder(tree).texts(), tmp_path / "mine" / "below")


def test_no_file_is_written_outside(tmp_path: Path, tree: TreeHost) -> None:
    recorder = Recorder(tree)
    tree.write({"/x": "1"})
    recorder.read("/../host/x")
    save(recorder.texts(), tmp_path / "r" / "s")
    assert not (tmp_path / "r" / "host").exists()


@pytest.mark.parametrize("index", ["", "{", "[]", '{"links": 3, "commands": [1], "runtime": {"x": 1}}', "[" * 100_000])
def test_a_broken_index_leaves_the_files(tmp_path: Path, index: str) -> None:
    (tmp_path / "host.json").write_text(index)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "name").write_text("there")
    host = RecordedHost(tmp_path)
    assert host.read("/etc/name") == "there"
    assert (host.link("/x"), host.runtime(), host.run(["x"], 1.0), host.addresses()) == (None, None, None, None)


@pytest.mark.parametrize(("text", "remarks"), [('{"format": 1}', 0), ('{"format": 1, "comm', 1), ("", 1), (None, 0)])
def test_an_index_that_is_cut_is_said(tmp_path: Path, text: str | None, remarks: int) -> None:
    (tmp_path / "proc").mkdir()
    if text is not None:
        (tmp_path / "host.json").write_text(text)
    (recorded,) = open_recorded(tmp_path)
    assert len(recorded.remarks) == remarks
    assert all("host.json" in remark for remark in recorded.remarks)
