"""Texts of what starts ranks: ssh, Slurm, Open MPI, DeepSpeed, torchrun, containers.

The texts are those of OpenSSH, Slurm, Open MPI/PRRTE, DeepSpeed, PyTorch's elastic agent, and Kubernetes.
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known, KnownTexts
from suites.diagnose.facts import Level

_HOST = r"(?P<host>[\w.:-]{1,255}?)"

_SSH = (
    Known(
        "ssh.name", "Could not resolve hostname", rf"Could not resolve hostname {_HOST}: ",
        Level.INITIATING, "ssh finds no address for {host}", "launch", "host", ("getent hosts {host}",),
    ),
    Known(
        "ssh.connect", "ssh: connect to host", rf"ssh: connect to host {_HOST} port \d+: (?P<why>[\w ]{{1,60}})",
        Level.INITIATING, "ssh does not reach {host}: {why}", "launch", "host", ("ssh -v {host} true",),
    ),
    Known(
        "ssh.denied", "Permission denied (", rf"(?<![\w.:@-])(?:[\w.-]{{1,64}}@)?{_HOST}: Permission denied \(",
        Level.INITIATING, "ssh is not let in at {host}", "launch", "host", ("ssh-copy-id {host}",),
    ),
    Known(
        "ssh.host_key", "Host key verification failed", r"Host key verification failed",
        Level.INITIATING, "ssh does not know the key of a host", "launch",
    ),
    Known(
        "ssh.host_key_changed", "REMOTE HOST IDENTIFICATION HAS CHANGED", r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        Level.INITIATING, "the key of a host is not the one ssh knows", "launch",
    ),
    Known("pdsh.ssh", "ssh exited with exit code", rf"pdsh@[\w.-]+: {_HOST}: ssh exited with exit code \d+",
          Level.CASCADE, "what pdsh ran on {host} has ended"),
)  # fmt: skip
_LAUNCHERS = (
    Known("deepspeed.pdsh_port", "PDSH_SSH_ARGS_APPEND", r"KeyError: 'PDSH_SSH_ARGS_APPEND'", Level.INITIATING,
          "DeepSpeed's launcher fails on an ssh port where PDSH_SSH_ARGS_APPEND is not set", "launch",
          remedy=("export PDSH_SSH_ARGS_APPEND=",)),
    Known("mpirun.slots", "There are not enough slots", r"There are not enough slots", Level.INITIATING,
          "more ranks were asked for than the hosts have slots", "launch",
          remedy=("mpirun --display allocation true",)),
    Known("mpirun.daemons", "unable to reliably start", r"unable to reliably start one or more daemons",
          Level.CASCADE, "mpirun could not start its daemon on a host"),
    Known("srun.time_limit", "DUE TO TIME LIMIT", r"ON (?P<host>[\w.-]+) CANCELLED AT .{0,40} DUE TO TIME LIMIT",
          Level.TEARDOWN, "Slurm ended the job at its time limit"),
    Known("srun.oom", "oom_kill event", r"(?:error: (?P<host>[\w.-]+): .{0,60})?Detected \d+ oom.kill event",
          Level.INITIATING, "the kernel killed a process for want of memory", "resource"),
    Known("kubernetes.oom", "OOMKilled", r"\bOOMKilled\b", Level.INITIATING,
          "a container was killed for want of memory", "resource"),
    Known("srun.terminating", "srun: Terminating", r"srun: Terminating", Level.TEARDOWN, "srun ends the others"),
    Known("torchrun.closing", "closing signal", r"Sending process (?P<pid>\d{1,9}) closing signal", Level.TEARDOWN,
          "torchrun ends the others"),
    Known("deepspeed.killing", "Killing subprocess", r"Killing subprocess (?P<pid>\d{1,9})", Level.TEARDOWN,
          "DeepSpeed's launcher ends the others"),
)  # fmt: skip


def reader() -> KnownTexts:
    """Of all of them."""
    return KnownTexts((*_SSH, *_LAUNCHERS))
