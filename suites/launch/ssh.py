"""Agents of other hosts, by the system's OpenSSH: the command line, and what it means when that fails.

Keys, jumps and names are the user's: ssh reads its own configuration. Nothing secret is on a command line; what the far
side is to know travels on stdin. May import: link, local's defaults, trouble.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suites.launch import local
from suites.launch.link import AgentCommand
from suites.launch.trouble import Sign, Trouble, gone, not_there

OPTIONS = (
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oForwardAgent=no",
    "-oForwardX11=no",
    "-oClearAllForwardings=yes",
)
"""After the user's own, since ssh takes the first value it sees."""
FORWARDED = ("NCCL_", "HCCL_", "ASCEND_", "GLOO_", "UCX_")
"""What begins like this is set on the far side as here; so is LD_LIBRARY_PATH."""
_ALSO = ("LD_LIBRARY_PATH",)


@dataclass(frozen=True, slots=True)
class Far:
    """How the far side is entered: `ssh` with the user's options, the interpreter there, what the login shell runs
    before it, and what is set there."""

    ssh: tuple[str, ...] = ("ssh",)
    python: str = sys.executable
    prologue: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


def command(target: str, name: str, far: Far, environ: Mapping[str, str]) -> AgentCommand:
    """How the agent of the host that ssh knows as `target` is started. `environ` is that of ssh itself."""
    first = {"type": "environment", "variables": dict(far.variables)}
    return AgentCommand(name, argv(target, far), environ, first, diagnose)


def argv(host: str, far: Far) -> tuple[str, ...]:
    """One word of shell for the far side, in what every login shell understands."""
    agent = f"exec {shlex.quote(far.python)} -P -m suites.launch.far"
    remote = f"{far.prologue} && {agent}" if far.prologue else agent
    return (*far.ssh, *OPTIONS, "--", host, remote)


def forwarded(environ: Mapping[str, str], given: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """What is set on the far side: what belongs to communication, and what was asked for (without a value: as here)."""
    chosen = {name: value for name, value in environ.items() if name.startswith(FORWARDED) or name in _ALSO}
    for name, value in given:
        if value is not None:
            chosen[name] = value
        elif name in environ:
            chosen[name] = environ[name]
    return {**local.DEFAULTS, **chosen}


_SIGNS: tuple[Sign, ...] = (
    Sign(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED", "host key",
        "{host} has another host key than known_hosts says: it was installed anew, or somebody stands between",
        "ask who runs {host}; if its new key is right: ssh-keygen -R {host}; ssh-keyscan {host} >> ~/.ssh/known_hosts",
    ),
    Sign(
        r"Host key verification failed|host key is known for", "host key", "the host key of {host} is not known here",
        "compare and add it: ssh-keyscan {host} >> ~/.ssh/known_hosts",
    ),
    Sign(
        r"Permission denied|Too many authentication failures|No supported authentication", "authentication",
        "{host} accepts none of the keys that ssh offers",
        "`ssh {host} true` must work without a question: ssh-copy-id, an agent, IdentityFile or User in ssh_config",
    ),
    Sign(
        r"Could not resolve hostname|Name or service not known", "name", "the name {host} is not known here",
        "a typing mistake in the host list, DNS, or a HostName in ssh_config",
    ),
    Sign(
        r"Connection refused", "connection", "{host} refuses the connection: no sshd listens there",
        "start sshd on {host}, or give its port: ssh_config, or --ssh 'ssh -p PORT'",
    ),
    Sign(
        r"Connection timed out|Operation timed out|No route to host|Network is unreachable", "connection",
        "{host} does not answer", "whether it is up, and a firewall between: ping {host}",
    ),
    Sign(
        r"(kex|ssh)_exchange_identification|Connection (closed|reset) by|Broken pipe", "connection",
        "{host} closed the connection before the agent was there", "sshd there: MaxStartups, its log, its load",
        passing=True,
    ),
)  # fmt: skip
_FAILED = 255
_BROKEN = r"closed by remote host|not responding|client_loop|Broken pipe|Connection (reset|closed)|timed out"


def diagnose(words: str, code: int | None, host: str, *, greeted: bool) -> Trouble:
    """What an end of ssh without a word of the agent means, by what was printed and ssh's exit code."""
    if greeted:
        broken = code == _FAILED and re.search(_BROKEN, words) is not None
        return gone(words, code, host, broken=broken)
    return not_there(_SIGNS, words, code, host, try_by_hand=f"ssh {host} true")
