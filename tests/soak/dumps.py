"""How long a diagnosis of many flight recorder dumps takes, and how much memory, beside PyTorch's own tool.

    python -m tests.soak.dumps --ranks 1024 --entries 2000 [--torch]

Ranks are in rows of 8, columns and the world; rank 7 stops calling at the end. Prints seconds and the largest memory of
any process; `--torch` runs `torchfrtrace` on the same folder after it.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MISSING = 7


def write(folder: Path, ranks: int, entries: int) -> None:
    """Dumps as PyTorch writes them, without stacks."""
    for rank in range(ranks):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(_dump(rank, ranks, entries), 2))


def _dump(rank: int, ranks: int, entries: int) -> dict[str, object]:
    row, column = rank // 8, rank % 8
    groups = {
        "0": ("default_pg", list(range(ranks))),
        str(1 + row): ("TENSOR", list(range(8 * row, 8 * row + 8))),
        str(1 + ranks // 8 + column): ("DATA", list(range(column, ranks, 8))),
    }
    names = list(groups)
    made, seqs = [], dict.fromkeys(names, 0)
    for number in range(entries):
        name = names[(1, 1, 1, 2)[number % 4] if number % 100 else 0]
        seqs[name] += 1
        done = number < entries - 5
        if rank == MISSING and not done:
            break
        made.append(
            {
                "record_id": number, "pg_id": names.index(name), "process_group": (name, groups[name][0]),
                "collective_seq_id": seqs[name], "p2p_seq_id": 0, "op_id": seqs[name],
                "profiling_name": "nccl:all_reduce", "time_created_ns": 1_700_000_000_000_000_000 + number * 1_000_000,
                "input_sizes": [[4096, 1, 5120]], "input_dtypes": ["BFloat16"], "output_sizes": [[4096, 1, 5120]],
                "output_dtypes": ["BFloat16"], "state": "completed" if done else "scheduled",
                "time_discovered_started_ns": None,
                "time_discovered_completed_ns": 1_700_000_000_000_500_000 + number * 1_000_000 if done else None,
                "retired": done, "timeout_ms": 600000, "is_p2p": False, "frames": [],
            }
        )  # fmt: skip
    return {
        "version": "2.10",
        "comm_lib_version": "2.27.3",
        "pg_config": {name: {"name": name, "desc": desc, "ranks": str(of)} for name, (desc, of) in groups.items()},
        "pg_status": {
            str(index): {
                "last_enqueued_collective": seqs[name], "last_started_collective": -1,
                "last_completed_collective": max(seqs[name] - 2, 0),
            }
            for index, name in enumerate(names)
        },
        "entries": made,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--torch", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, asked.ranks, asked.entries)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{asked.ranks} dumps of {asked.entries} entries, {size >> 20} MiB, {os.cpu_count()} CPUs")
        begun = time.monotonic()
        command = [sys.executable, "-P", "-m", "opsdist_cli", "diagnose", "deadlock", name, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        verdict = json.loads(done.stdout)["verdict"]
        named = [culprit.get("rank") for culprit in verdict["culprits"]]
        _tell(f"opsdist: {verdict['class']}, ranks {named}", begun)
        if asked.torch:
            begun = time.monotonic()
            tool = [str(Path(sys.executable).with_name("torchfrtrace")), "--prefix", "nccl_trace_rank_", name]
            answer = subprocess.run(tool, capture_output=True, text=True, check=False, timeout=3600)
            last = (answer.stdout + answer.stderr).strip().rpartition("\n")[2]
            _tell(f"torchfrtrace: exit {answer.returncode}, {last[:100]}", begun)


def _tell(what: str, begun: float) -> None:
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{what}: {time.monotonic() - begun:.1f} s, {most} MiB in the largest process so far")


if __name__ == "__main__":
    main()
