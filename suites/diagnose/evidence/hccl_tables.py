"""What HCCL says of the rank table it was given: the file, and the ranks of which it speaks, as rows.

A line may have one of its error codes too, which hccl_texts.py knows.
May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_OWN = Level.INITIATING
_REMEDY = ("hccn_tool -i N -ip -g", "make the rank table anew from the hosts' /etc/hccn.conf, and give it to all hosts")

ROWS = (
    Known("hccl.rank_table", "is not a valid real path", r"path (?P<file>/?[^\s\[\],]{1,300}) is not a valid real path",
          _OWN, "there is no rank table {file}", "config", "file", _REMEDY),
    Known("hccl.rank_table", "super_device_id", r"super_device_id ?\[[^\]]{0,80}\] is invalid", _OWN,
          "a super_device_id of the rank table is none", "config", "nobody", _REMEDY),
    Known("hccl.rank_table", "device ip family",
          r"rank\[(?P<peer_rank>\d{1,7})\] device ip family ?\[\d{1,3}\] is not same", _OWN,
          "rank {peer_rank} has an address of another family than the others in the rank table", "config", "peer",
          _REMEDY),
    Known("hccl.rank_table", "in the ranktable is inconsistent",
          r"the IP address ?\((?P<table>[^)]{1,80})\) in the ranktable is inconsistent with the IP address ?"
          r"\((?P<own>[^)]{1,80})\)", _OWN, "the rank table has {table}, and the NPU {own}", "config", "nobody",
          _REMEDY),
    Known("hccl.rank_table", "same superDeviceId", r"devices have same superDeviceId", _OWN,
          "the rank table has one super_device_id twice", "config", "nobody", _REMEDY),
)  # fmt: skip
