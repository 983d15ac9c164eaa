"""What MindSpore's scheduler, its workers and msrun say of jobs that fail."""

from __future__ import annotations

from collections.abc import Sequence

from tests.suites.diagnose.cases.case import Case
from tests.suites.diagnose.cases.framework_inputs import raised

_SCHEDULER, _TOPOLOGY = 4100, "mindspore/ccsrc/distributed/cluster/topology/meta_server_node.cc:99] Made"


def said(pid: int, text: str, at: str = "20:00.100.200", level: str = "ERROR", where: str = _TOPOLOGY) -> str:
    """A line of MindSpore's log."""
    return f"[{level}] DISTRIBUTED({pid},ffff8f3b1010,python):2026-01-31-10:{at} [{where}] {text}\n"


def msrun(text: str, level: str = "ERROR", at: str = "12:30.444.000") -> str:
    """A line of msrun's own."""
    where = "mindspore/parallel/cluster/process_entity/_api.py:99"
    return f"[{level}] ME(4000:281473590168608,MainProcess):2026-01-31-10:{at} [{where}] {text}\n"


def came(nodes: Sequence[int], size: int) -> str:
    """To the scheduler."""
    return "".join(
        said(_SCHEDULER, f"The new node: {node}(role: MS_WORKER), rank id: {node}, device id: {node % 8}, hostname: "
             f"node0{1 + node // 8}, ip: 192.0.2.{1 + node // 8} is registered successfully. Currently registered node "
             f"number: {number}, expected node number: {size}", "10:00.100.200", "WARNING")
        for number, node in enumerate(nodes, 1)
    )  # fmt: skip


def joined(rank: int) -> str:
    return said(4200 + rank, f"This node {rank} rank id: {rank}", "10:06.000.000", "WARNING")


def lost(node: int) -> str:
    return said(
        _SCHEDULER, f"The node: {node} is timed out. It may exit with exception, please check this node's log."
    ) + said(_SCHEDULER, f"The total number of timed out node is 1. Timed out node list is: [const vector]{{{node}}}, "
             f"worker {node} is the first one timed out, please check its log.", level="EXCEPTION")  # fmt: skip


def quoted(error: str, code: str) -> str:
    """An exception with a message of CANN's below it."""
    line = "-" * 52
    return raised(f"RuntimeError: {error}") + f"\n{line}\n- Ascend Error Message:\n{line}\n{code}\n"


_BUILT = said(_SCHEDULER, "Cluster is successfully initialized.", "10:05.000.000", "WARNING")
_OTHERS = "The state of the cluster is error, total nodes num: 8, abnormal nodes num: 1"
_TRIES = said(4202, "Failed to connect to the meta server node url: 192.0.2.5:8118", "10:01.1.1", "WARNING") * 5
_MSRUN = (
    msrun("Worker process 4203 exit with exception.")
    + msrun("There's worker exits with exception, kill all other workers.", "WARNING")
    + msrun("Scheduler process 4100 exit with exception.", at="12:50.444.000")
    + msrun("Time out nodes are ['1']", at="12:51.444.000")
)
_MSRUN_ENDS = raised("RuntimeError: Distributed job exited with exception. Please check logs in directory: out.")
_NOTIFY = (
    "EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not received the "
    "Notify record from remote rank [0].base information: [streamID:[5], taskID[12], taskType[Notify Wait], "
    "tag[HcomAllReduce_6629421139219749105_0].]"
)
_FAULT = raised("ValueError: For 'MatMul' the shapes do not fit")


def _grepped(name: str, text: str) -> str:
    """As `grep -rn -C 5 Error` shows it."""
    marks = (":" if "Error" in line or "Trace" in line else "-" for line in text.splitlines())
    return "".join(f"{name}{m}{n}{m}{line}\n" for n, (line, m) in enumerate(zip(text.splitlines(), marks, strict=True)))


