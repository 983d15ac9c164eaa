"""What somebody who sees all ranks reports: JAX's coordination service, torch's store and its analysis of dumps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.suites.diagnose.cases.case import Case
from tests.suites.diagnose.cases.framework_inputs import raised, waiting


def tasks(numbers: Iterable[int]) -> str:
    return "".join(f"/job:jax_worker/replica:0/task:{number}\n" for number in numbers)


def barrier(name: str, came: str, first: int, absent: Iterable[int]) -> str:
    """A barrier of JAX that timed out."""
    return (
        f"jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: {name}. This usually happens because a "
        "task triggered the barrier too early or too slowly. Please look at the task logs (both timed out and first "
        f"task) to debug further.\n# of tasks that reached the barrier: {came}.\nThe first task at the barrier: "
        f"/job:jax_worker/replica:0/task:{first}. Some timed out task names:\n{tasks(absent)}"
    )


def at_store(rank: int, size: int, came: int, key: int = 1, begins: str = "Waiting in") -> str:
    """A rank that waits at the start of a process group, in the words until 2.0."""
    to = "to initialize process group for rank:" if begins == "Waiting in" else "on rank:"
    of = "key" if begins == "Waiting in" else "for key"
    return (
        f"INFO:root:{begins} store based barrier {to} {rank}, {of}: store_based_barrier_key:{key} (world_size={size}, "
        f"worker_count={came}, timeout=0:20:00)\n"
    )


def report(headline: str, rows: Mapping[str, str]) -> str:
    """Of fr_trace, on one call of four ranks."""
    known = {"internal record id": "7", "group info": "0:default_pg", "collective": "nccl:all_reduce", **rows,
             "input sizes": "[[96]]", "output sizes": "[[96]]", "world size": "4", "expected ranks": "{0, 1, 2, 3}",
             "collective state": "scheduled"}  # fmt: skip
    return f"{headline}\n" + "".join(f"{key}: {value}\n" for key, value in known.items()) + "collective stack trace: \n"


_CULPRIT = (
    "Culprit rank {}; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: 'all_reduce' does not match "
    "found collective type: 'broadcast'"
)

CASES = (
    Case("JAX: tasks that did not come", {"job.log": barrier("saved::0", "6/8", 3, (5, 1))}, "missing",
         ("rank 1", "rank 5"), ("barrier", None)),
    Case("JAX: tasks that did not come, in the words before", {"job.log": raised(
        "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: sync_3. Timed out "
        f"task names:\n{tasks((2, 0))}")}, "missing", ("rank 0", "rank 2"), ("barrier", None)),
    Case("JAX: a task that is silent", {"job.log": "E0314 10:03:11.004 1 agent.cc:725] Polled an error from "
         "coordination service. UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
         f"{tasks((5,))}The tasks have crashed.\n"}, "crashed", ("rank 5",), None, "stopped sending heartbeats"),
    Case("JAX: a task that is silent, in the words before", {"job.log": "UNAVAILABLE: Task /job:jax_worker/replica:0/"
         "task:3 heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed "
         "unexpectedly.\n"}, "crashed", ("rank 3",), None, "heartbeat timeout"),
    Case("a start at which one is missing", {"job.log": "".join(
        at_store(rank, 8, 7) for rank in (0, 6, 2, 1, 7, 3, 5))}, "missing", ("rank 4",), ("barrier", None)),
    Case("a start in vain at which one is missing", {"job.log": "".join(
        at_store(rank, 3, 2, begins="RuntimeError: Timed out initializing process group in") for rank in (2, 0))},
         "missing", ("rank 1",), ("barrier", None)),
    Case("a start of which some say nothing", {"job.log": "".join(at_store(rank, 8, 6) for rank in (0, 6, 2))},
         "undecided"),
    Case("a start of another group than that of all", {"job.log": "".join(at_store(rank, 4, 2, 5) for rank in (0, 1))},
         "undecided"),
    Case("a start to which more came than there are", {"job.log": at_store(0, 4, 8) * 3}, "config", (), None,
         "worker_count=8"),
    Case("a start that was passed", {"job.log": "".join(at_store(rank, 4, 3) for rank in (0, 1, 2)) + "".join(
        f"INFO:root:Rank {rank}: Completed store-based barrier for key:store_based_barrier_key:1 with 4 nodes.\n"
        for rank in range(4)) + waiting((1, 2, 3))}, "missing", ("rank 0",), ("allreduce", 33)),
    Case("a start that was passed in silence", {"job.log": "".join(at_store(rank, 4, 3) for rank in (0, 1, 2))
         + "step 1 of many\n" + waiting((1, 2, 3))}, "missing", ("rank 0",), ("allreduce", 33)),
    Case("a start that was passed in silence, and all is well", {"job.log": "".join(
        at_store(rank, 4, 3) for rank in (0, 1, 2)) + "done\n"}, "undecided"),
    Case("a start that was passed in silence, and an exception", {"job.log": "".join(
        at_store(rank, 4, 3) for rank in (0, 1, 2)) + raised("ValueError: bad shard", "[rank1]: ")}, "crashed",
         ("rank 1",), None, "ValueError"),
    Case("fr_trace: a rank that did not join", {"job.log": report(
        "Not all ranks joining collective, sequence number: 41", {"missing ranks": "{2}"})}, "missing", ("rank 2",),
         ("allreduce", 41)),
    Case("fr_trace: a rank that did not join, in the words before", {"job.log": "Not all ranks joining collective 5 at "
         "entry 4\ngroup info: 0:default_pg\ncollective: nccl:broadcast\nmissing ranks: {1}\ninput sizes: [[3]]\n"
         "output sizes: [[3]]\nexpected ranks: 2\ncollective state: scheduled\n"}, "missing", ("rank 1",),
         ("broadcast", 5)),
    Case("fr_trace: one calls another thing", {"job.log": report("Collective sequence number: 41 has errors", {
        "error msg": _CULPRIT.format(3)})}, "mismatch", ("rank 3",),
         ("allreduce", 41), "has errors"),
    Case("fr_trace: all others call another thing than the first", {"job.log": report(
        "Collective sequence number: 41 has errors", {"error msg": ", ".join(
            _CULPRIT.format(rank) for rank in (1, 2, 3))})}, "mismatch",
         ("rank 0",), ("broadcast", 41)),
    Case("fr_trace: some have ended the call", {"job.log": report("Collective sequence number: 41 has errors", {
        "error msg": "Culprit rank 3; Error type: COLLECTIVE_STATE_MISMATCH, Expected state: 'scheduled' does not "
        "match found state: 'completed'"})}, "undecided"),
    Case("C35 a name that cannot be looked up", {"job.log": raised(
        "socket.gaierror: [Errno -3] Temporary failure in name resolution", "[rank3]: ")
        + "[rank3]: \n[rank3]: During handling of the above exception, another exception occurred:\n[rank3]: \n"
        + raised("urllib.error.URLError: <urlopen error>", "[rank3]: ") + waiting((0, 1, 2))},
         "crashed", ("rank 3",), ("allreduce", 33), "gaierror"),
    Case("C12 calls that differ in their number only", {"job.log": "[rank1]: RuntimeError: Detected mismatch between "
         "collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=1OpType=BARRIER), "
         "but Rank 2 is running collective: CollectiveFingerPrint(SequenceNumber=0OpType=BARRIER).\n"}, "mismatch", (),
         ("barrier", 0)),
    Case("C80 an exception of the device that only a watchdog tells", {"job.log": "terminate called after throwing an "
         "instance of 'c10::DistBackendError'\n  what():  [PG ID 0 PG GUID 0(default_pg) Rank 2] Process group "
         "watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered\n"},
         "crashed", ("rank 2",), None, "illegal memory access"),
    Case("C80 a GPU whose memory is full, in the words of its runtime", {"job.log": "[rank2]: RuntimeError: CUDA "
         "error: out of memory\n" + waiting((0, 1, 3))}, "resource", ("rank 2",), ("allreduce", 33), "out of memory"),
    Case("C80 a watchdog that broke down", {"job.log": "[E ProcessGroupNCCL.cpp:852] [Rank 1] NCCL watchdog thread "
         "terminated with exception: known == kEventStart INTERNAL ASSERT FAILED at \"TraceUtils.h\":237, please "
         "report a bug to PyTorch.\n"}, "crashed", ("rank 1",), None, "INTERNAL ASSERT"),
    Case("C53 a rank beyond the last", {"job.log": "n07:101:171 [0] init.cc:1677 NCCL WARN Invalid rank requested : "
         "2/2\n"}, "config", ("process of n07",), None, "Invalid rank requested"),
    Case("C104 the node of an actor of Ray is gone", {"job.log": "(TrainController pid=79) The actor died because its "
         "node has died. Node Id: b157c93d\n"}, "crashed", (), None, "its node has died"),
    Case("an exception of nobody, and one task is missed", {"job.log": raised("ValueError: bad shard")
         + barrier("saved::0", "3/4", 1, (3,))}, "crashed", ("rank 3",), ("barrier", None), "ValueError"),
    Case("an exception of nobody, and two tasks are missed", {"job.log": raised("ValueError: bad shard")
         + barrier("saved::0", "2/4", 1, (2, 3))}, "missing", ("rank 2", "rank 3"), ("barrier", None)),
    Case("an exception of nobody after one was missed", {"job.log": barrier("saved::0", "3/4", 1, (3,))
         + raised("ValueError: bad shard")}, "missing", ("rank 3",), ("barrier", None)),
    Case("an exception of nobody, and a rank is missed", {"job.log": raised("ValueError: bad shard") + report(
        "Not all ranks joining collective, sequence number: 41", {"missing ranks": "{2}"})}, "crashed", ("rank 2",),
         ("allreduce", 41), "ValueError"),
)  # fmt: skip
