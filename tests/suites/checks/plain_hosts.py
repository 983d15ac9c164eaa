"""Hosts for tests of rules about Linux: made-up files, behind the real parsers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from suites.checks import rules
from suites.checks.judging import judge
from suites.report import Finding, Status
from tests.suites.checks.told import facts_of

NPUS = {f"/dev/davinci{number}": "" for number in range(2)}
GPUS = {"nvidia-smi --query-gpu=index,name --format=csv": "index, name\n0, Quux\n1, Quux\n"}
IBSTAT = """CA 'mlx5_{number}'
	CA type: MT9999
	Number of ports: 1
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Link layer: InfiniBand
"""


def adapters(*numbers: int) -> dict[str, str]:
    return {"ibstat": "".join(IBSTAT.format(number=number) for number in numbers)}


def interfaces(**addresses: str | None) -> dict[str, str]:
    """`ip -j addr` with loopback and these: name -> address with width; one without an address is down."""
    entries = [_interface("lo", "127.0.0.1/8", "UNKNOWN", "LOOPBACK")]
    entries += [_interface(name, address, "UP" if address else "DOWN") for name, address in addresses.items()]
    return {"ip -j addr": json.dumps(entries)}


def _interface(name: str, address: str | None, state: str, *flags: str) -> dict[str, Any]:
    local, _, width = (address or "").partition("/")
    told = [{"family": "inet", "local": local, "prefixlen": int(width)}] if address else []
    kind = "loopback" if name == "lo" else "ether"
    return {
        "ifname": name, "flags": [*flags, "UP"], "mtu": 1500, "operstate": state, "link_type": kind, "addr_info": told,
    }  # fmt: skip


def host(
    *sections: str,
    commands: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    **environ: str,
) -> dict[str, Any]:
    return facts_of(commands, files, environ, sections)


def set_here(*sections: str, commands: Mapping[str, str] | None = None, **environ: str) -> dict[str, Any]:
    """A host on which these variables are set."""
    return host("environment", *sections, commands=commands, **environ)


def found_on(name: str, facts: Mapping[str, Any]) -> list[Finding]:
    """What the rule finds but for what is well."""
    return [finding for finding in judge({"h": facts}, [rules()[name]], {}) if finding.status is not Status.PASS]


def silent(name: str, facts: Mapping[str, Any]) -> bool:
    return found_on(name, facts) == []
