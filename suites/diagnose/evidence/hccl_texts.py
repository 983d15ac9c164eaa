"""What CANN's error codes and HCCL's complaints mean, as rows.

Codes: CANN's error code reference; texts: HCCL's user guide, "fault diagnosis".
May import: facts, known.
"""

from __future__ import annotations

from collections.abc import Sequence

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_OWN, _PATH, _TIMEOUT, _CASCADE = Level.INITIATING, Level.TRANSPORT, Level.TIMEOUT, Level.CASCADE
_LOOK_FIRST = "read the logs of the rank that is waited for first: the earliest error there is the cause"
_SAME_PROGRAM = "set HCCL_ENTRY_LOG_ENABLE=1 and repeat: run/plog then has every call of every rank to compare"
_NETWORK = ("hccn_tool -i N -link_stat -g", "hccn_tool -i N -net_health -g", "hccn_tool -i N -ping -g address PEER")
_ERROR = r"(?:there is an? (?:exception of )?|the error is )"
"""Of a device, as older and as newer versions of CANN tell it."""


def _code(code: str) -> str:
    return code + r"\)?:"


OWN: Sequence[Known] = (
    Known("hccl.bind", "and specific port[", r"socket type\[\d\], listen on ip\[(?P<at>[^\]]{1,80})\] and specific "
          r"port\[(?P<port>\d{1,6})\] fail", _OWN, "port {port} of {at} is taken by another process", "resource",
          "speaker", ("npu-smi info", "ss -ltnp 'sport = :{port}'",
                      "end the stale process, or set HCCL_NPU_SOCKET_PORT_RANGE=auto where several share an NPU")),
    Known("hccl.bind", "EI0019", _code("EI0019"), _OWN, "a port that HCCL listens on is taken by another process",
          "resource", "speaker", ("npu-smi info", "ss -ltnp 'sport >= :60000'", "end the stale process")),
    Known("hccl.bind", "EJ0003", _code("EJ0003"), _OWN, "a port that HCCL listens on is taken by another process",
          "resource", "speaker", ("npu-smi info", "end the stale process")),
    Known("hccl.npu_busy", "EJ0001", _code("EJ0001"), _OWN, "an older process still holds the NPU's network service",
          "resource", "speaker", ("npu-smi info", "end the stale process on this NPU and start again")),
    Known("hccl.port_down", "EJ0002", _code("EJ0002"), _OWN, "the network port of the NPU is down", "device", "device",
          ("hccn_tool -i N -link -g", "hccn_tool -i N -optical -g", "hccn_tool -i N -link_stat -g")),
    Known("hccl.environment", "EI0001", _code("EI0001"), _OWN, "an environment variable has a value that HCCL refuses",
          "config", "speaker", ("correct the variable that the text names, on all hosts",)),
    Known("hccl.argument", "EI0003", _code("EI0003"), _OWN, "a collective was called with an argument that it refuses",
          "crashed", "speaker", ("correct the call that the text names",)),
    Known("hccl.rank_table", "EI0004", _code("EI0004"), _OWN, "the rank table cannot be used", "config", "nobody",
          ("opsdist suite smoke", "make the rank table anew and give the same to all hosts")),
    Known("hccl.rank_table", "EI0014", _code("EI0014"), _OWN, "the rank table does not fit the cluster", "config",
          "nobody", ("hccn_tool -i N -ip -g", "compare it with the device_ip of the rank table")),
    Known("hccl.rank_table", "EI0017", _code("EI0017"), _OWN, "the rank table cannot be used", "config", "nobody",
          ("make the rank table anew and give the same to all hosts",)),
    Known("hccl.parameters_differ", "EI0005", _code("EI0005"), _OWN, "ranks called with different parameters",
          "mismatch", "nobody", ("compare what the two ranks called just before; " + _SAME_PROGRAM,)),
    Known("hccl.parameters_differ", "CMD information", r"CMD information .{0,80}check fail", _OWN,
          "ranks called with different parameters", "mismatch", "nobody", (_SAME_PROGRAM,)),
    Known("hccl.resource", "EI0007", _code("EI0007"), _OWN, "a resource of this process could not be had", "resource",
          "speaker", ("npu-smi info", "free -h; ulimit -a")),
    Known("hccl.version", "EI0008", _code("EI0008"), _OWN, "ranks have different versions of HCCL", "config", "nobody",
          ("opsdist info --hosts ... -t software", "install the same CANN on all hosts")),
    Known("hccl.qp_memory", "EI0011", _code("EI0011"), _OWN, "no memory on the NPU for queue pairs", "resource",
          "speaker", ("npu-smi info", "leave more NPU memory free, or lower HCCL_BUFFSIZE")),
    Known("hccl.memory", "EL0004", _code("EL0004"), _OWN, "no memory on the NPU", "resource", "speaker",
          ("npu-smi info", "leave more NPU memory free")),
    Known("hccl.memory", "NPU out of memory", r"NPU out of memory\.", _OWN, "no memory on the NPU", "resource",
          "speaker", ("npu-smi info", "make the batch smaller")),
    Known("npu.visible", "ASCEND_RT_VISIBLE_DEVICES",
          r"set ASCEND_RT_VISIBLE_DEVICES:(?P<value>[\w, -]{0,200}?) ?error", _OWN,
          "ASCEND_RT_VISIBLE_DEVICES is no list that CANN takes: {value}", "config", "nobody",
          ("numbers of `npu-smi info` in ascending order, each once, the same way on all hosts",)),
    Known("npu.invalid", "invalid device", r"Set (?:visible )?device failed, invalid device", _OWN,
          "it was given an NPU that it may not see", "config", "speaker",
          ("ranks on this host against ASCEND_RT_VISIBLE_DEVICES and `npu-smi info`",)),
    Known("npu.python", "EC0010", _code("EC0010"), _OWN, "CANN does not find a module of Python that it needs",
          "config", "speaker", ("`source set_env.sh` of CANN, and its wheels in this environment",)),
    Known("npu.taken", "EL0005", _code("EL0005"), _OWN, "the NPU is held by another process", "resource", "speaker",
          ("npu-smi info", "end the other process, or choose other NPUs by ASCEND_RT_VISIBLE_DEVICES")),
    Known("hccl.address", "EJ0004", _code("EJ0004"), _OWN, "the address of an NPU is not valid", "config", "nobody",
          ("hccn_tool -i N -ip -g", "compare it with the device_ip of the rank table")),
    Known("npu.kernel", "Aicore kernel execute failed", r"Aicore kernel execute failed(?:.{0,400}fault kernel_name="
          r"(?P<kernel>[\w.-]{1,120}))?", _OWN, "a kernel failed on the NPU: {kernel}", "crashed", "speaker",
          ("read the plog of this process in ~/ascend/log/debug/plog",)),
    *(Known("npu.kernel", wakes,
            rf"{_ERROR}(?:fftsplus )?(?:aicore|aivec(?:tor)?|vector core) (?:error|exception)", _OWN,
            "a kernel failed on the NPU", "crashed", "speaker",
            ("read the plog of this process in ~/ascend/log/debug/plog",))
      for wakes in ("there is a", "the error is ")),
    Known("hccl.tls", "EI0016", _code("EI0016"), _OWN, "TLS is on for some NPUs, and off for others", "config",
          "nobody", ("hccn_tool -i N -tls -g", "hccn_tool -i N -tls -s enable 0"), unless="rankList"),
)  # fmt: skip
"""About the speaker's own resources, device, configuration or call."""

