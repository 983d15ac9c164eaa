"""A host made of files in a folder: what the probes are tested on. The parsers are real, only the files are made up."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path

from probes.host import Answer, LocalHost, Runtime, Space

Addresses = Mapping[str, tuple[tuple[str, str | None], ...]]


class TreeHost(LocalHost):
    """Starts empty: whatever a test does not give is unknown."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.folder = root
        self.variables: dict[str, str] = {}
        self.spaces: dict[str, Space] = {}
        self.network: Addresses | None = None
        self.system: Runtime | None = None
        self.installed: Mapping[str, str | None] | None = None
        self.tools: dict[str, str | Answer] | None = None
        """What commands answer, without the folder of their program; by default those in the tree are run."""

    def write(self, files: Mapping[str, str], links: Mapping[str, str] | None = None) -> TreeHost:
        """Files as {path: text} and links as {path: target}; a file's text is written with a line end."""
        for path, text in files.items():
            place = self.folder / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text + "\n", encoding="utf-8")
        for path, target in (links or {}).items():
            place = self.folder / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        return self

    @property
    def environ(self) -> Mapping[str, str]:
        return self.variables

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        if self.tools is None:
            return super().run(argv, timeout) if argv[0].startswith("/") else None
        answer = self.tools.get(" ".join([posixpath.basename(argv[0]), *argv[1:]]))
        return Answer(0, answer, "") if isinstance(answer, str) else answer

    def recorded(self) -> tuple[str, ...] | None:
        return None if self.tools is None else tuple(self.tools)

    def space(self, path: str) -> Space | None:
        return self.spaces.get(path)

    def addresses(self) -> Addresses | None:
        return self.network

    def runtime(self) -> Runtime | None:
        return self.system

    def packages(self, names: Sequence[str]) -> Mapping[str, str | None] | None:
        return self.installed
