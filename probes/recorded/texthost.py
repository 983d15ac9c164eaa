"""A host made of texts: what files held and what commands printed, wherever these texts came from.

May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.host import Answer, Runtime, Space, last_lines
from probes.recorded import commandline


class TextHost:
    """`files`: path -> text. `commands`: line as typed -> what it printed. What is in neither is unknown."""

    def __init__(
        self, files: Mapping[str, str], commands: Mapping[str, Answer], environ: Mapping[str, str] | None = None
    ) -> None:
        self._files = dict(files)
        self._environ = dict(environ or {})
        self._folders: dict[str, set[str]] = {}
        for path in files:
            parts = path.strip("/").split("/")
            for depth, name in enumerate(parts):
                self._folders.setdefault("/" + "/".join(parts[:depth]), set()).add(name)
        self._commands = {commandline.key(commandline.words_of(line)): answer for line, answer in commands.items()}
        self._lines = tuple(commands)

    @property
    def environ(self) -> Mapping[str, str]:
        return self._environ

    def read(self, path: str) -> str | None:
        return self._files.get(path)

    def tail(self, path: str, size: int) -> str | None:
        text = self._files.get(path)
        return None if text is None else last_lines(text[-size:], whole=len(text) <= size)

    def listdir(self, path: str) -> tuple[str, ...] | None:
        found = self._folders.get(path.rstrip("/") or "/")
        return None if found is None else tuple(sorted(found))

    def exists(self, path: str) -> bool:
        return path in self._files or (path.rstrip("/") or "/") in self._folders

    def link(self, path: str) -> str | None:
        return None

    def space(self, path: str) -> Space | None:
        return None

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        tried = [argv, *commandline.looser(argv)]
        return next((answer for words in tried if (answer := self._commands.get(commandline.key(words)))), None)

    def recorded(self) -> tuple[str, ...] | None:
        return self._lines

    def addresses(self) -> Mapping[str, tuple[tuple[str, str | None], ...]] | None:
        return None

    def runtime(self) -> Runtime | None:
        return None

    def packages(self, names: Sequence[str]) -> Mapping[str, str | None] | None:
        return None
