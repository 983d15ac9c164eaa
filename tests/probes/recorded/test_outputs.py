"""Folders of single outputs and transcripts, as the host that they came from."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.errors import ProbeError
from probes.recorded import open_recorded
from probes.recorded.outputs import gather
from probes.recorded.transcript import is_transcript, parse


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("npu-smi_info_x.txt", "npu-smi info"),
        ("npu-smi_info_m_two_dies.txt", "npu-smi info -m"),
        ("npu-smi_topo_sick.txt", "npu-smi info -t topo"),
        ("npu-smi_hccs-bw_x.txt", "npu-smi info -t hccs-bw -i 0 -c 0"),
        ("npu-smi_hccs_npu5.txt", "npu-smi info -t hccs -i 5 -c 0"),
        ("npu-smi_board_chip_910a.txt", "npu-smi info -t board -i 0 -c 0"),
        ("npu-smi_board_card_910a.txt", "npu-smi info -t board -i 0"),
        ("npu-smi_info_t_topo.txt", "npu-smi info -t topo"),
        ("npu-smi_info_-t_health_npu3.txt", "npu-smi info -t health -i 3 -c 0"),
        ("nvidia-smi_-q.txt", "nvidia-smi -q"),
        ("hccn_link_stat_npu3.txt", "hccn_tool -i 3 -link_stat -g"),
        ("hccn_link_up.txt", "hccn_tool -i 0 -link -g"),
        ("hccn_tls_dev1.txt", "hccn_tool -i 1 -tls -g"),
        ("nvidia-smi_q_idle.txt", "nvidia-smi -q"),
        ("nvidia-smi_query_gpu_x.txt", "nvidia-smi --query-gpu --format=csv"),
        ("nvidia-smi_topo_m_gpu3.txt", "nvidia-smi topo -m"),
        ("ibstatus_x.txt", "ibstatus"),
        ("ibstat_x.txt", "ibstat"),
        ("lspci_vvv_x.txt", "lspci -vvv"),
        ("lspci_acce_x.txt", "lspci"),
        ("dmesg_x.txt", "dmesg"),
    ],
)
def test_a_name_is_a_command(name: str, command: str) -> None:
    assert list(gather([(name, "text")]).commands) == [command]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("hccn.conf_x.txt", "/etc/hccn.conf"),
        ("driver_version.info.txt", "/usr/local/Ascend/driver/version.info"),
        ("syslog_x.txt", "/var/log/syslog"),
    ],
)
def test_a_name_is_a_file(name: str, path: str) -> None:
    assert gather([(name, "text")]).files == {path: "text"}


def test_the_interface_is_in_the_text() -> None:
    assert list(gather([("ethtool_x.txt", "Settings for ens7:\n\tSpeed: 1000Mb/s\n")]).commands) == ["ethtool ens7"]


def test_several_answers_to_one_question_are_those_of_several_devices() -> None:
    found = gather([("hccn_fec_a.txt", "a"), ("hccn_fec_npu0.txt", "0"), ("hccn_fec_b.txt", "b")])
    assert {line: answer.stdout for line, answer in found.commands.items()} == {
        "hccn_tool -i 0 -fec -g": "0", "hccn_tool -i 1 -fec -g": "a", "hccn_tool -i 2 -fec -g": "b",
    }  # fmt: skip


def test_what_has_been_answered_or_means_nothing_is_said() -> None:
    found = gather(
        [("npu-smi_topo_a.txt", "a"), ("npu-smi_topo_b.txt", "b"), ("holiday.jpg", "x"), ("hccl_test_x.txt", "")]
    )
    assert (found.twice, found.strange) == (["npu-smi_topo_b.txt"], ["holiday.jpg"])
    assert found.commands["npu-smi info -t topo"].stdout == "a"


def test_a_dump_of_files_is_found_by_class_too() -> None:
    text = "/sys/bus/pci/devices/0000:01:00.0/infiniband/mlx5_0/ports/1/state\t4: ACTIVE\n/proc/version\tLinux\n"
    files = gather([("sysfs_x.txt", text)]).files
    assert files["/sys/class/infiniband/mlx5_0/ports/1/state"] == "4: ACTIVE\n"
    assert files["/proc/version"] == "Linux\n"


def test_variables() -> None:
    assert gather([("slurm_env_x.txt", "SLURM_NNODES=2\nSLURM_TASKS_PER_NODE=8(x2)\n")]).environ == {
        "SLURM_NNODES": "2", "SLURM_TASKS_PER_NODE": "8(x2)",
    }  # fmt: skip


TRANSCRIPT = """\
/usr/local/Ascend/driver/tools/hccn_tool -i 0 -link -g
link status: UP

npu-smi info -i 0 -c 0 -t health
\tHealth Status                  : OK

cat /usr/local/Ascend/driver/version.info
Version=24.1.0

