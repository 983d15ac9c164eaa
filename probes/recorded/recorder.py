"""Writing down what a host answers while it is looked at, so that it can be looked at again elsewhere.

May import: probes.
"""

from __future__ import annotations

import dataclasses
import json
import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from probes.environment import parse_settings, relevant
from probes.errors import ProbeError
from probes.host import Answer, Host, PassingHost, Runtime, Space
from probes.identities import hidden
from probes.recorded.folder import FORMAT, INDEX

_SETTINGS = ("/etc/nccl.conf",)


class Recorder(PassingHost):
    """Passes questions on and keeps what was answered in memory. Of the environment only what steers
    communication is kept, secrets are not, nor are identities unless they are asked for."""

    def __init__(self, host: Host, identities: bool = False) -> None:
        super().__init__(host)
        self._shown = str if identities else hidden
        self._files: dict[str, str] = {}
        self._commands: dict[str, Answer] = {}
        self._index: dict[str, dict[str, Any]] = {
            name: {} for name in ("links", "folders", "present", "space", "packages")
        }
        self._addresses: Mapping[str, Any] | None = None
        self._runtime: Runtime | None = None

    def read(self, path: str) -> str | None:
        return self._keep(path, super().read(path))

    def tail(self, path: str, size: int) -> str | None:
        return self._keep(path, super().tail(path, size))

    def listdir(self, path: str) -> tuple[str, ...] | None:
        names = super().listdir(path)
        if names is not None:
            self._index["folders"][path] = list(names)
        return names

    def exists(self, path: str) -> bool:
        there = super().exists(path)
        if there:
            self._index["present"][path] = True
        return there

    def link(self, path: str) -> str | None:
        target = super().link(path)
        if target is not None:
            self._index["links"][path] = target
        return target

    def space(self, path: str) -> Space | None:
        space = super().space(path)
        if space is not None:
            self._index["space"][path] = [space.total, space.free]
        return space

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        answer = super().run(argv, timeout)
        if answer is not None:
            self._commands[shlex.join(argv)] = answer
        return answer

    def addresses(self) -> Mapping[str, tuple[tuple[str, str | None], ...]] | None:
        self._addresses = super().addresses()
        return self._addresses

    def runtime(self) -> Runtime | None:
        self._runtime = super().runtime()
        return self._runtime

    def packages(self, names: Sequence[str]) -> Mapping[str, str | None] | None:
        found = super().packages(names)
        self._index["packages"] |= found or {}
        return found

    def texts(self) -> dict[str, str]:
        """What makes a folder that is the host again: path in it -> text. See `save`."""
        texts = {path.lstrip("/"): self._shown(_without_secrets(path, text)) for path, text in self._files.items()}
        commands = []
        for number, (line, answer) in enumerate(self._commands.items()):
            program = re.sub(r"[^\w.-]", "_", posixpath.basename(line.split()[0]))
            place = f"commands/{number:03}-{program}.txt"
            texts[place] = self._shown(answer.stdout)
            stderr = self._shown(answer.stderr)
            entry = {"line": line, "exit_code": answer.exit_code, "stdout": place, "stderr": stderr}
            commands.append(entry | ({"cut": True} if answer.cut else {}))
        index = {
            "format": FORMAT,
            "environ": self._environ(),
            **self._index,
            "addresses": self._addresses,
            "runtime": dataclasses.asdict(self._runtime) if self._runtime else None,
            "commands": commands,
        }
        return {**texts, INDEX: json.dumps(index, indent=1, ensure_ascii=False) + "\n"}

    def _environ(self) -> dict[str, str]:
        kept = relevant(self.environ)
        if "PATH" in self.environ:
            kept["PATH"] = self.environ["PATH"]
        return kept

    def _keep(self, path: str, text: str | None) -> str | None:
        if text is not None and not path.endswith("/environ"):
            self._files[path] = text
        return text


def _without_secrets(path: str, text: str) -> str:
    """A file of settings may hold a pre-shared key."""
    if path not in _SETTINGS:
        return text
    return "".join(f"{name}={value}\n" for name, value in parse_settings(text).items())


def save(texts: Mapping[str, str], folder: Path) -> None:
    """Write what `Recorder.texts` has below `folder`, which is made, or is there and empty. Raises ProbeError."""
    prepare(folder)
    try:
        for path, text in texts.items():
            _write(folder, path, text)
    except (OSError, ValueError) as error:  # no place for it, or a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise ProbeError(f"{folder}: the host cannot be recorded here: {reason}") from error


def prepare(folder: Path) -> None:
    """See that a host can be recorded here, before anything is asked. Raises ProbeError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        holds = any(folder.iterdir())
    except OSError as error:
        raise ProbeError(f"{folder}: the host cannot be recorded here: {error.strerror}") from error
    if holds:
        raise ProbeError(f"{folder}: the folder holds something; name one that is empty or not there yet")


def _write(folder: Path, path: str, text: str) -> None:
    place = folder / path.lstrip("/")
    if not place.resolve().is_relative_to(folder.resolve()):  # a made-up path with ".."
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode("utf-8", "replace"))
