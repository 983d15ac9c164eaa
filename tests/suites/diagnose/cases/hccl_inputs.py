"""What HCCL and CANN say, and rank tables."""

from __future__ import annotations

import json

from tests.suites.diagnose.cases.case import Case

_EI0002 = (
    "{who}EI0002: [PID: {pid}] 2026-01-31-15:09:34.713.335 The wait execution of the Notify register times out. "
    "Reason: The "
    "Notify register has not received the Notify record from remote rank: [{remote}]. base information: "
    "[streamID:[109], taskID[38], taskType[Notify Wait], tag[AllReduce_group_name_165NHRAllReduceComm_device], "
    "AlgType(level 0-1-2):[ring-NHR-NHR].]. task information: [notify id:[0x0000000000000213], stage:[0], remote "
    "rank:[{remote}]]. group information: [group:[group_name_165], user define information[Unspecified], "
    "rankSize[{size}], rankId[{own} {remote}]]\n"
)


def _waits(pid: int, own: int, remote: int, size: int, rank: int | None = None) -> str:
    who = (
        ""
        if rank is None
        else (
            f"[ERROR] 2026-01-31-15:09:34 (PID:{pid}, Device:{rank % 8}, RankID:{rank}) ERR00100 PTA call acl api "
            f"failed.\n"
        )
    )
    return _EI0002.format(who=who, pid=pid, own=own, remote=remote, size=size)


def _agent(pid: int, rank: int, device: int, server: str = "192.0.2.1") -> str:
    return (
        f"[INFO] HCCL({pid},python3):2026-01-31-15:00:00.000.00{rank % 10} [topoinfo_exchange_agent.cc:40] "
        f"[{pid}]SetupAgent rankNum[16], rank[{rank}], rankTable crc[1], server[{server}], logicDevId[{device}], "
        f"phydevId[{device}], deviceIp[198.51.100.{rank + 1}]\n"
    )


def _block(pid: int, rank: int) -> str:
    return f"[ERROR] 2026-01-31-15:09:34 (PID:{pid}, Device:0, RankID:{rank}) ERR02200 DIST call hccl api failed.\n"


def _table(*addresses: str) -> str:
    return json.dumps(
        {"status": "completed", "version": "1.0", "server_count": "1", "server_list": [
            {"server_id": "192.0.2.1", "device": [
                {"device_id": str(n), "device_ip": address, "rank_id": str(n)} for n, address in enumerate(
                    addresses)]}]},
        indent=2,
    )  # fmt: skip


_BIND = (
    "[ERROR] HCCL(2717,python3):2026-01-31-03:47:57.070.463 [hccl_socket.cc:100] [2717][HcclSocket][Listen] socket "
    "type[1], "
    "listen on ip[192.0.2.160] and specific port[16666] fail. Please check the port status and whether the port is "
    "been "
    "using by other process.\n"
)
_LINK_LATE = (
    "[ERROR] HCCL({pid},python3):2026-01-31-03:49:57.177.194 [hccl_socket_manager.cc:778] "
    "[2734][Wait][LinkEstablish]wait "
    "socket establish timeout, role[1] rank[{rank}] timeout[120]\n"
)
_FFTS = (
    "The error from device(chipId:5, dieId:0), serial number is 17, hccl fftsplus task timeout occurred during task "
    "execution, stream_id:7, sq_id:7, task_id:9865, stuck notify num:3, timeout:1836.[FUNC:ProcessStarsHcclFftsPlus"
    "TimeoutErrorInfo][FILE:device_error_proc.cc][LINE:1657]\nThe 0 stuck notify wait context info:(context_id=13, "
    "notify_id=17).[FUNC:ProcessStarsHcclFftsPlusTimeoutErrorInfo][FILE:device_error_proc.cc][LINE:1664]\n"
)


def _npu_late(rank: int, seq: int = 196, count: str = "") -> str:
    return (
        f"[rank{rank}]:[E131 13:00:25.42802{rank:04} compiler_depend.ts:574] [Rank {rank}] Watchdog caught collective "
        f"operation "
        f"timeout: WorkHCCL(SeqNum={seq}, OpType=ALLREDUCE, {count}Timeout(ms)=3600000) ran for 360018{rank % 10} "
        f"milliseconds before timing out.\n"
    )


