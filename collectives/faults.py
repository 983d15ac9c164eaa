"""What is said when a call does not come to its end: the same words from every engine.

May import: errors, and the literal tables for names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from collectives.dtypes import DTYPES, OPERATORS
from collectives.errors import MismatchError, PeerLost, TransportTimeout
from collectives.ops import COLLECTIVES
from collectives.transport.base import CallTag


def describe(call: CallTag) -> str:
    """The call in words, as both sides of a mismatch are named."""
    collective = _name(call.collective, COLLECTIVES)
    row = COLLECTIVES.get(collective)
    words = [collective, f"of {call.count} {_name(call.dtype, DTYPES)}"]
    if row and row.reduces:
        words.append(_name(call.operator, OPERATORS))
    if row and row.rooted:
        words.append(f"root {call.root}")
    return " ".join(words)


def timed_out(
    rank: int, step: int, call: CallTag, owed: Sequence[int], stuck: Sequence[int], timeout: float
) -> TransportTimeout:
    """`owed` are ranks whose messages are missing, `stuck` ranks that do not take what is sent to them."""
    parts = [f"waits for rank{'s' * (len(owed) > 1)} {', '.join(map(str, owed))}"] if owed else []
    parts += [f"cannot send to rank{'s' * (len(stuck) > 1)} {', '.join(map(str, stuck))}"] if stuck else []
    return TransportTimeout(
        f"nothing moved for {timeout:g} s: rank {rank} in step {step} of call {call.sequence} ({describe(call)}) "
        f"{' and '.join(parts)}",
        tuple(sorted({*owed, *stuck})),
    )


def lost(rank: int, step: int, call: CallTag, peer: int) -> PeerLost:
    """The connection to the peer has come to its end."""
    return PeerLost(
        f"rank {rank} lost the connection to rank {peer} in step {step} of call {call.sequence} ({describe(call)})",
        (peer,),
    )


def different_calls(rank: int, mine: CallTag, peer: int, theirs: CallTag) -> MismatchError:
    """Both are in the call of one number, and it is not the same call."""
    return MismatchError(
        f"call {mine.sequence}: rank {rank} entered {describe(mine)}, rank {peer} entered {describe(theirs)}", peer
    )


def different_messages(
    rank: int, mine: CallTag, step: int, length: int, peer: int, theirs: CallTag, their_step: int, their_length: int
) -> MismatchError:
    """What arrives is not the message that is waited for. Lengths in bytes."""
    return MismatchError(
        f"rank {rank} waits in step {step} of call {mine.sequence} ({describe(mine)}) for {length} bytes, rank {peer} "
        f"sends {their_length} bytes of step {their_step} of call {theirs.sequence} ({describe(theirs)})",
        peer,
    )


def _name(index: int, table: Iterable[str]) -> str:
    names = list(table)
    return names[index] if index < len(names) else f"#{index}"
