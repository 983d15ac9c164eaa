"""Thresholds of rules from a file, instead of the rules' own.

The file is TOML, a table a rule: `["memory.shm_small"]` and below it `least = 1073741824`.
May import: checks, errors.
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

from collectives.errors import nearest
from suites.checks import rules
from suites.checks.judging import Limits
from suites.errors import UsageError


def read_thresholds(path: Path) -> Limits:
    """Raises UsageError for what is no such file, and names rules and thresholds that there are not."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--thresholds {path}: {error.strerror}") from None
    except ValueError as error:  # no UTF-8, or no TOML
        raise UsageError(f"--thresholds {path}: no TOML: {error}") from None
    known = rules()
    flat = dict(_tables(content))
    for name, table in flat.items():
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean '{near}'?" if near else "`opsdist checks` lists them"
            raise UsageError(f"--thresholds {path}: there is no rule '{name}'; {hint}")
        for threshold, value in table.items():
            _refuse(path, name, threshold, value)
    return flat


def _tables(content: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Tables that hold values, by their full name: `[memory.shm_small]` and `["memory.shm_small"]` are one."""
    found = []
    values = {key: value for key, value in content.items() if not isinstance(value, dict)}
    if values or (path and not content):
        found.append((path or "(none)", values))
    for key, value in content.items():
        if isinstance(value, dict):
            found += _tables(value, f"{path}.{key}" if path else key)
    return found


def _refuse(path: Path, name: str, threshold: str, value: Any) -> None:
    own = rules()[name].thresholds
    if threshold not in own:
        raise UsageError(
            f"--thresholds {path}: {name} has no threshold '{threshold}'; it has {', '.join(own) or 'none'}"
        )
    wanted = own[threshold].value
    if isinstance(wanted, str):
        fits = isinstance(value, str)
    else:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fits:
        raise UsageError(f"--thresholds {path}: {name}.{threshold} is {value!r}, and the rule's own is {wanted!r}")
