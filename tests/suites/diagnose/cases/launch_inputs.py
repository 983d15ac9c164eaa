"""Launchers, and the libraries of MPI that they start, where their own lines decide."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case

_REPORT = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"


def _failure(time: str, rank: int, code: int, pid: int) -> str:
    return (
        f"  time      : 2026-03-21_15:{time}\n  host      : gpu19\n  rank      : {rank} (local_rank: {rank})\n"
        f"  exitcode  : {code} (pid: {pid})\n"
    )


def _bad_termination(rank: int, end: str) -> str:
    """As mpiexec of Hydra tells it of each."""
    rule = "=" * 60
    return (
        f"{rule}\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
        f"=   RANK {rank} PID {5130 + rank} RUNNING AT cn52\n=   {end}\n{rule}\n"
    )


_STEP_ENDS = "srun: Terminating StepId=7781.0\nslurmstepd: error: *** STEP 7781.0 ON nd1 CANCELLED AT NOW ***\n"

CASES = (
    Case(
        "M01 mpiexec kills the others of who broke down",
        {"job.log": _bad_termination(4, "KILLED BY SIGNAL: 9 (Killed)")
         + _bad_termination(5, "KILLED BY SIGNAL: 11 (Segmentation fault)")
         + _bad_termination(6, "KILLED BY SIGNAL: 9 (Killed)")},
        "crashed", ("rank 5",), None, "SIGNAL: 11",
    ),
    Case(
        "M02 mpiexec kills the others of who left",
        {"job.log": _bad_termination(0, "KILLED BY SIGNAL: 9 (Killed)") + _bad_termination(2, "EXIT STATUS: 3")},
        "crashed", ("rank 2",), None, "EXIT STATUS: 3",
    ),
    Case(
        "M03 all were killed, and nobody tells who first",
        {"job.log": "".join(_bad_termination(rank, "KILLED BY SIGNAL: 9 (Killed)") for rank in (6, 7, 8))},
        "crashed",
    ),
    Case(
        "M04 srun kills the others at the limit of time",
        {"job.log": "slurmstepd: error: *** STEP 7781.0 ON nd1 CANCELLED AT 2026-05-05T10:00:01 DUE TO TIME LIMIT "
         "***\nsrun: error: nd1: tasks 0-1: Killed\nsrun: error: nd2: tasks 2-3: Killed\n"},
        "undecided",
    ),
    Case(
        "M05 srun kills the others of who ran out of memory",
        {"job.log": "slurmstepd: error: Detected 1 oom_kill event in StepId=7781.0. Some of the step tasks have been "
         f"OOM Killed.\nsrun: error: nd2: task 3: Out Of Memory\n{_STEP_ENDS}srun: error: nd1: tasks 0-1: Killed\n"
         "srun: error: nd2: task 2: Killed\n"},
        "resource", ("rank 3",), None, "Out Of Memory",
    ),
    Case(
        "M06 two were killed, and the others follow",
        {"job.log": "srun: error: nd1: tasks 2,5: Killed\nsrun: error: nd1: tasks 0-1,3-4: Exited with exit code 1\n"},
        "crashed",
    ),
    Case(
        "M07 torchrun lists who was killed first last",
        {"job.log": _REPORT + _failure("43:09", 1, -9, 91) + _failure("43:03", 3, -9, 93)},
        "crashed", ("rank 3",),
    ),
    Case(
        "M08 torchrun lists several who were killed in one second",
        {"job.log": _REPORT + _failure("43:03", 1, -9, 91) + _failure("43:03", 0, -9, 90)},
        "crashed",
    ),
    Case(
        "M010 a rank of horovodrun is killed, as the shell on its host tells",
        {"job.log": "Fri Sep 11 07:07:20 2026[2]<stderr>:bash: line 1: 352370 Killed            HOROVOD_HOSTNAME=w-2 "
         "HOROVOD_RANK=2 HOROVOD_SIZE=3 python train.py\nFri Sep 11 07:07:21 2026[0]<stderr>:[2026-09-11 07:07:21.55: "
         "E operations.cc:548] Horovod background loop uncaught exception: [pair.cc:566] Read "
         "error [10.0.1.246]:63386: Connection reset by peer\n"},
        "crashed", ("rank 2",), None, "Killed",
    ),
    Case(
        "M011 horovodrun tells how each has ended",
        {"job.log": "Process 2 exit with status code 137.\nProcess 0 exit with status code 143.\n"
         "Process 1 exit with status code 143.\n"},
        "crashed", ("rank 2",), None, "137",
    ),
    Case(
        "M012 a rank of SageMaker's mpirun",
        {"job.log": "[1,mpirank:0,algo-1]<stderr>:NCCL error in: ProcessGroupNCCL.cpp:3690, remote process exited or "
         "there was a network error\n[1,mpirank:3,algo-2]<stderr>:Traceback (most recent call last):\n"
         '[1,mpirank:3,algo-2]<stderr>:  File "train.py", line 3, in <module>\n'
         "[1,mpirank:3,algo-2]<stderr>:ValueError: bad shard\n"},
        "crashed", ("rank 3",), None, "ValueError",
    ),
    Case(
        "M013 lines that Cloud Logging has collected",
        {"job.log": "".join(
            '{"textPayload":"[rank1]: ' + text + '","resource":{"labels":{"pod_name":"trn-1"}},"timestamp":'
            '"2026-03-01T10:00:00.100Z"}\n'
            for text in ("Traceback (most recent call last):", '  File \\"/app/t.py\\", line 3, in <module>',
                         "ValueError: bad shard"))},
        "crashed", ("rank 1",), None, "ValueError",
    ),
    Case(
        "M014 clush tells of a program that failed",
        {"job.log": "gx03: [rank3]: Traceback (most recent call last):\n"
         'gx03: [rank3]:   File "/app/t.py", line 3, in <module>\ngx03: [rank3]: ValueError: bad shard\n'
         "clush: gx03: exited with exit code 1\n"},
        "crashed", ("rank 3",), None, "ValueError",
    ),
    Case(
        "M015 a worker of an actor of Ray has died",
        {"job.log": "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
         "\tclass_name: WorkerDict\n\tactor_id: d9cc\n\tpid: 20174\n\tnamespace: de88\n\tip: 10.164.7.106\n"
         "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: "
         "End of file.\n"},
        "crashed", ("process of 10.164.7.106",), None, "SYSTEM_ERROR",
    ),
    Case(
        "M016 the node of an actor of Ray is gone",
        {"job.log": "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
         "\tclass_name: RayWorkerWrapper\n\tactor_id: aa11\n\tpid: 4410\n\tip: 10.0.3.4\n"
         "The actor died because its node has died. Node Id: ffee. health check failed due to missing heartbeats\n"},
        "transport", ("host 10.0.3.4",), None, "its node has died",
    ),
    Case(
        "M017 a port that another process has",
        {"job.log": 'Traceback (most recent call last):\n  File "/env/accelerate/launch.py", line 150, in prepare\n'
         "    raise ConnectionError(\nConnectionError: Tried to launch distributed communication on port `29500`, "
         "but another process is utilizing it. Please specify a different port.\n"},
        "resource", (), None, "29500",
    ),
    Case(
        "M018 the kernel tells of a fault of Python",
        {"job.log": "Mar 10 03:11:12 gn4 kernel: python3[3187]: segfault at 0 ip 00007f1c2a3b4c5d sp 00007f1c1bffe5d0 "
         "error 4 in libnccl.so.2[7f1c2a+40]\nMar 10 03:11:12 gn4 kernel: gnome-shell[9]: segfault at 0\n"},
        "crashed", ("process of gn4",), None, "libnccl",
    ),
    Case(
        "M026 a fault of Python while it is ended after a time-out",
        {"job.log": "[rank3]:[E310 03:01:12.000000001 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective "
         "operation timeout: WorkNCCL(SeqNum=100, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
         "600001 milliseconds before timing out.\nMar 10 03:11:12 gn4 kernel: python3[3187]: segfault at 0 ip 0 sp 0 "
         "error 4 in libnccl.so.2[7f1c2a+40]\n"},
        "undecided",
    ),
    Case(
        "M019 the node of a pod is not ready",
        {"job.log": "5m          Warning   NodeNotReady         pod/trn-worker-2   Node is not ready\n"},
        "device", ("host trn-worker-2",), None, "NodeNotReady",
    ),
    Case(
        "M020 docker compose ends the others of who left",
        {"job.log": "trn-worker-2 exited with code 1\nAborting on container exit...\n"
         "trn-worker-0 exited with code 137\ntrn-worker-1 exited with code 137\n"},
        "crashed", ("host trn-worker-2",), None, "code 1",
    ),
    Case(
        "M021 several were killed, and a path had failed",
        {"job.log": "srun: error: gx3: tasks 0-3: Killed\n[cn33:mpi_rank_1][handle_cqe] Msg from 2: wc.status=12 "
         "(transport retry counter exceeded), wc.wr_id=0x2b8c1a8, wc.opcode=0\n"},
        "transport", ("link rank 1 - 2",), None, "wc.status=12",
    ),
    Case(
        "M022 Slurm does not hear of a node, and kills what is left",
        {"job.log": "srun: error: Node gx4 not responding\nsrun: error: gx4: tasks 8-15: Killed\n"},
        "transport", ("host gx4",), None, "not responding",
    ),
    Case(
        "M023 Slurm starts but some tasks",
        {"job.log": "srun: error: timeout waiting for task launch, started 8 of 16 tasks\nsrun: Job step aborted: "
         "Waiting up to 32 seconds for job step to finish.\nsrun: error: gx3: tasks 0-7: Killed\n"},
        "launch", (), None, "started 8 of 16",
    ),
    Case(
        "M024 a pod was evicted",
        {"job.log": "trn-worker-0   1/1     Running   0          2h\ntrn-worker-1   0/1     Evicted   0          2h\n"},
        "resource", ("host trn-worker-1",), None, "Evicted",
    ),
    Case(
        "M025 no node for a pod, by Volcano",
        {"job.log": "Warning  FailedScheduling  2m  volcano  0/4 nodes are unavailable: 4 Insufficient gpu.\n"},
        "launch", (), None, "Insufficient",
    ),
    Case(
        "M1 UCX gives up, and its process with it",
        {"job.log": "[cn27:2330:0:2330] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 "
         "vend 0x81 hw_synd 0/0)\n[cn27:2330] *** Process received signal ***\n[cn27:2330] Signal: Aborted (6)\n"
         "mpirun noticed that process rank 3 with PID 2330 on node cn27 exited on signal 6 (Aborted).\n"},
        "transport", ("link rank 3",), None, "retry count",
    ),
    Case(
        "M2 peers of who was killed",
        {"job.log": "".join(
            f"[cn44][[55297,1],{rank}][btl_tcp_frag.c:238:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed: "
            "Connection reset by peer (104)\n" for rank in (0, 1))
         + "mpirun noticed that process rank 2 with PID 9911 on node cn45 exited on signal 9 (Killed).\n"},
        "crashed", ("rank 2",), None, "signal 9",
    ),
    Case(
        "M3 torchrun tells the process first, and then whose it is",
        {"job.log": "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 3 "
         f"(pid: 812917) of binary: python\n{_REPORT}{_failure('43:03', 3, -9, 812917)}"},
        "crashed", ("rank 3",),
    ),
    Case(
        "M4 torchrun has killed those who did not end",
        {"job.log": _REPORT + _failure("43:03", 3, 1, 93) + _failure("43:34", 0, -9, 90)},
        "crashed", ("rank 3",),
    ),
    Case(
        "M5 srun's tasks are no ranks where torchrun starts these",
        {"job.log": f"1: {_REPORT}slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step "
        f"tasks have "
         "been OOM Killed.\nsrun: error: cn61: task 0: Out Of Memory\n"},
        "resource", ("host cn61",), None, "Out Of Memory",
    ),
    Case(
        "M6 horovodrun names who failed first",
        {"job.log": "RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus "
        "causing "
         "the job to be terminated. The first process to do so was:\nProcess name: 3\nExit code: 137\n"},
        "crashed", ("rank 3",),
    ),
    Case(
        "M7 mpi4py aborts on a copy of the world",
        {"job.log": "MPI_ABORT was invoked on rank 2 in communicator MPI COMMUNICATOR 5 DUP FROM 0\nwith errorcode "
        "1.\n"},
        "crashed", ("rank 2",),
    ),
    Case(
        "M8 names of hosts that came later",
        {"job.log": "ssh: Could not resolve hostname mw-0.mw: Name or service not known\n+ sleep 10\nmw-0 is ready\n"
         "[1,3]<stderr>:Traceback (most recent call last):\n[1,3]<stderr>:  File \"train.py\", line 88, in <module>\n"
         "[1,3]<stderr>:ValueError: batch is empty\n"},
        "crashed", ("rank 3",), None, "ValueError",
    ),
    Case(
        "M9 several hosts are not found",
        {"job.log": "ssh: Could not resolve hostname mw-0.mw: Name or service not known\n"
         "ssh: Could not resolve hostname mw-1.mw: Name or service not known\nORTE was unable to reliably start one or "
         "more daemons.\n"},
        "launch", ("host mw-0.mw", "host mw-1.mw"), None, "Could not resolve",
    ),
    Case(
        "M10 a node of Ray has gone",
        {"job.log": "2026-02-07 17:53:40,197\tWARNING worker.py:2037 -- The node with node id: b1d7d50a and address: "
         "192.0.2.9 and node name: w9 has been marked dead because the detector has missed too many heartbeats from "
         "it.\n"},
        "transport", ("host 192.0.2.9",), None, "marked dead",
    ),
    Case(
        "M11 MPICH says that a library gave up, of each rank",
        {"job.log": "Abort(1091215) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Other MPI error, error "
        "stack:\n"
         "create_vni_context(1512): OFI addrinfo() failed (ofi_init.c:1512:create_vni_context:No data available)\n"},
        "config", (), None, "OFI addrinfo",
    ),
    Case(
        "M12 DeepSpeed names the process that it has started last, whichever has failed",
        {"job.log": "[2026-04-10 04:26:05,876] [INFO] [launch.py:318:sigkill_handler] Killing subprocess 94984\n"
         "[2026-04-10 04:26:35,999] [ERROR] [launch.py:324:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', "
         "'--local_rank=1'] exits with return code = -11\n"},
        "crashed", (), None, "return code = -11",
    ),
    Case(
        "M13 a program that one host lacks",
        {"job.log": "gpu07: bash: /opt/env/bin/python: No such file or directory\n"
         "pdsh@gpu06: gpu07: ssh exited with exit code 127\n"},
        "launch", ("host gpu07",), None, "exit code 127",
    ),
    Case(
        "M14 memory has run out, as Slurm said it before",
        {"job.log": "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=19.batch cgroup. Some of your processes "
         "may have been killed by the cgroup out-of-memory handler.\n"},
        "resource", (), None, "oom-kill",
    ),
    Case(
        "M15 Slurm ends a job for its memory",
        {"job.log": "slurmstepd: Job 71 exceeded memory limit (18202456 > 16384000), being killed\n"
         "slurmstepd: *** JOB 71 ON cn24 CANCELLED AT 2026-02-16T13:24:27 ***\n"},
        "resource", (), None, "being killed",
    ),
    Case(
        "M16 PBS ends a job for its memory",
        {"job.log": "=>> PBS: job killed: vmem 3372163072 exceeded limit 2147483648\n"},
        "resource", (), None, "vmem",
    ),
    Case(
        "M17 PBS ends a job at its time limit",
        {"job.log": "=>> PBS: job killed: walltime 86415 exceeded limit 86400\n"}, "undecided",
    ),
    Case(
        "M18 LSF ends a job for its memory",
        {"job.log": "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 143.\n"},
        "resource", (), None, "TERM_MEMLIMIT",
    ),
    Case(
        "M19 LSF ends a job at its time limit",
        {"job.log": "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.\n"},
        "undecided",
    ),
    Case(
        "M20 a daemon of Slurm does not reach another",
        {"job.log": "slurmstepd: error:  mpi/pmix_v2: pmixp_dconn_connect: cn77 [0]: pmixp_dconn.h:246: Cannot "
         "establish direct connection to cn78 (1)\nslurmstepd: error: *** STEP 88.0 ON cn77 CANCELLED AT "
         "2026-06-20T10:11:12 ***\n"},
        "launch", ("link cn77 - cn78",), None, "direct connection",
    ),
)  # fmt: skip