date
Wed Jan  7 10:00:00 UTC 2026
"""


def test_a_transcript() -> None:
    found = parse(TRANSCRIPT)
    assert found.commands["hccn_tool -i 0 -link -g"].stdout.strip() == "link status: UP"
    assert "Health Status" in found.commands["npu-smi info -i 0 -c 0 -t health"].stdout
    assert found.files == {"/usr/local/Ascend/driver/version.info": "Version=24.1.0\n"}
    assert list(found.commands)[-1] == "date"


def test_what_was_asked_for_in_parts_is_joined() -> None:
    said = "pip list | grep torch\ntorch  2.5.1\n\npip list | grep mind\nmindspore  2.4.0\n"
    (answer,) = parse(said).commands.values()
    assert ["torch" in answer.stdout, "mindspore" in answer.stdout] == [True, True]


@pytest.mark.parametrize(
    "text",
    [
        "", "link status: UP\n", "| npu-smi 24.1  Version: 24.1 |\n", "Settings for eth0:\n", "ip link is down\n",
        "date of birth\n", "npu-smi\tinformation\n",
    ],
)  # fmt: skip
def test_no_transcript(text: str) -> None:
    assert not is_transcript(text)


@given(st.text() | st.text("hcn_tol -ig\n#$|'\"cat/etc "))
def test_any_text_can_be_taken_apart(text: str) -> None:
    parse(text)
    gather([("x", text), ("hccn_link", text)])


def test_kinds_of_records(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "hccn_link_up.txt").write_text("link status: UP\n")
    (tmp_path / "outputs" / "hccn_link_up.source.txt").write_text("where it is from")
    (tmp_path / "tree" / "etc").mkdir(parents=True)
    (tmp_path / "tree" / "etc" / "hostname").write_text("n1\n")
    (tmp_path / "pair").mkdir()
    for when in ("before", "after"):
        (tmp_path / "pair" / f"npu_info_{when}.txt").write_text(TRANSCRIPT.replace("UP", when))
    hosts = {recorded.name: recorded for recorded in open_recorded(tmp_path)}
    assert list(hosts) == ["outputs", "pair", "tree"]
    assert hosts["outputs"].remarks == ()
    assert hosts["tree"].host.read("/etc/hostname") == "n1\n"
    now, earlier = hosts["pair"].host, hosts["pair"].earlier
    assert earlier is not None
    said = [host.run(["hccn_tool", "-i", "0", "-link", "-g"], 1.0) for host in (now, earlier)]
    assert [answer and answer.stdout.strip() for answer in said] == ["link status: after", "link status: before"]


def test_where_nothing_is_recorded(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none", "no such folder"), (tmp_path, "nothing of a host")):
        with pytest.raises(ProbeError, match=words):
            open_recorded(path)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProbeError, match="neither a folder nor a file"):
        open_recorded(tmp_path / "pipe")
    (tmp_path / "self").symlink_to(tmp_path)
    with pytest.raises(ProbeError, match="nothing of a host"):
        open_recorded(tmp_path)


def test_files_of_no_use_are_named(tmp_path: Path) -> None:
    (tmp_path / "junk.bin").write_bytes(b"\xff\0\1")
    with pytest.raises(ProbeError, match=r"recorded here: junk\.bin: no output that opsdist knows"):
        open_recorded(tmp_path)
    (tmp_path / "lscpu.txt").write_bytes(b"CPU(s): 4\r\n")
    (recorded,) = open_recorded(tmp_path)
    answer = recorded.host.run(["lscpu"], 1.0)
    assert answer is not None
    assert answer.stdout == "CPU(s): 4\n"
    assert recorded.remarks == ("junk.bin: no output that opsdist knows by its name",)


PASTED = """\
Last login: Tue Mar  5 11:22:33 2024
[root@node1 ~]# hccn_tool -i 3 -ip -g
[root@node1 ~]# sudo hccn_tool -i 4 -ip -g
ipaddr:192.0.2.4
[root@node1 ~]# for i in 5 6; do hccn_tool -i $i -ip -g; done
ipaddr:192.0.2.5
[root@node1 ~]# cat /etc/hccn.conf
# written by hand
address_0=192.0.2.1
[root@node1 ~]#
"""


def test_an_output_ends_at_the_next_prompt() -> None:
    assert is_transcript(PASTED)
    found = parse(PASTED)
    told = {line: answer.stdout.strip() for line, answer in found.commands.items()}
    assert told == {"hccn_tool -i 3 -ip -g": "", "hccn_tool -i 4 -ip -g": "ipaddr:192.0.2.4"}
    assert found.files == {"/etc/hccn.conf": "# written by hand\naddress_0=192.0.2.1"}
    assert found.unknown == ["for"]


def test_a_mere_sign_ends_an_output_behind_a_command_that_has_it_too() -> None:
    found = parse("# hccn_tool -i 3 -ip -g\n# docker ps\nipaddr:192.0.2.5\n# cat /etc/x\n# a\n# b\n")
    assert found.commands["hccn_tool -i 3 -ip -g"].stdout == ""
    assert found.files["/etc/x"].strip() == "# a\n# b"


def test_outputs_of_unknown_commands_are_said_once(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(PASTED)
    (recorded,) = open_recorded(tmp_path)
    assert recorded.remarks == ("outputs of commands that opsdist does not know: for",)


def test_a_part_of_what_nvidia_smi_tells() -> None:
    assert parse("$ nvidia-smi -q -d PERFORMANCE\nGPU 0\n").commands["nvidia-smi -q"].stdout.strip() == "GPU 0"


@pytest.mark.parametrize(
    "spoil", [lambda text: "\ufeff" + text, lambda text: "\x1b[1m" + text.replace("\n", "\x1b[0m\n", 1)]
)
def test_colours_and_indentation_of_what_was_pasted_are_no_part_of_it(spoil: Callable[[str], str]) -> None:
    text = "Settings for eth0:\n\tSpeed: 25000Mb/s\n\tLink detected: no\n"
    for pasted in (spoil(text), textwrap.indent(text, "    ")):
        assert gather([("ethtool_x.txt", pasted)]).commands == gather([("ethtool_x.txt", text)]).commands


def test_a_dump_of_files_may_have_lost_its_tabs() -> None:
    lines = "/sys/class/infiniband/mlx5_0/ports/1/state\t1: DOWN\n/sys/class/infiniband/mlx5_0/ports/1/rate\t\n"
    assert gather([("x.txt", lines.expandtabs())]).files == gather([("x.txt", lines)]).files
    assert len(gather([("x.txt", lines)]).files) == 2
