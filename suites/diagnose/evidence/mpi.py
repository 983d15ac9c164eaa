"""What MPI libraries say in one line: Open MPI and its transports, UCX, MPICH and Intel MPI, MVAPICH.

The texts are those of Open MPI's btl/{tcp,openib} and its signal handler, of UCX's uct/ib and debug, of MPICH's ch3 and
ch4, and of MVAPICH2's gen2. What Open MPI says in several lines has a reader of its own.
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_OPEN_MPI = r"\[(?P<host>[A-Za-z][\w.-]{0,200})\]\[\[\d{1,9},1\],(?P<rank>\d{1,9})\]\["
"""Host, job and rank before what its BTLs say."""
_UCX = r"\[(?P<host>[A-Za-z][\w.-]{0,200}):(?P<pid>\d{1,9}) {0,4}:\d{1,9}(?::\d{1,9})?\] .{0,80}?"
_CARD = r" on (?P<card>[A-Za-z]\w{0,40}):\d{1,4}/(?:IB|RoCE)"
_PROCESS = r"\[(?P<host>[A-Za-z][\w.-]{0,200}):(?P<pid>\d{1,9})\] "
_MVAPICH = r"\[(?P<host>[A-Za-z][\w.-]{0,200}):mpi_rank_(?P<rank>\d{1,9})\]\[\w{1,60}\]"
FATAL = r"(?:(?:Abort\(\d{1,12}\) on node |\[Rank )(?P<rank>\d{1,9})\b.{0,160}?: )?Fatal error in (?P<call>\w{1,60}): "
"""The node is the rank in the world, in whichever communicator it failed; Cray MPICH says it first."""
_ADDRESS = r"(?P<peer_address>[\da-fA-F.:]{2,45}?)"
_INTERFACE = (
    "`ip -br address` on both: addresses that others do not reach (docker0, virbr0, 169.254.*) must not be used",
    "mpirun --mca btl_tcp_if_include NETWORK/BITS --mca oob_tcp_if_include NETWORK/BITS",
)
FABRIC = (
    "`ibstat` or `rdma link` on both: state, GID index, lid; counters of the port and of the switch",
    "`ib_write_bw` between the two",
)
_MEMLOCK = ("`ulimit -l` inside the worker must be unlimited: limits.conf, the limits of sshd or slurmd",)
_QUEUES = (
    "`ulimit -l` inside the worker must be unlimited",
    "ranks a host times connections a rank, against the card's queues: UCX_TLS=dc_x or ud_x takes fewer than rc_x",
)
_SIZES = (
    "the calls before it: count, type and root of each rank; a message of another call may have been taken for it",
)

ROWS = (
    Known(
        "mpi.tcp_connect", "_complete_connect", rf"{_OPEN_MPI}.{{1,100}}connect\(\) to {_ADDRESS}(?::\d{{1,5}})? "
        r"failed: (?P<why>[\w ]{1,60})", Level.TRANSPORT, "it does not reach {peer_address}: {why}",
        "transport", "link", _INTERFACE,
    ),
    Known(
        "mpi.tcp_timeout", "Connection timed out (110)",
        rf"{_OPEN_MPI}.{{1,100}}(?:readv|writev|recv|send)\b.{{0,20}} failed: "
        r"Connection timed out", Level.TRANSPORT, "a connection to a peer went dead", "transport", "link", _INTERFACE,
    ),
    Known(
        "mpi.tcp_gone", "btl_tcp", rf"{_OPEN_MPI}btl_tcp.{{1,160}}failed: (?:Connection reset by peer|Broken pipe)",
        Level.CASCADE, "a peer of it is gone", remedy=("which rank has ended first, and why",),
    ),
    Known(
        "mpi.openib_retry", "RETRY EXCEEDED ERROR", rf"(?:{_OPEN_MPI}.{{1,100}}?)?from (?P<own>\S{{1,200}}) to: "
        r"(?P<peer_host>[A-Za-z][\w.-]{0,200}) error polling", Level.TRANSPORT,
        "nobody at {peer_host} acknowledged what it sent", "transport", "link", FABRIC,
    ),
    Known(
        "ucx.retry", "etry count exceeded", rf"(?:{_UCX})?(?P<why>Transport|Receive-no-ready) retry count "
        rf"exceeded{_CARD}",
        Level.TRANSPORT, "nobody acknowledged what it sent over {card} ({why} retry count exceeded)",
        "transport", "link",
        FABRIC,
    ),
    Known(
        "ucx.retry", "retry counter exceeded", rf"{_UCX}(?:FATAL|ERROR):? .{{0,80}}with error: (?:transport|rnr) retry "
        r"counter exceeded", Level.TRANSPORT, "nobody acknowledged what it sent", "transport", "link", FABRIC,
    ),
    Known(
        "ucx.queues", "Cannot allocate memory", rf"{_UCX}UCX {{1,3}}ERROR .{{0,160}}?(?:create_\w{{1,20}}\("
        r"|devx_obj_create\(|failed to create \w{1,4} QP).{0,160}Cannot allocate memory", Level.INITIATING,
        "its network card gives it no more queues", "resource", "host", _QUEUES,
    ),
    Known(
        "ucx.connect", "UCX", rf"{_UCX}UCX  ?ERROR "
        rf".{{0,40}}connect\(.{{0,60}}?(?:dest_addr=)?{_ADDRESS}(?::\d{{1,5}})?\) "
        r"failed: (?P<why>[\w ]{1,60})", Level.TRANSPORT, "it does not reach {peer_address}: {why}",
        "transport", "link",
        ("UCX_NET_DEVICES with devices that all hosts have; `ip -br address` on both",),
    ),
    Known(
        "ucx.shared_memory", "UCX", rf"{_UCX}UCX {{1,3}}ERROR .{{0,200}}(?:No space left on device|Not enough memory "
        r"to write total|check shared memory limits)", Level.INITIATING, "no space for its shared memory", "resource",
        "host", ("`df -h /dev/shm` and `ipcs -l` inside the worker; `--shm-size=1g` or more, for a container",),
    ),
    Known(
        "ucx.memlock", "set max locked memory", rf"^(?:.{{0,40}}?{_UCX})?.{{0,200}}set max locked memory \(ulimit -l\)",
        Level.INITIATING, "it may not lock enough memory for its network card", "resource", "host", _MEMLOCK,
    ),
    Known(
        "ucx.no_transport", "Destination is unreachable", rf"^(?:.{{0,40}}?{_UCX})?.{{0,60}}no (?P<kind>[\w "
        rf"]{{1,40}}) transport to ",
        Level.INITIATING, "UCX has no transport to a peer that both may use", "config", "nobody",
        ("`ucx_info -d` on all hosts; UCX_TLS and UCX_NET_DEVICES must allow one that all have",),
    ),
    Known(
        "ucx.gone", "UCX", rf"{_UCX}UCX  ?ERROR .{{0,60}}(?:recv|send)\w{{0,4}}\(.{{0,60}}\) failed: (?:Connection "
        rf"reset|Broken)",
        Level.CASCADE, "a peer of it is gone",
    ),
    Known(
        "mpi.signal", "Caught signal", rf"{_UCX}Caught signal (?P<why>\d{{1,3}} \([\w ]{{1,60}})", Level.INITIATING,
        "its process got signal {why})", "crashed", "speaker", ("the backtrace below it, its core file",),
    ),
    Known(
        "mpi.signal", "Signal: ", rf"{_PROCESS}Signal: (?P<why>Segmentation fault|Bus error|Illegal "
        rf"instruction|Floating point "
        r"exception)", Level.INITIATING, "its process got a signal: {why}", "crashed", "speaker",
        ("the backtrace below it, its core file",),
    ),
    Known(
        "mpi.signal", "Caught error: ", rf"{_MVAPICH} Caught error: (?P<why>Segmentation fault|Bus error|Illegal "
        rf"instruction|"
        r"Floating point exception)", Level.INITIATING, "its process got a signal: {why}", "crashed", "speaker",
        ("MV2_DEBUG_SHOW_BACKTRACE=1",),
    ),
    Known(
        "mvapich.retry", "wc.status=12", rf"{_MVAPICH} (?:Msg from|Send desc error in msg to) "
        rf"(?P<peer_rank>\d{{1,9}}): "
        r"wc.status=12", Level.TRANSPORT, "rank {peer_rank} did not acknowledge what it sent",
        "transport", "link", FABRIC,
    ),
    Known(
        "mpi.truncated", "MPI_ERR_TRUNCATE", rf"(?:{_PROCESS})?\*\*\* MPI_ERR_TRUNCATE: message "
        rf"truncated", Level.TRANSPORT,
        "more came than it had asked for: ranks called different things", "mismatch", remedy=_SIZES,
    ),
    Known(
        "mpi.truncated", "essage truncated", rf"{FATAL}Message truncated", Level.TRANSPORT,
        "more came than {call} had asked for: ranks called different things", "mismatch", remedy=_SIZES,
    ),
    Known(
        "mpich.no_provider", "OFI ", r"OFI (?:addrinfo|fi_getinfo|get info)\(\) failed", Level.INITIATING,
        "libfabric has no provider that it may use", "config", "nobody",
        ("`fi_info` on all hosts; FI_PROVIDER and I_MPI_OFI_PROVIDER must name one that all have",),
    ),
    Known(
        "mpich.peer", "Communication error with rank", r"Communication error with rank (?P<peer_rank>\d{1,9})(?:: "
        r"(?P<why>[\w ]{1,60}))?", Level.TRANSPORT, "it lost rank {peer_rank}: {why}", "transport", "link",
        ("whether rank {peer_rank} has ended before; then name resolution and firewall between their hosts",),
    ),
    Known(
        "mpich.fatal", "Fatal error in ", FATAL, Level.CASCADE, "its MPI library gave up in {call}",
        unless="application called MPI_Abort",
    ),
)  # fmt: skip
