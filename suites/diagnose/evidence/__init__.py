"""Readers of what other tools wrote. Adding one is a file here and a line in a table.

FILE_READERS read a source as a whole, and are asked in this order whether it is theirs; what is nobody's is text, and
every line of it goes to all LINE_READERS, since logs mix what many libraries say.
May import: line, known; readers only when used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.line import LineReader

FILE_READERS: Mapping[str, str] = {
    "flight recorder": "suites.diagnose.evidence.flight_recorder",
    "opsdist flight recorder": "suites.diagnose.evidence.rings",
    "run of opsdist": "suites.diagnose.evidence.run",
    "NCCL RAS": "suites.diagnose.evidence.ras_json",
    "HCCL status": "suites.diagnose.evidence.hccl_status",
    "HCCL rank table": "suites.diagnose.evidence.hccl_rank_table",
    "py-spy": "suites.diagnose.evidence.pyspy_json",
}
"""name -> module with `recognises(head: bytes, name: str) -> bool` and `read(source: Source) -> Iterable[Fact]`."""

LINE_READERS: Mapping[str, str] = {
    "torch watchdog": "suites.diagnose.evidence.torch_watchdog:Watchdog",
    "torch desync report": "suites.diagnose.evidence.torch_desync:Desync",
    "torch compared calls": "suites.diagnose.evidence.torch_detail:Detail",
    "torch monitored barrier": "suites.diagnose.evidence.torch_barrier:MonitoredBarrier",
    "torch store barrier": "suites.diagnose.evidence.torch_barrier:StoreBarrier",
    "torch barriers": "suites.diagnose.evidence.torch_barrier:TEXTS",
    "torch flight recorder report": "suites.diagnose.evidence.torch_fr_report:FlightRecorderReport",
    "torch store": "suites.diagnose.evidence.torch_store:Store",
    "torch groups": "suites.diagnose.evidence.torch_errors:GROUPS",
    "torch store errors": "suites.diagnose.evidence.torch_errors:STORE",
    "torch device errors": "suites.diagnose.evidence.torch_device:DeviceErrors",
    "frameworks around torch": "suites.diagnose.evidence.frameworks:ROWS",
    "DeepEP": "suites.diagnose.evidence.frameworks:DeepEp",
    "gloo connections": "suites.diagnose.evidence.gloo:Loopback",
    "gloo": "suites.diagnose.evidence.gloo:TEXTS",
    "horovod stall inspector": "suites.diagnose.evidence.horovod:StallInspector",
    "JAX coordination service": "suites.diagnose.evidence.jax_coordination:Coordination",
    "XLA": "suites.diagnose.evidence.xla:Rendezvous",
    "XLA, texts": "suites.diagnose.evidence.xla:ROWS",
    "NCCL": "suites.diagnose.evidence.nccl_log:NcclLog",
    "nccl-tests": "suites.diagnose.evidence.nccl_benchmark:ROWS",
    "nccl-tests, table": "suites.diagnose.evidence.nccl_table:Table",
    "ROCm": "suites.diagnose.evidence.rocm_texts:ROWS",
    "nvidia-smi, NVML, NVSHMEM": "suites.diagnose.evidence.nvidia_tools:ROWS",
    "fabric manager": "suites.diagnose.evidence.fabric_manager:ROWS",
    "limits of hosts": "suites.diagnose.evidence.host_limits:ROWS",
    "crash handlers": "suites.diagnose.evidence.crash_handlers:ROWS",
    "libfabric": "suites.diagnose.evidence.libfabric:ROWS",
    "NCCL, quoted": "suites.diagnose.evidence.nccl_quoted:Quoted",
    "NCCL RAS": "suites.diagnose.evidence.ras:RasText",
    "HCCL": "suites.diagnose.evidence.hccl_log:HcclLog",
    "hccn_tool, npu-smi": "suites.diagnose.evidence.npu_tools:NpuTools",
    "MindSpore": "suites.diagnose.evidence.mindspore:MindSpore",
    "hccl_test": "suites.diagnose.evidence.hccl_benchmark:ROWS",
    "stacks": "suites.diagnose.evidence.pyspy:Stacks",
    "tracebacks": "suites.diagnose.evidence.tracebacks:Tracebacks",
    "exits": "suites.diagnose.evidence.exits:Exits",
    "kernel": "suites.diagnose.evidence.kernel:Kernel",
    "hosts": "suites.diagnose.evidence.host_texts:ROWS",
    "identities": "suites.diagnose.evidence.identities:Identities",
    "actors of Ray": "suites.diagnose.evidence.ray_actors:RayActors",
    "launchers": "suites.diagnose.evidence.launchers:ROWS",
    "Flux": "suites.diagnose.evidence.flux:ROWS",
    "ends of Flux's tasks": "suites.diagnose.evidence.flux:FluxEnds",
    "pods": "suites.diagnose.evidence.kubernetes:Pods",
    "sizes of jobs": "suites.diagnose.evidence.world:WorldSizes",
    "MPI": "suites.diagnose.evidence.mpi:ROWS",
    "MPICH, in stacks": "suites.diagnose.evidence.mpich_stacks:ErrorStacks",
    "MPI, in paragraphs": "suites.diagnose.evidence.mpi_blocks:MpiParagraphs",
}
"""name -> "module:name" of a LineReader's class, or of a table of known texts."""


def attribute(path: str) -> Any:
    """What `module` or `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def line_reader(path: str) -> LineReader:
    """A new one for a source."""
    named = attribute(path)
    return KnownTexts(named) if isinstance(named, tuple) else cast(LineReader, named())
