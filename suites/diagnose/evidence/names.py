"""Whose a file is, by its name.

May import: facts.
"""

from __future__ import annotations

import re

from suites.diagnose.facts import Who


def who_of(name: str) -> Who:
    """The rank that a name ends in."""
    found = re.search(r"(?:rank|dump)_(?:(?P<host>[A-Za-z][\w.-]*)_)?(?P<rank>\d+)(?:\.\w+)*$", name)
    return Who(rank=int(found["rank"]), host=found["host"]) if found else Who()