PATH: Sequence[Known] = (
    Known("hccl.cqe", "error cqe status", r"error cqe status: (?P<status>0x[0-9a-fA-F]{1,8})", _PATH,
          "RoCE gave up on a packet after all its retries (completion status {status})", "transport", "nobody",
          _NETWORK, unless="localInfo{"),
    Known("hccl.cqe", "EI0013", _code("EI0013"), _PATH, "RoCE gave up on a packet after all its retries", "transport",
          "nobody", _NETWORK, unless="Peer information"),
    Known("hccl.ub_cqe", "EI0018", _code("EI0018"), _PATH, "a transfer over UB failed", "transport", "nobody",
          ("npu-smi info -t health -i 0", _LOOK_FIRST)),
    Known("hccl.sdma", "EI0012", _code("EI0012"), _PATH, "a copy between NPUs failed (SDMA): a link between them, a "
          "memory error, or memory that was freed", None, "nobody",
          ("npu-smi info -t health -i 0", "see whether the peer ended, or destroyed its communicator, before this")),
    Known("hccl.sdma", "sdma error", rf"{_ERROR}(?:fftsplus )?sdma error", _PATH,
          "a copy between NPUs failed (SDMA): a link between them, a memory error, or memory that was freed", None,
          "nobody", ("npu-smi info -t health -i 0",)),
    Known("hccl.peer_access", "EI0010", _code("EI0010"), _PATH, "NPUs cannot reach each other directly", "transport",
          "nobody", ("npu-smi info -t topo", "npu-smi info -t health -i 0")),
)  # fmt: skip
"""A path failed."""

