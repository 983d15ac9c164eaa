"""What hccl_test, CANN's benchmark of collectives, says when it fails (its guide, and hccl_test_common).

May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_OWN, _TIMEOUT, _CASCADE = Level.INITIATING, Level.TIMEOUT, Level.CASCADE
_INIT = "This is an error in init_hcclComm"
ROWS = (
    Known("hccl_test.unavailable", "hccl interface return err", r"hccl interface return err.{0,300}retcode: 7\b", _OWN,
          "HCCL is not to be had here (7): often a process of an earlier run still holds the NPU", "resource",
          remedy=("npu-smi info on every host", "end left-over hccl_test processes on all hosts",
                  "read the plog of this time in ~/ascend/log/debug/plog")),
    Known("hccl_test.late", "hccl interface return err", r"hccl interface return err.{0,300}retcode: (?:9|11)\b",
          _TIMEOUT, "HCCL waited in vain for other ranks",
          remedy=("read the plogs of all hosts in ~/ascend/log/debug/plog",)),
    Known("hccl_test.failed", "hccl interface return err",
          r"hccl interface return err.{0,300}retcode: (?P<code>\d{1,5})", _CASCADE,
          "a call of HCCL failed with {code}; the plog says why",
          remedy=("read the plog of this time in ~/ascend/log/debug/plog",)),
    Known("hccl_test.init", _INIT, _INIT, _CASCADE, "no communicator was set up"),
    Known("hccl_test.check", "check result failed", r"local rank_id (?P<rank>\d{1,7}), check result failed", _OWN,
          "rank {rank} has wrong data after a collective", "corrupt", "speaker",
          ("npu-smi info -t ecc -i N", "repeat with -c 1 and other NPUs")),
    Known("hccl_test.check", "| failed", r"^\s{0,8}(?P<size>\d{1,15})\s{1,20}\|\s{1,8}[\d.]{1,15}\s{1,12}\|"
          r"\s{1,8}[\d.]{1,15}\s{1,20}\| failed\s{0,8}$", _OWN,
          "wrong data after a collective of {size} bytes", "corrupt", "nobody",
          ("npu-smi info -t ecc -i N", "repeat with fewer ranks to find the one")),
    Known("hccl_test.name", "gethostbyname failed", r"gethostbyname failed, (?P<name>[^\s(]{1,200})", _OWN,
          "the name of host {name} is not known here", "config", "nobody",
          ("getent hosts {name}", "add it to /etc/hosts of all hosts")),
)  # fmt: skip
