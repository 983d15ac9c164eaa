"""What libfabric itself logs of transfers that failed, with FI_LOG_LEVEL=warn: the efa provider's error handlers.

    libfabric:4711:1708520807::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 5, message: ... Peer host id: i-0abc (7)

May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

ROWS = (
    Known(
        "libfabric.transfer", "libfabric:",
        r"libfabric:(?P<pid>\d{1,10}):.{1,60}handle_error\(\):\d{1,6}<warn>.{0,60}message: (?P<why>.{1,80}?) My EFA "
        r"addr(?:.{0,200}?Peer host id: (?P<peer_host>[\w.-]{1,100}))?", Level.TRANSPORT,
        "a transfer by libfabric has failed: {why}", "transport", "link",
        ("security groups: all traffic from and to the group itself, both ways",
         "whether the process at the other end is still there"),
    ),
)  # fmt: skip
