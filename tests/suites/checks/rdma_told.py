"""Facts about RDMA, and what findings about it are about, as the tests of its rules use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suites.report import Finding
from tests.suites.checks.told import facts_of


def told(files: Mapping[str, str] | None = None, **commands: str) -> dict[str, Any]:
    lines = {line.replace("__", " "): text for line, text in commands.items()}
    return facts_of(lines, files, sections=("rdma",))


def adapters(*blocks: str) -> dict[str, Any]:
    return told(ibstat="".join(blocks))


def hosts_device(finding: Finding) -> tuple[str | None, str | None]:
    return finding.subject.get("host"), finding.subject.get("device")
