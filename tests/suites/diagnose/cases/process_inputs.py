"""Ends of processes, as the kernel, launchers and what watches over containers tell them."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case


def _hydra(rank: int, pid: int, host: str, number: int, name: str) -> str:
    """As mpiexec of Hydra tells it of each."""
    return (
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
        f"=   RANK {rank} PID {pid} RUNNING AT {host}\n=   KILLED BY SIGNAL: {number} ({name})\n"
    )


_FLUX_NAMES_IT = (
    "30.112s: flux-shell[0]: FATAL: doom: python3: rank 3 on host tg12 exited and exit-timeout=30s has expired\n"
    "30.113s: job.exception f8ez type=exec severity=0 python3: rank 3 on host tg12 exited and exit-timeout=30s has "
    "expired\n"
)


_WAITED = (
    "[rank3]:[E310 03:01:12.000000001 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=100, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds "
    "before timing out.\n"
)
_RAISED = """Traceback (most recent call last):
  File "/app/t.py", line 3, in <module>
ValueError: bad shard
"""


def _pod(name: str, state: str) -> str:
    """As `kubectl get pods` tells it."""
    return f"{name:17}0/1     {state:19}6 (41s ago)   12m\n"


def _killed(pid: int) -> str:
    """As the kernel tells it."""
    return (
        f"Out of memory: Killed process {pid} (python3) total-vm:314946800kB, anon-rss:16499200kB, file-rss:52176kB, "
        "shmem-rss:92kB, UID:1001 pgtables:1372kB oom_score_adj:0\n"
    )


CASES = (
    Case(
        "U01 the kernel tells which of those that mpiexec killed was first",
        {"job.log": _hydra(0, 51370, "cn209", 9, "Killed") + _hydra(1, 51371, "cn209", 9, "Killed")
         + f"[ 7063.247407] {_killed(51371)}"},
        "resource", ("rank 1",), None, "SIGNAL: 9",
    ),
    Case(
        "U02 two processes have the number that the kernel tells",
        {"job.log": _hydra(1, 51371, "cn210", 9, "Killed") + _hydra(2, 51371, "cn211", 9, "Killed")
         + f"[ 7063.247407] {_killed(51371)}"},
        "resource", ("process",), None, "51371",
    ),
    Case(
        "U03 the kernel tells a host without its domain",
        {"job.log": _hydra(0, 51370, "cn209.hpc.local", 9, "Killed") + _hydra(1, 51371, "cn209.hpc.local", 9, "Killed")
         + f"Mar 10 03:11:12 cn209 kernel: {_killed(51371)}"},
        "resource", ("rank 1",), None, "SIGNAL: 9",
    ),
    Case(
        "U04 two ranks in containers have the number that the kernel tells",
        {"job.log": f"GLOBAL_RANK=1 pid=71\nGLOBAL_RANK=9 pid=71\n[ 7063.247407] {_killed(71)}"},
        "resource", (), None, "71",
    ),
    Case(
        "U05 one aborts, and mpiexec kills the others",
        {"job.log": _hydra(2, 5130, "cn5", 9, "Killed") + _hydra(3, 5131, "cn5", 6, "Aborted")
         + _hydra(4, 5132, "cn5", 9, "Killed")},
        "crashed", ("rank 3",), None, "SIGNAL: 6",
    ),
    Case(
        "U06 one aborts after it has waited, and mpiexec kills the others",
        {"job.log": _WAITED + _hydra(2, 5130, "cn5", 9, "Killed") + _hydra(3, 5131, "cn5", 6, "Aborted")},
        "undecided",
    ),
    Case(
        "U07 two abort, and mpiexec kills the others",
        {"job.log": _hydra(2, 5130, "cn5", 6, "Aborted") + _hydra(3, 5131, "cn5", 6, "Aborted")
         + _hydra(4, 5132, "cn5", 9, "Killed")},
        "undecided",
    ),
    Case(
        "U08 somebody has ended all, and one of them by force",
        {"job.log": _hydra(0, 5130, "cn5", 15, "Terminated") + _hydra(1, 5131, "cn5", 9, "Killed")
         + _hydra(2, 5132, "cn5", 15, "Terminated")},
        "undecided",
    ),
    Case(
        "U09 mpirun tells of one that aborted, and nobody of anything else",
        {"job.log": "mpirun noticed that process rank 3 with PID 2330 on node cn27 exited on signal 6 (Aborted).\n"},
        "crashed", ("rank 3",), None, "signal 6",
    ),
    Case(
        "U49 mpirun tells of one that aborted, which had lost a peer",
        {"job.log": "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, remote "
         "process exited or there was a network error, NCCL version 2.21.5\nmpirun noticed that process rank 1 with "
         "PID 2330 on node cn27 exited on signal 6 (Aborted).\n"},
        "undecided",
    ),
    Case(
        "U50 hosts of two domains have one name",
        {"job.log": _hydra(0, 4410, "n1.east", 9, "Killed") + _hydra(1, 4410, "n1.west", 9, "Killed")
         + f"Mar 10 03:11:12 n1 kernel: {_killed(4410)}"},
        "resource", (), None, "4410",
    ),
    Case(
        "U10 PRRTE tells who left, in one line",
        {"job.log": "prterun detected that one or more processes exited with non-zero status,\nthus causing the job to "
         "be terminated. The first process to do so was:\n\n   Process name: [prterun-gx14-71230@1,1] Exit code:    "
         "7\n"},
        "crashed", ("rank 1",), None, "Exit code",
    ),
    Case(
        "U11 Flux tells who failed first",
        {"job.log": "0.037s: flux-shell[0]: FATAL: task-exit: train.sh: task rank 1 on host gx3 failed and "
         "exit-on-error is set\nflux-job: task(s) exited with exit code 1\n"},
        "crashed", ("rank 1",), None, "rank 1 on host gx3",
    ),
    Case(
        "U12 Flux tells who left first, and a signal",
        {"job.log": f"{_FLUX_NAMES_IT}flux-job: task(s) Segmentation fault\n"}, "crashed", ("rank 3",), None, "rank 3",
    ),
    Case(
        "U13 Flux tells a signal, and of nobody",
        {"job.log": "flux-job: task(s) exited with exit code 139\n"}, "crashed", (), None, "139",
    ),
    Case(
        "U14 Flux tells whose memory ran out",
        {"job.log": "112.778s: flux-shell[1]: ERROR: oom: Memory cgroup out of memory: killed 1 task on tg12.\n"
         f"{_FLUX_NAMES_IT}flux-job: task(s) Killed\n"},
        "resource", ("host tg12",), None, "out of memory",
    ),
    Case(
        "U15 Flux has lost a node",
        {"job.log": "flux-job: job.exception fQ12 type=node-failure severity=0 lost contact with job shell on broker "
         "tg13 (rank 5)\nflux-job: task(s) Terminated\n"},
        "transport", ("host tg13",), None, "lost contact",
    ),
    Case(
        "U16 Flux ends a job at its time limit",
        {"job.log": "3600.112s: job.exception fABC type=timeout severity=0 resource allocation expired\nflux-job: "
         "task(s) exited with exit code 142\n"},
        "undecided",
    ),
    Case(
        "U17 Flux finds no program",
        {"job.log": "0.778s: flux-shell[1]: FATAL: task 4: start failed: torchrun: No such file or directory\n"
         "flux-job: task(s) exited with exit code 127\n"},
        "launch", (), None, "torchrun",
    ),
    Case(
        "U18 a task of Flux aborts after it has waited",
        {"job.log": f"{_WAITED}flux-job: task(s) Aborted\n"},
        "undecided",
    ),
    Case(
        "U19 LSF does not start anything on a host",
        {"job.log": "Nov  2 16:47:03 2026 120499 7 10.1 lsb_pjob_res_connect: lsb_pjob_connect_to_res(cp01) failed.\n"
         "The LSF process starter (lsb_launch) failed to start the daemons on\nthe nodes in the allocation.\n"},
        "launch", ("host cp01",), None, "cp01",
    ),
    Case(
        "U20 a launcher in Python tells a signal, and of nobody",
        {"job.log": "subprocess.CalledProcessError: Command '['/usr/bin/python3', '-u', 'train.py', '--local_rank=3']' "
         "died with <Signals.SIGKILL: 9>.\n"},
        "crashed", (), None, "SIGKILL",
    ),
    Case(
        "U21 GNU parallel tells that a job failed",
        {"job.log": "parallel: This job failed:\nssh gx3 python train.py --node_rank 3\n"}, "undecided",
    ),
    Case(
        "U22 a rank that torchx tells by its replica",
        {"job.log": "".join(f"trainer/2 [2]:{line}\n" for line in _RAISED.splitlines())},
        "crashed", ("process of trainer/2",), None, "ValueError",
    ),
    Case(
        "U23 a pod ends again and again",
        {"job.log": "trn-worker-0     1/1     Running             0             12m\n"
         + _pod("trn-worker-1", "CrashLoopBackOff")},
        "crashed", ("host trn-worker-1",), None, "CrashLoopBackOff",
    ),
    Case(
        "U24 all pods end again and again",
        {"job.log": _pod("trn-worker-0", "CrashLoopBackOff") + _pod("trn-worker-1", "CrashLoopBackOff")}, "undecided",
    ),
    Case(
        "U25 a pod of a server ends again and again",
        {"job.log": _pod("training-operator-5cc8cdfdd6-xz5qq", "CrashLoopBackOff")}, "undecided",
    ),
    Case(
        "U26 a pod has ended, and a rank had waited in vain",
        {"job.log": _pod("trn-worker-1", "Error") + _WAITED}, "undecided",
    ),
    Case(
        "U27 a pod has ended, and an exception of nobody",
        {"job.log": _pod("trn-worker-1", "Error") + _RAISED}, "crashed", ("host trn-worker-1",), None, "ValueError",
    ),
    Case(
        "U28 a container of a pod has used up its memory",
        {"job.log": _pod("trn-worker-1", "OOMKilled")}, "resource", ("host trn-worker-1",), None, "OOMKilled",
    ),
    Case(
        "U29 a pod is described whose container has used up its memory",
        {"job.log": "Name:             trn-worker-0\nContainers:\n  pytorch:\n    State:          Running\n"
         "Name:             trn-worker-1\nNode:             gx21/10.1.2.21\nContainers:\n  pytorch:\n"
         "    State:          Waiting\n      Reason:       CrashLoopBackOff\n    Last State:     Terminated\n"
         "      Reason:       OOMKilled\n      Exit Code:    137\nEvents:\n  Warning  BackOff  33s (x7 over 15m)  "
         "kubelet  Back-off restarting failed container pytorch in pod trn-worker-1_ml(0f3a-aa)\n"},
        "resource", ("host trn-worker-1",), None, "OOMKilled",
    ),
    Case(
        "U30 a pod is described whose container broke down",
        {"job.log": "Name:             trn-worker-1\nContainers:\n  pytorch:\n    State:          Terminated\n"
         "      Reason:       Error\n      Exit Code:    139\n"},
        "crashed", ("host trn-worker-1",), None, "139",
    ),
    Case(
        "U31 an operator tells of a pod that has left",
        {"job.log": '1.7085078566441019e+09\tDEBUG\tevents\tPod: ml.trn-worker-1 exited with code 1\t{"type": '
         '"Normal"}\n'},
        "crashed", ("host trn-worker-1",), None, "exited with code 1",
    ),
    Case(
        "U32 Paddle tells the local rank of who has ended",
        {"job.log": "LAUNCH ERROR 2026-03-10 00:35:50,216 Container failed !!!\nContainer rank 3 status failed cmd "
         "['/usr/bin/python', '-u', 'train.py'] code -9 log ./log/workerlog.3\n"},
        "crashed", (), None, "Container rank 3",
    ),
    Case(
        "U33 a shell tells of a process that was killed",
        {"job.log": "/var/spool/slurmd/job19/slurm_script: line 28:  8156 Killed                  python3 main.py\n"},
        "crashed", ("process",), None, "8156",
    ),
    Case(
        "U34 a driver of Horovod tells which of its workers has failed",
        {"job.log": "[2026-02-08 09:24:59.555830: E operations.cc:548] Horovod background loop uncaught exception: "
         "[pair.cc:566] Read error [10.0.1.246]:63386: Connection reset by peer\nINFO:root:record state: w-3[0] = "
         "FAILURE\nWARNING:root:blacklist failing host: w-3\n"},
        "crashed", ("process of w-3",), None, "FAILURE",
    ),
    Case(
        "U35 two hosts have left, and nothing tells which was first",
        {"job.log": "gx07 | FAILED | rc=1 >>\ngx08 | FAILED | rc=1 >>\n"}, "undecided",
    ),
    Case(
        "U36 systemd-oomd kills what runs on a host",
        {"job.log": "Mar 10 03:11:12 gx4 systemd-oomd[812]: Killed /user.slice/user-1001.slice/run-r12.scope due to "
         "memory pressure for /user.slice/user-1001.slice being 93.08% > 50.00% for > 20s with reclaim activity\n"},
        "resource", ("host gx4",), None, "memory pressure",
    ),
    Case(
        "U37 earlyoom ends a process",
        {"job.log": 'Mar 10 03:11:12 gx4 earlyoom[912]: sending SIGTERM to process 4410 uid 1000 "python3": badness '
         "912, VmRSS 61000 MiB\n"},
        "resource", ("process of gx4",), None, "4410",
    ),
    Case(
        "U38 the kernel of a host breaks down",
        {"job.log": "Mar 10 03:11:12 gx4 kernel: Kernel panic - not syncing: Fatal exception in interrupt\n"},
        "device", ("host gx4",), None, "panic",
    ),
    Case(
        "U39 MPICH tells at the end of a stack that a message did not come through",
        {"job.log": "Abort(1681039) on node 18 (rank 18 in comm 0): Fatal error in PMPI_Wait: Other MPI error, error "
         "stack:\nPMPI_Wait(119).....: MPI_Wait(request=0x7ffe34, status=0x7ffe35) failed\n"
         "MPIDI_OFI_handle_cq_error(1008): OFI poll failed (ofi_events.h:1008:MPIDI_OFI_handle_cq_error:Transport "
         "retry counter exceeded)\n"},
        "transport", ("link rank 18",), None, "OFI poll",
    ),
    Case(
        "U40 Cray MPICH tells of a message, and srun of who broke down before",
        {"job.log": "srun: error: x1000c5: task 1: Segmentation fault\nMPICH ERROR [Rank 0] [job id 208.0] [Mon May 15 "
         "14:32:54 2026] [x1000c4] - Abort(1008846991) (rank 0 in comm 0): Fatal error in PMPI_Recv: Other MPI error, "
         "error stack:\nPMPI_Recv(177)....: MPI_Recv(buf=0x7f, count=1) failed\nMPIDI_OFI_handle_cq_error(1062): OFI "
         "poll failed (ofi_events.c:1064:MPIDI_OFI_handle_cq_error:Input/output error - UNDELIVERABLE)\n"},
        "crashed", ("rank 1",), None, "Segmentation fault",
    ),
    Case(
        "U41 a rank has called MPI_Abort, as MPICH tells it",
        {"job.log": "application called MPI_Abort(MPI_COMM_WORLD, 77) - process 3\n"},
        "crashed", ("rank 3",), None, "MPI_Abort",
    ),
    Case(
        "U42 Ray ends workers since a host ran out of memory",
        {"job.log": "node_manager.cc:3010: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers "
         "crashed due to other reasons at node (ID: ab12, IP: 10.0.0.8) over the last time period.\n"},
        "resource", ("host 10.0.0.8",), None, "memory pressure",
    ),
    Case(
        "U43 Horovod compares what ranks gave it",
        {"job.log": "".join(
            f"[1,{rank}]<stderr>:horovod.common.exceptions.HorovodInternalError: Mismatched allreduce tensor shapes: "
            "One rank sent a tensor of shape [1024], but another rank sent a tensor of shape [1025].\n"
            for rank in (1, 0))},
        "mismatch", (), None, "Mismatched",
    ),
    Case(
        "U44 UCX finds no space for its shared memory",
        {"job.log": "[1700000000.123456] [gx4:4410 :0]         mm_posix.c:194  UCX  ERROR Not enough memory to write "
         "total of 4292720 bytes. Please check that /dev/shm or the directory you specified has more available "
         "memory.\n"},
        "resource", ("host gx4",), None, "Not enough memory",
    ),
    Case(
        "U45 Paddle of old tells who was aborted",
        {"job.log": "ERROR 2026-05-24 17:17:14,611 launch_utils.py:545] ABORT!!! Out of all 4 trainers, the trainer "
         "process with rank=[3] was aborted. Please check its log.\n"},
        "crashed", ("rank 3",), None, "rank=[3]",
    ),
    Case(
        "U46 msrun quotes logs by their bare names",
        {"console.log": "worker_1.log-88-Traceback (most recent call last):\n"
         'worker_1.log-89-  File "train.py", line 10, in <module>\n'
         "worker_1.log:90:ValueError: the shape is wrong\n"},
        "crashed", ("rank 1",), None, "ValueError",
    ),
    Case(
        "U47 CANN finds no module of Python",
        {"job.log": "[rank1]: [ERROR] 2026-04-09-10:06:30 (PID:1506967, Device:1, RankID:1) ERR02200 DIST call hccl "
         "api failed.\n[rank1]: EC0010: Failed to import Python module [ModuleNotFoundError: No module 'tbe'].\n"},
        "config", ("rank 1",), None, "EC0010",
    ),
    *(
        Case(
            f"U48 a kernel failed on an NPU: {told}",
            {"job.log": f"[rank6]: EZ9999: [PID: 4411] 2026-04-08-18:07:20.444.436 {told}, core id is 9, error code = "
             "0x800000\n[rank2]: EI0002: [PID: 2969] 2026-04-08-18:37:45.713.335 The wait execution of the Notify "
             "register times out.\n"},
            "crashed", ("rank 6",), None, "EZ9999",
        )
        for told in (
            "The error from device(chipId:6, dieId:0), serial number is 7, there is an exception of aivec error",
            "An error occurs on the device(chipId:6, dieId:0), the serial number is 7, the error is aivec error",
        )
    ),
)  # fmt: skip