def _link(own: int, remote: int) -> str:
    return (
        f"[rank{own}]: EI0009: [PID: 22258{own}] 2026-01-31-20:59:48.119.066 Transport init error. Reason: "
        f"[Create][DestLink]Create Dest error! createLink "
        f"para:rank[{own}]-localUserrank[{own}]-localIpAddr[192.0.2.14], "
        f"dst_rank[{remote}]-remoteUserrank[{remote}]-remote_ip_addr[192.0.2.14]\n"
    )


_PORT_DOWN = "RuntimeError: EJ0002: [PID: 38079] 2026-01-31-12:45:31.202.787 The network port is down.\n"
_PORT_LATER = (
    "[ERROR] HCCL(38011,python):2026-01-31-12:47:33.021.978 [hccl_socket_manager.cc:601] [87033]the connection failure "
    "between this device and target device may be due to the following reasons:\n"
    "[ERROR] HCCL(38011,python):2026-01-31-12:47:33.021.979 [hccl_socket_manager.cc:778] "
    "[87033][Wait][LinkEstablish]wait "
    "socket establish timeout, role[0] rank[1] timeout[120 s]\n"
)

_TRACEBACK = (
    "[rank{rank}]: Traceback (most recent call last):\n"
    '[rank{rank}]:   File "/work/train.py", line 35, in step\n'
    "[rank{rank}]:     model.step()\n"
    "[rank{rank}]: RuntimeError: {error}\n"
)
_SYNC = (
    "Traceback (most recent call last):\n"
    '  File "/srv/agent.py", line 404, in inputs\n'
    "    dist.broadcast_object_list(inputs)\n"
    "RuntimeError: ACL stream synchronize failed.\nEI9999: Inner Error!\nEI9999: 2026-01-31-10:42:00.358.410  "
    + _FFTS.replace("1836", "30min(default)")
)


def _graph(own: int, remote: int, op: str = "AllReduce", count: int = 256, index: int = 21, size: int = 4) -> str:
    """What a plog says of a task of a graph on the NPU that did not end."""
    tag = f"tag[{op}_group_name_7]"
    parts = (
        f"op information is streamID:[2], taskID[21], {tag}, AlgType(level 0-1-2):[fullmesh-ring-ring].",
        "context base information is streamID:[2], taskID[21], taskType[Notify Wait].",
        f"context para information is notify id:[0x10], stage:[0], remote rank:[{remote}], {tag}.",
        f"groupRank information is group:[group_name_7], user define information[], rankSize[{size}], rankId[{own}].",
        (
            f"opData information is timeStamp:[2026-01-31-14:38:34.000.000], deviceId[{own}], index[{index}], "
            f"count[{count}], reduceType[sum], src[0x1], dst[0x2], dataType[int64]."
        ),
    )
    return "".join(
        f"[ERROR] HCCL({700 + own},python3):2026-01-31-15:09:3{own}.100.20{n} [task_exception_handler.cc:70{n}] "
        f"[{700 + own}][TaskExceptionHandler][Callback]FFTS+ run failed, {part}\n"
        for n, part in enumerate(parts)
    )


def _lost(whom: str, by: str, pid: int) -> str:
    return (
        f"[INFO] HCCL({pid},python3):2026-01-31-14:52:59.191.363 [heartbeat.cc:951] [{pid}]rank [{by}]: crimer rank "
        f"[{whom}] status[LOST] by informer rank [{by}]\n"
    )


def _npu_error(rank: int, text: str) -> str:
    return f"[rank{rank}]: {text}\n[rank{rank}]: " + _block(700 + rank, rank).replace("ERR02200 DIST", "ERR00100 PTA")


_UNSORTED = "set ASCEND_RT_VISIBLE_DEVICES:0,2,4,6,1,3,5,7 error, it must be configured in ascending order"
_KERNEL = (
    "The error from device(chipId:{0}, dieId:0), serial number is 20, there is an {1} error exception, core id is 3, "
    "error code = 0x800000, dump info: pc start: 0x1000124080041000"
)

