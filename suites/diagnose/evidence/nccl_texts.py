"""What NCCL warns of, and what it means. Texts are those of NCCL's src (misc/ibvwrap.cc, transport/net_ib.cc,
misc/socket.cc, misc/shmutils.cc, init.cc, bootstrap.cc); numbers of completions are ibv_wc_status.

May import: facts, known, and the tables of the network and of the host.
"""

from __future__ import annotations

from suites.diagnose.evidence import nccl_texts_host, nccl_texts_network
from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_GID = "`show_gids` on both hosts; NCCL_IB_GID_INDEX: the RoCE v2 index of the address that is used"
_PORT = "`ibstat` and `rdma link` there: every port that is used is Active"
_PERF = "`ib_write_bw` between the two hosts over the same device"
_COMPLETION = r"completion (?:from peer (?P<peer_address>[\w.:%-]+?)(?:<\d+>)? )?with (?:status|error)[= ]?(?:\w+\()?"
"""Then the number."""
_CARD = r"(?:.{0,300} hca (?P<card>[\w.-]{1,64}))?"

CORE: tuple[Known, ...] = (
    Known(
        "nccl.qp_unreachable", "ibv_modify_qp failed",
        r"ibv_modify_qp failed.{0,80}(?:Network is unreachable|No route to host|Connection timed out)"
        r"(?:.{0,60}?on dev (?P<device>[\w-]+))?",
        Level.TRANSPORT, "a queue pair cannot reach the other end's address", "transport", "host",
        ("`rdma link`, `ip route get` to the other end's address: rails that are not connected", _GID),
    ),
    Known(
        "nccl.qp_refused", "ibv_modify_qp failed", r"ibv_modify_qp failed(?:.{0,120}?on dev (?P<device>[\w-]+))?",
        Level.TRANSPORT, "a queue pair is refused: the port is not active, or the GID index is wrong", "transport",
        "host", (_PORT, _GID),
    ),
    Known(
        "nccl.completion_12", "completion",
        _COMPLETION + r"12\b" + _CARD, Level.TRANSPORT, "the other end did not answer, after all retries (error 12)",
            "transport", "link",
        (_GID, _PORT, _PERF),
    ),
    Known(
        "nccl.completion_4", "completion", _COMPLETION + r"4\b",
        Level.TRANSPORT, "the card may not read the memory (error 4): registration, ACS or IOMMU", "transport", "host",
        ("`opsdist checks pcie.acs_on`, `opsdist info -t pcie` on that host",),
    ),
    Known(
        "nccl.completion_1", "completion", _COMPLETION + r"1\b",
        Level.TRANSPORT, "a message of another length than expected (error 1): MTU, or ranks that differ", "transport",
        "link", ("the MTU on both ends and of the switches between",),
    ),
    Known(
        "nccl.completion_5", "completion", _COMPLETION + r"5\b",
        Level.CASCADE, "what was under way on a connection that had failed",
    ),
    Known(
        "nccl.completion", "completion", "Got " + _COMPLETION, Level.TRANSPORT,
        "a transfer over RDMA has failed", "transport", "link", (_PORT, _PERF),
    ),
    Known(
        "nccl.memlock", "ibv_reg_mr", r"ibv_reg_mr\w* failed.{0,60}Cannot allocate memory", Level.INITIATING,
        "memory cannot be registered: the limit of locked memory is too low", "resource", "host",
        ("`ulimit -l` inside the worker (not in a login): unlimited; limits.conf does not reach daemons",),
    ),
    Known(
        "nccl.registration", "ibv_reg_mr", r"ibv_reg_mr\w* failed", Level.INITIATING,
        "memory of a GPU cannot be registered with the card", "config", "host",
        ("`lsmod | grep peermem`; the driver's and the card's versions",),
    ),
    Known(
        "nccl.shm_full", "No space left on device",
        r"(?:posix_fallocate|/dev/shm/nccl|failed to extend).{0,160}No space left",
        Level.INITIATING, "/dev/shm is full", "resource", "host",
        ("`df -h /dev/shm` inside the worker; `--shm-size=1g` or more, for a container",),
    ),
    Known("nccl.shm_failed", "Error while creating shared memory", r"Error while creating shared memory segment",
          Level.CASCADE, "a segment of shared memory could not be set up, for the reason said before"),
    Known(
        "nccl.duplicate_gpu", "Duplicate GPU detected",
        r"Duplicate GPU detected ?: rank (?P<rank>\d{1,9}) and rank (?P<peer_rank>\d{1,9}) both on CUDA device "
        r"(?P<device>\w{1,20})",
        Level.INITIATING, "ranks {rank} and {peer_rank} use one GPU ({device})", "config", "both",
        ("how ranks choose their GPU: local_rank, CUDA_VISIBLE_DEVICES, slots a host",),
    ),
    Known(
        "nccl.version_mismatch", "Mismatched NCCL version",
        r"Mismatched NCCL version detected ?: rank (?P<rank>\d{1,9})",
        Level.INITIATING, "ranks load different versions of NCCL", "config", "speaker",
        ("`opsdist info --hosts -t software`: one version on all hosts",),
    ),
    Known(
        "nccl.checked_in", "has already checked in", r"rank (?P<rank>\d{1,9}) of \d{1,9} ranks has already checked in",
        Level.INITIATING, "two processes say that they are rank {rank}", "config", "speaker",
        ("two jobs on one address and port, or ranks numbered twice",),
    ),
    Known(
        "nccl.root_mismatch", "mismatch in info from procs", r"mismatch in info from procs", Level.INITIATING,
        "processes of different jobs, or of different world sizes, meet at one address", "config", "nobody",
        ("another job on the same port; the same world size on all ranks",),
    ),
    Known(
        "nccl.no_interface", "no socket interface found", r"no socket interface found", Level.INITIATING,
        "no network interface fits what was asked for", "config", "host",
        ("NCCL_SOCKET_IFNAME on that host: `ip -brief address` tells the names",),
    ),
    Known(
        "nccl.device_unopened", "Unable to open device", r"Unable to open device (?P<device>[\w-]{1,40})",
        Level.INITIATING, "the RDMA device {device} cannot be opened", "config", "device",
        ("`ls -l /dev/infiniband` inside the container; the same devices on all hosts, or NCCL_IB_HCA",),
    ),
    Known(
        "nccl.mismatched_call", "Mismatched collective", r"Mismatched collective detected.{0,80}rank (?P<rank>\d{1,9})",
        Level.INITIATING, "calls differ at and around rank {rank}", "mismatch", "nobody",
        ("the order and the sizes of calls around that rank",),
    ),
    Known(
        "nccl.ecc", "uncorrectable ECC", r"uncorrectable ECC error", Level.INITIATING,
        "memory of a GPU has failed (uncorrectable ECC error)", "device", "device",
        ("`nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER` there; reset the GPU, replace it if it comes again",),
    ),
    Known(
        "nccl.ordinal", "invalid device ordinal", r"invalid device ordinal", Level.INITIATING,
        "more ranks than visible GPUs on a host", "config", "host",
        ("ranks a host times GPUs a rank, and CUDA_VISIBLE_DEVICES, against `nvidia-smi -L`",),
    ),
    Known(
        "nccl.invalid_rank", "Invalid rank requested",
        r"Invalid rank requested : (?P<asked>-?\d{1,9})/(?P<size>\d{1,9})", Level.INITIATING,
        "it asked for rank {asked} of a communicator of {size} ranks", "config", "speaker",
        ("RANK and WORLD_SIZE of each process: ranks count from 0, and every node must have its own",),
    ),
    Known(
        "nccl.illegal_access", "illegal memory access", r"illegal memory access", Level.INITIATING,
        "a kernel has read or written where it may not", "crashed", "speaker",
        ("CUDA_LAUNCH_BLOCKING=1, `compute-sanitizer`: the kernel that did it",),
    ),
    Known(
        "nccl.launch_failure", "unspecified launch failure", r"unspecified launch failure", Level.INITIATING,
        "a kernel has failed on the GPU", "crashed", "speaker", ("`dmesg | grep -i xid` there",),
    ),
    Known(
        "nccl.no_gpu_memory", "out of memory", r"(?:Cuda|CUDA|HIP) failure.{0,60}out of memory", Level.INITIATING,
        "no memory is left on the GPU", "resource", "speaker", ("`nvidia-smi`: who else uses that GPU",),
    ),
    Known(
        "nccl.cuda", " failure", r"(?:Cuda|HIP|CUDA) failure", Level.INITIATING,
        "a call of the CUDA runtime has failed",
        "crashed", "speaker", ("the text of the failure, and `dmesg | grep -i xid`",),
    ),
    Known(
        "nccl.refused", "refused",
        r"[Cc]onnect(?:ion)?\b(?:.{0,40}? to (?P<peer_address>[0-9A-Fa-f.:%]{3,60}\b|[\w.-]{3,255})(?:<\d+>)?)?"
        r".{0,80}[Rr]efused",
        Level.TRANSPORT, "the other end's address refuses the connection", "transport", "link",
        ("the address: an interface that others reach? a firewall? is the process there alive?",),
        "retrying",
    ),
    Known("nccl.closed", "onnection closed", r"[Cc]onnection closed by remote peer", Level.CASCADE,
          "the other end has gone"),
    Known("nccl.received_nothing", "recv ", r"recv (?:from \S{1,300} )?failed", Level.CASCADE,
          "the other end has gone"),
    Known("nccl.proxy", "Failed to execute operation", r"Failed to execute operation \w+ from rank", Level.CASCADE,
          "what was asked of a proxy failed, for a reason said before"),
    Known("nccl.reset", "reset by peer", r"[Cc]onnection reset by peer", Level.CASCADE, "the other end has gone"),
    Known("nccl.aborted", "Abort COMPLETE", r"Abort COMPLETE", Level.TEARDOWN, "the communicator was aborted"),
    Known("nccl.code", " -> ", r"\.cc:\d{1,6} -> [1-9]\b", Level.CASCADE, "an error on its way up"),
)  # fmt: skip

ROWS = (*nccl_texts_network.ROWS, *nccl_texts_host.ROWS, *CORE)
"""The first that fits is what a text means: what says more stands before what says less."""
HARMLESS = nccl_texts_host.HARMLESS
BY_SOURCE = {source: (*rows, *ROWS) for source, rows in nccl_texts_host.BY_SOURCE.items()}

MENTIONS = tuple(row for row in ROWS if row.cause is None)
"""What a line that is no warning may mean: what failed there is tried again, or was but a try."""
