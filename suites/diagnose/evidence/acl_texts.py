"""What frameworks say when a call of CANN failed, by its number: torch_npu, and MindSpore where it quotes one.

Numbers: CANN's rt_error_codes.h and hccl_types.h; texts: as torch_npu prints them. The exception is
where the failure comes to light, seldom what it is about: only what a number says of the NPU itself is its own.
May import: facts, known.
"""

from __future__ import annotations

from collections.abc import Sequence

from suites.diagnose.evidence.known import About, Known
from suites.diagnose.facts import Class, Level

_OWN, _PATH, _TIMEOUT, _CASCADE = Level.INITIATING, Level.TRANSPORT, Level.TIMEOUT, Level.CASCADE
_FAILED = (
    r"(?:(?:NPU|HCCL|OPS) function error:? .{0,400}?error code is ?"
    r"|ACL stream synchronize failed,.{0,80}?error code: ?)"
)
_PLOG = "read the plog of this process in ~/ascend/log/debug/plog: its first ERROR says why"


def _number(name: str, numbers: str, level: Level, what: str, cause: Class | None, about: About, *remedy: str) -> Known:
    pattern = rf"{_FAILED}(?P<code>{numbers})\b"
    return Known(name, "error code", pattern, level, what + " ({code})", cause, about, remedy)


ROWS: Sequence[Known] = (
    _number("npu.memory_error", "50705[34]", _OWN, "an uncorrectable error of the NPU's memory", "device", "device",
            "npu-smi info -t ecc -i N", "npu-smi info -t health -i N"),
    _number("npu.lost", "507010", _OWN, "the NPU does not answer its host any more", "device", "device",
            "npu-smi info -t health -i N", "dmesg | grep -i -e devdrv -e hdc"),
    _number("npu.kernel", "5070(?:1[56]|3[56]|4[2-5])", _OWN, "a kernel failed on the NPU: a value or an address that "
            "it does not take", "crashed", "speaker", _PLOG),
    _number("npu.link", "507056", _PATH, "a link of the NPU failed", "transport", "nobody",
            "npu-smi info -t health -i N", "hccn_tool -i N -link_stat -g"),
    _number("hccl.retry", "507904", _PATH, "HCCL has repeated an operation in vain", "transport", "nobody",
            "hccn_tool -i N -link_stat -g", "hccn_tool -i N -net_health -g"),
    _number("npu.remote", "507057", _PATH, "an access to another NPU's memory failed: its process ended, a link "
            "between them, or an address that is not there", None, "nobody",
            "see whether the other process ended before this", "npu-smi info -t health -i N"),
    _number("npu.fftsplus", "507049", _PATH, "a task on the NPU failed", None, "nobody", _PLOG),
    _number("npu.late", "107020|5070(?:14|17|34|4[678])", _TIMEOUT, "waited in vain for the NPU to come to an end",
            None, "nobody", _PLOG),
    _number("hccl.late", "9", _TIMEOUT, "HCCL waited in vain for another rank", None, "nobody", _PLOG),
    Known("npu.memory_error", "MULTI BIT ECC", r"\bHBM MULTI BIT ECC", _OWN, "an uncorrectable error of the NPU's "
          "memory", "device", "device", ("npu-smi info -t ecc -i N", "npu-smi info -t health -i N")),
    Known("npu.memory_error", "UCE ERROR", r"\bUCE ERROR\b", _OWN, "an uncorrectable error of the NPU's memory",
          "device", "device", ("npu-smi info -t ecc -i N", "npu-smi info -t health -i N")),
    Known("hccl.retry", "HCCL OP RETRY FAILED", r"HCCL OP RETRY FAILED", _PATH, "HCCL has repeated an operation in "
          "vain", "transport", "nobody", ("hccn_tool -i N -link_stat -g", "hccn_tool -i N -net_health -g")),
    Known("npu.remote", "SUSPECT REMOTE ERROR", r"SUSPECT REMOTE ERROR", _PATH, "an access to another NPU's memory "
          "failed: its process ended, a link between them, or an address that is not there", None, "nobody",
          ("see whether the other process ended before this", "npu-smi info -t health -i N")),
    Known("npu.stopped", "FORCE STOP", r"\bFORCE STOP\b", _CASCADE, "its work was stopped since another rank failed"),
    Known("npu.call", "function error", r"(?:NPU|HCCL|OPS) function error:? ", _CASCADE, "a call of CANN failed",
          remedy=(_PLOG,)),
    Known("npu.call", "HCCL error in", r"HCCL error in:? ", _CASCADE, "a call of HCCL failed", remedy=(_PLOG,)),
    Known("npu.call", "ACL stream synchronize failed", r"ACL stream synchronize failed", _CASCADE,
          "what was given to the NPU has failed", remedy=(_PLOG,)),
    Known("npu.call", "The Inner error is reported as above", r"The Inner error is reported as above", _CASCADE,
          "an operator failed since something before it had", remedy=(_PLOG,)),
)  # fmt: skip
"""What is another's comes after what is one's own; the last ones only say that there is something."""
