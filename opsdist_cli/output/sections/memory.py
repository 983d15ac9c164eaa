"""The section `memory` as text: memory, huge pages and /dev/shm. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import bytes_of, free_of, or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    pages, size = facts["huge_pages"], facts["huge_page_bytes"]
    huge = f"{or_unknown(facts['huge_pages_free'])} of {or_unknown(pages)} free, {bytes_of(size)} each"
    swap = "none" if facts["swap_bytes"] == 0 else free_of(facts["swap_free_bytes"], facts["swap_bytes"])
    return pairs([
        ("total", bytes_of(facts["total_bytes"])),
        ("available", bytes_of(facts["available_bytes"])),
        ("page", bytes_of(facts["page_bytes"])),
        ("swap", swap),
        ("huge pages", "none" if pages == 0 else huge),
        ("transparent huge pages", or_unknown(facts["transparent_huge_pages"])),
        ("/dev/shm", free_of(facts["shm_free_bytes"], facts["shm_bytes"])),
        ("processes ended for it", or_unknown(facts["oom_kills"])),
    ])  # fmt: skip
