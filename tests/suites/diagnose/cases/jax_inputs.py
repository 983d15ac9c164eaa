"""Jobs of JAX: devices that wait for each other, tasks that are lost, and memory that is full."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case
from tests.suites.diagnose.cases.framework_inputs import raised
from tests.suites.diagnose.cases.report_inputs import tasks

_LEADER_GONE = (
    "F0131 01:11:24.5 88 client.h:77] Terminating process because the JAX distributed service detected fatal errors. "
    "absl::Status: UNAVAILABLE: Failed to send RPC to coordination service. Either the leader task was preempted/died/"
    "restarted unexpectedly or this task is experiencing network issues.\n"
)


def device_waits(call: str, came: bool = False, seconds: int = 20) -> str:
    """A thread of XLA in a rendezvous of the devices of its process."""
    then = (
        "All 4 threads joined the rendezvous, however the leader has not marked the rendezvous as completed."
        if came else "Expected 4 threads to join the rendezvous, but not all of them arrived on time."
    )  # fmt: skip
    return (
        f"E0131 01:11:22.5 88 rendezvous.cc:100] [id=2] This thread has been waiting for `{call}` for {seconds} "
        f"seconds and may be stuck. {then}\n"
    )


def failed(message: str) -> str:
    return raised(f"jaxlib.xla_extension.XlaRuntimeError: {message}")


CASES = (
    Case("JAX: devices that wait", {"job.log": device_waits("first call to collective operation 31; run_id=-5")},
         "undecided"),
    Case("JAX: memory is full where devices wait", {"job.log": device_waits("initialize clique for rank 1")
         + "E0131 01:11:23.5 88 client.cc:9] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Failed to allocate "
         "request for 3.00GiB (3221225472B) on device ordinal 3\n"}, "resource", (), None, "RESOURCE_EXHAUSTED"),
    Case("JAX: memory is full, and the others lose the task", {
        "rank2.log": failed("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."),
        "rank0.log": "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n" + tasks((2,))},
         "resource", ("rank 2",), None, "RESOURCE_EXHAUSTED"),
    Case("JAX: the service did not answer at the start", {"job.log": failed("DEADLINE_EXCEEDED: Deadline Exceeded")},
         "undecided"),
    Case("JAX: the coordinator is gone", {"job.log": _LEADER_GONE}, "undecided"),
    Case("JAX: the coordinator broke down", {"rank0.log": raised("ValueError: 17 is no multiple of 8"),
                                             "rank1.log": _LEADER_GONE}, "crashed", ("rank 0",), None, "ValueError"),
    Case("JAX: a task that has come again", {"job.log": "absl::Status: ABORTED: /job:jax_worker/replica:0/task:5 "
         "unexpectedly tried to connect with a different incarnation. It has likely restarted.\n"}, "crashed",
         ("rank 5",), None, "incarnation"),
    Case("JAX: what NCCL warned of last", {"job.log": failed(
        "INTERNAL: NCCL operation ncclCommInitRankConfig(&comm, n, id, rank, &config) failed: unhandled cuda error "
        "(run with NCCL_DEBUG=INFO for details). Last NCCL warning(error) log entry (may be unrelated) 'Cuda failure "
        "2 'out of memory''.")}, "resource", (), None, "out of memory"),
    Case("JAX: a peer of NCCL's has left", {"job.log": failed(
        "INTERNAL: NCCL operation ncclGroupEnd() failed: remote process exited or there was a network error. Last "
        "NCCL warning(error) log entry (may be unrelated) ''.")}, "undecided"),
)  # fmt: skip
