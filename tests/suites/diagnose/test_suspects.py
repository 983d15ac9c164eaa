"""Whom an undecided answer suspects, by what HCCL says of who waits for whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites.diagnose.offline import diagnose
from suites.report import now

_TAG = "tag[AllReduce_192.0.2.5%eth0_60000_0_1700000000000000]"


def suspects(folder: Path, waiters: tuple[int, ...]) -> set[tuple[int | None, int | None]]:
    """Where these say that they wait for rank 5 of their group: the ranks, of the world or of the group."""
    text = "".join(
        f"[rank{rank}]: EI0002: [PID: {900 + rank}] 2026-03-04-10:30:36.101.000 The wait execution of the Notify "
        "register times out. Reason: The Notify register has not received the Notify record from remote rank [5]."
        f"base information: [streamID:[3], taskID[7], taskType[Notify Wait], {_TAG}]\n"
        for rank in waiters
    )
    (folder / "job.log").write_text(text)
    told = diagnose([str(folder)], ["opsdist"], now()).record()["verdict"]
    assert told["class"] == "undecided"
    return {(one.get("rank"), one.get("group_rank")) for one in told["suspects"]}


@pytest.mark.parametrize(("waiters", "too"), [((0,), {(0, None)}), ((0, 1, 2, 3), set())])
def test_who_waits_for_one_like_others_is_none(tmp_path: Path, waiters: tuple[int, ...], too: set[object]) -> None:
    """One that waits alone may be wrong itself."""
    assert suspects(tmp_path, waiters) == {(None, 5)} | too
