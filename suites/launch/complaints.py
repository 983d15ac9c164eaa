"""What agents and ranks say of a failure, or fail to say at all, as faults. May import: protocol, seen, verdict."""

from __future__ import annotations

from collections.abc import Mapping

from suites.launch.protocol import Frame
from suites.launch.seen import Seen
from suites.verdict import Fault


def of_rank(rank: int, seen: Seen, content: Frame, host_at: Mapping[str, str]) -> Fault:
    """It has reported an error. `host_at` is whose an address is."""
    return Fault(
        rank, "failure", seen.phase, error=content["error"], message=content["message"],
        notes=tuple(content["notes"]), waiting_for=tuple(content["waiting_for"]),
        unanswered=tuple(host_at[address] for address in content["unanswered"] if address in host_at),
        peer=content["peer"], pid=seen.pid, traceback="".join(content["traceback"]),
    )  # fmt: skip


def of_exit(seen: Seen, frame: Frame) -> Fault:
    """It has ended before its job."""
    return Fault(frame["rank"], "exit", seen.phase, code=frame["code"], signal=frame["signal"], pid=seen.pid)


def unheard(host: str, seconds: float) -> Fault:
    """An agent has heard nothing of its controller."""
    message = (
        f"{host} has heard nothing of this controller for {seconds:g} s and ended its ranks: it was suspended, or the "
        "network was gone"
    )
    return Fault(None, "outside", "", message=message, host=host)


def unreachable(host: str, seconds: float) -> Fault:
    """The controller has heard nothing of an agent on another host."""
    message = f"{host} has said nothing for {seconds:.0f} s: it, or the way to it, is gone"
    return Fault(None, "unreachable", "", message=message, host=host)


def silence(seconds: float) -> Fault:
    """Of everybody."""
    return Fault(None, "silence", "", message=f"nothing happened for {seconds:g} s")


def ungreeted(words: str, seconds: float) -> str:
    """What an agent is blamed for that is not there in time; what was printed on the way to it may tell why."""
    last = words.strip().rpartition("\n")[2]
    return f"has said nothing for {seconds:g} s" + (f"; the last words: {last}" if last else "")
