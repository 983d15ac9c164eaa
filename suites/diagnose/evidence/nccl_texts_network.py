"""What NCCL and its network plugins warn of: cards, connections, libfabric, UCX, and how ranks meet.

Texts are those of NCCL's src (transport/net_ib.cc, misc/ibvwrap.cc, misc/socket.cc, bootstrap.cc, plugin/net.cc), of
aws-ofi-nccl, and of the UCX plugin; names of events are those of ibv_event_type_str. May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_EVENT = r"(?:Got (?:non-fatal )?async event|async fatal event(?: on [^:]{1,60})?|port event) ?: "
_DEVICE = r"(?P<device>[A-Za-z][\w.-]{0,63}):\d{1,3} "
_PORT_ERROR, _DEVICE_FATAL = "port error", "(?:local catastrophic error|device fatal)"
_CABLE = ("`ibstat` and `ibqueryerrors`, or `ethtool`, there: the port, its cable and module, the switch's port",)
_RESET = ("`dmesg | grep -i mlx5` there: its firmware has failed; reset the card, or reboot",)
_PEER = r"(?P<peer_address>[0-9A-Fa-f.:]{3,60}\b|[\w.-]{3,255})(?:%[\w.-]{1,32})?(?:<\d+>)?"
_FABRIC = ("`fi_info -p efa` there, the versions of libfabric and of the plugin; FI_PROVIDER",)
_GROUPS = (
    "security groups: all traffic from and to the group itself, both ways",
    "whether the process at the other end is still there",
)

ROWS: tuple[Known, ...] = (
    Known("nccl.async_port", _PORT_ERROR, _DEVICE + _EVENT + _PORT_ERROR, Level.INITIATING,
          "a port of {device} went down", "device", "device", _CABLE),
    Known("nccl.async_port", _PORT_ERROR, _EVENT + _PORT_ERROR, Level.INITIATING,
          "a port of a network card went down", "device", "host", _CABLE),
    Known("nccl.port_active", "port active", rf"(?:{_DEVICE})?{_EVENT}port active", Level.TEARDOWN,
          "a port of a network card is up again"),
    Known("nccl.async_fatal", "event", _DEVICE + _EVENT + _DEVICE_FATAL, Level.INITIATING,
          "the network card {device} has failed", "device", "device", _RESET),
    Known("nccl.async_fatal", "event", _EVENT + _DEVICE_FATAL, Level.INITIATING,
          "a network card has failed", "device", "host", _RESET),
    Known(
        "nccl.async_queue", " event", rf"{_EVENT}(?P<why>(?:[\w ]{{1,60}} )?error)", Level.TRANSPORT,
        "a card gave up a queue of its own: {why}", "transport", "host",
        ("`opsdist checks pcie.acs_on`, `opsdist info -t pcie` there", "`lsmod | grep peermem`; NCCL_IB_HCA"),
    ),
    Known("nccl.async_gone", "ibv_get_async_event", "ibv_get_async_event failed", Level.CASCADE,
          "a card tells no more of itself"),
    Known(
        "nccl.verbs_memory", "ibv_", r"Call to (?P<call>ibv_\w{3,30}) failed.{0,60}Cannot allocate memory",
        Level.INITIATING, "no memory for {call}: the limit of locked memory, or of the card, is reached", "resource",
        "host", ("`ulimit -l` inside the worker (not in a login): unlimited; limits.conf does not reach daemons",),
        "ibv_reg_mr",
    ),
    Known(
        "nccl.verbs_open", "ibv_open_device", r"ibv_open_device failed", Level.TRANSPORT,
        "an RDMA device cannot be opened", "config", "host",
        ("`ls -l /dev/infiniband` inside the container; the same devices on all hosts, or NCCL_IB_HCA",),
    ),
    Known(
        "nccl.verbs", "ibv_", r"Call to (?P<call>ibv_(?:create|alloc|query)\w{1,30}) failed", Level.INITIATING,
        "an RDMA card cannot be set up: {call} fails", "config", "host",
        ("`ibv_devinfo -v` inside the container; the limits of the card and of the container's devices",),
    ),
    Known(
        "nccl.other_link", "incompatible devices", r"Attempted to (?:connect|merge) incompatible devices",
        Level.INITIATING, "cards of unlike kinds, InfiniBand and RoCE, were to work together", "config", "host",
        ("NCCL_IB_HCA: name cards of one kind only, the same on all hosts",),
    ),
    Known(
        "nccl.descriptors", "Too many open files", r"Too many open files", Level.INITIATING,
        "no file descriptors are left", "resource", "host", ("`ulimit -n` inside the worker: 65536 or more",),
    ),
    Known(
        "nccl.address_family", "Address family not supported", r"Address family not supported", Level.INITIATING,
        "an address of a kind that this host does not have (IPv6?) was used", "config", "host",
        ("NCCL_SOCKET_FAMILY=AF_INET and NCCL_SOCKET_IFNAME, the same on all hosts",),
    ),
    Known(
        "nccl.bind", "Address already in use", r"\b(?:[Bb]ind|[Ll]isten)\b.{0,100}Address already in use",
        Level.INITIATING, "a port is used already", "resource", "host",
        ("`ss -ltnp` there: end what is left of an earlier job; NCCL_COMM_ID names a port",),
    ),
    Known(
        "nccl.bind_address", "Cannot assign requested address",
        r"\b[Bb]ind\b.{0,100}Cannot assign requested address", Level.INITIATING,
        "an address that is none of this host's was to be listened at", "config", "host",
        ("NCCL_COMM_ID, NCCL_SOCKET_IFNAME; `ip -brief address` there",),
    ),
    Known(
        "nccl.path_lost", "failed", rf"(?:[Rr]ecv|[Ss]end|[Rr]ead|[Ww]rite) (?:from|to) {_PEER} failed ?: "
        r"(?P<why>Connection timed out|No route to host|Network is (?:unreachable|down))", Level.TRANSPORT,
        "a connection broke on its way: {why}", "transport", "link",
        ("whether that host is up; links and routes between the two",),
    ),
    Known(
        "nccl.connect", "",
        rf"(?:[Cc]onnect|socket\w{{0,30}})\b(?:.{{0,40}}? to {_PEER})?.{{0,60}}?(?:failed|returned)[ :]{{1,3}}"
        r"(?P<why>Software caused connection abort|Connection timed out|Network is unreachable|"
        r"Cannot assign requested address|Network is down|"
        r"No route to host)",
        Level.TRANSPORT, "the other end's address cannot be reached: {why}", "transport", "link",
        ("NCCL_SOCKET_IFNAME on both hosts; `ip route get` to that address; a firewall between them?",),
        "retrying",
    ),
    Known(
        "nccl.no_answer", "no POLLOUT", r"socketPollConnect:? poll\(\) returned \d{1,3}, no POLLOUT", Level.TRANSPORT,
        "a connection to another end failed while it was set up", "transport", "link",
        ("NCCL_SOCKET_IFNAME on both hosts; a firewall, or a full connection table, between them",),
    ),
    Known("nccl.sent_nothing", "end ", r"[Ss]end (?:to \S{1,300} )?failed", Level.CASCADE, "the other end has gone"),
    Known(
        "nccl.truncated", "truncated", r"NET/\w{1,40} ?: .{0,100}message truncated", Level.INITIATING,
        "more was received than was asked for: ranks differ in what they called, or in NCCL_PROTO or NCCL_ALGO",
        "mismatch", "nobody",
        ("sizes of the calls of all ranks: NCCL_DEBUG_SUBSYS=COLL", "NCCL_* variables, the same on all hosts"),
    ),
    Known(
        "nccl.truncated_bootstrap", "essage truncated", r"[Mm]essage truncated ?: rece\w{3,10} \d", Level.INITIATING,
        "ranks that meet tell each other things of different sizes: other versions of NCCL, or other jobs", "config",
        "nobody", ("one version of NCCL on all hosts; another job on the same address and port",),
    ),
    Known(
        "nccl.root_mismatch", "mismatch in rank count", r"mismatch in rank count from procs", Level.INITIATING,
        "processes of different jobs, or of different world sizes, meet at one address", "config", "nobody",
        ("another job on the same port; the same world size on all ranks",),
    ),
    Known("nccl.stranger", "wrong ", r"socket\w{1,40}: wrong (?:magic|type) \w{1,20} != \w{1,20}", Level.CASCADE,
          "somebody else than was expected has connected",
          remedy=("whether a scanner, or what collects metrics, connects to ports of the job",)),
    Known("nccl.no_address", "with family 0", r"address with family 0", Level.CASCADE,
          "a rank has told no address of its own"),
    Known("nccl.progress", "socket progress error", "socket progress error", Level.CASCADE,
          "a connection has failed, for a reason said before"),
    Known(
        "nccl.no_network", "rror: network ", r"Error: network (?P<name>[\w ./-]{1,60}) not found", Level.INITIATING,
        "there is no network {name} here, which NCCL_NET asks for", "config", "host",
        ("NCCL_NET, and whether its plugin can be loaded: LD_LIBRARY_PATH, NCCL_NET_PLUGIN, NCCL_DEBUG=INFO",),
    ),
    Known(
        "nccl.no_network", "any NET plugin", r"Failed to initialize any NET plugin", Level.INITIATING,
        "no network can be used", "config", "host",
        ("NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_NET against `ip -brief address` and `ibv_devices` there",),
    ),
    Known(
        "ofi.transfer", "completed with error",
        r"NET/OFI .{0,80}completed with error(?:.{0,500}?Peer EFA addr: \w{1,20}://\[(?P<peer_address>[\da-f:]{3,60})"
        r"\])?", Level.TRANSPORT, "a transfer by libfabric has failed", "transport", "link", _GROUPS,
    ),
    Known("ofi.peer", "NET/OFI ", r"NET/OFI .{0,80}(?:insert remote address|send ?connect|accept)", Level.TRANSPORT,
          "libfabric does not reach the other end", "transport", "link", _GROUPS),
    Known(
        "ofi.memory", "NET/OFI ", r"NET/OFI .{0,80}regist.{0,120}(?:-12\b|Cannot allocate memory)", Level.INITIATING,
        "memory cannot be registered: the limit of locked memory is too low", "resource", "host",
        ("`ulimit -l` inside the worker (not in a login): unlimited; limits.conf does not reach daemons",),
    ),
    Known(
        "ofi.setup", "NET/OFI ",
        r"NET/OFI (?:Couldn't|Could not|Unable to|Failed to|No eligible|Only EFA|.{0,80} failed)",
        Level.INITIATING, "libfabric cannot be set up", "config", "host", _FABRIC,
    ),
    Known(
        "ucx.plugin", "UCX error", r"Failed: UCX error \S{1,100} '-?\d{1,4}' (?P<why>[\w ]{1,80})", Level.TRANSPORT,
        "a call of UCX has failed: {why}", "transport", "host",
        ("what UCX itself says before (UCX_LOG_LEVEL=info); without the plugin: NCCL_NET=IB",),
    ),
)  # fmt: skip
