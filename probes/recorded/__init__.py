"""Hosts as somebody recorded them.

That is what `opsdist info --record` wrote, what MindCluster collects before and after a job, or single outputs of tools
in a folder.

`open_recorded` finds out which of them a path is. May import: probes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from probes.errors import ProbeError
from probes.host import Folder, Host
from probes.recorded import outputs
from probes.recorded.folder import INDEX, RecordedHost
from probes.recorded.texthost import TextHost

_TREE = (INDEX, "proc", "sys", "etc", "dev", "usr", "var", "commands")
"""Names that a folder has which mirrors a host."""
_SOURCES = (".source.txt",)
"""Ends of names of texts about an output."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A host, and the same as it was before, where that was recorded too. `remarks`: files that were of no use."""

    name: str
    host: Host
    earlier: Host | None = None
    remarks: tuple[str, ...] = ()
    useless: bool = False
    """Whether none of the files was of use."""


def open_recorded(path: Path) -> list[Recorded]:
    """The hosts that a folder or file holds: one, or one in each folder inside. Raises ProbeError."""
    hosts = _hosts(path, set())
    if all(host.useless for host in hosts):
        reasons = "; ".join([remark for host in hosts for remark in host.remarks][:3])
        raise ProbeError(f"{path}: nothing of a host is recorded here: {reasons or 'no file of it is one of a probe'}")
    return hosts


def _hosts(path: Path, visited: set[Path]) -> list[Recorded]:
    """`visited`: folders on the way, to which a link may lead back."""
    if path.is_file():
        return [_of_texts(path.stem, [path])]
    if path.exists() and not path.is_dir():
        raise ProbeError(f"{path}: this is neither a folder nor a file")
    if not path.is_dir():
        raise ProbeError(f"{path}: there is no such folder or file")
    if (place := path.resolve()) in visited:
        return []
    visited.add(place)
    names = sorted(entry.name for entry in path.iterdir())
    if any(name in names for name in _TREE):
        host = RecordedHost(path)
        remark = f"{INDEX}: it cannot be read, so what stands in no other file is unknown"
        return [Recorded(_name(path), host, None, (remark,) if host.is_cut else ())]
    if files := [path / name for name in names if (path / name).is_file()]:
        return [_of_texts(_name(path), files)]
    return [host for name in names if (path / name).is_dir() for host in _hosts(path / name, visited)]


def _of_texts(name: str, files: list[Path]) -> Recorded:
    read = {file.name: _text(file) for file in files if not file.name.endswith(_SOURCES)}
    texts = [(file, text) for file, text in read.items() if text is not None]
    before = [(file, text) for file, text in texts if file.startswith("npu_info_before")]
    after = [(file, text) for file, text in texts if file.startswith("npu_info_after")]
    if before and after:
        return Recorded(name, _host([text for text in texts if text not in before]), _host(before), ())
    found = outputs.gather(texts)
    remarks = [f"{file}: no output that opsdist knows by its name" for file in found.strange]
    remarks += [f"{file}: another file has answered the same question" for file in found.twice]
    remarks += [f"{file}: it cannot be read, or is larger than 64 MiB" for file, text in read.items() if text is None]
    remarks += found.doubts
    if found.unknown:
        remarks.append(f"outputs of commands that opsdist does not know: {', '.join(found.unknown)}")
    useless = not (found.files or found.commands or found.environ)
    return Recorded(name, TextHost(found.files, found.commands, found.environ), None, tuple(remarks), useless)


def _host(texts: list[tuple[str, str]]) -> TextHost:
    found = outputs.gather(texts)
    return TextHost(found.files, found.commands, found.environ)


def _text(file: Path) -> str | None:
    text = Folder(file.parent).read(file.name)
    return None if text is None else text.replace("\r\n", "\n").replace("\r", "\n")


def _name(path: Path) -> str:
    return path.resolve().name or "host"
