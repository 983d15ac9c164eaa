"""Agents of other hosts, by the system's OpenSSH: the command line, and what it means when that fails.

Keys, jumps and names are the user's: ssh reads its own configuration. Nothing secret is on a command line; what the far
side is to know travels on stdin. May import: link, local's defaults, verdict's words.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suites.launch import local
from suites.launch.link import AgentCommand
from suites.verdict import Kind

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
    return AgentCommand(name, argv(target, far), environ, first, far=True)


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


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an agent is not there, or not any more. `passing`: another try may do."""

    kind: Kind
    phase: str
    message: str
    advice: tuple[str, ...]
    passing: bool = False


@dataclass(frozen=True, slots=True)
class _Sign:
    """Words of ssh, of a shell or of Python, and what they mean. `{host}` and `{python}` are filled in."""

    words: str
    phase: str
    meaning: str
    advice: str
    passing: bool = False


_SIGNS: tuple[_Sign, ...] = (
    _Sign(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED", "host key",
        "{host} has another host key than known_hosts says: it was installed anew, or somebody stands between",
        "ask who runs {host}; if its new key is right: ssh-keygen -R {host}; ssh-keyscan {host} >> ~/.ssh/known_hosts",
    ),
    _Sign(
        r"Host key verification failed|host key is known for", "host key", "the host key of {host} is not known here",
        "compare and add it: ssh-keyscan {host} >> ~/.ssh/known_hosts",
    ),
    _Sign(
        r"Permission denied|Too many authentication failures|No supported authentication", "authentication",
        "{host} accepts none of the keys that ssh offers",
        "`ssh {host} true` must work without a question: ssh-copy-id, an agent, IdentityFile or User in ssh_config",
    ),
    _Sign(
        r"Could not resolve hostname|Name or service not known", "name", "the name {host} is not known here",
        "a typing mistake in the host list, DNS, or a HostName in ssh_config",
    ),
    _Sign(
        r"Connection refused", "connection", "{host} refuses the connection: no sshd listens there",
        "start sshd on {host}, or give its port: ssh_config, or --ssh 'ssh -p PORT'",
    ),
    _Sign(
        r"Connection timed out|Operation timed out|No route to host|Network is unreachable", "connection",
        "{host} does not answer", "whether it is up, and a firewall between: ping {host}",
    ),
    _Sign(
        r"No module named|ModuleNotFoundError", "opsdist", "Python on {host} has no opsdist",
        "install the same version there, or give the interpreter that has it: --python PATH",
    ),
    _Sign(
        r"[Uu]nknown option:? -P|[Uu]nrecognized option.*-P", "python", "Python on {host} is older than 3.11",
        "give one that is not: --python PATH",
    ),
    _Sign(
        r"(kex|ssh)_exchange_identification|Connection (closed|reset) by|Broken pipe", "connection",
        "{host} closed the connection before the agent was there", "sshd there: MaxStartups, its log, its load",
        passing=True,
    ),
)  # fmt: skip
_BROKEN = r"closed by remote host|not responding|client_loop|Broken pipe|Connection (reset|closed)|timed out"
_SSH_FAILED = 255
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def diagnose(words: str, code: int | None, host: str, *, greeted: bool) -> Trouble:
    """What an end of ssh without a word of the agent means, by what was printed and ssh's exit code."""
    last = words.strip().rpartition("\n")[2].strip()
    said = f" (ssh said: {last})" if last else ""
    if greeted:
        return _lost(words, code, host, said)
    for sign in _SIGNS:
        if re.search(sign.words, words):
            meaning, advice = sign.meaning.format(host=host) + said, sign.advice.format(host=host)
            return Trouble("launch", sign.phase, meaning, (advice,), sign.passing)
    if code in (_NOT_FOUND, _NOT_EXECUTABLE):
        told = f"there is no such Python on {host}{said}"
        return Trouble("launch", "python", told, ("give the one that has opsdist: --python PATH",))
    told = f"{host} ended before its agent was there (exit {code}){said}"
    return Trouble("launch", "start", told, (f"`ssh {host} true` by hand",))


def _lost(words: str, code: int | None, host: str, said: str) -> Trouble:
    if code == _SSH_FAILED and re.search(_BROKEN, words):
        advice = f"the network to {host}, and its uptime"
        return Trouble("unreachable", "", f"the connection to {host} broke{said}", (advice,))
    advice = f"`dmesg | grep -i oom` on {host}, and who else may end processes there"
    return Trouble("agent", "", f"the agent on {host} ended without a word (ssh: exit {code}){said}", (advice,))
