"""Answers of the engine graded against the truth of made-up jobs: class, rank, collective, and that nobody innocent is
ever named. `python -m tests.made_up.hangs.grading` prints the whole score.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up.hangs import dumps, job
from tests.made_up.hangs.job import Job

FORMS: tuple[dict[str, Any], ...] = (
    {}, {"active_only": True}, {"form": "json"}, {"version": "2.3"}, {"version": "2.10", "back_end": "gloo"},
    {"back_end": "hccl"},
)  # fmt: skip


@dataclass(frozen=True)
class Grade:
    """`named` is of culprits; `innocent` were blamed, `lost` are neither named nor suspected."""

    label: str
    name: bool
    named: bool
    where: bool
    innocent: frozenset[int]
    lost: frozenset[int]
    verdict: dict[str, Any]

    @property
    def right(self) -> bool:
        return self.name and self.named and self.where


def jobs(sizes: tuple[int, ...] = (2, 4, 8)) -> Iterator[tuple[str, Job]]:
    """Of every class, in every layout, small to all of a group to blame, with programs that run ahead or do not."""
    for size in sizes:
        for layout, made in job.LAYOUTS.items():
            groups = made(size)
            if layout == "grid" and size < 4:
                continue
            for group in [name for name in ("0", "1") if len(groups.get(name, ())) > 1]:
                for ahead in (1, 3):
                    yield from _of_group(size, layout, group, groups[group], ahead)
        yield f"messages {size}", job.message_circle(size)
        if size >= 4:
            for ahead in (1, 3):
                yield f"order {size} ahead {ahead}", job.opposite_order(size, 3, ahead)


def _of_group(size: int, layout: str, group: str, ranks: tuple[int, ...], ahead: int) -> Iterator[tuple[str, Job]]:
    where = f"{size} {layout} {group} ahead {ahead}"
    for culprits in {(ranks[-1],), (ranks[0], ranks[-1])[: len(ranks) - 1]}:
        yield f"missing {where} {culprits}", job.missing(size, layout, culprits, group, 5, ahead)
        yield f"stuck {where}", job.stuck(size, layout, culprits[:1], group, 5, ahead)
        for how in ("operation", "count", "dtype"):
            yield f"mismatch {how} {where}", job.mismatch(size, layout, culprits[:1], group, 5, ahead, how)
    yield f"joined {where}", job.joined(size, layout, group, 5, ahead)


def grade(label: str, made: Job, damage: Callable[[Path], None] | None = None, **how: Any) -> Grade:
    """What is said of the dumps of a job, after some harm was done to them."""
    with tempfile.TemporaryDirectory() as folder:
        dumps.write(made, Path(folder), **how)
        if damage:
            damage(Path(folder))
        verdict = diagnose([folder], ["opsdist"], now()).record()["verdict"]
    truth = made.truth
    named = frozenset(c["rank"] for c in verdict["culprits"] if c["kind"] == "rank")
    suspects = frozenset(c["rank"] for c in verdict["suspects"] if c["kind"] == "rank")
    at = verdict["collective"]
    where = truth.where is None or (
        at is not None and at["seq"] == truth.where[1] and f"({truth.where[0]}@" in at["group"]
    )
    lost = frozenset() if truth.name in ("mismatch", "cycle") else truth.culprits - named - suspects
    return Grade(
        label, verdict["class"] == truth.name, named == truth.culprits, where, named - truth.culprits - truth.sides,
        lost, verdict,
    )  # fmt: skip


def without(rank: int) -> Callable[[Path], None]:
    return lambda folder: (folder / f"nccl_trace_rank_{rank}").unlink()


def cut(rank: int) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        path = folder / f"nccl_trace_rank_{rank}"
        path.write_bytes(path.read_bytes()[:700])

    return harm


def main() -> None:
    score: Counter[str] = Counter()
    for label, made in jobs():
        for how in FORMS:
            one = grade(label, made, **how)
            score.update(jobs=1, name=one.name, named=one.named, where=one.where, right=one.right)
            if not one.right:
                print("wrong:", label, how, one.verdict["class"], one.verdict["explanation"])
        for rank in range(made.size):
            for harm in (without(rank), cut(rank)):
                one = grade(label, made, harm)
                score.update(damaged=1, innocent=bool(one.innocent), lost=bool(one.lost))
    print(
        f"{score['jobs']} jobs: class {score['name']}, ranks {score['named']}, collective {score['where']}, all three "
        f"{score['right']}; {score['damaged']} with one dump gone or cut: {score['innocent']} with an innocent named, "
        f"{score['lost']} with a culprit neither named nor suspected"
    )


if __name__ == "__main__":
    main()
