"""What NCCL says, and its RAS."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case

_NET = (
    "node04:1201:1288 [0] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, "
    "vendor err 129\n"
)
_SHM = (
    "node05:701:733 [2] include/shm.h:28 NCCL WARN Call to posix_fallocate failed: No space left on device\n"
    "node05:701:733 [2] include/shm.h:48 NCCL WARN Error while creating shared memory segment "
    "nccl-shm-recv-91b7ce-0-1-3 (size 9637888)\n"
)
_REFUSED = "node12:422:431 [1] include/socket.h:361 NCCL WARN Call to connect timeout : Connection refused\n"


def _coll(rank: int, number: str, count: int = 512, op: str = "AllGather") -> str:
    return (
        f"node2{rank // 2}:70{rank}:70{rank} [{rank % 2}] NCCL INFO {op}: opCount {number} sendbuff "
        f"0x7f33f8{rank}8be00 "
        f"recvbuff 0x7f33f8{rank}8ca00 count {count} datatype 0 op 0 root 0 comm 0x7f33f403{rank}110 [nranks=4] "
        f"stream 0x9cd23f{rank}0\n"
    )


def _init(rank: int, ranks: int = 4) -> str:
    return (
        f"node2{rank // 2}:70{rank}:71{rank} [{rank % 2}] NCCL INFO comm 0x7f33f403{rank}110 rank {rank} nranks "
        f"{ranks} "
        f"cudaDev {rank % 2} busId {rank}b000 commId 0x8f1e22aa90b1 - Init COMPLETE\n"
    )


def _calls(last: dict[int, tuple[str, int, str]]) -> dict[str, str]:
    return {
        f"rank_{rank}.log": _init(rank) + _coll(rank, "f5") + _coll(rank, "f6") + _coll(rank, *call) * (call[0] != "")
        for rank, call in last.items()
    }


_BEHIND = (
    "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
    "  6 ranks have launched up to operation 6650\n  2 ranks have launched up to operation 6649\n"
    "  Rank 0 -- GPU 0 managed by process 4830 on node 192.0.2.64\n"
    "  Rank 1 -- GPU 1 managed by process 4831 on node 192.0.2.64\n"
)
_SAME = ("f7", 512, "AllGather")
_NONE = ("", 0, "")

CASES = (
    Case("C01", {"job.log": _NET}, "transport", ("link node04",), None, "error 12"),
    Case(
        "C01 with peer and status",
        {"job.log": "[2026-01-31 12:00:00] node04:1201:1288 [0] transport/net_ib.cc:2293 NCCL WARN NET/IB: Got "
         "completion from peer 192.0.2.12<48112> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) len=0 "
         "vendor err 129 (Send) localGid ::ffff:192.0.2.4 remoteGids ::ffff:192.0.2.12 hca mlx5_0\n"},
        "transport", ("link node04 - 192.0.2.12",), None, "completion from peer",
    ),
    Case(
        "C02 after steps, then everybody times out",
        {"job.log": "".join(
            f"[rank{rank}]:[E131 12:40:00.123456789 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
            f"operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, "
            f"Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n" for rank in range(4)) + _NET},
        "transport", ("link node04",), ("allreduce", 812), "error 12",
    ),
    Case(
        "C03",
        {"job.log": "node01:1962:1969 [0] misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error "
         "Invalid argument\nnode01:1962:1969 [0] NCCL INFO transport/net_ib.cc:415 -> 2\n"},
        "transport", ("host node01",), None, "ibv_modify_qp",
    ),
    Case(
        "C03 newest",
        {"job.log": "[2026-01-31 12:00:00] node01:1962:1969 [0] misc/ibvwrap.cc:301 (wrap_ibv_modify_qp) NCCL WARN "
            "Call "
         "to ibv_modify_qp failed with 22 Invalid argument, on dev rocep1:1, curr state INIT, next state RTR, local "
         "GID "
         "index 0, local GID fe80::1, remote GID fe80::2\n"},
        "transport", ("host node01",), None, "ibv_modify_qp",
    ),
    Case(
        "C04",
        {"job.log": "node01:1962:1969 [3] misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error "
            "Network is "
         "unreachable\n"},
        "transport", ("host node01",), None, "unreachable",
    ),
    Case(
        "C05",
        {"job.log": "node07:88:91 [0] misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot "
         "allocate memory\nnode07:88:91 [0] NCCL INFO transport/net_ib.cc:1201 -> 2\n"},
        "resource", ("host node07",), None, "Cannot allocate memory",
    ),
    Case(
        "C05 the text alone",
        {"job.log": "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate "
                    "memory\n"},
        "resource", (), None, "Cannot allocate memory",
    ),
    Case(
        "C07",
        {"job.log": "node12:421:430 [0] NCCL INFO NET : Using interface lo:127.0.0.1<0>\n" + _REFUSED},
        "config", ("host node12",), None, "lo:127.0.0.1",
    ),
    Case(
        "C07 newer",
        {"job.log": "node12:421:430 [0] NCCL INFO Bootstrap : Using lo:127.0.0.1<0>\n"
         "node13:510:522 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 127.0.0.1<41010> failed : "
         "Connection refused\n"},
        "config", ("host node12",), None, "lo:127.0.0.1",
    ),
    Case(
        "C08 another host refuses",
        {"job.log": "node12:421:430 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.12<0>\n"
         "node13:510:522 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 192.0.2.12<41010> failed : "
         "Connection refused\n"},
        "transport", ("link node13 - 192.0.2.12",), None, "refused",
    ),
    Case(
        "C10 no interface",
        {"job.log": "node14:20:33 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to ib9\n"
         "node14:20:33 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found\n"},
        "config", ("host node14",), None, "no socket interface",
    ),
    Case("C15 a rank lacks the call", _calls({0: _SAME, 1: _SAME, 2: _NONE, 3: _SAME}), "missing", ("rank 2",),
         ("allgather", 0xF7)),
    Case("C15 counts differ", _calls({0: _SAME, 1: _SAME, 2: ("f7", 640, "AllGather"), 3: _SAME}), "mismatch",
         ("rank 2",), ("allgather", 0xF7)),
    Case("C15 operations differ, two against two",
         _calls({0: _SAME, 1: ("f7", 512, "AllReduce"), 2: _SAME, 3: ("f7", 512, "AllReduce")}), "mismatch", (),
         ("allgather", 0xF7)),
    Case(
        "C16 NCCL 2.4 compares",
        {"job.log": "node15:90:93 [1] enqueue.cc:81 NCCL WARN Mismatched collective detected, please check your "
            "collective "
         "calls at and around rank 39. You can use NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL to see the collective "
         "logs\n"},
        "mismatch", (), None, "Mismatched collective",
    ),
    Case("C45", {"job.log": _SHM}, "resource", ("host node05",), None, "No space left"),
    Case(
        "C46 newer",
        {"job.log": "[2026-01-31 12:00:00] node05:701:733 [2] misc/shmutils.cc:88 NCCL WARN Error: failed to extend "
         "/dev/shm/nccl-Qx81aa to 33030532 bytes, error: No space left on device (28)\n"
         "[2026-01-31 12:00:00] node05:701:733 [2] misc/shmutils.cc:131 NCCL WARN Error while creating shared memory "
         "segment /dev/shm/nccl-Qx81aa (size 33030528), error: No space left on device (28)\n"},
        "resource", ("host node05",), None, "No space left",
    ),
    Case(
        "C45 behind the end that a launcher tells",
        {"a.log": "srun: error: node06: task 8: Exited with exit code 1\n", "job.log": _SHM},
        "resource", ("host node05",), None, "No space left",
    ),
    Case(
        "C47",
        {"job.log": "[1] misc/shmutils.cc:103 NCCL WARN Cuda failure 'invalid argument'\n\n"
         "[1] misc/shmutils.cc:114 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Tz01aB "
         "(size 9637888)\n"},
        "crashed undecided",
    ),
    Case(
        "C53",
        {"job.log": "[1,1]<stdout>:node17:679:680 [0] init.cc:748 NCCL WARN Duplicate GPU detected : rank 1 and rank "
            "0 both "
         "on CUDA device 3b000\n"},
        "config", ("rank 0", "rank 1"), None, "Duplicate GPU",
    ),
    Case(
        "C54 without a wrapper",
        {"job.log": "node17:679:680 [0] init.cc:748 NCCL WARN Duplicate GPU detected : rank 3 and rank 0 both on CUDA "
         "device f000\n" + _NET},
        "config", ("rank 0", "rank 3"), None, "Duplicate GPU",
    ),
    Case(
        "C58 another length",
        {"job.log": "node18:4:9 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
            "192.0.2.19<51002> "
         "with status=1 opcode=129 len=32 vendor err 104 (Recv)\n"},
        "transport", ("link node18 - 192.0.2.19",), None, "status=1",
    ),
    Case(
        "C61",
        {"job.log": "node01:91:99 [1] NCCL INFO Channel 00 : 9[1a000] -> 2[6b000] [send] via NET/IB/0/GDRDMA\n"
         "node02:51:55 [2] NCCL INFO Channel 00 : 9[1a000] -> 2[6b000] [receive] via NET/IB/1\n"},
        "config", ("host node02",), None, "[receive]",
    ),
    Case(
        "C61 without prefixes",
        {"job.log": "9[1a000] -> 2[6b000] [send] via NET/IB/0/GDRDMA\n9[1a000] -> 2[6b000] [receive] via NET/IB/1\n"},
        "config", ("rank 2",), None, "[receive]",
    ),
    Case(
        "C62 both without it",
        {"job.log": "node01:91:99 [1] NCCL INFO Channel 00 : 9[1a000] -> 2[6b000] [send] via NET/IB/0\n"
         "node02:51:55 [2] NCCL INFO Channel 00 : 9[1a000] -> 2[6b000] [receive] via NET/IB/1\n"},
        "none undecided",
    ),
    Case(
        "C63",
        {"job.log": "NCCL INFO GPU Direct RDMA Disabled for GPU ca000 / HCA 0 (distance 7 > 4)\n"
         "node01:91:99 [1] NCCL INFO GPU Direct RDMA Disabled for GPU ca000 / HCA 0 (distance 7 > 4)\n"},
        "none undecided",
    ),
    Case(
        "C67",
        {"job.log": "node02:425:432 [5] NCCL INFO === System : maxBw 48.0 totalBw 370.8 ===\n"
         "node02:425:432 [5] NCCL INFO + PCI[0.2] - PCI/0-65000 (104c823200000000)\n"
         "node02:425:432 [5] NCCL INFO              + NET[50.0] - NET/0-c (0/aabb00112233/1/50.000000)\n"},
        "config", ("host node02",), None, "PCI[0.2]",
    ),
    Case(
        "C95",
        {"node01.log": "node01:10:12 [0] NCCL INFO NET/IB : Using [0]erdma_0:1/RoCE [1]erdma_1:1/RoCE [RO]; OOB "
         "eth0:192.0.2.1<0>\n",
         "node02.log": "node02:10:12 [0] transport/net_ib.cc:411 NCCL WARN NET/IB : Unable to open device erdma_1\n"
         "node02:10:12 [0] NCCL INFO NET/IB : Using [0]erdma_0:1/RoCE [RO]; OOB eth0:192.0.2.2<0>\n"},
        "config", ("device erdma_1 of node02",), None, "Unable to open",
    ),
    Case(
        "C96 versions",
        {"job.log": "node03:44:45 [0] init.cc:801 NCCL WARN Mismatched NCCL version detected : rank 4 version 22703 "
            "rank 0 "
         "version 22005\n"},
        "config", ("rank 4",), None, "Mismatched NCCL version",
    ),
    Case(
        "C97 one of three hosts has other cards",
        {f"node2{host}.log": f"node2{host}:{70 + host}:71 [0] NCCL INFO NET/IB : Using {cards} [RO]; OOB "
            f"eth0:192.0.2.2<0>\n"
         + _coll(host * 2, "0")
         for host, cards in ((0, "[0]mlx5_0:1/IB [1]mlx5_3:1/IB"), (1, "[0]mlx5_0:1/IB [1]mlx5_3:1/IB"),
                             (2, "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"))},
        "config", ("host node22",),
    ),
    Case(
        "C99",
        {"ras.txt": "#0-0 (fa93daea854b060b) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"
         "  6 ranks have launched up to operation 640\n  2 ranks have launched up to operation 641\n"
         "  Rank 4 -- GPU 4 managed by process 3203 on node 192.0.2.24\n"
         "  Rank 5 -- GPU 5 managed by process 3204 on node 192.0.2.24\n"},
        "missing undecided", tuple(f"rank {rank}" for rank in (0, 1, 2, 3, 6, 7)),
    ),
    Case(
        "C98 the fewer are behind",
        {"ras.txt": "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
         "  6 ranks have launched up to operation 6650\n  2 ranks have launched up to operation 6649\n"
         "  Rank 0 -- GPU 0 managed by process 4830 on node 192.0.2.64\n"
         "  Rank 1 -- GPU 1 managed by process 4831 on node 192.0.2.64\n\n"
         "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
         "  6 ranks have launched up to operation 6650\n  2 ranks have launched up to operation 6649\n"
         "  Rank 0 -- GPU 0 managed by process 4830 on node 192.0.2.64\n"
         "  Rank 1 -- GPU 1 managed by process 4831 on node 192.0.2.64\n"},
        "missing", ("rank 0", "rank 1"), ("allreduce", 6650),
    ),
    Case("C98 the fewer are behind, seen once", {"ras.txt": _BEHIND}, "undecided"),
    Case("C98 seen twice, in two files", {"ras1.txt": _BEHIND, "ras2.txt": _BEHIND}, "missing", ("rank 0", "rank 1"),
         ("allreduce", 6650)),
    Case(
        "C98 once, as any running job looks",
        {"ras.txt": "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
         "  7 ranks have launched up to operation 6650\n"
         "  Rank 1 has launched up to operation 6649 -- GPU 1 managed by process 4831 on node 192.0.2.64\n"},
        "undecided",
    ),
    Case(
        "C101",
        {"ras.txt": "#2-0 (93d7000200000001) INCOMPLETE\n  Missing communicator data from 255 ranks\n"
         "  Rank 1057455228 --\n"},
        "undecided",
    ),
    Case(
        "C116 RCCL's path",
        {"job.log": "node19:5:7 [1] "
            "/long_pathname_so_that_rpms_can_package_the_debug_info/src/transport/net_ib.cc:1295 "
         "NCCL WARN NET/IB : Got completion from peer 192.0.2.9<4100> with error 12, opcode 32601, len 32601, vendor "
         "err "
         "129\n"},
        "transport", ("link node19 - 192.0.2.9",), None, "error 12",
    ),
    Case("C121", {"job.log": "node01: Test CUDA failure common.cu:963 'invalid device ordinal'\n"}, "config",
         ("host node01",), None, "invalid device ordinal"),
)  # fmt: skip
