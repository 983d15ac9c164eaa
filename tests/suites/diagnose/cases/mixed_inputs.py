"""Logs in which more went wrong than what the job ended of: what was overcome, and what frightens and is harmless."""

from __future__ import annotations

from tests.suites.diagnose.cases.case import Case
from tests.suites.diagnose.cases.framework_inputs import raised, waiting

_KERNEL = "Jan 31 10:00:00 node03 kernel: mlx5_core 0000:5e:00.0 "
_PORT = "node03:88:158 [0] transport/net_ib.cc:216 NCCL WARN NET/IB : mlx5_3:1 Got async event : port "


def started(command: str, how: str) -> str:
    """What a launcher raises of what it has started."""
    return raised(f"subprocess.CalledProcessError: Command '{command}' {how}.", file="/srv/accelerate/launch.py")


CASES = (
    Case("a port that came up again, then an exception", {"job.log": f"{_PORT}error\n{_PORT}active\nstep 100\n"
         + raised("ValueError: bad shard", "[rank2]: ") + waiting((0, 1, 3))}, "crashed", ("rank 2",),
         ("allreduce", 33), "ValueError"),
    Case("a port that came up again, and nothing else", {"job.log": f"{_PORT}error\n{_PORT}active\n"
         + waiting((0, 1, 2, 3))}, "device", ("device mlx5_3 of node03",), None, "port error"),
    Case("a port that went down again", {"job.log": f"{_PORT}error\n{_PORT}active\n{_PORT}error\n"
         + raised("ValueError: bad shard", "[rank2]: ")}, "device", ("device mlx5_3 of node03",), None, "port error"),
    Case("memory that one got over, then an exception of another", {"job.log": "[rank3] WARNING caught torch."
         "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. Skipping batch 118\nstep 900 loss 2.1\n"
         + raised("ValueError: bad shard", "[rank1]: ") + waiting((0, 2, 3))}, "crashed", ("rank 1",),
         ("allreduce", 33), "ValueError"),
    Case("NCCL fails on the others, as vLLM tells it", {"job.log": "".join(raised(
        "RuntimeError: NCCL error: remote process exited or there was a network error", f"[rank{rank}]: ")
        for rank in (0, 1, 2)) + raised("IndexError: list index out of range", "[rank3]: ")}, "crashed", ("rank 3",),
         None, "IndexError"),
    Case("NCCL refused to be called so, as vLLM tells it", {"job.log": raised("RuntimeError: NCCL error: invalid usage "
         "(run with NCCL_DEBUG=WARN for details)")}, "undecided"),
    Case("a GPU that nvidia-smi cannot reach", {"job.log": "Unable to determine the device handle for GPU0000:4E:00.0: "
         "Unknown Error\n" + waiting(range(4))}, "device", ("device 0000:4E:00.0",), None, "device handle"),
    Case("a GPU that nvidia-smi cannot reach, told with its number",
         {"job.log": "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n"},
         "device", ("device 0000:34:00.0",), None, "Unable to determine"),
    Case("a GPU that is lost to its own rank", {"job.log": raised("pynvml.NVMLError_GpuIsLost: GPU is lost", "[rank2]: "
         ) + waiting((0, 1, 3))}, "device", ("device of rank 2",), None, "GpuIsLost"),
    Case("memory that NVSHMEM cannot register", {"job.log": "/srv/nvshmem/src/modules/transport/ibrc/ibrc.cpp:473: "
         "NULL value mem registration failed \n"}, "config", (), None, "mem registration failed"),
    Case("all are in one call, and then their launcher tells of it", {"job.log": waiting(range(4)) + started(
        "['/usr/bin/python3', 'train.py']", "died with <Signals.SIGABRT: 6>") + started(
        "['torchrun', 'train.py']", "returned non-zero exit status 1")}, "joined", (), ("allreduce", 33)),
    Case("a launcher tells that what it started has failed", {"job.log": started(
        "['/usr/bin/python3', 'train.py']", "returned non-zero exit status 1")}, "crashed", (), None, "exit status 1"),
    Case("a tool that one rank calls has failed", {"job.log": raised(
        "subprocess.CalledProcessError: Command '['which', 'c++']' returned non-zero exit status 1.", "[rank1]: ")
        + waiting((0, 2, 3))}, "crashed", ("rank 1",), ("allreduce", 33), "c++"),
    Case("a process of torch.multiprocessing was killed", {"job.log": raised(
        "torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGKILL")}, "crashed", (),
         None, "SIGKILL"),
    Case("SGLang's schedulers made no step, and one has no memory", {"job.log": "[2026-01-31 10:00:00 TP2] Scheduler "
         "hit an exception: " + raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB.")
         + "".join(f"[2026-01-31 10:05:0{rank} TP{rank}] Watchdog timeout (self.watchdog_timeout=300, self.forward_ct="
                   "1881)\n" for rank in (0, 1, 3))}, "resource", ("rank 2",), None, "out of memory"),
    Case("SGLang's schedulers made no step", {"job.log": "".join(
        f"[2026-01-31 10:05:0{rank} TP{rank}] Watchdog timeout (self.watchdog_timeout=300, self.forward_ct=1881)\n"
        for rank in range(4))}, "undecided"),
    Case("a monitor hears nothing of its rank", {"job.log": "[WARNING] [RankMonitorServer:34] Did not get subsequent "
         "heartbeat. Waited 171.92 seconds.\n"}, "undecided"),
    Case("torchrun waits for nodes", {"job.log": raised(
        "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError")}, "undecided"),
    Case("a link that came up again, then an exception", {"job.log": f"{_KERNEL}ens5f0np0: Link down\n{_KERNEL}"
         "ens5f0np0: Link up\nstep 900\n" + raised("ValueError: bad shard", "[rank2]: ") + waiting((0, 1, 3))},
         "crashed", ("rank 2",), ("allreduce", 33), "ValueError"),
    *(Case(f"nothing more of one kind: {error[:40]}", {"job.log": raised(error, "[rank2]: ") + waiting((0, 1, 3))},
           "resource", ("rank 2",), ("allreduce", 33), error[:24])
      for error in (
          "OSError: [Errno 24] Too many open files: '/data/shard_1.bin'", "RuntimeError: received 0 items of ancdata",
          "RuntimeError: unable to mmap 1073741824 bytes from file </torch_4711_1>: Cannot allocate memory (12)",
          "RuntimeError: unable to write to file </torch_4711_1>: No space left on device (28)",
          "RuntimeError: can't start new thread", "BlockingIOError: [Errno 11] Resource temporarily unavailable",
          "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory",
      )),
    *(Case(f"a process broke down: {text[:40]}", {"job.log": f"[rank2]: {text}\n" + waiting((0, 1, 3))}, "crashed",
           ("rank 2",), ("allreduce", 33), text[:20])
      for text in (
          "double free or corruption (!prev)", "malloc(): corrupted top size", "corrupted size vs. prev_size",
          "*** stack smashing detected ***: terminated",
          "python: ../ucp/core/worker.c:2711: ucp_worker_destroy: Assertion `worker->inprogress == 0' failed.",
      )),
    Case("all are in one call, and one breaks down when it ends", {"job.log": waiting(range(4))
         + "free(): invalid pointer\nSegmentation fault (core dumped)\n"}, "joined", (), ("allreduce", 33)),
    Case("all are in one call, and what waits for them is cancelled", {"job.log": waiting(range(4))
         + raised("asyncio.exceptions.CancelledError")}, "joined", (), ("allreduce", 33)),
    Case("all are in one call, and a logger of one may open no more files", {"job.log": "WARNING could not flush: "
         "[Errno 24] Too many open files: 'events'\n" + waiting(range(4))}, "joined", (), ("allreduce", 33)),
    *(Case(f"an exception, each line behind `{before}`", {"job.log": raised("ValueError: bad shard", before)
           + waiting((0, 1, 3))}, "crashed", ("rank 2",), ("allreduce", 33), "ValueError")
      for before in ("[rank: 2] ", "rank 2 | ", "ERROR rank=2 ")),
    Case("a shell tells of a signal", {"job.log": "/srv/run.sh: line 14:  4711 Killed           python train.py\n"
         + waiting((0, 1, 3))}, "crashed", ("process",), ("allreduce", 33), "Killed"),
)  # fmt: skip
