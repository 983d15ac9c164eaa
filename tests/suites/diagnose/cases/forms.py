"""Forms in which the same evidence comes: wrappers of launchers and collectors, line ends, colours, hard wraps, files
of one rank or of all, and consequences all around it.

May import: the standard library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

Files = Mapping[str, str]
Form = Callable[[Files], Files | None]
"""None where a case does not come in that form."""

_OWN_RANK = re.compile(r"rank_?(\d+)\.log")
_TORCH_RANK = re.compile(r"\[rank(\d+)\]: ?")


def _as_it_is(files: Files) -> Files:
    return files


def _logs(files: Files) -> bool:
    return all(name.endswith(".log") for name in files)


def _each_line(files: Files, change: Callable[[str, str], str]) -> Files | None:
    if not _logs(files):
        return None
    return {name: "".join(change(line, name) + "\n" for line in text.splitlines()) for name, text in files.items()}


def _crlf(files: Files) -> Files | None:
    return {name: text.replace("\n", "\r\n") for name, text in files.items()} if _logs(files) else None


def _coloured(files: Files) -> Files | None:
    return _each_line(files, lambda line, _: f"\x1b[36m{line}\x1b[0m")


def _collected(files: Files) -> Files | None:
    return _each_line(files, lambda line, _: f"  | 2026-01-31T12:00:00.123Z | {line}")


def _by_docker(files: Files) -> Files | None:
    """Its json-file driver."""
    return _each_line(files, lambda line, _: json.dumps(
        {"log": f"{line}\n", "stream": "stderr", "time": "2026-01-31T12:00:00.123456789Z"}, separators=(",", ":")
    ))  # fmt: skip


def _by_containerd(files: Files) -> Files | None:
    return _each_line(files, lambda line, _: f"2026-01-31T12:00:00.123456789Z stderr F {line}")


def _in_pods(files: Files) -> Files | None:
    return _each_line(files, lambda line, _: f"2026-01-31T12:00:00.123456789Z {line}")


def _rank(line: str, name: str) -> str | None:
    """Of the speaker, where every form tells it."""
    found = _OWN_RANK.search(name) or _TORCH_RANK.search(line)
    return found[1] if found else None


def _labelled(files: Files, label: str) -> Files | None:
    """All lines, in one file, by rank."""
    if not _logs(files) or any(_rank(line, name) is None for name, text in files.items() for line in text.splitlines()):
        return None
    lines = [label.format(rank=_rank(line, name)) + line for name, text in files.items() for line in text.splitlines()]
    return {"job.log": "\n".join(lines) + "\n"}


def _by_mpirun(files: Files) -> Files | None:
    return _labelled(files, "[1,{rank}]<stdout>:")


def _by_srun(files: Files) -> Files | None:
    """A number before one or two lines may be anything."""
    many = sum(len(text.splitlines()) for text in files.values()) > 2
    return _labelled(files, "{rank}: ") if many else None


def _by_ray(files: Files) -> Files | None:
    if not any(_TORCH_RANK.search(text) for text in files.values()):
        return None
    return _labelled(files, "(RayWorkerWrapper pid=40{rank}) ")


def _apart(files: Files) -> Files | None:
    """A file for each rank that says which it is."""
    if not _logs(files) or any(not _TORCH_RANK.search(line) for text in files.values() for line in text.splitlines()):
        return None
    found: dict[str, list[str]] = {}
    for name, text in files.items():
        for line in text.splitlines():
            rank = _TORCH_RANK.search(line)
            found.setdefault(f"rank_{rank[1]}.log" if rank else name, []).append(line)
    return {name: "\n".join(lines) + "\n" for name, lines in found.items()} if len(found) > 1 else None


def _wrapped(files: Files) -> Files | None:
    """Broken by force, as terminals and pastes do it, where enough lines are long."""
    if not _logs(files):
        return None
    long = [line for text in files.values() for line in text.splitlines() if len(line) > 120]
    every = [line for text in files.values() for line in text.splitlines()]
    if len(long) < 3 or len(long) * 2 < len(every) or not all("Work" in line for line in long):
        return None
    return {
        name: "".join(f"{line[at : at + 120]}\n" for line in text.splitlines() for at in range(0, len(line), 120))
        for name, text in files.items()
    }


_CONSEQUENCES = (
    "node31:611:640 [7] misc/socket.cc:47 NCCL WARN socketProgress: Connection closed by remote peer node32<40112>",
    "node31:611:640 [7] proxy.cc:1533 NCCL WARN [Proxy Service 30] Failed to execute operation Connect from rank 30",
    "node31:611:640 [7] NCCL INFO transport/net.cc:321 -> 6",
    "node31:611:640 [7] misc/socket.cc:522 NCCL WARN Socket recv failed",
    "torch.distributed.DistBackendError: NCCL communicator was aborted.",
    "[ERROR] HCCL(6110,python3):2026-02-28-23:59:59.000.001 [op_base.cc:1500] [6110]call trace: hcclRet -> 4",
    "EI9999: Inner Error!",
    "srun: Terminating StepId=1.0",
)


def _among_consequences(files: Files) -> Files | None:
    """They stand in a file that is read first."""
    if not _logs(files):
        return None
    return {"0_others.log": "\n".join(_CONSEQUENCES * 6) + "\n", **files}


APART = "a file a rank"
"""Then a rank of which there is no file proves nothing."""
FORMS: Mapping[str, Form] = {
    "as it is": _as_it_is,
    "CRLF": _crlf,
    "colours": _coloured,
    "CloudWatch": _collected,
    "kubectl --timestamps": _in_pods,
    "Docker": _by_docker,
    "containerd": _by_containerd,
    "mpirun --tag-output": _by_mpirun,
    "srun --label": _by_srun,
    "Ray": _by_ray,
    APART: _apart,
    "wrapped at 120": _wrapped,
    "among consequences": _among_consequences,
}