WAITING: Sequence[Known] = (
    Known("hccl.notify", "EI0002", _code("EI0002"), _TIMEOUT, "waited in vain for another rank in a collective",
          remedy=(_LOOK_FIRST, _SAME_PROGRAM)),
    Known("hccl.task_failed", " run failed, ", r"(?:Task|FFTS\+) run failed, (?:op|base) information", _TIMEOUT,
          "a task of a collective did not come to its end", remedy=(_LOOK_FIRST, _SAME_PROGRAM)),
    Known("hccl.idle", "task timeout occurred",
          r"task timeout occurred.{0,300}timeout[:=](?P<time>18(?:36|00)s?\b|30min(?=\(default))", _TIMEOUT,
          "waited for as long as HCCL_EXEC_TIMEOUT is by default ({time}): where all ranks stop together and nothing "
          "failed before, they were idle for that long inside a collective, and no rank is at fault",
          remedy=("if the job was idle, keep its ranks out of collectives while idle", _LOOK_FIRST)),
    Known("hccl.notify", "task timeout occurred", r"(?:fftsplus|notify|event)[\w ]{0,20}task timeout occurred",
          _TIMEOUT, "the NPU waited in vain for a notification of another rank: a victim", remedy=(_LOOK_FIRST,)),
    Known("hccl.notify", "wait timeout occurred", r"(?:(?:notify|event) )?wait timeout occurred during task execution",
          _TIMEOUT, "the NPU waited in vain for what was to come before: a victim", remedy=(_LOOK_FIRST,)),
    Known("hccl.stuck_notify", "stuck notify wait context", r"stuck notify wait context info", _TIMEOUT,
          "the NPU waited in vain for a notification of another rank: a victim"),
    Known("hccl.behaviour", "No abnormal periods", r"No abnormal periods", _TIMEOUT,
          "HCCL probed the network and found nothing: ranks did different things",
          remedy=("compare the tags of `Alloc transports failed` of all ranks; " + _SAME_PROGRAM,)),
    Known("hccl.connect", "wait socket establish timeout", r"wait socket establish timeout", _TIMEOUT,
          "waited in vain for a connection with another rank", remedy=(_LOOK_FIRST, *_NETWORK[:2])),
    Known("hccl.connect", "LinksEstablishCompleted", r"LinksEstablishCompleted\] ?is failed", _TIMEOUT,
          "waited in vain for a connection with another rank", remedy=(_LOOK_FIRST,)),
    Known("hccl.connect", "EI0006", _code("EI0006"), _TIMEOUT, "waited in vain for a connection with another rank",
          remedy=(_LOOK_FIRST, *_NETWORK[:2])),
    Known("hccl.connect", "EI0009", _code("EI0009"), _TIMEOUT, "could not set up the transport to another rank",
          remedy=(_LOOK_FIRST, *_NETWORK[:2])),
    Known("hccl.connect", "Transport init error", r"Transport init error", _TIMEOUT,
          "could not set up the transport to another rank", remedy=(_LOOK_FIRST,)),
    Known("hccl.negotiation", "topo exchange server get socket timeout", r"topo exchange server get socket timeout",
          _TIMEOUT, "the root waited in vain for ranks to report", remedy=("see why the missing ranks did not start",)),
    Known("hccl.negotiation", "topo exchange agent get socket timeout", r"topo exchange agent get socket timeout",
          _TIMEOUT, "waited in vain for the root's answer",
          remedy=("check that the root's address can be reached from here", "set HCCL_SOCKET_IFNAME on all hosts")),
    Known("hccl.negotiation", "EI0015", _code("EI0015"), _TIMEOUT, "not all ranks reported to the root in time",
          remedy=("see why the missing ranks did not start",)),
    Known("hccl.connect", "Wait timeout for get P2P status", r"Wait timeout for get P2P status", _TIMEOUT,
          "waited in vain for another NPU of this server", remedy=(_LOOK_FIRST,)),
    Known("hccl.stream", "EE1002", _code("EE1002"), _TIMEOUT, "waited in vain for a stream of the NPU",
          remedy=(_LOOK_FIRST,)),
)  # fmt: skip
"""Somebody waited in vain."""

AFTER: Sequence[Known] = (
    Known("hccl.inner", "9999", r"\bE[A-Z]9999\)?:", _CASCADE, "an inner error, which follows from another"),
    Known("hccl.operator", "error code is 561", r"call aclnn\w{1,80} failed, error code is 561\d{3}", _CASCADE,
          "an operator failed since its communication had"),
    Known("hccl.call_trace", "call trace: hcclRet", r"call trace: hcclRet ?->", _CASCADE, "a call failed further down"),
    Known("hccl.receive", "recv fail", r"\brecv fail(?:ed)?\b", _CASCADE, "the peer closed the connection"),
    Known("torch_npu.call", " ERR0", r"\) ERR0\d{4} \w{1,20}", _CASCADE, "torch_npu reports that a call failed"),
)  # fmt: skip
"""What always follows from something else."""

ROWS = (*OWN, *PATH, *WAITING, *AFTER)
