"""A recorded host in a folder: files at their paths, and in `host.json` what no file holds.

May import: probes.
"""

from __future__ import annotations

import json
import os
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from probes.host import Answer, Folder, Runtime, Space
from probes.recorded import commandline

INDEX = "host.json"
FORMAT = 1


class RecordedHost(Folder):
    """A folder that mirrors the absolute paths of a host.

    `host.json` is written by `Recorder`. A folder without one, made by hand, has the outputs of commands in files that
    are named as the command was typed, with `/` as `%2F`: `commands/npu-smi info -l`. `is_cut`: there is a `host.json`,
    and it tells nothing.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        super().__init__(root)
        told = super().read(f"/{INDEX}")
        self._index = _index(told)
        self.is_cut = told is not None and not self._index
        self._answers = {
            commandline.key(commandline.words_of(line)): answer for line, answer in self._commands().items()
        }

    @property
    def environ(self) -> Mapping[str, str]:
        if "environ" in self._index:
            return {str(name): str(value) for name, value in _mapping(self._index["environ"]).items()}
        pairs = (entry.partition("=") for entry in (self.read("/proc/self/environ") or "").split("\0"))
        return {name: value for name, equals, value in pairs if equals}

    def listdir(self, path: str) -> tuple[str, ...] | None:
        """All that was there, of which perhaps only a part was read. Only a folder made by hand is as it is."""
        names = self._told("folders", path)
        if isinstance(names, list):
            return tuple(map(str, names))
        return None if self._index else super().listdir(path)

    def exists(self, path: str) -> bool:
        return bool(self._told("present", path)) or super().exists(path)

    def link(self, path: str) -> str | None:
        target = self._told("links", path)
        return target if isinstance(target, str) else super().link(path)

    def space(self, path: str) -> Space | None:
        match self._told("space", path):
            case [int(total), int(free)]:
                return Space(total, free)
        return None

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        tried = [argv, *commandline.looser(argv)]
        return next((answer for words in tried if (answer := self._answers.get(commandline.key(words)))), None)

    def recorded(self) -> tuple[str, ...] | None:
        return tuple(self._answers)

    def addresses(self) -> Mapping[str, tuple[tuple[str, str | None], ...]] | None:
        if not isinstance(told := self._index.get("addresses"), Mapping):
            return None
        return {
            str(name): tuple((str(each[0]), each[1]) for each in entries if isinstance(each, list) and len(each) == 2)
            for name, entries in told.items()
            if isinstance(entries, list)
        }

    def runtime(self) -> Runtime | None:
        told = _mapping(self._index.get("runtime"))
        try:
            return Runtime(**told) if told else None
        except TypeError:
            return None

    def packages(self, names: Sequence[str]) -> Mapping[str, str | None] | None:
        told = _mapping(self._index.get("packages"))
        return {name: told.get(name) for name in names} if told else None

    def _told(self, kind: str, path: str) -> Any:
        return _mapping(self._index.get(kind)).get(path)

    def _commands(self) -> dict[str, Answer]:
        by_name = {
            urllib.parse.unquote(name): Answer(0, printed, "")
            for name in super().listdir("/commands") or ()
            if (printed := self.read(f"/commands/{name}")) is not None
        }
        listed = self._index.get("commands")
        if not isinstance(listed, list):
            return by_name
        found = {}
        for entry in map(_mapping, listed):
            code = entry.get("exit_code")
            printed = self.read(f"/{entry.get('stdout')}") or ""
            stderr, cut = str(entry.get("stderr") or ""), entry.get("cut") is True
            answer = Answer(code if isinstance(code, int) else None, printed, stderr, cut)
            found[str(entry.get("line"))] = answer
        return found


def _index(text: str | None) -> Mapping[str, Any]:
    """What a broken or cut index still tells, which is nothing; the files are there all the same."""
    try:
        return _mapping(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
