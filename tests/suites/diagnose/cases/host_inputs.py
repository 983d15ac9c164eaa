"""What is told of hosts, before a job runs there and while it does: by ssh, mpiexec, Kubernetes, Docker and NVML."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case

_MOUNT = (
    'Warning  FailedMount  3m (x4 over 6m)  kubelet  MountVolume.SetUp failed for volume "data" : mount failed: exit '
    "status 32\n"
)
_DOWNSTREAM = (
    "[mpiexec@gx1] wait_proxies_to_terminate (i_mpiexec.c:537): downstream from host {} was killed by signal 9\n"
)

CASES = (
    Case(
        "V01 Docker tells that memory was not why",
        {"job.log": '"State": {"Status": "exited", "OOMKilled": false, "Dead": false, "ExitCode": 1}\n'}, "undecided",
    ),
    Case(
        "V02 a volume that could not be mounted, and a rank that broke down later",
        {"job.log": f"{_MOUNT}[rank1]: Traceback (most recent call last):\n"
         '[rank1]:   File "/app/t.py", line 3, in <module>\n[rank1]: ValueError: bad shard\n'},
        "crashed", ("rank 1",), None, "ValueError",
    ),
    Case(
        "V03 a volume that could not be mounted, and nothing else",
        {"job.log": _MOUNT}, "launch", (), None, "MountVolume",
    ),
    Case(
        "V04 a volume that was mounted in the end, as a rank shows that has gone far",
        {"job.log": f"{_MOUNT}[rank3]:[E310 03:01:12.000000001 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught "
         "collective operation timeout: WorkNCCL(SeqNum=100, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
         "Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n"},
        "undecided",
    ),
    Case(
        "V05 a pod wants more devices than a node has left",
        {"job.log": "Warning  UnexpectedAdmissionError  2m  kubelet  Allocate failed due to requested number of "
         "devices unavailable for nvidia.com/gpu. Requested: 8, Available: 6, which is unexpected\n"},
        "launch", (), None, "Available: 6",
    ),
    Case(
        "V06 ssh hears a host no more",
        {"job.log": "Timeout, server gx5 not responding.\n"}, "transport", ("host gx5",), None, "gx5",
    ),
    Case(
        "V07 a host ends ssh",
        {"job.log": "Connection to gx5 closed by remote host.\n"}, "transport", ("host gx5",), None, "gx5",
    ),
    Case(
        "V08 mpiexec finds no address",
        {"job.log": "[mpiexec@gx1] HYDU_sock_connect (lib/utils/sock.c:145): unable to get host address for gx9 (1)\n"},
        "launch", ("host gx9",), None, "gx9",
    ),
    Case(
        "V09 all that mpiexec had started on a host was killed",
        {"job.log": _DOWNSTREAM.format("gx3")}, "crashed", ("host gx3",), None, "gx3",
    ),
    Case(
        "V010 all that mpiexec had started on two hosts was killed",
        {"job.log": _DOWNSTREAM.format("gx3") + _DOWNSTREAM.format("gx4")}, "crashed",
    ),
    Case(
        "V011 a GPU is lost",
        {"job.log": "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to "
         "recover this GPU\n"},
        "device", ("device 0000:3B:00.0",), None, "GPU is lost",
    ),
    Case(
        "V012 HTCondor ends a job for its memory",
        {"job.log": "\tError from slot1@gx4: Job has gone over memory limit of 2048 megabytes. Peak usage: 2100 "
         "megabytes.\n"},
        "resource", ("host gx4",), None, "memory limit",
    ),
    Case(
        "V013 a node is not ready",
        {"job.log": "Warning  NodeNotReady  4m  node-controller  Node is not ready\n"}, "device", (), None, "NotReady",
    ),
    Case(
        "V014 pods of which two have used up their memory, with their namespace",
        {"job.log": "ml    trn-worker-0   1/1     Running     0   12m\nml    trn-worker-1   0/1     OOMKilled   0   "
         "12m\nml    trn-worker-3   0/1     OOMKilled   0   12m\n"},
        "resource", ("host trn-worker-1", "host trn-worker-3"), None, "OOMKilled",
    ),
    Case(
        "V015 a launcher's pod ends because of a rank",
        {"job.log": "trn-launcher-6sv6w   0/1   Error     0   12m\ntrn-worker-0   1/1   Running   0   12m\n"},
        "undecided",
    ),
    Case(
        "V016 what Flux says behind an exception is none of its message",
        {"job.log": "2: Traceback (most recent call last):\n2:   File \"train.py\", line 3, in <module>\n"
         "2: RuntimeError: shape mismatch\n3: step 1\n12.037s: flux-shell[0]: FATAL: doom: python3: rank 2 on host gx3 "
         "exited and exit-timeout=30s has expired\nflux-job: task(s) exited with exit code 1\n"},
        "crashed", ("rank 2",), None, "shape mismatch",
    ),
    Case(
        "V017 a pod that is no rank, and a line that tells of no pod",
        {"job.log": "kube-system   proxy-x2k4p   0/1   CrashLoopBackOff   9   25m\nbatch 3/10 Error 0.12\n"},
        "undecided",
    ),
    Case(
        "V018 a program was killed that is no rank",
        {"job.log": "./watch.sh: line 3:  221 Killed                  nvidia-smi dmon\n[rank3]:[E310 "
         "03:01:12.000000001 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=100, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 "
         "milliseconds before timing out.\n"},
        "undecided",
    ),
)  # fmt: skip
