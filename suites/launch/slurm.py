"""Agents of the nodes of a Slurm allocation, by srun: which nodes there are, the command line, and what failures mean.

One srun a node, so that each agent has streams of its own; Slurm ends it with the job. May import: hosts, ssh's far
side, link, trouble.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from suites.errors import UsageError
from suites.launch.link import AgentCommand
from suites.launch.lists.hosts import HostEntry, parse_hosts, task_counts
from suites.launch.ssh import Far
from suites.launch.trouble import Sign, Trouble, gone, not_there

_FIRST_SPECIAL_STEP = 0xFFFFFFF0
OPTIONS = (
    "--nodes=1",
    "--ntasks=1",
    "--overlap",
    "--kill-on-bad-exit=1",
    "--unbuffered",
    "--cpu-bind=none",
    "--mpi=none",
    "--export=ALL",
    "--quiet",
)
"""Overlap: the job's own resources are shared with whatever else runs in it. Cores are chosen by opsdist."""


def allocated(environ: Mapping[str, str]) -> bool:
    """Whether this process runs in an allocation, and is not a task of a step itself. (A batch script and an
    interactive shell are steps in name only, with numbers of their own: slurm.h, SLURM_BATCH_SCRIPT and others.)"""
    step = environ.get("SLURM_STEP_ID", "")
    task = step.isdecimal() and int(step) < _FIRST_SPECIAL_STEP
    return bool(environ.get("SLURM_JOB_ID") and environ.get("SLURM_JOB_NODELIST")) and not task


def entries(environ: Mapping[str, str]) -> tuple[HostEntry, ...]:
    """The nodes of the allocation, with the tasks that were asked for on each. Raises UsageError."""
    if not allocated(environ):
        raise UsageError("--launcher slurm: not in an allocation; begin with salloc or sbatch, or name --hosts")
    nodes = parse_hosts(environ["SLURM_JOB_NODELIST"], "SLURM_JOB_NODELIST")
    tasks = environ.get("SLURM_TASKS_PER_NODE", "")
    if not tasks or not environ.get("SLURM_NTASKS"):
        return nodes  # nobody asked for a number of tasks
    counts = task_counts(tasks, "SLURM_TASKS_PER_NODE")
    if len(counts) != len(nodes):
        raise UsageError(f"SLURM_TASKS_PER_NODE={tasks} is not about the {len(nodes)} nodes of SLURM_JOB_NODELIST")
    return tuple(HostEntry(node.name, count) for node, count in zip(nodes, counts, strict=True))


def command(node: str, name: str, far: Far, environ: Mapping[str, str]) -> AgentCommand:
    """How the agent of a node is started. `environ` is that of srun itself."""
    first = {"type": "environment", "variables": dict(far.variables)}
    return AgentCommand(name, argv(node, far), environ, first, diagnose)


def argv(node: str, far: Far) -> tuple[str, ...]:
    agent: tuple[str, ...] = (far.python, "-P", "-m", "suites.launch.far")
    if far.prologue:
        agent = ("bash", "-c", f"{far.prologue} && exec {shlex.join(agent)}")
    return ("srun", *OPTIONS, f"--nodelist={node}", "--", *agent)


_SIGNS: tuple[Sign, ...] = (
    Sign(
        r"Invalid node name|Requested node configuration is not available|not in this job", "allocation",
        "{host} is not a node of this job", "`scontrol show job $SLURM_JOB_ID`: NodeList",
    ),
    Sign(
        r"Job/step already completing|Invalid job id|Job step aborted", "allocation",
        "the job ended before the agent on {host} was there", "its time limit: `sacct -j $SLURM_JOB_ID`",
    ),
    Sign(
        r"Unable to contact slurm controller|Communication connection failure|Socket timed out", "connection",
        "Slurm did not start the agent on {host}", "`sinfo -n {host}`: the node's state and reason", passing=True,
    ),
    Sign(
        r"execve\(\): .*No such file", "python", "there is no such Python on {host}",
        "give the one that has opsdist: --python PATH",
    ),
)  # fmt: skip
_BROKEN = r"NODE FAIL|Node failure|Communication connection failure"
_ENDED = r"CANCELLED|been revoked|TIME LIMIT|PREEMPTION"


def diagnose(words: str, code: int | None, host: str, *, greeted: bool) -> Trouble:
    """What an end of srun without a word of the agent means, by what was printed and its exit code."""
    if ended := re.search(rf".*({_ENDED}).*", words):
        advice = "`sacct -j $SLURM_JOB_ID`: who or what ended the job"
        return Trouble("outside", "", f"Slurm has ended the job ({ended[0].strip()})", (advice,))
    if greeted:
        return gone(words, code, host, broken=re.search(_BROKEN, words) is not None)
    return not_there(_SIGNS, words, code, host, try_by_hand=f"srun --overlap -N1 -w {host} true")
