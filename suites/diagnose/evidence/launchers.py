"""Texts of what starts ranks: ssh, Open MPI and PRRTE, Hydra, DeepSpeed, torchrun.

The texts are those of OpenSSH, Open MPI/PRRTE, MPICH's and Intel's Hydra, DeepSpeed, and PyTorch's elastic agent; those
of Slurm, and of Ray and containers, have files of their own.
May import: facts, known, launchers_cloud, launchers_slurm.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.evidence.launchers_cloud import CLOUD
from suites.diagnose.evidence.launchers_slurm import SLURM
from suites.diagnose.facts import RESTARTED, Level

_HOST = r"(?P<host>[\w.:-]{1,255}?)"
_OWN, _NO_HOST = Level.INITIATING, Level.TRANSPORT
"""Where a line names no host, another one of the same failure may: that one is to win."""

_MAX_STARTUPS = "MaxStartups and the log of sshd there: so many connections at once may be refused"

_SSH = (
    Known(
        "ssh.name", "Could not resolve hostname", rf"Could not resolve hostname {_HOST}: ",
        _OWN, "ssh finds no address for {host}", "launch", "host", ("getent hosts {host}",),
    ),
    Known(
        "ssh.connect", "ssh: connect to host", rf"ssh: connect to host {_HOST} port \d+: (?P<why>[\w ]{{1,60}})",
        _OWN, "ssh does not reach {host}: {why}", "launch", "host", ("ssh -v {host} true",),
    ),
    Known(
        "ssh.denied", "Permission denied (",
        rf"(?<![\w.:@-])(?:[\w.-]{{1,64}}@)?{_HOST}: Permission denied \((?!\d)",
        _OWN, "ssh is not let in at {host}", "launch", "host", ("ssh-copy-id {host}",),
    ),
    Known(
        "ssh.cut", "onnection ", rf"^Connection (?:closed|reset) by (?:authenticating user \S{{1,64}} )?{_HOST} port ",
        _OWN, "{host} cut off ssh before anything was run there", "launch", "host",
        ("ssh -v {host} true", _MAX_STARTUPS),
    ),
    Known(
        "ssh.lost", "not responding", rf"^Timeout, server {_HOST} not responding",
        Level.TRANSPORT, "{host} did not answer ssh any more", "transport", "host",
        ("whether {host} is up: `ssh {host} uptime`",),
    ),
    Known(
        "ssh.lost", "closed by remote host", rf"^Connection to {_HOST} closed by remote host",
        Level.TRANSPORT, "{host} has ended ssh while something ran there", "transport", "host",
        ("whether {host} was restarted, or its sshd: `ssh {host} uptime`",),
    ),
    Known(
        "ssh.kex", "kex_exchange_identification", r"(?:kex|ssh|banner)\w{0,30}_identification: ",
        _NO_HOST, "a host cut off ssh before anything was run there", "launch",
        remedy=(_MAX_STARTUPS,),
    ),
    Known(
        "ssh.many_keys", "Too many authentication failures",
        rf"(?:disconnect from|Disconnected from) {_HOST} port \d.{{0,40}}Too many authentication failures",
        _OWN, "ssh is not let in at {host}: it offered too many keys", "launch", "host",
        ("ssh -o IdentitiesOnly=yes -v {host} true",),
    ),
    Known(
        "ssh.no_key_known", "host key is known for", rf"host key is known for {_HOST} and you have requested",
        _OWN, "ssh does not know the key of {host}", "launch", "host", ("ssh-keyscan {host} >> ~/.ssh/known_hosts",),
    ),
    Known(
        "ssh.key_changed", "Host key for ", rf"Host key for {_HOST} has changed",
        _OWN, "the key of {host} is not the one ssh knows", "launch", "host",
        ("if {host} was installed anew: ssh-keygen -R {host}",),
    ),
    Known(
        "ssh.host_key", "Host key verification failed", r"Host key verification failed",
        _NO_HOST, "ssh does not know the key of a host", "launch",
    ),
    Known(
        "ssh.host_key_changed", "REMOTE HOST IDENTIFICATION HAS CHANGED", r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        _NO_HOST, "the key of a host is not the one ssh knows", "launch",
    ),
    Known(
        "ssh.permissions", "Bad owner or permissions on", r"Bad owner or permissions on (?P<path>\S{1,200})",
        _OWN, "ssh refuses {path}: others may write to it", "launch", remedy=("chmod 600 {path}",),
    ),
    Known("pdsh.no_program", "exited with exit code 12", rf"(?:pdsh@[\w.-]+|clush): {_HOST}: (?:ssh )?"
          r"exited with exit code (?P<code>126|127)\b", _OWN,
          "what was to be started on {host} is not there, or may not be run there (exit {code})", "launch", "host",
          ("`ls -l` of the program on {host}: same path, executable; its PATH over ssh is not that of a login",)),
    Known("pdsh.ssh", "ssh exited with exit code", rf"pdsh@[\w.-]+: {_HOST}: ssh exited with exit code \d+",
          Level.CASCADE, "what pdsh ran on {host} has ended"),
    Known("pdsh.connect", "connect failed: ", rf"pdsh@[\w.-]+: {_HOST}: \w{{1,10}}: connect failed: (?P<why>.{{1,60}})",
          _OWN, "pdsh does not reach {host}: {why}", "launch", "host"),
)  # fmt: skip

_STARTERS = r"(?:mpirun|mpiexec|orterun|prterun|prun)"
_SLOTS = "more ranks were asked for than the hosts have slots"
_PROXY = r"\[proxy[:\d]{1,20}@(?P<host>[\w.-]+)\]"
_MPI = (
    Known("mpirun.slots", "There are not enough slots", r"There are not enough slots", _OWN,
          _SLOTS, "launch", remedy=("mpirun --display allocation true",)),
    Known("mpirun.filled", "already filled", r"[Aa]ll nodes which are allocated for this job are already filled", _OWN,
          _SLOTS, "launch", remedy=("mpirun --display allocation true",)),
    Known("mpirun.executable", "was unable to ", rf"{_STARTERS} was unable to (?:find|launch) the specified", _OWN,
          "the program is not on a host, or may not be run there", "launch",
          remedy=("`ls -l` of the program on every host: same path, executable",)),
    Known("mpirun.hostfile", "unable to open the hostfile", r"unable to open the hostfile", _OWN,
          "the hostfile cannot be read", "launch"),
    Known("mpirun.hostfile", "at least one node not", r"hostfile was provided that contains at least one node not",
          _OWN, "the hostfile names a host that is not of the allocation", "launch"),
    Known("mpirun.nothing_allocated", "There are no allocated resources", r"There are no allocated resources", _OWN,
          "the hosts asked for are none of those allocated", "launch"),
    Known("mpirun.root", "an attempt to run as root", r"detected an attempt to run as root", _OWN,
          "mpirun does not run as root unless it is told to", "launch", remedy=("mpirun --allow-run-as-root",)),
    Known("mpirun.daemons", "unable to reliably start", r"unable to reliably start one or more daemons",
          Level.CASCADE, "mpirun could not start its daemon on a host"),
    Known("mpirun.daemon_failed", "daemon has unexpectedly failed", r"daemon has unexpectedly failed after launch",
          Level.TRANSPORT, "a daemon of mpirun did not report back", "launch",
          remedy=("its host must find and reach the one where mpirun runs: names, firewall, --mca oob_tcp_if_include",
                  "mpirun --debug-daemons --mca plm_base_verbose 10: which one")),
    Known("mpirun.no_daemon", "orted: ", r"\b(?:orted|prted): (?:command )?not found", _OWN,
          "a host does not find Open MPI: its PATH over ssh is not that of a login", "launch",
          remedy=("mpirun --prefix DIRECTORY, or the same PATH in ~/.bashrc of all hosts",)),
    Known("mpirun.no_daemon", "prted: ", r"\bprted: (?:command )?not found", _OWN,
          "a host does not find Open MPI: its PATH over ssh is not that of a login", "launch",
          remedy=("mpirun --prefix DIRECTORY, or the same PATH in ~/.bashrc of all hosts",)),
    Known("mpirun.no_pmi", "PMI2_Init failed", r"PMI2_Init failed to in", _OWN,
          "srun started Open MPI without the PMI that it wants", "launch",
          remedy=("srun --mpi=list, then srun --mpi=pmix or --mpi=pmi2", "or start by mpirun inside the allocation")),
    Known("mpirun.daemon_lost", "Remote daemon: ", rf"Remote daemon: \S{{1,100}} on node {_HOST}\s*$", Level.TRANSPORT,
          "mpirun has lost its daemon on {host}", "transport", "host", ("whether {host} is up: `ssh {host} uptime`",)),
    Known("mpirun.singletons", "OMPI was not built with SLURM", r"OMPI was not built with SLURM", _OWN,
          "srun started Open MPI without PMI: each rank would be a world of its own", "launch",
          remedy=("srun --mpi=list, then srun --mpi=pmix", "or start by mpirun inside the allocation")),
    Known("mpirun.normally", "Primary job", r"Primary job {1,3}terminated normally, but", Level.TEARDOWN,
          "mpirun ends the others after one has failed"),
    Known("hydra.proxy", "unable to connect from", rf'unable to connect from "{_HOST}" to "(?P<peer_host>[\w.:-]+)" \('
          r"(?P<why>[\w ]{1,60})\)", _OWN, "{host} does not reach {peer_host}, where mpiexec runs: {why}", "launch",
          "host", ("`getent hosts {peer_host}` and firewall rules on {host}",)),
    Known("hydra.server", "unable to connect to server", rf"{_PROXY}.{{0,200}}unable to connect to server "
          r"(?P<peer_host>[\w.:-]+)", _OWN, "{host} does not reach {peer_host}, where mpiexec runs", "launch",
          "host", ("`getent hosts {peer_host}` and firewall rules on {host}",)),
    Known("hydra.name", "unable to get host address for ", rf"unable to get host address for {_HOST} \(", _OWN,
          "mpiexec finds no address for {host}", "launch", "host", ("getent hosts {host}",)),
    Known("hydra.start", "unable to run ", rf"unable to run (?:bstrap_)?proxy on {_HOST} \(", _OWN,
          "mpiexec could not start its proxy on {host}", "launch", "host", ("ssh {host} true",)),
    Known("hydra.executable", "execvp error on file", rf"(?:{_PROXY}.{{0,200}})?execvp error on "
          r"file (?P<file>\S{1,200}) \((?P<why>[\w ]{1,60})\)", _OWN, "{file} cannot be run: {why}", "launch", "host"),
    Known("hydra.badly", "terminated badly", r"one of the processes terminated badly", Level.TEARDOWN,
          "mpiexec ends the others after one has failed"),
)  # fmt: skip

_OTHERS = (
    Known("deepspeed.pdsh_port", "PDSH_SSH_ARGS_APPEND", r"KeyError: 'PDSH_SSH_ARGS_APPEND'", _OWN,
          "DeepSpeed's launcher fails on an ssh port where PDSH_SSH_ARGS_APPEND is not set", "launch",
          remedy=("export PDSH_SSH_ARGS_APPEND=",)),
    Known("deepspeed.hostfile", "Hostfile ", r"Hostfile (?:is not formatted correctly|contains (?:duplicate|a bad))",
          _OWN, "the hostfile cannot be read as one", "launch", remedy=("lines of the form `node01 slots=8`",)),
    Known("deepspeed.failed", "exits with return code = ", r"exits with return code = -(?P<number>4|7|8|9|11)\b", _OWN,
          "DeepSpeed's launcher tells that a process was ended by signal {number}, and not which", "crashed",
          remedy=("the local_rank in that line is of the process that was started last, whichever has failed",
                  "`dmesg | grep -i -e oom -e segfault` on that host")),
    # Python's subprocess, by which such launchers start a whole host
    Known("python.child", " died with <Signals.", r" died with <Signals\.(?P<name>SIG(?:KILL|SEGV|BUS|FPE|ILL)): \d",
          Level.TRANSPORT, "a launcher tells that what it had started was ended by {name}, and not which rank",
          "crashed", remedy=("`dmesg | grep -i -e oom -e segfault` on that host",)),
    Known("parallel.failed", "parallel: This job failed", r"^parallel: This job failed", Level.CASCADE,
          "GNU parallel tells that a job failed, in the next line which",
          remedy=("--joblog FILE keeps the exit code of each, --tag tells whose line is whose",)),
    Known("deepspeed.killing", "Killing subprocess", r"Killing subprocess (?P<pid>\d{1,9})", Level.TEARDOWN,
          "DeepSpeed's launcher ends the others"),
    Known(RESTARTED, "; will restart worker group", r"; will restart worker group", Level.TEARDOWN,
          "torchrun ends its ranks, and starts them again"),
    Known("torchrun.closing", "closing signal", r"Sending process (?P<pid>\d{1,9}) closing signal", Level.TEARDOWN,
          "torchrun ends the others"),
    Known("torchrun.told", "death signal", r"Received (?:Signals\.SIG[A-Z]{2,6}|\d{1,2}) death signal",
          Level.TEARDOWN, "torchrun was told to end, and ends its ranks"),
)  # fmt: skip

ROWS = (*_SSH, *_MPI, *SLURM, *CLOUD, *_OTHERS)
