"""Command lines and what they printed, one after the other in one text.

MindCluster's npu_info_before.txt and npu_info_after.txt are such texts (a line with the command, its output, an empty
line), and so is what people copy from a terminal, with a prompt before each command. `cat FILE` is the file.
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from probes.host import Answer
from probes.recorded.commandline import prompt_of, words_of
from probes.recorded.devices import by_chip
from probes.tool_text import clean

_PROGRAMS = frozenset({
    "npu-smi", "hccn_tool", "nvidia-smi", "dcgmi", "rocm-smi", "amd-smi", "ibstat", "ibstatus", "ibv_devinfo",
    "rdma", "ethtool", "ip", "lspci", "lscpu", "dmesg", "cat", "date", "pip", "pip3", "chronyc", "timedatectl",
    "uname", "systemctl", "ofed_info", "numactl",
})  # fmt: skip


_OF_CARD = re.compile(r"npu-smi info -t (?!board )\S+ -i \d+|npu-smi info -i \d+ -t (?!board$)\S+")
"""Asked of a card, which answers for each of its chips."""
_IN_PARTS = ("pip list", "pip3 list")
"""Asked several times, each time for a part: `pip list | grep torch`."""


@dataclass(slots=True)
class Transcript:
    """`files`: path -> text; `commands`: line as typed -> answer. The first of several answers to one line stays.
    `unknown`: programs that printed something, of which nothing is known."""

    files: dict[str, str] = field(default_factory=dict)
    commands: dict[str, Answer] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def parse(text: str) -> Transcript:
    found = Transcript()
    for line, output in _blocks(text):
        words = words_of(line)
        typed = " ".join(words)
        if not _is_command(line):
            if output.strip() and words and words[0] not in found.unknown:
                found.unknown.append(words[0])
        elif words[0] == "cat" and len(words) == 2:
            found.files.setdefault(words[1], output)
        elif typed in _IN_PARTS and typed in found.commands:
            found.commands[typed] = Answer(0, f"{found.commands[typed].stdout}\n{output}", "")
        elif words[0] != "cat":
            found.commands.setdefault(typed, Answer(0, output, ""))
    for typed in list(found.commands):
        if typed.startswith("nvidia-smi -q -d "):  # a part of what is asked for
            found.commands.setdefault("nvidia-smi -q", found.commands[typed])
        elif _OF_CARD.fullmatch(typed) and len(chips := by_chip(found.commands[typed].stdout)) > 1:
            del found.commands[typed]
            for chip, told in chips.items():
                found.commands.setdefault(f"{typed} -c {chip}", Answer(0, told, ""))
    return found


def is_transcript(text: str) -> bool:
    """Whether the first line that holds anything is a command, or one stands behind a prompt that names the host, as
    below what is printed at login."""
    lines = clean(text).split("\n")
    first = next((line for line in lines if line.strip()), "")
    return _is_command(first) or any(prompt_of(line) == "@" and _is_command(line) for line in lines)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    command, output = "", list[str]()
    for line in clean(text).split("\n"):
        if _is_command(line) or _ends(command, line):
            if command:
                yield command, "\n".join(output)
            command, output = line, []
        elif command:
            output.append(line)
    if command:
        yield command, "\n".join(output)


def _ends(command: str, line: str) -> bool:
    """Whether the output of a command ends with a line that is no command known here: at a prompt. A mere `#` or `$` is
    one where the command stands behind the same; in a file it begins a comment."""
    prompt = prompt_of(line)
    return prompt == "@" or (prompt is not None and prompt == prompt_of(command) and words_of(command)[:1] != ["cat"])


def _is_command(line: str) -> bool:
    """A program that is known, with words that look like a command's and not like a table's."""
    words = words_of(line)
    if not words or words[0] not in _PROGRAMS:
        return False
    return len(words) == 1 or words[1].startswith(("-", "/")) or words[1] in _VERBS.get(words[0], ())


_VERBS: Mapping[str, tuple[str, ...]] = {
    "npu-smi": ("info",),
    "nvidia-smi": ("topo", "nvlink"),
    "dcgmi": ("nvlink", "discovery", "health"),
    "amd-smi": ("topology", "metric", "static", "list", "version", "bad-pages"),
    "rdma": ("link",),
    "systemctl": ("is-active",),
    "chronyc": ("tracking",),
    "timedatectl": ("show", "status"),
    "pip": ("list", "show"),
    "pip3": ("list", "show"),
}
