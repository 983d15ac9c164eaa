"""Single outputs in a folder, each in a file named after its tool: which command or file of the host each of them is.

A name begins with the tool and its question, as `hccn_link_stat`, and goes on as it likes. Which device it is about is
said by the text, else by the name: see `devices`. Where several files answer the same question about no device in
particular, they are those of devices 0, 1 and so on, in the order of their names.
May import: probes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from probes.host import Answer
from probes.recorded import devices, transcript, variables
from probes.tool_text import clean

COMMANDS: Mapping[str, str] = {
    "npu-smi_info_l": "npu-smi info -l",
    "npu-smi_info_m": "npu-smi info -m",
    "npu-smi_info": "npu-smi info",
    "npu-smi_topo": "npu-smi info -t topo",
    "npu-smi_board_card": "npu-smi info -t board -i {device}",
    "npu-smi_board_950": "npu-smi info -t board -i {device}",
    "npu-smi_board_invalid": "npu-smi info -t board -i {device}",
    "npu-smi_board_chip": "npu-smi info -t board -i {device} -c 0",
    "npu-smi_board": "npu-smi info -t board -i {device}",
    "npu-smi_dcmi": "npu-smi info",
    "npu-smi_error": "npu-smi info -t hccl",
    "npu-smi_": "npu-smi info -t {question} -i {device} -c 0",
    "npu-smi": "npu-smi info",
    "hccn_tool": "hccn_tool -i {device} -link -g",
    "hccn_permission": "hccn_tool -i {device} -link -g",
    "hccn_vm": "hccn_tool -i {device} -link -g",
    "hccn_": "hccn_tool -i {device} -{question} -g",
    "nvidia-smi_topo_m": "nvidia-smi topo -m",
    "nvidia-smi_topo_p2p": "nvidia-smi topo -p2p r",
    "nvidia-smi_nvlink_s": "nvidia-smi nvlink -s",
    "nvidia-smi_nvlink_e": "nvidia-smi nvlink -e",
    "nvidia-smi_query_gpu": "nvidia-smi --query-gpu --format=csv",
    "nvidia-smi_query_remapped": "nvidia-smi --query-remapped-rows --format=csv",
    "nvidia-smi_query_compute": "nvidia-smi --query-compute-apps --format=csv",
    "nvidia-smi_q": "nvidia-smi -q",
    "nvidia-smi_": "nvidia-smi",
    "systemctl_nvidia": "systemctl is-active nvidia-fabricmanager",
    "systemctl_fabricmanager": "systemctl is-active nvidia-fabricmanager",
    "fabricmanager_state": "systemctl is-active nvidia-fabricmanager",
    "dcgmi_nvlink_e": "dcgmi nvlink -e -g {device}",
    "dcgmi_nvlink_s": "dcgmi nvlink -s",
    "dcgmi_discovery": "dcgmi discovery -l",
    "dcgmi_health": "dcgmi health -g 0 -c",
    "rocm-smi_showtopo": "rocm-smi --showtopo",
    "rocm-smi_showbus": "rocm-smi --showbus",
    "rocm-smi_": "rocm-smi",
    "amd-smi_topology": "amd-smi topology",
    "amd-smi_metric_throttle": "amd-smi metric --throttle",
    "amd-smi_metric_pcie": "amd-smi metric --pcie",
    "amd-smi_metric_ecc": "amd-smi metric --ecc",
    "amd-smi_bad_pages": "amd-smi bad-pages",
    "amd-smi_bad-pages": "amd-smi bad-pages",
    "amd-smi_static_bus": "amd-smi static --bus",
    "amd-smi_static_asic": "amd-smi static --asic",
    "amd-smi_static": "amd-smi static --driver",
    "amd-smi_list": "amd-smi list",
    "amd-smi_version": "amd-smi version",
    "ibstatus": "ibstatus",
    "ibstat": "ibstat",
    "ibv_devinfo": "ibv_devinfo",
    "rdma_j_link": "rdma -j link",
    "rdma_link": "rdma link",
    "ofed_info": "ofed_info -s",
    "ip_j_link": "ip -j link",
    "ip_j_addr": "ip -j addr",
    "lscpu": "lscpu",
    "lspci_acce": "lspci",
    "lspci_tv": "lspci -tv",
    "lspci_v": "lspci -vvv",
    "lspci": "lspci",
    "dmesg": "dmesg",
    "chronyc": "chronyc tracking",
    "timedatectl": "timedatectl show",
    "numactl": "numactl -H",
    "ulimit": "ulimit -a",
    "pip_list": "pip list",
    "pip_freeze": "pip freeze",
    "uname": "uname -a",
}
"""Beginning of a name -> the command; the first that fits counts. {question}: what follows in the name, as far as it is
one of QUESTIONS."""

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "npu-smi_": (
        "common", "usages", "health", "ecc", "hccs-bw", "hccs-credit", "hccs", "xlink-bw", "xlink-credit", "xlink",
        "pcie-err", "memory", "product", "spod-info", "sio-info", "flash", "temp", "power", "volt", "work-mode",
        "p2p-enable", "current-fault-event", "proc-mem", "phyid-remap", "sensors", "sys-time",
    ),
    "hccn_": (
        "link_stat", "link", "ip", "net_health", "netdetect", "speed", "mtu", "tls", "optical", "stat_extra", "stat",
        "lldp", "fec_err", "fec", "gateway", "duplex", "shaping", "auto_downgrade", "pfc_stat", "pfc_storm", "vnic",
        "version", "dev_info", "ub_connect", "port_info", "bit_err", "hw_stats", "bandwidth", "route", "arp",
    ),
}  # fmt: skip

FILES: Mapping[str, str] = {
    "hccn.conf": "/etc/hccn.conf",
    "driver_version.info": "/usr/local/Ascend/driver/version.info",
    "firmware_version.info": "/usr/local/Ascend/firmware/version.info",
    "ascend_toolkit_install.info_cann8.5": "/usr/local/Ascend/cann/aarch64-linux/ascend_toolkit_install.info",
    "ascend_toolkit_install.info": "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info",
    "ascend_nnae_install.info": "/usr/local/Ascend/nnae/latest/ascend_nnae_install.info",
    "version.cfg": "/usr/local/Ascend/ascend-toolkit/latest/version.cfg",
    "syslog": "/var/log/syslog",
    "messages": "/var/log/messages",
    "kern": "/var/log/kern.log",
    "journal": "/var/log/kern.log",
    "bonding": "/proc/net/bonding/bond0",
    "proc_net_bonding": "/proc/net/bonding/bond0",
    "fabricmanager_log": "/var/log/fabricmanager.log",
    "nccl_topo": "/var/run/nvidia-topologyd/virtualTopology.xml",
    "rank_table": "/etc/rank_table.json",
    "proc_self_limits": "/proc/self/limits",
    "meminfo": "/proc/meminfo",
    "cpuinfo": "/proc/cpuinfo",
    "os-release": "/etc/os-release",
    "nccl.conf": "/etc/nccl.conf",
}
"""Beginning of a name -> the file of the host."""

_IN_PARTS = ("dmesg", "lspci", "lspci -vvv", "pip list")
"""Several files may hold parts of these: lines of one log, blocks of one list."""

NO_PROBES = ("hccl_test", "nccl_tests", "INDEX", "README")
"""Outputs of benchmarks, and texts about a collection."""

_DUMP_LINE = re.compile(r"^(/(?:sys|proc|etc|dev)/\S+)[ \t]+(.*)$", re.MULTILINE)
_ETHTOOL = {
    "Settings": "ethtool",
    "FEC parameters": "ethtool --show-fec",
    "Pause parameters": "ethtool -a",
}
_OF_INTERFACE = re.compile(rf"^({'|'.join(_ETHTOOL)}) for (\S+?):", re.MULTILINE)
"""How each answer of ethtool begins; a text may hold those of several interfaces."""
_BY_DEVICE = re.compile(r"^/sys/bus/pci/devices/[^/]+/(infiniband|net)/(.*)$")


_TYPED = re.compile(r"^npu-smi_info_t_")
"""Of a file that is named as the command is typed: npu-smi_info_-t_topo.txt."""


@dataclass(slots=True)
class Outputs:
    """What a folder holds of a host. `strange`: names that mean nothing here. `twice`: files that answer what another
    one has answered. `unknown`: programs in transcripts, of whose outputs nothing is known. `doubts`: what does not
    fit together, or cannot be told apart, in words."""

    files: dict[str, str] = field(default_factory=dict)
    commands: dict[str, Answer] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _File:
    """`device`: the one in its name."""

    name: str
    text: str
    device: int | None


def gather(texts: Iterable[tuple[str, str]]) -> Outputs:
    """Texts by the names of their files. Those whose device is named are placed first."""
    found = Outputs()
    held = {name: textwrap.dedent(clean(text)) for name, text in texts}
    named = devices.of_names(held)
    files = [_File(name, text, named.get(name, _alone(name))) for name, text in held.items()]
    for file in sorted(files, key=lambda each: (not devices.is_told(each.text, each.device), each.name)):
        if not file.name.startswith(NO_PROBES) and not _place(found, file):
            found.strange.append(file.name)
    if "/etc/rank_table.json" in found.files:
        found.environ.setdefault("RANK_TABLE_FILE", "/etc/rank_table.json")
    return found


def _alone(name: str) -> int | None:
    """The device whose number is all that a name has besides the tool and its question."""
    for tool, questions in QUESTIONS.items():
        rest = name.removeprefix(tool)
        asked = next((word for word in questions if rest != name and rest.startswith(word)), None)
        if asked:
            return devices.alone(rest.removeprefix(asked))
    return None


def _place(found: Outputs, file: _File) -> bool:
    name, text = _TYPED.sub("npu-smi_", file.name.replace("_-", "_")), file.text
    if transcript.is_transcript(text):
        held = transcript.parse(text)
        found.files |= {path: held.files[path] for path in held.files if path not in found.files}
        found.commands |= {line: held.commands[line] for line in held.commands if line not in found.commands}
        found.unknown += [program for program in held.unknown if program not in found.unknown]
        return True
    if dump := _DUMP_LINE.findall(text):
        _dumped(found, dump)
        return True
    if blocks := list(_OF_INTERFACE.finditer(text)):
        ends = [*(block.start() for block in blocks[1:]), len(text)]
        for block, end in zip(blocks, ends, strict=True):
            _put(found, f"{_ETHTOOL[block[1]]} {block[2]}", name, text[block.start() : end])
        return True
    if name.startswith(("slurm_env", "env")):
        found.environ |= variables.parse(text)
        return True
    for beginning, path in FILES.items():
        if name.startswith(beginning):
            if path in found.files:
                found.twice.append(name)
            found.files.setdefault(path, text)
            return True
    for beginning, command in COMMANDS.items():
        if name.startswith(beginning) and (line := _filled(command, beginning, name)):
            if "{device}" in line:
                _put_of_device(found, line, file)
            else:
                _put(found, line, name, text)
            return True
    return False


def _filled(command: str, beginning: str, name: str) -> str | None:
    """The command with its question, which is None where the name has none."""
    if "{question}" not in command:
        return command
    rest = name.removeprefix(beginning)
    question = next((word for word in QUESTIONS[beginning] if re.match(rf"{re.escape(word)}(?![a-z])", rest)), None)
    return question and command.replace("{question}", question)


def _put(found: Outputs, line: str, name: str, text: str) -> None:
    answer = Answer(0, text, "")
    if line in _IN_PARTS and line in found.commands:
        found.commands[line] = Answer(0, f"{found.commands[line].stdout}\n{text}", "")
        return
    if line in found.commands:
        found.twice.append(name)
    found.commands.setdefault(line, answer)


def _put_of_device(found: Outputs, line: str, file: _File) -> None:
    own = line.startswith(devices.TOOLS)
    parts, count = devices.parts(line, file.text, file.device) if own else ([devices.Part(None, None, file.text)], 1)
    if count > 1:
        found.doubts.append(f"{file.name}: {count} answers, of no device that is named; only the first is looked at")
    for part in parts:
        if None not in (part.device, file.device) and part.device != file.device:
            told = f"its text is about device {part.device} and its name about {file.device}; the text counts"
            found.doubts.append(f"{file.name}: {told}")
        device = file.device if part.device is None else part.device
        full = line if part.chip is None else line.replace(" -c 0", f" -c {part.chip}")
        numbers = range(1000) if device is None else [device]
        free = next((each for number in numbers if (each := full.format(device=number)) not in found.commands), None)
        if free is None:
            found.twice.append(file.name)
        else:
            found.commands[free] = Answer(0, part.text, "")


def _dumped(found: Outputs, dump: list[tuple[str, str]]) -> None:
    """Lines `path TAB content` of several files. What stands below a PCI device is also found by its class."""
    for path, content in dump:
        found.files.setdefault(path, content + "\n")
        if match := _BY_DEVICE.match(path):
            found.files.setdefault(f"/sys/class/{match[1]}/{match[2]}", content + "\n")
