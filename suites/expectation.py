"""What hosts are expected to be: facts of a good host in a file, which decides where there is no majority to ask.

The file is JSON, written by `info --save-expect`: {"kind": "expect", "expect": {key: value}}, keys as in the record's
differences. In a key that was written by hand, `*` stands for any one name: "network.interfaces.*.mtu".
May import: probes, differences, errors, factshape, report.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from probes import PROBES
from suites.differences import THERE, differences, steady
from suites.errors import UsageError
from suites.factshape import section_type
from suites.report import Finding, Status

KIND = "expect"
_LEFT_OUT = ("backends.",)
"""Facts of opsdist's own installation, not of the host."""
_DEVICE = re.compile(r"^(?:accelerators\.(?P<vendor>\w+)\.devices|network\.interfaces|rdma\.devices)\.(?P<name>[^.]+)")


@dataclass(frozen=True, slots=True)
class Expectation:
    """`source`: the file. `values` by key, which may have `*` for a name."""

    source: str
    values: Mapping[str, Any]


def expected_of(hosts: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The contents of a file that expects what these hosts have in common, by their majority where they differ."""
    differ = {found["key"]: found["majority"] for found in differences(hosts)}
    values = {key: differ.get(key, value) for _, facts in hosts for key, value in steady(facts) if value is not None}
    kept = {key: value for key, value in values.items() if value is not None and not key.startswith(_LEFT_OUT)}
    return {"kind": KIND, "expect": dict(sorted(kept.items()))}


def read_expectation(path: Path) -> Expectation:
    """Raises UsageError for what is no such file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refused)
    except OSError as error:
        raise UsageError(f"--expect {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--expect {path}: no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND or not isinstance(content.get("expect"), dict):
        raise UsageError(f'--expect {path}: no {{"kind": "expect", "expect": {{..}}}}; `--save-expect` writes one')
    return Expectation(str(path), content["expect"])


def _refused(word: str) -> None:
    raise ValueError(f"{word} is no value of a fact")


def unknown_keys(expectation: Expectation) -> list[str]:
    """Keys that no host can have, whatever is in it."""
    return [key for key in expectation.values if not _can_be(key.split("."))]


def _can_be(parts: Sequence[str]) -> bool:
    """Whether facts of this path are known to the probes."""
    section, *rest = parts
    return section in PROBES and _in(section_type(section), rest)


def _in(kind: Any, parts: Sequence[str]) -> bool:
    """Whether a value of this type can have such parts, and is a value at the last. Elements of lists and mappings may
    have any name; one with a dot goes on with a number: 0000:01:00.0, eth0.100."""
    if kind is Any:
        return True
    if isinstance(kind, types.UnionType):
        return any(_in(inner, parts) for inner in get_args(kind))
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return bool(parts) and any(_in(hints[name], parts[1:]) for name in hints if parts[0] in (name, "*"))
    if get_origin(kind) in (tuple, dict, Mapping):
        element = next(each for each in reversed(get_args(kind)) if each is not ...)
        numbers = len(list(takewhile(str.isdecimal, parts[1:])))
        of_elements = any(_in(element, parts[used:]) for used in range(1, numbers + 2) if used <= len(parts))
        return of_elements or (not parts and get_origin(kind) is tuple)
    return not parts


def violations(expectation: Expectation, hosts: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """What is not as expected on which host. What is unknown of a host is one remark, and no violation."""
    found: list[Finding] = []
    for host, facts in hosts.items():
        known = dict(steady(facts))
        there = {"", *(prefix for key in known for prefix in _prefixes(key))}
        unknown: list[str] = []
        gone: dict[str, None] = {}
        for pattern, wanted in expectation.values.items():
            for key in _meant(known, pattern):
                if known.get(key) is not None:
                    if known[key] != wanted:
                        found.append(_violation(expectation, host, key, known[key], wanted))
                elif missing := _missing(known, there, key):
                    gone[missing] = None
                else:
                    unknown.append(key)
        found += [_violation(expectation, host, key, None, THERE) for key in gone]
        if unknown:
            found.append(_unknown(expectation, host, unknown))
    return found


def _meant(known: Mapping[str, Any], pattern: str) -> list[str]:
    """The keys that a key stands for; itself, where it is none of them."""
    if "*" not in pattern:
        return [pattern]
    # A name may have dots before numbers, as PCI addresses and VLANs do.
    form = re.compile(re.escape(pattern).replace(r"\*", r"[^.]+(?:\.\d+)*"))
    return [key for key in known if form.fullmatch(key)] or [pattern]


def _prefixes(key: str) -> Iterator[str]:
    parts = key.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _missing(known: Mapping[str, Any], there: Set[str], key: str) -> str | None:
    """The first part of the key that is not there; None where it is but unknown: what was not asked, or not told."""
    prefixes = ["", *_prefixes(key)]
    present = max((prefix for prefix in prefixes if prefix in there), key=len)
    if present == key or not present or known.get(present, THERE) is None:
        return None
    following = next(prefix for prefix in prefixes if len(prefix) > len(present))
    return None if "readings" in following.split(".") else key if "*" in key else following


def _unknown(expectation: Expectation, host: str, keys: Sequence[str]) -> Finding:
    message = f"of what {expectation.source} expects {len(keys)} facts are unknown: {', '.join(keys[:3])}"
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    return Finding("expect.unknown", Status.SKIP, message + more, {"host": host})


def _violation(expectation: Expectation, host: str, key: str, value: Any, wanted: Any) -> Finding:
    subject = {"host": host}
    if match := _DEVICE.match(key):
        prefix = {None: "", "ascend": "npu"}.get(match["vendor"], "gpu")
        subject["device"] = prefix + match["name"]
    said = f"{json.dumps(value)}, and {json.dumps(wanted)} is expected" if value is not None else "not there"
    return Finding(
        "expect.differs", Status.FAIL, f"{key} is {said}", subject,
        f"see why this host is not like the one that {expectation.source} was written from; if the change was meant, "
        "write the file anew with --save-expect",
        {"key": key, "value": value, "threshold": wanted, "source": expectation.source},
    )  # fmt: skip
