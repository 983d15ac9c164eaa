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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from probes import PROBES
from suites.differences import differences, steady
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
    first = dict(steady(hosts[0][1])) if hosts else {}
    values = {key: differ.get(key, value) for key, value in first.items()}
    kept = {key: value for key, value in values.items() if value is not None and not key.startswith(_LEFT_OUT)}
    return {"kind": KIND, "expect": dict(sorted(kept.items()))}


def read_expectation(path: Path) -> Expectation:
    """Raises UsageError for what is no such file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--expect {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--expect {path}: no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND or not isinstance(content.get("expect"), dict):
        raise UsageError(f'--expect {path}: no {{"kind": "expect", "expect": {{..}}}}; `--save-expect` writes one')
    return Expectation(str(path), content["expect"])


def unknown_keys(expectation: Expectation) -> list[str]:
    """Keys that no host can have, whatever is in it."""
    return [key for key in expectation.values if not _can_be(key.split("."))]


def _can_be(parts: Sequence[str]) -> bool:
    """Whether facts of this path are known to the probes."""
    section, *rest = parts
    return section in PROBES and _in(section_type(section), rest)


def _in(kind: Any, parts: Sequence[str]) -> bool:
    """Whether a value of this type can have such parts. Elements of lists and mappings may have any name; one with a
    dot goes on with a number: 0000:01:00.0, eth0.100."""
    if not parts or kind is Any:
        return True
    if isinstance(kind, types.UnionType):
        return any(_in(inner, parts) for inner in get_args(kind))
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return parts[0] in hints and _in(hints[parts[0]], parts[1:])
    if get_origin(kind) in (tuple, dict, Mapping):
        element = next(each for each in reversed(get_args(kind)) if each is not ...)
        numbers = len(list(takewhile(str.isdecimal, parts[1:])))
        return any(_in(element, parts[used:]) for used in range(1, numbers + 2))
    return False


def violations(expectation: Expectation, hosts: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """What is not as expected on which host. A section that was not read is not judged."""
    found: list[Finding] = []
    for host, facts in hosts.items():
        known = dict(steady(facts))
        for key, wanted in expectation.values.items():
            if key.split(".")[0] in facts:
                found += (_violation(expectation, host, *each, wanted) for each in _unlike(known, key, wanted))
    return found


def _unlike(known: Mapping[str, Any], key: str, wanted: Any) -> Iterator[tuple[str, Any]]:
    if "*" in key:
        pattern = re.compile(re.escape(key).replace(r"\*", r"[^.]+"))
        matching = [name for name in known if pattern.fullmatch(name)]
        yield from ((name, known[name]) for name in matching if known[name] != wanted)
        if not matching:
            yield key, None
    elif known.get(key) != wanted:
        yield key, known.get(key)


def _violation(expectation: Expectation, host: str, key: str, value: Any, wanted: Any) -> Finding:
    subject = {"host": host}
    if match := _DEVICE.match(key):
        prefix = {None: "", "ascend": "npu"}.get(match["vendor"], "gpu")
        subject["device"] = prefix + match["name"]
    said = "unknown or not there" if value is None else json.dumps(value)
    return Finding(
        "expect.differs", Status.FAIL, f"{key} is {said}, and {json.dumps(wanted)} is expected", subject,
        f"see why this host is not like the one that {expectation.source} was written from; if the change was meant, "
        "write the file anew with --save-expect",
        {"key": key, "value": value, "threshold": wanted, "source": expectation.source},
    )  # fmt: skip
