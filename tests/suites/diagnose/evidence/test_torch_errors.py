"""Errors as torch prints them: what is a cause, and what only follows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from suites.diagnose.evidence import torch_errors
from suites.diagnose.evidence.known import Known, KnownTexts
from suites.diagnose.evidence.torch_device import DeviceErrors
from suites.diagnose.facts import Level, Trouble, Who
from tests.suites.diagnose.evidence.torch_lines import of, told

CAUSES = [
    (
        torch_errors.STORE,
        (
            "DistNetworkError: The server socket has failed to listen on any local network address. port: 29400, "
            "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
        ),
        "resource",
        "29400",
    ),
    (
        torch_errors.STORE,
        (
            "[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29400 (errno: 98 - Address "
            "already in use)."
        ),
        "resource",
        "29400",
    ),
    (torch_errors.DEVICE, "RuntimeError: CUDA error: uncorrectable ECC error encountered", "device", "memory"),
    (
        torch_errors.DEVICE,
        "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
        "device",
        "NVLink",
    ),
    (torch_errors.DEVICE, "RuntimeError: CUDA error: device-side assert triggered", "crashed", "kernel"),
    (torch_errors.DEVICE, "RuntimeError: CUDA error: an illegal memory access was encountered", "crashed", "kernel"),
    (torch_errors.DEVICE, "RuntimeError: CUDA error: unspecified launch failure", "crashed", "kernel"),
    (torch_errors.DEVICE, "RuntimeError: CUDA error: unknown error", "device", "GPU"),
    (torch_errors.DEVICE, "RuntimeError: CUDA error: system not yet initialized", "config", "NVSwitches"),
    (torch_errors.DEVICE, "CUDA error: CUDA-capable device(s) is/are busy or unavailable", "resource", "held"),
    (torch_errors.DEVICE, "CUDA error: all CUDA-capable devices are busy or unavailable", "resource", "held"),
    (torch_errors.DEVICE, "RuntimeError: CUDA error: invalid device ordinal", "config", "does not have"),
    (torch_errors.DEVICE, "RuntimeError: No CUDA GPUs: no CUDA-capable device is detected", "config", "no GPU"),
    (
        torch_errors.DEVICE,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 1 has",
        "resource",
        "full",
    ),
    (torch_errors.DEVICE, "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", "resource", "full"),
]
CONSEQUENCES = [
    (
        torch_errors.GROUPS,
        Level.TIMEOUT,
        "[PG 0 Rank 1] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making",
    ),
    (torch_errors.GROUPS, Level.TIMEOUT, "[PG 0 Rank 1] Heartbeat monitor timed out! Process will be terminated"),
    (torch_errors.GROUPS, Level.TIMEOUT, "Could not acquire GIL within 300 ms on exit, possible GIL induced hang"),
    (
        torch_errors.GROUPS,
        Level.TEARDOWN,
        "[PG 0 Rank 1] Process group watchdog thread terminated with exception: CUDA",
    ),
    (torch_errors.GROUPS, Level.TEARDOWN, "[Rank 1] NCCL watchdog thread terminated with exception: [Rank 1] Watch"),
    (
        torch_errors.GROUPS,
        Level.TEARDOWN,
        "Some NCCL operations have failed or timed out. Due to the asynchronous nature of",
    ),
    (torch_errors.GROUPS, Level.TEARDOWN, "To avoid data inconsistency, we are taking the entire process down."),
    (torch_errors.GROUPS, Level.TEARDOWN, "Terminating the process after attempting to dump debug info, due to"),
    (torch_errors.GROUPS, Level.CASCADE, "Received a dump signal due to a collective timeout from rank 3 and we will"),
    (torch_errors.GROUPS, Level.CASCADE, "Observed flight recorder dump signal from another rank via TCPStore."),
    (torch_errors.GROUPS, Level.CASCADE, "NCCL communicator was aborted on rank 3."),
    (torch_errors.GROUPS, Level.CASCADE, "ncclRemoteError: A call failed possibly due to a network error or a remote"),
    (
        torch_errors.GROUPS,
        Level.CASCADE,
        "torch.distributed.DistBackendError: NCCL error: unhandled ncclSystemError: System",
    ),
    (torch_errors.GROUPS, Level.CASCADE, "RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN"),
    (torch_errors.GROUPS, Level.CASCADE, "RuntimeError: NCCL Error 2: unhandled system error"),
    (torch_errors.GROUPS, Level.CASCADE, "NcclError: NCCL_ERROR_UNHANDLED_CUDA_ERROR: unhandled cuda error"),
    (torch_errors.GROUPS, Level.CASCADE, "INTERNAL: NCCL operation ncclGroupEnd() failed: remote process exited"),
    (torch_errors.GROUPS, Level.CASCADE, "ncclUnhandledCudaError: Call to CUDA function failed."),
    (torch_errors.GROUPS, Level.CASCADE, "ncclInvalidUsage: This usually reflects invalid usage of NCCL library."),
    (
        torch_errors.GROUPS,
        Level.CASCADE,
        "params[0] in this process with sizes [4, 7] appears not to match sizes of the same",
    ),
    (torch_errors.GROUPS, Level.CASCADE, "DDP expects same model across all ranks, but Rank 1 has 3 params"),
    (torch_errors.GROUPS, Level.CASCADE, "No available shared memory broadcast block found in 60 seconds."),
    (
        torch_errors.STORE,
        Level.CASCADE,
        ("Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?"),
    ),
    (
        torch_errors.STORE,
        Level.CASCADE,
        "sendBytes failed on SocketImpl(fd=16, addr=[::1]:6, remote=[::1]:4): Broken pipe",
    ),
    (torch_errors.STORE, Level.CASCADE, "but store->get('0') got error: Connection reset by peer"),
    (torch_errors.STORE, Level.CASCADE, "but store->get('0') got error: Broken pipe"),
    (torch_errors.STORE, Level.TIMEOUT, "waitForInput: socket SocketImpl(fd=3, addr=[::1]:6) timed out after 2000ms"),
    (torch_errors.STORE, Level.TIMEOUT, "RuntimeError: Socket Timeout"),
    (torch_errors.STORE, Level.TIMEOUT, "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"),
    (torch_errors.STORE, Level.CASCADE, "RendezvousConnectionError: The connection to the C10d store has failed."),
    (torch_errors.STORE, Level.CASCADE, "torch.distributed.elastic.rendezvous.api.RendezvousClosedError"),
    (
        torch_errors.STORE,
        Level.TIMEOUT,
        "DistStoreError: Timed out after 901 seconds waiting for clients. 7/8 clients joined.",
    ),
    (
        torch_errors.DEVICE,
        Level.CASCADE,
        "CUDA out of memory. Tried to allocate 2097152.00 GiB. GPU 0 has a total capacity",
    ),
    (
        torch_errors.DEVICE,
        Level.CASCADE,
        "CUDA out of memory. Tried to allocate 1.25 EiB (GPU 0; 79.15 GiB total capacity",
    ),
]


@pytest.mark.parametrize(("table", "line", "cause", "word"), CAUSES)
def test_what_proves_a_cause_is_about_who_says_it(table: Sequence[Known], line: str, cause: str, word: str) -> None:
    (trouble,) = of(Trouble, told(KnownTexts(table), line, Who(rank=3, host="node01")))
    assert (trouble.level, trouble.cause) == (Level.INITIATING, cause)
    assert [subject.who.host for subject in trouble.about] == ["node01"]
    assert word in trouble.what
    assert trouble.remedy


@pytest.mark.parametrize(("table", "level", "line"), CONSEQUENCES)
def test_what_follows_from_others_proves_nothing(table: Sequence[Known], level: Level, line: str) -> None:
    (trouble,) = of(Trouble, told(KnownTexts(table), line, Who(rank=3)))
    assert (trouble.level, trouble.cause, trouble.about) == (level, None, ())


@pytest.mark.parametrize(
    "line",
    [
        (
            "The server socket on [::]:29400 has failed to bind. TORCHELASTIC_USE_AGENT_STORE is on so ignoring the "
            "error: EADDRINUSE"
        ),
        "CUDA error handling is on",
    ],
)
def test_harmless_lines(line: str) -> None:
    assert not [
        *told(KnownTexts(torch_errors.STORE), line),
        *told(KnownTexts(torch_errors.DEVICE), line),
        *told(KnownTexts(torch_errors.GROUPS), line),
    ]


def test_memory_that_a_program_gets_over_is_no_cause_before_another() -> None:
    text = "[rank3] WARNING caught torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. Skipping"
    (trouble,) = of(Trouble, told(DeviceErrors(), text))
    assert (trouble.level, trouble.cause, trouble.who.rank) == (Level.TRANSPORT, "resource", 3)


def test_memory_of_neighbours_that_cannot_be_opened() -> None:
    text = "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 '{}'"
    (trouble,) = of(Trouble, told(KnownTexts(torch_errors.GROUPS), text.format("invalid argument")))
    assert (trouble.level, trouble.cause) == (Level.TRANSPORT, "transport")
    assert not told(KnownTexts(torch_errors.GROUPS), text.format("an illegal memory access was encountered"))
