"""Texts of batch systems that tell why a job did not start, or was ended: Slurm's srun, sbatch, salloc and slurmstepd,
PBS's MOM, Grid Engine, LSF and its job step manager.

May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_HOST = r"(?P<host>[\w.-]{1,255})"
_STEP = r"(?:STEP|JOB) \S{1,60} ON [\w.-]{1,255} CANCELLED AT .{0,40}"
_MEMORY = "a rank wanted more memory than its job may have"
_MORE_MEMORY = ("--mem or --mem-per-cpu",)

SLURM = (
    Known("slurm.allocation", "llocate",
          r"(?:Unable to allocate resources|Job submit/allocate failed): (?P<why>.{1,120})",
          Level.INITIATING, "Slurm gives no nodes: {why}", "launch", remedy=("`sinfo` and `scontrol show partition`",)),
    Known("slurm.submit", "Batch job submission failed", r"Batch job submission failed: (?P<why>.{1,120})",
          Level.INITIATING, "Slurm does not take the job: {why}", "launch"),
    Known("slurm.step", "Unable to create step for job", r"Unable to create step for job \d+: (?P<why>.{1,120})",
          Level.INITIATING, "Slurm starts no step: {why}", "launch"),
    Known("slurm.mpi_type", "specified plugin name for mpi/",
          r"find the specified plugin name for mpi/(?P<kind>\w{1,30})", Level.INITIATING,
          "this Slurm has no MPI plugin {kind}", "launch", remedy=("srun --mpi=list",)),
    Known("slurm.mpi_type", "Invalid MPI type", r"Invalid MPI type '(?P<kind>\w{1,30})'", Level.INITIATING,
          "this Slurm has no MPI plugin {kind}", "launch", remedy=("srun --mpi=list",)),
    Known("slurm.executable", "execve(): ", r"slurmstepd: error: execve\(\): (?P<file>\S{1,200}): (?P<why>[\w ]{1,60})",
          Level.INITIATING, "{file} cannot be run: {why}", "launch",
          remedy=("`ls -l` of the program on every node: same path, executable",)),
    Known("slurm.task_launch", "Task launch for",
          rf"Task launch for .{{1,60}} failed on node {_HOST}: (?P<why>.{{1,100}})", Level.INITIATING,
          "Slurm could not start its tasks on {host}: {why}", "launch", "host",
          ("`systemctl status slurmd` on {host}",)),
    Known("slurm.silent", " not responding", rf"error: Nodes? {_HOST} not responding", Level.TRANSPORT,
          "{host} does not answer Slurm", "transport", "host", ("`scontrol show node {host}`, and whether it is up",)),
    Known("slurm.late", "timeout waiting for task launch", r"waiting for task launch, started (?P<came>\d{1,9}) of "
          r"(?P<size>\d{1,9}) tasks", Level.TRANSPORT, "Slurm started {came} of {size} tasks in time", "launch",
          remedy=("`sinfo -N` and slurmd's logs: which node has not started its tasks",)),
    Known("slurm.launch", "Application launch failed", r"Application launch failed: (?P<why>.{1,100})", Level.TRANSPORT,
          "Slurm could not start the program: {why}", "launch"),
    Known("slurm.node_failed", "Node failure on", rf"Node failure on {_HOST}", Level.INITIATING, "{host} has failed",
          "device", "host", ("`scontrol show node {host}`, and the log of the host",)),
    Known("slurm.node_failed", "DUE TO NODE FAILURE", rf"{_STEP} DUE TO NODE FAILURE", Level.TRANSPORT,
          "a node of the job has failed", "device", remedy=("`sacct -j JOB -o NodeList,State`, slurmctld's log",)),
    Known("srun.time_limit", "DUE TO TIME LIMIT", rf"{_STEP} DUE TO TIME LIMIT", Level.TEARDOWN,
          "Slurm ended the job at its time limit"),
    Known("slurm.preempted", "DUE TO PREEMPTION", rf"{_STEP} DUE TO PREEMPTION", Level.TEARDOWN,
          "Slurm gave the nodes to another job"),
    Known("slurm.cancelled", " CANCELLED AT ", _STEP, Level.TEARDOWN, "the job was cancelled"),
    Known("srun.oom", "oom", r"error: (?P<host>[\w.-]+): .{0,60}Detected \d+ oom.kill event",
          Level.INITIATING, "the kernel killed a process for want of memory", "resource", "host"),
    Known("srun.oom", "oom", r"Detected \d+ oom.kill event", Level.TRANSPORT,
          "the kernel killed a process for want of memory", "resource"),
    Known("srun.oom_task", "Out Of Memory", r"error: (?P<host>[\w.-]+): tasks? \d[\d,-]{0,2000}: Out Of Memory",
          Level.INITIATING, "the kernel killed a process for want of memory", "resource", "host",
          ("--mem or --mem-per-cpu; fewer ranks or data loaders a node",)),
    Known("slurm.memory", "xceeded ", r"[Ee]xceeded (?:(?:job|step) )?memory limit(?: \(|, being killed|\s*$)",
          Level.INITIATING, _MEMORY, "resource", remedy=_MORE_MEMORY),
    # A counter of the kernel, which pages of files raise as well.
    Known("slurm.memory", "xceeded ", r"[Ee]xceeded (?:job|step) memory limit", Level.TRANSPORT, _MEMORY, "resource",
          remedy=_MORE_MEMORY),
    Known("slurm.pmix", "Cannot establish direct connection",
          rf"mpi/pmix\w*: \w{{1,60}}: {_HOST} \[\d+\]: .{{0,80}}Cannot establish direct connection to "
          r"(?P<peer_host>[\w.-]{1,255})", Level.INITIATING, "slurmstepd on {host} does not reach that on {peer_host}",
          "launch", "link", ("firewall rules and `getent hosts {peer_host}` on {host}; PMIxDirectConn in mpi.conf",)),
    Known("pbs.limit", "PBS: job killed", r"PBS: job killed: (?:v?mem|pmem|pvmem|ncpus) .{0,60}exceeded limit",
          Level.INITIATING, "PBS ended the job, which had come to a limit", "resource",
          remedy=("`qstat -xf JOB`: what was asked for and what was used",)),
    Known("pbs.time", "PBS: job killed", r"PBS: job killed: walltime ", Level.TEARDOWN,
          "PBS ended the job at its time limit"),
    Known("sge.server", "send message to qmaster", r"unable to send message to qmaster .{0,60}on host "
          r'"(?P<host>[\w.-]{1,255})"', Level.INITIATING, "Grid Engine on {host} does not answer", "launch", "host",
          ("`qstat -s r` there, and whether sge_qmaster runs on {host}",)),
    Known("condor.memory", "gone over memory limit", r"(?:Error from \S{1,60}@(?P<host>[\w.-]{1,255}): )?Job has gone "
          r"over memory limit of", Level.INITIATING, "HTCondor ended the job: it wanted more memory than it may",
          "resource", "host", ("request_memory",)),
    Known("lsf.limit", "TERM_", r"^\s{0,4}TERM_(?:MEM|SWAP|PROCESS|THREAD)LIMIT: (?P<why>.{1,100})", Level.INITIATING,
          "LSF ended the job: {why}", "resource", remedy=("`bjobs -l JOB`: what was asked for and what was used",)),
    Known("lsf.ended", "TERM_", r"^\s{0,4}TERM_(?:RUNLIMIT|CPULIMIT|OWNER|ADMIN|PREEMPT\w{0,10}|DEADLINE): ",
          Level.TEARDOWN, "LSF ended the job, at a limit of time or by order"),
    Known("lsf.starter", "lsb_pjob_connect_to_res", rf"lsb_pjob_connect_to_res\({_HOST}\) failed", Level.INITIATING,
          "LSF does not start anything on {host}: its daemon there does not answer", "launch", "host",
          ("`badmin showstatus`, `blaunch -z {host} hostname` inside the job",)),
    Known("lsf.starter", "(lsb_launch) failed", r"\(lsb_launch\) failed to start the daemons", Level.TRANSPORT,
          "LSF could not start the daemons of mpirun", "launch",
          remedy=("`blaunch hostname` inside the job; mpirun --mca plm rsh does without LSF",)),
    Known("lsf.step_manager", "JSM server is not responding", rf"JSM server is not responding on host {_HOST}",
          Level.TRANSPORT, "the job step manager on {host} does not answer", "transport", "host",
          ("whether {host} is up: `ssh {host} uptime`",)),
    Known("srun.terminating", "srun: Terminating", r"srun: Terminating", Level.TEARDOWN, "srun ends the others"),
    Known("srun.aborted", "Job step aborted", r"srun: Job step aborted", Level.TEARDOWN, "srun ends the others"),
)  # fmt: skip