CASES = (
    Case("H01 a graph on the NPU: one calls another collective",
         {f"plog-{700 + n}_1.log": _graph(n, (n + 1) % 8, "AllGather" if n == 5 else "AllReduce", 1, 21, 8)
          for n in range(8)}, "mismatch", ("rank 5",), ("allreduce", 21), "AllGather"),
    Case("H02 a graph on the NPU: one with another count",
         {f"plog-{700 + n}_1.log": _graph(n, (n + 1) % 4, count=512 if n == 2 else 256) for n in range(4)},
         "mismatch", ("rank 2",), ("allreduce", 21)),
    Case("H03 a graph on the NPU: one is a call behind, and says that it waits for who is through",
         {f"plog-{700 + n}_1.log": _graph(n, 0 if n == 3 else 3, index=20 if n == 3 else 21) for n in range(4)},
         "stuck", ("rank 3",), ("allreduce", 20)),
    Case("H04 a graph on the NPU: nothing is there of the one all wait for",
         {f"plog-{700 + n}_1.log": _graph(n, 3) for n in range(3)}, "undecided", suspects=(3,)),
    Case("H05 heartbeats of two that do not hear each other",
         {"plog-686_1.log": _lost("192.0.2.1/0", "192.0.2.2/0", 686),
          "plog-687_1.log": _lost("192.0.2.2/0", "192.0.2.1/0", 687)}, "transport", ("link 192.0.2.1 - 192.0.2.2",)),
    Case("H06 devices in no order", {"job.log": _npu_error(3, "RuntimeError: init: NPU function error: "
         "aclrtGetDeviceCount(&device_count), error code is 207004")
         + f"[rank3]: EE1001: [PID: 703] 2026-01-31-15:09:34.296.370 The argument is invalid.Reason: {_UNSORTED}\n"},
         "config", (), None, "ascending"),
    Case("H07 more ranks than devices that may be seen", {"job.log": _npu_error(1, "RuntimeError: SetDevice: NPU "
         "function error: c10_npu::SetDevice(device), error code is 107001") + "[rank1]: EE1001: [PID: 701] "
         "2026-01-31-15:09:34.296.370 The argument is invalid.Reason: Set device failed, invalid device, set "
         "device=8, valid device range is [0, 8)\n"}, "config", ("rank 1",), None, "valid device range"),
    Case("H08 another process holds the device", {"job.log": _npu_error(0, "RuntimeError: Initialize: NPU function "
         "error: c10_npu::SetDevice(device_id_), error code is 507033") + "[rank0]: EL0005: [PID: 700] "
         "2026-01-31-15:09:34.296.370 The resources are busy.\n"}, "resource", ("rank 0",), None, "EL0005"),
    Case("H09 a kernel failed, by its number, and others wait",
         {"job.log": _npu_error(4, "RuntimeError: ACL stream synchronize failed, error code:507015")
          + "".join(_waits(700 + n, n, 4, 8, n) for n in range(8) if n != 4)},
         "crashed", ("rank 4",), None, "507015"),
    Case("H10 a kernel failed, in a plog alone", {"plog-704_1.log": "[ERROR] RUNTIME(704,python3):"
         "2026-01-31-15:09:34.500.000 [device_error_proc.cc:1404]1001 Made:" + _KERNEL.format(4, "fftsplus aivector")
         + "\n"}, "crashed", ("process",), None, "aivector"),
    Case("H11 an error of CANN that is not known is no good news", {"plog-704_1.log": "[ERROR] RUNTIME(704,python3):"
         "2026-01-31-15:09:34.500.000 [made_up.cc:14]1001 Made:up failed.\n"}, "undecided"),
    Case("H12 another one's memory, without a number",
         {"job.log": "(Worker pid=17) ERROR 01-31 06:45:35 [multiproc_executor.py:1007] RuntimeError: SUSPECT REMOTE "
          "ERROR\n"}, "undecided"),
    Case("H13 memory of one has failed, and others are stopped",
         {"job.log": "".join(f"[rank{n}]: RuntimeError: FORCE STOP\n" for n in (0, 1, 3))
          + _npu_error(2, "RuntimeError: HBM MULTI BIT ECC ERROR")}, "device", ("device npu0",), None, "MULTI BIT"),
    Case("H14 a failed packet with both its ends in one line", {"plog-686_1.log": "[ERROR] HCCL(686,python3):"
         "2026-01-31-15:09:34.500.000 [made_up.cc:14] [686]error cqe status: 0x15, localInfo{server[192.0.2.1], "
         "deviceId[3], deviceIp[198.51.100.3]}, remoteIP{server[192.0.2.2], deviceId[3], deviceIp[198.51.100.11]}\n"},
         "transport", ("link 192.0.2.1 - 192.0.2.2",)),
    Case("H17 ports of two are down", {"job.log": "".join(_block(700 + n, n) + f"EJ0002: [PID: {700 + n}] "
         f"2026-01-31-15:09:3{n}.101.000 The network port is down.\n" for n in (1, 5))},
         "device", ("device npu0", "device npu0"), None, "EJ0002"),
    Case("H18 the heartbeat is lost of one that has raised an exception",
         {"plog-60_1.log": "[ERROR] HCCL(60,python3):2026-01-31-15:09:34.100.200 [made_up.cc:6] [60]Cluster Exception "
          "Location[IP/ID]:[192.0.2.1/3], Arrival Time:[Sat Jan 31 14:52:59 2026], Discoverer:[192.0.2.1/0], "
          "ExceptionType:[Heartbeat Lost Occurred], Possible Reason:1. Process has exited, 2. Network Disconnected\n",
          "rank_3.log": 'Traceback (most recent call last):\n  File "/srv/train.py", line 3, in step\n    f()\n'
          "ValueError: not a number\n"}, "crashed", ("rank 3",), None, "not a number"),
    Case("H15 ends of a connection with TLS on, and off",
         {f"plog-{pid}_1.log": f"[ERROR] HCCL({pid},python3):2026-01-31-15:09:34.500.000 [made_up.cc:14] [{pid}]   |  "
          f"198.51.100.{peer}({peer - 1})   |  16666  |   198.51.100.{own}({own - 1})   |  3234  |  {role} | time out |"
          f"   {state}  | LinkInfo\n" for pid, own, peer, role, state in (
              (600, 1, 6, "client", "ENABLE"), (605, 6, 1, "server", "DISABLE"))}, "config"),
    Case("H16 a copy from another NPU failed", {"job.log": _block(700, 0) + "EI0012: [PID: 700] "
         "2026-01-31-15:09:34.101.000 SDMA memory copy task exception occurred. Remote rank: [3]. Base information: "
         "[streamID:[3], taskID[7], taskType[Memcpy], tag[AllReduce_group_name_7]]. Communicator information: "
         "[group:[group_name_7], user define information[], rankSize[8], rankId[0]].\n"}, "undecided"),
    Case("C19", {"job.log": _waits(2969, 25, 24, 32, 101)}, "undecided"),
    Case("C19 the chain leads to one whose port is down",
         {"a.log": _waits(2969, 1, 0, 4, 1) + _waits(2970, 2, 1, 4, 2) + _waits(2971, 3, 2, 4, 3),
          "b.log": "[ERROR] 2026-01-31-15:05:00 (PID:2968, Device:0, RankID:0) ERR02200 DIST call hccl api failed.\n"
          "EJ0002: [PID: 2968] 2026-01-31-15:05:00.000.001 The network port is down.\n"},
         "device", ("device npu0",), None, "network port is down"),
    Case("C20 nobody's number", {"job.log": _waits(2969, 1, 4294967295, 4)}, "undecided"),
    Case("C21", {"job.log": _BIND + _LINK_LATE.format(pid=2717, rank=12)}, "resource", ("process",), None, "specific "
        "port"),
    Case("C21 the first in time stands last", {"job.log": "".join(_LINK_LATE.format(pid=2800 + n,
        rank=n) for n in range(9))
                                               + _BIND}, "resource", ("process",), None, "specific port"),
    Case("C22 the network is found well", {"job.log": "[ERROR] HCCL(2717,python3):2026-01-31-03:49:57.177.194 "
        "[detect.cc:77] "
                                           "[2734]No abnormal periods were discovered. The behavior of ranks may be "
                                           "inconsistent.\n"}, "undecided"),
    Case("C23", {"ranktable.json": _table(*["-.-.-.-"] * 8)}, "config",
         ("file ranktable.json", *(f"rank {n}" for n in range(8))), None, "-.-.-.-"),
    Case("C24 one address twice", {"ranktable.json": _table("198.51.100.1", "198.51.100.1")}, "config",
         ("file ranktable.json", "rank 0", "rank 1")),
    Case("C25", {"plog-701_1.log": _agent(701, 0, 0) + _block(701, 0), "plog-702_1.log": _agent(702, 8, 0) + _block(
        702, 8)}, "config", ("rank 0", "rank 8")),
    Case("C26 another NPU each", {"plog-701_1.log": _agent(701, 0, 0), "plog-702_1.log": _agent(702, 8, 1)},
         "none undecided"),
    Case("C27", {"job.log": "".join(_waits(3000 + n, n, (n + 1) % 4, 4, n) for n in range(4)).replace(
        "AllReduce_", "Broadcast_")}, "joined undecided"),
    Case("C28 idle for the default time", {f"device-{n}.log": _FFTS.replace("chipId:5", f"chipId:{n}") for n in range(
        4)},
         "undecided joined"),
    Case("C83", {"job.log": _link(1, 0)}, "undecided", suspects=(0,)),
    Case("C83 rank 0 says why", {"job.log": _link(1, 0), "rank_0.log": "[ERROR] 2026-01-31-20:57:00 (PID:2201, "
        "Device:0, "
                                 "RankID:0) ERR00006 PTA memory error.\n[rank0]: RuntimeError: NPU out of memory. "
                                 "Tried to "
                                 "allocate 2.00 GiB\n"}, "resource", ("rank 0",), None, "out of memory"),
    Case("C84 the table is inconsistent", {"job.log": "[ERROR] HCCL(2717,python3):2026-01-31-03:49:57.177.194 "
        "[topo.cc:77] "
                                           "[2734]EI0014: the IP address(127.10.0.0) in the ranktable is inconsistent "
                                           "with "
                                           "the IP address(127.10.0.1) of the network adapter\n"}, "config", (), None,
         "inconsistent"),
    Case("C85", {"job.log": _PORT_DOWN + _PORT_LATER}, "device", ("device of ?",), None, "network port is down"),
    Case("C85 last in the file", {"job.log": _PORT_LATER * 5 + _PORT_DOWN}, "device", ("device of ?",), None,
         "network port is down"),
    Case("C87", {"job.log": "[ERROR] HCCL(55694,):2026-06-03-06:04:59.040.451 [hccl_socket_manager.cc:860] "
                 "[60446][Wait][LinksEstablishCompleted] is failed. ret[9].\nRuntimeError: call "
                 "aclnnMoeDistributeDispatchV4 "
                 "failed, error code is 561000\n"}, "undecided"),
    Case("C89", {"job.log": "EI0002: The wait execution of the Notify register times out. Reason: The Notify register "
        "has not "
                 "received the Notify record from remote rank [4294967295].base information: [streamID:[1], "
                 "taskID[39], "
                 "taskType[Notify Wait], tag[AllReduce_192.0.2.116%enp69s0_60000_0_1694500287022627].] task "
                 "information: "
                 "[notify id:[0x0000000500000010], stage:[0], remote rank:[local].]\n"}, "undecided"),
    Case("C91", {"job.log": _FFTS}, "undecided"),
    Case("C93", {"job.log": _npu_late(1) + _npu_late(0)}, "joined undecided", (), ("allreduce", 196)),
    Case("C93 a third does not say it", {"job.log": _npu_late(0) + _npu_late(1) + _npu_late(3)}, "missing", ("rank 2",),
         ("allreduce", 196), apart="undecided", suspects=(2,)),
    Case("C92 of four chips one is not heard", {f"device-{n}.log": _FFTS.replace("chipId:5", f"chipId:{n}") for n in (
        0, 1, 3)},
         "undecided"),
    Case("C125", {"plog-1_1.log": "[ERROR] HCCL(1,python3):2026-01-31-03:49:57.177.194 [calc.cc:1] [9]EI0005: tag "
                  "[HcomAllReduce_6629421139219_0], parameter [count], local [9556480], remote [9555712]\n"},
                  "mismatch", (),
         ("allreduce", None), "parameter [count]"),
    Case("C126 operations", {"job.log": "[ERROR] HCCL(1,python3):2026-01-31-03:49:57.177.194 [calc.cc:1] [9]EI0005: "
        "CMD "
                             "information tag check fail. local[AllGather_group_name_1], "
                             "remote[AllReduce_group_name_1]\n"},
         "mismatch", (), None, "check fail"),
    Case("a stream that failed comes to light in a traceback", {"job.log": _SYNC}, "undecided"),
    Case("a collective that failed comes to light in a traceback",
         {"job.log": _TRACEBACK.format(rank=1, error="made_up.cpp:281 OPS function error: HcclAllreduce, error code is "
                                       "6") + "[rank1]: EI0006: [PID: 12] 2026-01-31-18:07:20.444.436 Getting socket "
          "times out. Reason: Remote Rank did not send the data in time.\n"}, "undecided"),
    Case("one NPU's memory is at fault, and others waited",
         {"job.log": _TRACEBACK.format(rank=2, error="made_up.cpp:12 NPU function error: HBM MULTI BIT ECC ERROR, "
                                       "error code is 507054") + _waits(31, 1, 2, 4, 1)},
         "device", ("device of rank 2",), None, "507054"),
    Case("an error of HCCL that is not known", {"plog-7_1.log": "[ERROR] HCCL(7,server):2026-01-31-02:25:58.068.817 "
         "[made_up.cc:974][8][Init]errNo[0x0000000005000002]HcclMadeUp failed.\n"}, "undecided"),
)  # fmt: skip
