"""A lab's hosts as ssh sees them: each one's server and keys, what it does to a command, what a client knows of it."""

from __future__ import annotations

import functools
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab.network import PATIENCE, LabError, Node, find, processes_in, system
from tests.leftovers import until

_PORT = 22
_PRIVILEGE_FOLDER = Path("/run/sshd")
_LISTENING = "0A"


def make_key(path: Path) -> None:
    """A key pair, at `path` and `path`.pub, in place of one that is there."""
    path.unlink(missing_ok=True)
    system("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path))


@functools.cache
def penalises() -> bool:
    """Whether this sshd shuts out those who failed several times, as it has done since 9.8."""
    done = subprocess.run(["ssh", "-V"], check=False, capture_output=True, text=True, timeout=PATIENCE)
    version = re.search(r"OpenSSH_(\d+)\.(\d+)", done.stderr)
    return version is not None and (int(version[1]), int(version[2])) >= (9, 8)


def write_client_config(folder: Path, hosts: Sequence[LabHost]) -> Path:
    """What ssh is to be told with -F: each host by its name, and as NAME-v6 by its other address."""
    lines = []
    for host in hosts:
        lines += [f"Host {host.name}", f"    HostName {host.address}"]
        lines += [f"Host {host.name}-v6", f"    HostName {host.address6}"]
    lines += [
        "Host *",
        "    User root",
        f'    IdentityFile "{folder / "user_key"}"',
        "    IdentitiesOnly yes",
        "    IdentityAgent none",
        "    StrictHostKeyChecking yes",
        f'    UserKnownHostsFile "{folder / "known_hosts"}"',
        "    GlobalKnownHostsFile none",
        "    UpdateHostKeys no",
    ]
    path = folder / "ssh_config"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@dataclass
class LabHost(Node):
    """A host of the lab. `environment` is what every process started over ssh inherits."""

    folder: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)
    _settings: tuple[str, ...] = ()
    _listener: subprocess.Popen[Any] | None = None
    _shell: str | None = None
    _noise: str = ""
    _banner: str = ""
    _hangs: bool = False

    @property
    def home(self) -> Path:
        """The $HOME of what is started over ssh, an empty folder, so that root's own .bashrc has no part in it. The
        folder in which commands start is root's nevertheless."""
        return self._file("home")

    def processes(self) -> dict[int, str]:
        """Pids of the processes in this host's network namespace, with their command lines; all but the server that
        listens. A session of ssh counts, also for the moment in which it ends."""
        listener = self._listener.pid if self._listener else None
        return {pid: command for pid, command in processes_in([self.netns]).items() if pid != listener}

    # What the server does.

    def start_sshd(self, *settings: str) -> None:
        """Start the server, and wait until it listens. Settings are lines for sshd_config; they come first, and so are
        what counts. They stay until it is started by hand again."""
        self._settings = settings
        self.launch_sshd()
        self.await_sshd()

    def stop_sshd(self) -> None:
        """Nobody listens any more; sessions go on."""
        if self._listener:
            self._listener.kill()
            self._listener.wait(PATIENCE)
            self._listener = None

    def launch_sshd(self) -> None:
        if self._listener:
            raise LabError(f"the sshd of {self.name} is running already")
        _PRIVILEGE_FOLDER.mkdir(mode=0o755, exist_ok=True)
        self.home.mkdir(exist_ok=True)
        shutil.rmtree(self._file("etc"), ignore_errors=True)
        if not self._file("host_key").exists():
            make_key(self._file("host_key"))
        self._file("sshd_config").write_text("".join(f"{line}\n" for line in self._configuration()))
        self._file("command").write_text(self._wrapper())
        command = [find("sshd") or "sshd", "-D", "-e", "-f", str(self._file("sshd_config"))]
        # A clean environment: it is the server's, and no part of a run that is looked for by its environment.
        options = {"stdin": subprocess.DEVNULL, "env": {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}}
        with self._file("log").open("ab") as log:
            self._listener = self.popen(command, stdout=log, stderr=log, start_new_session=True, **options)

    def await_sshd(self) -> None:
        until(lambda: self._listens() or not self._alive(), PATIENCE, f"the start of the sshd of {self.name}")
        if not self._alive():
            self._listener = None
            raise LabError(f"the sshd of {self.name} ended: {self._file('log').read_text()}")

    def _alive(self) -> bool:
        return self._listener is not None and self._listener.poll() is None

    def _listens(self) -> bool:
        """Read from the table of the server's namespace: a connection made to find out would be a session for a
        moment. The table is the machine's own until the process has entered."""
        pid = self._listener.pid if self._listener else 0
        if pid not in processes_in([self.netns]):
            return False
        return all(_port_listens(Path(f"/proc/{pid}/net/{table}")) for table in ("tcp", "tcp6"))

    def _restart_sshd(self) -> None:
        self.stop_sshd()
        self.launch_sshd()
        self.await_sshd()

    def _configuration(self) -> list[str]:
        lines = [
            *self._settings,
            f"Port {_PORT}",
            "PidFile none",
            f'HostKey "{self._file("host_key")}"',
            f'AuthorizedKeysFile "{self._file("authorized_keys")}"',
            "AuthenticationMethods publickey",
            "PermitRootLogin prohibit-password",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "StrictModes no",
            "UsePAM no",
            "UseDNS no",
            "AcceptEnv none",
            "PermitUserRC no",
            "PrintMotd no",
            "PrintLastLog no",
            "MaxStartups 1000",
            "MaxSessions 1000",
        ]
        if penalises():
            lines.append("PerSourcePenalties no")
        environment = {"HOME": str(self.home), **self.environment}
        lines.append("SetEnv " + " ".join(_quoted(f"{name}={value}") for name, value in environment.items()))
        if self._banner:
            self._file("banner").write_text(self._banner)
            lines.append(f'Banner "{self._file("banner")}"')
        if self._shell or self._noise or self._hangs:
            lines.append(f"ForceCommand exec /bin/sh {shlex.quote(str(self._file('command')))}")
        return lines

    # Keys, on both sides.

    def refuse_key(self) -> None:
        """Let nobody in: the client's key is not accepted any more."""
        self._file("authorized_keys").write_text("")

    def accept_key(self) -> None:
        self._file("authorized_keys").write_text((self.folder / "user_key.pub").read_text())

    def new_host_key(self) -> None:
        """Restart the server with another key; clients still know the one before."""
        make_key(self._file("host_key"))
        self._restart_sshd()

    def forget(self) -> None:
        """Take the host out of what the clients know."""
        known = self.folder / "known_hosts"
        lines = known.read_text().splitlines() if known.exists() else []
        kept = [line for line in lines if not line.startswith(f"{self.address},")]
        known.write_text("".join(f"{line}\n" for line in kept))

    def know(self) -> None:
        """Have the clients know the key that the host has now."""
        self.forget()
        with (self.folder / "known_hosts").open("a") as known:
            known.write(f"{self.address},{self.address6} {self._file('host_key.pub').read_text()}")

    # What becomes of a command.

    def remote_shell(self, program: str | None) -> None:
        """Hand commands to another shell than root's own (None: to that one again)."""
        self._shell = program
        self._restart_sshd()

    def noise(self, text: str) -> None:
        """Write some text to standard output before every command, as a talkative .bashrc does ("": none)."""
        self._noise = text
        self._restart_sshd()

    def hang(self, hangs: bool = True) -> None:
        """Have commands never begin, as behind a .bashrc that waits for something."""
        self._hangs = hangs
        self._restart_sshd()

    def configure(self, name: str, text: str) -> None:
        """Give what is started over ssh an /etc of its own with this text as a file in it, until the server is started
        anew."""
        own = self._file("etc")
        if not own.exists():
            shutil.copytree("/etc", own, symlinks=True)
            assert self._listener
            mount = ["nsenter", f"--mount=/proc/{self._listener.pid}/ns/mnt", "mount", "--bind"]
            system(*mount, str(own), "/etc")
        (own / name).write_text(text)

    def banner(self, text: str) -> None:
        """Send a text before the login, which ssh writes to standard error ("": none)."""
        self._banner = text
        self._restart_sshd()

    def plain(self) -> None:
        """Do none of that any more, and have no settings either."""
        self._shell, self._noise, self._banner, self._hangs, self._settings = None, "", "", False, ()
        self._restart_sshd()

    def _wrapper(self) -> str:
        """A script that stands between sshd and the command."""
        lines = []
        if self._noise:
            self._file("noise").write_text(self._noise)
            lines.append(f"cat {shlex.quote(str(self._file('noise')))}")
        if self._hangs:
            lines.append("exec sleep 1000000")
        if self._shell:
            lines.append(f"export SHELL={shlex.quote(find(self._shell) or self._shell)}")
        lines.append('exec "$SHELL" ${SSH_ORIGINAL_COMMAND:+-c "$SSH_ORIGINAL_COMMAND"}')
        return "".join(f"{line}\n" for line in lines)

    def _file(self, name: str) -> Path:
        return self.folder / f"{self.name}.{name}"


def _port_listens(table: Path) -> bool:
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return False
    return any(row[1].endswith(f":{_PORT:04X}") and row[3] == _LISTENING for row in rows)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
