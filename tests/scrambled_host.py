"""A host that gives arbitrary answers, for tests of what must never raise."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from probes.host import Answer, Runtime, Space

TEXT = st.one_of(
    st.none(),
    st.text(max_size=30),
    st.text("0123456789-,: \n\tkBmaxunlimited/.()[]", max_size=30),
    st.sampled_from([
        "0", "1", "-1", "max", "max 100000", "0 0", "50000 100000", "0-3", "unlimited", "9223372036854771712",
        "Cpus_allowed_list: 0-2", "MemTotal: 5 kB", "Node 0 MemTotal: 5 kB", "always [madvise] never", "1 (a) b) S 1",
        "0::/a/b\n3:memory,cpu:/c", "1 2 0:3 / /g rw - cgroup2 c rw\n1 2 0:4 / /m rw - cgroup c rw,memory",
        "Max open files  10  unlimited  files", "PRETTY_NAME=\"X\"", "address_0=192.0.2.1", "davinci0",
        "../../devices/pci0000:00/0000:00:03.0/net/e",
    ]),
)  # fmt: skip


class ScrambledHost:
    """Answers every question with one of the drawn texts, always the same for the same question."""

    def __init__(self, texts: list[str | None]) -> None:
        self._texts = texts

    def _pick(self, question: str) -> str | None:
        return self._texts[zlib.crc32(question.encode()) % len(self._texts)]

    def _words(self, question: str) -> list[str]:
        return (self._pick(question) or "").split()

    @property
    def environ(self) -> Mapping[str, str]:
        return {word: word for word in ["PATH", "NCCL_X", *self._words("environ")]}

    def read(self, path: str) -> str | None:
        return self._pick(path)

    def tail(self, path: str, size: int) -> str | None:
        return self._pick(path)

    def listdir(self, path: str) -> tuple[str, ...] | None:
        return None if self._pick(path) is None else ("eth0", "index0", "node1", "nodeX", *self._words(path))

    def exists(self, path: str) -> bool:
        return self._pick(path) is not None

    def link(self, path: str) -> str | None:
        return self._pick(path)

    def space(self, path: str) -> Space | None:
        return None if self._pick(path) is None else Space(0, 0)

    def run(self, argv: Sequence[str], timeout: float) -> Answer | None:
        text = self._pick(argv[0])
        return None if text is None else Answer(None, text, text)

    def recorded(self) -> tuple[str, ...] | None:
        text = self._pick("recorded")
        return None if text is None else ("hccn_tool -i 3 -link -g", "npu-smi info -t health -i 2 -c 1", text)

    def addresses(self) -> Mapping[str, tuple[tuple[str, str | None], ...]] | None:
        text = self._pick("addresses")
        return None if text is None else {"eth0": ((text, self._pick("mask")),)}

    def runtime(self) -> Runtime | None:
        return None

    def packages(self, names: Sequence[str]) -> Mapping[str, str | None] | None:
        return None
