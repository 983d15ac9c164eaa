"""What NCCL, RCCL and their network plugins warn of a host and of its network, and what that leads to."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from suites.diagnose.evidence import libfabric, nccl_texts_host, nccl_texts_network, rocm_texts
from suites.diagnose.evidence.nccl_texts import HARMLESS
from suites.diagnose.offline import diagnose
from tests.suites.diagnose.test_warnings import FAILED_BEFORE, HOST, LINK, NCCL, PROCESS, told

OWN = [
    ("nccl.async_port", "NET/IB : Got async event : port error", "device", HOST),
    ("nccl.async_port", "NET/IB : mlx5_3:1 Got async event : port error", "device", "device mlx5_3 of node01"),
    ("nccl.async_port", "NET/IB : mlx5_3:1 Got non-fatal async event: port error(10)", "device",
     "device mlx5_3 of node01"),
    ("nccl.async_fatal", "NET/IB : Got async event : local catastrophic error", "device", HOST),
    ("nccl.async_fatal", "NET/IB : mlx5_3:1 async fatal event: local catastrophic error", "device",
     "device mlx5_3 of node01"),
    ("nccl.verbs_memory", "Call to ibv_create_qp failed with error Cannot allocate memory", "resource", HOST),
    ("nccl.verbs", "Call to ibv_create_cq failed with error Operation not supported", "config", HOST),
    ("nccl.other_link", "NET/IB : Attempted to merge incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE. Try",
     "config", HOST),
    ("nccl.descriptors", "Net : Socket creation failed : Too many open files", "resource", HOST),
    ("nccl.address_family", "Net : Socket creation failed : Address family not supported by protocol", "config", HOST),
    ("nccl.bind", "Call to bind failed : Address already in use", "resource", HOST),
    ("nccl.bind_address", "Call to bind failed : Cannot assign requested address", "config", HOST),
    ("nccl.truncated", "NET/Socket : peer 192.0.2.8<40112> message truncated : receiving 1048576 bytes instead of 4096",
     "mismatch", ""),
    ("nccl.truncated_bootstrap", "Message truncated : received 1024 bytes instead of 256", "config", ""),
    ("nccl.root_mismatch", "Bootstrap Root : mismatch in rank count from procs 16 : 8", "config", ""),
    ("nccl.no_network", "Error: network AWS Libfabric not found.", "config", HOST),
    ("nccl.no_network", "Failed to initialize any NET plugin", "config", HOST),
    ("ofi.memory", "NET/OFI Unable to register memory (type = 2) for device 0. RC: -12, Error: Cannot allocate memory",
     "resource", HOST),
    ("ofi.setup", "NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument", "config", HOST),
    ("ofi.setup", "NET/OFI Creating new endpoint for domain 0x7f9b failed: Invalid argument", "config", HOST),
    ("cuda.fabric", "Cuda failure 802 'system not yet initialized'", "config", HOST),
    ("cuda.driver", "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'", "config", HOST),
    ("cuda.driver", "Cuda failure 'API call is not supported in the installed CUDA driver'", "config", HOST),
    ("cuda.platform", "Cuda failure 'forward compatibility was attempted on non supported HW'", "config", HOST),
    ("cuda.build", "Cuda failure 209 'no kernel image is available for execution on the device'", "config", HOST),
    ("cuda.none", "Cuda failure 100 'no CUDA-capable device is detected'", "config", PROCESS),
    ("cuda.busy", "Cuda failure 46 'all CUDA-capable devices are busy or unavailable'", "resource", PROCESS),
    ("cuda.peers", "Cuda failure 'peer access is not supported between these two devices'", "transport", HOST),
    ("cuda.nvlink", "Cuda failure 'uncorrectable NVLink error detected during the execution'", "device",
     "device gpu2 of node01"),
    ("cuda.unknown", "Cuda failure 999 'unknown error'", "device", "device gpu2 of node01"),
    ("nccl.multicast", "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 4096 : CUDA error 401 'x'",
     "config", HOST),
    ("nccl.imex", "MNNVL (cliqueSize 64) is available but not working on this system. Check the IMEX channel", "config",
     HOST),
    ("nccl.shm_full", "Call to ftruncate failed : No space left on device", "resource", HOST),
    ("nccl.shm_full", "Error: failed to extend /dev/shm/nccl-8rNq1k to 9637892 bytes", "resource", HOST),
    ("nccl.shm_closed",
     "Error while creating shared memory segment /dev/shm/nccl-x (size 4096), error: Permission denied (13)", "config",
     HOST),
    ("nccl.threads", "Call to pthread_create failed : Resource temporarily unavailable", "resource", HOST),
    ("nccl.memory", "Call to mmap failed : Cannot allocate memory", "resource", HOST),
    ("nccl.tree", "Could not find real path of /sys/class/pci_bus/0000:01/../../0000:01:00.0", "config", HOST),
    ("nccl.tree", "Attribute busid of node nic not found", "config", HOST),
    ("nccl.tree", "Failed to find reverse path from remNode 0/200000 nlinks 3 to node 0/700000", "config", HOST),
    ("nccl.nvml", "nvmlInit_v2() failed: Driver/library version mismatch", "config", HOST),
    ("nccl.no_driver", "Failed to open libnvidia-ml.so.1", "config", HOST),
    ("nccl.argument", "Reduce : invalid root 3 (root should be in the 0..1 range)", "crashed", PROCESS),
    ("nccl.config", "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER", "config", PROCESS),
]  # fmt: skip
"""Row, text, class, who is at fault whatever a transfer of others said before."""

OF_PATHS = [
    ("nccl.async_queue", "NET/IB : mlx5_0:1 Got async event : local access violation work queue error", HOST),
    ("nccl.async_queue", "NET/IB : mlx5_0:1 async fatal event on QP (0x55aa): local access violation work queue error",
     HOST),
    ("nccl.connect", "Call to connect to 192.0.2.8<40012> failed : No route to host", f"{LINK} - 192.0.2.8"),
    ("nccl.connect", "socketStartConnect: Connect to 192.0.2.8<40012> failed : Software caused connection abort",
     f"{LINK} - 192.0.2.8"),
    ("nccl.connect", "socketPollConnect: connect to 192.0.2.8<40012> returned Connection timed out, exceeded error",
     f"{LINK} - 192.0.2.8"),
    ("nccl.no_answer", "socketPollConnect poll() returned 1, no POLLOUT events", LINK),
    ("nccl.path_lost", "socketProgressOpt: Call to recv from 192.0.2.8<40012> failed : Connection timed out",
     f"{LINK} - 192.0.2.8"),
    ("ofi.transfer", ("NET/OFI Request 0x7f31 completed with error. RC: 113. Error: 15 (Unresponsive receiver My EFA "
     "addr: fi_addr_efa://[fe80::1]:0:8 Peer EFA addr: fi_addr_efa://[fe80::9]:0:2). Completed length: 0"),
     f"{LINK} - fe80::9"),
    ("ofi.transfer", "NET/OFI Request completed with error. RC: 21. Error: unknown error.", LINK),
    ("ofi.peer", "NET/OFI Unable to insert remote address into address vector for device 1. RC: -22", LINK),
    ("ucx.plugin", "Failed: UCX error ucx_plugin.c:498 '-5' Invalid parameter", HOST),
    ("nccl.peer_memory", "failed to open CUDA IPC handle : 217 peer access is not supported", HOST),
    ("nccl.peer_memory", "hipIpcGetMemHandle failed : invalid argument", HOST),
]  # fmt: skip

FOLLOWS = [
    ("nccl.port_active", "NET/IB : mlx5_3:1 Got async event : port active"),
    ("nccl.async_gone", "Call to ibv_get_async_event failed"),
    ("nccl.sent_nothing", "socketProgressOpt: Call to send to 192.0.2.8<40012> failed : Broken pipe"),
    ("nccl.stranger", "socketFinalizeAccept: wrong type 4 != 3"),
    ("nccl.no_address", "ncclSocketInit: connecting to address with family 0 is neither AF_INET(2) nor AF_INET6(10)"),
    ("nccl.progress", "NET/Socket : socket progress error"),
    ("nccl.destroyed", "comm 0x7fdee40000c0 has already been destroyed"),
    ("nccl.proxy", "[Service thread] Could not receive type from localRank 0, res=3, closed=0"),
    ("nccl.proxy", "Proxy Call to rank 3 failed (Connect)"),
    ("nccl.proxy", "Socket recv failed while polling for opId=0x7f47"),
    ("nccl.accept", "socketTryAccept: Accept failed: Bad file descriptor"),
    ("nccl.no_gpu_memory", "Failed to CUDA calloc async 6291456 bytes"),
    ("rccl.setting", 'Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!'),
    ("rccl.balancing", "NUMA auto balancing enabled which can lead to variability in the RCCL performance!"),
]  # fmt: skip
"""They follow from others, or prove nothing."""


@pytest.mark.parametrize(("text", "right", "culprits"), [row[1:] for row in OWN])
def test_what_is_ones_own_comes_before_a_failed_transfer(tmp_path: Path, text: str, right: str, culprits: str) -> None:
    assert told(tmp_path, FAILED_BEFORE + NCCL.format(text)) == (right, culprits)


@pytest.mark.parametrize(("text", "culprits"), [row[1:] for row in OF_PATHS])
def test_of_failed_transfers_the_first_counts(tmp_path: Path, text: str, culprits: str) -> None:
    assert told(tmp_path, NCCL.format(text) + FAILED_BEFORE) == ("transport", culprits)
    assert told(tmp_path, FAILED_BEFORE + NCCL.format(text)) == ("transport", "link node09")


@pytest.mark.parametrize("text", [text for _, text in FOLLOWS])
def test_what_follows_from_others_names_nobody(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, NCCL.format(text)) == ("undecided", "")
    assert told(tmp_path, NCCL.format(text) + FAILED_BEFORE) == ("transport", "link node09")


def test_what_one_host_put_into_shared_memory_and_another_container_does_not_see(tmp_path: Path) -> None:
    text = "Error while attaching to shared memory segment /dev/shm/nccl-x (size 4096), error: No such file (2)"
    assert told(tmp_path, NCCL.format(text)) == ("config", HOST)


@pytest.mark.parametrize(
    "text", ["[Service thread] Connection closed by localRank 0", "NVLS multicast support is not available on dev 1"]
)
def test_what_every_run_says_is_no_complaint(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, NCCL.replace("WARN", "INFO").format(text)) == ("none", "")


@pytest.mark.parametrize(
    ("text", "right"),
    [("out of memory", ("resource", PROCESS)), ("invalid argument", ("crashed", PROCESS))],
)
def test_rccl_names_hip(tmp_path: Path, text: str, right: tuple[str, str]) -> None:
    assert told(tmp_path, NCCL.format(f"HIP failure '{text}'")) == right


def test_the_fabric_manager_names_the_switch_that_failed(tmp_path: Path) -> None:
    log = "[Mar 01 2026 10:00:01] [ERROR] [tid 99] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id "
    text = log + "00000000:c4:00.0 physical id 2 port 30\n" + NCCL.format("Cuda failure 'unspecified launch failure'")
    assert told(tmp_path, text) == ("device", "device 00000000:c4:00.0")


@pytest.mark.parametrize(
    ("more", "culprits"), [("", HOST), ("NET/IB : Unable to open device mlx5_4", "device mlx5_4 of node01")]
)
def test_the_line_that_names_a_device_is_better_than_the_one_before_it(
    tmp_path: Path, more: str, culprits: str
) -> None:
    text = NCCL.format("Call to ibv_open_device failed") + (NCCL.format(more) if more else "")
    assert told(tmp_path, text) == ("config", culprits)


def test_warnings_of_2_2_are_read(tmp_path: Path) -> None:
    text = "node01:4711:4720 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out\n"
    assert told(tmp_path, text) == ("transport", LINK)


@pytest.mark.parametrize(
    "text",
    [
        "[node01:4711:0:4733] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x48)",
        "[node01:04711] *** Process received signal ***\n[node01:04711] Signal: Segmentation fault (11)",
    ],
)
def test_a_process_whose_library_tells_of_a_signal_has_crashed(tmp_path: Path, text: str) -> None:
    opened = NCCL.replace("WARN", "INFO").format("Connected all rings")
    assert told(tmp_path, opened + text + "\n" + FAILED_BEFORE) == ("crashed", PROCESS)


def test_an_abort_that_a_library_tells_of_is_a_consequence(tmp_path: Path) -> None:
    assert told(tmp_path, "[node01:04711] Signal: Aborted (6)\n" + FAILED_BEFORE) == ("transport", "link node09")


def test_every_row_is_here() -> None:
    rows = (*nccl_texts_network.ROWS, *nccl_texts_host.ROWS)
    assert {row.name for row in rows} == {name for name, *_ in (*OWN, *OF_PATHS, *FOLLOWS)} | {
        "nccl.shm_gone", "nccl.verbs_open",
    }  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_as_it_may_be_is_no_sign_of_anything(tmp_path: Path, text: str) -> None:
    opened = NCCL.replace("WARN", "INFO").format("Bootstrap : Using eth0:192.0.2.1<0>")
    assert told(tmp_path, opened + NCCL.format(f"NET/IB : {text}")) == ("none", "")


@pytest.mark.parametrize(
    ("source", "text", "right"),
    [
        ("transport/nvls.cc", "Cuda failure 1 'invalid argument'", ("config", HOST)),
        ("transport/p2p.cc", "Cuda failure 101 'invalid device ordinal'", ("transport", HOST)),
        ("transport/nvls.cc", "Cuda failure 2 'out of memory'", ("resource", PROCESS)),
        ("transport/p2p.cc", "Cuda failure 2 'out of memory'", ("resource", PROCESS)),
        ("init.cc", "Cuda failure 101 'invalid device ordinal'", ("config", HOST)),
    ],
)
def test_a_text_that_says_little_means_more_by_where_it_comes_from(
    tmp_path: Path, source: str, text: str, right: tuple[str, str]
) -> None:
    assert told(tmp_path, NCCL.replace("src/some.cc", source).format(text)) == right


@pytest.mark.parametrize(
    ("name", "text", "right"),
    [
        ("rocm.fault", "Memory access fault by GPU node-4 (Agent handle: 0x152e) on address 0x7f1a. Reason: Unknown.",
         ("crashed", "rank 0")),
        ("rocm.hang", "HW Exception by GPU node-2 (Agent handle: 0x1d1f) reason :GPU Hang", ("device", "rank 0")),
        ("rocm.queue", ":0:rocdevice.cpp:2984: Queue 0x7f aborting with error : HSA_STATUS_ERROR_EXCEPTION: x",
         ("crashed", "rank 0")),
        ("libfabric.transfer",
         ("libfabric:4711:1708520807::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 5, message: Invalid address My "
         "EFA addr: fi_addr_efa://[fe80::1]:0:1 My host id: i-0a Peer EFA addr: fi_addr_efa://[fe80::2]:0:9 Peer host "
         "id: i-0b (7)"), ("transport", "link rank 0 - i-0b")),
    ],
)  # fmt: skip
def test_what_other_libraries_say_of_a_device_or_a_path(
    tmp_path: Path, name: str, text: str, right: tuple[str, str]
) -> None:
    assert name in {row.name for row in (*rocm_texts.ROWS, *libfabric.ROWS)}
    said = f"[rank0]: node01:4711:4720 [2] NCCL INFO Connected all rings\n[rank0]: {text}\n"
    assert told(tmp_path, said) == right


def test_a_file_that_may_not_be_opened_is_no_login(tmp_path: Path) -> None:
    text = "Call to open failed, error: Permission denied (13)"
    assert told(tmp_path, NCCL.format(text)) == ("undecided", "")


def test_what_proves_nothing_is_worth_a_look_where_nothing_else_is_known(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(NCCL.format('Missing "iommu=pt" from kernel command line'))
    verdict = diagnose([str(tmp_path)], [], datetime(2026, 1, 2, tzinfo=UTC)).record()["verdict"]
    assert verdict["class"] == "undecided"
    assert any("iommu=pt" in step for step in verdict["next_checks"])