CASES = (
    Case("MindSpore: the scheduler hears one no more", {"scheduler.log": came(range(8), 8) + _BUILT + lost(3)},
         "missing", ("rank 3",), None, "The node: 3 is timed out"),
    Case("MindSpore: an exception is why one is not heard",
         {"scheduler.log": came(range(8), 8) + _BUILT + lost(3),
          **{f"worker_{n}.log": joined(n) + (_FAULT if n == 3 else said(4200 + n, _OTHERS, level="CRITICAL")
                                             + raised(f"RuntimeError: {_OTHERS}")) for n in range(8)}},
         "crashed", ("rank 3",), None, "MatMul"),
    Case("MindSpore: msrun has ended whom the scheduler misses",
         {"scheduler.log": came(range(8), 8) + _BUILT + lost(1), "worker_3.log": joined(3) + _FAULT,
          "worker_1.log": joined(1), "console.log": _MSRUN + _MSRUN_ENDS}, "crashed", ("rank 3",), None, "MatMul"),
    Case("MindSpore: msrun alone", {"console.log": _MSRUN + _MSRUN_ENDS}, "crashed", ("process",), None, "4203 exit"),
    Case("MindSpore: msrun quotes a worker's log",
         {"console.log": _MSRUN + _grepped("msrun_log/worker_3.log", _FAULT) + "--\n" + _MSRUN_ENDS},
         "crashed", ("rank 3",), None, "MatMul"),
    Case("MindSpore: one does not come",
         {"scheduler.log": came((0, 1, 2, 3, 4, 6, 7), 8) + said(_SCHEDULER, "Topology build timed out.")
          + raised("RuntimeError: Topology build timed out.")}, "missing", ("rank 5",), None, "Topology build timed"),
    Case("MindSpore: the scheduler is not reached",
         {"worker_2.log": _TRIES + raised("RuntimeError: Failed to initialize the node.")}, "undecided"),
    Case("MindSpore: tries that came through at last are nothing", {"worker_2.log": _TRIES + joined(2) + _FAULT},
         "crashed", ("rank 2",), None, "MatMul"),
    Case("MindSpore: an exception that quotes a wait is one", {"worker_2.log": joined(2) + quoted(
        "Sync stream error!", _NOTIFY)}, "undecided", collective=("allreduce", 0)),
    Case("MindSpore: an exception that quotes a failed kernel is its own", {"worker_2.log": joined(2) + quoted(
        "Sync stream error!", "EZ9999: Inner Error!\nEZ9999: The error from device(chipId:0, dieId:0), serial number "
        "is 3, there is an aicore error, core id is 0, error code = 0x800000")}, "crashed", ("rank 2",)),
    Case("MindSpore: more workers than were told", {"scheduler.log": said(
        _SCHEDULER, "Rejecting registration request for node 8 from host 192.0.2.2. Rejection reason: This node is "
        "extra or rank id exceeds. Total node number for role MS_WORKER is 8 but got rank id 8")}, "launch"),
    Case("MindSpore: an older scheduler still runs", {"worker_3.log": raised(
        "RuntimeError: Failed to register the compute graph node: 3. Reason: Repeated registration node: 3 to the "
        "scheduler. Please check if there's another scheduler process with port:8118 still running.")}, "launch"),
    Case("MindSpore: two hosts of one number", {"scheduler.log": came(range(8), 16) + "".join(said(
        _SCHEDULER, f"Node {node} registered repeatedly. It's host ip is 192.0.2.2. Reject this node.", level="WARNING")
        for node in range(8))}, "launch", (), None, "Node 0 registered"),
    Case("MindSpore: a host is not heard any more", {"scheduler.log": came(range(16), 16) + _BUILT + "".join(
        lost(node) for node in range(8, 16))}, "missing", ("host node02", *(f"rank {n}" for n in range(8, 16)))),
    Case("MindSpore: a device that is not there", {"worker_7.log": said(
        4207, "SetDevice for id:7 failed, ret[101], invalid device ordinal.")}, "config", ("process",)),
    Case("MindSpore: started without msrun", {"job.log": raised("RuntimeError: Role name '' is invalid.")}, "launch"),
    Case("MindSpore: the scheduler's port is taken", {"scheduler.log": said(
        _SCHEDULER, "Failed to call bind, url: 192.0.2.5:8118 Address already in use")}, "resource"),
    Case("MindSpore: the scheduler is to listen at another host's address", {"scheduler.log": said(
        _SCHEDULER, "Failed to call bind, url: 192.0.2.5:8118 Cannot assign requested address")}, "config"),
)  # fmt: skip
