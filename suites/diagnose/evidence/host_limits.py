"""What Python, PyTorch and the C library raise where a host or a container gives no more: descriptors, threads, memory.

The texts are those of errno, of CPython, of ATen's MapAllocator and of PyTorch's allocator. May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_OWN = Level.INITIATING
_FILES = (
    "`ulimit -n` inside the worker; torch.multiprocessing.set_sharing_strategy('file_system') needs fewer descriptors",
)
_TASKS = (
    "`ulimit -u` and /sys/fs/cgroup/pids.max inside the worker, against `ps -eLf | wc -l`",
    "OMP_NUM_THREADS, and the workers of the data loader: fewer of both",
)
_SHM = ("`df -h /dev/shm` inside the worker; `--shm-size=1g` or more, for a container",)
_MEMORY = ("`free -g` there, and the memory limit of the job; what each worker of the data loader holds",)

ROWS = (
    Known("host.files", "Too many open files",
          r"(?:^|\s)\w{1,40}Error: (?:\[Errno 24\] |.{0,200}: )Too many open files",
          _OWN, "it may open no more files", "resource", "speaker", _FILES, unless="NCCL "),
    Known("host.files", "items of ancdata", r"received \d{1,3} items of ancdata", _OWN,
          "it may open no more files", "resource", "speaker", _FILES),
    Known("host.shm", "to file </torch_", r"unable to write to file </torch_\S{1,80}: No space left",
          _OWN, "/dev/shm is full", "resource", "speaker", _SHM),
    Known("host.memory", "from file </torch_",
          r"unable to mmap \d{1,20} bytes from file </torch_\S{1,80}: Cannot allocate", _OWN,
          "no memory is left on its host", "resource", "speaker", _MEMORY),
    Known("host.memory", "DefaultCPUAllocator", r"DefaultCPUAllocator: (?:can't|not enough)",
          _OWN, "no memory is left on its host", "resource", "speaker", _MEMORY),
    Known("host.threads", "can't start new thread", r"RuntimeError: can't start new thread", _OWN,
          "it may start no more threads", "resource", "speaker", _TASKS),
    Known("host.threads", "BlockingIOError", r"BlockingIOError: \[Errno 11\] Resource temporarily unavailable$", _OWN,
          "it may start no more processes", "resource", "speaker", _TASKS),
    Known("host.threads", "fork: ", r"\bfork: (?:retry: )?(?:Resource temporarily unavailable|Cannot allocate memory)",
          Level.TRANSPORT, "a shell may start no more processes", "resource", "host", _TASKS),
    Known("host.threads", "blas_thread_init", r"blas_thread_init: pthread_create failed", Level.TRANSPORT,
          "it may start no more threads", "resource", "speaker", _TASKS),
)  # fmt: skip
