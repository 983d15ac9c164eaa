"""Bruck: logarithmic steps for any number of ranks, by sending several blocks in one message.

Allgather on 5 ranks: in step k a rank passes on the 2^k blocks it has (its own and the following) to the rank 2^k
below; each lands where it belongs, so that no final rotation is needed.

    step 0   rank r has r                -> gets r+1
    step 1   rank r has r, r+1           -> gets r+2, r+3
    step 2   rank r has r .. r+3         -> gets r+4

Alltoall: the block for the rank i above travels by the binary digits of i; in step k all blocks whose digit k is set
move 2^k ranks up.

Steps ceil(log2 n). Allgather moves the least bytes; alltoall moves about half the buffer in every step, which pays
for small blocks only.
Limits: alltoall needs scratch for blocks on their way, two places a block, since a step may not receive into what it
sends.
Reference: J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems",
IEEE TPDS 1997.
May import: schedule.
"""

from __future__ import annotations

from collectives.schedule import Closed, Plan, Receive, Send, Shape, Span, Step, copy, plan, together


def _rounds(size: int) -> int:
    return (size - 1).bit_length()


def allgather(shape: Shape) -> Plan:
    n, count = shape.size, shape.send.count
    steps = [copy(shape, shape.send, shape.recv_block(shape.rank))]

    def blocks(first: int, number: int) -> tuple[Span, ...]:
        """Where `number` blocks from `first` on lie: one span, or two around the end."""
        first %= n
        if first + number <= n:
            return (Span("recv", first * count, (first + number) * count),)
        return (Span("recv", first * count, n * count), Span("recv", 0, (first + number - n) * count))

    for k in range(_rounds(n)):
        number = min(1 << k, n - (1 << k))
        held = blocks(shape.rank, number) if k else (shape.send,)
        exchange = Step(
            sends=(Send((shape.rank - (1 << k)) % n, held),),
            receives=(Receive((shape.rank + (1 << k)) % n, blocks(shape.rank + (1 << k), number)),),
        )
        steps = [together(steps[0], exchange)] if k == 0 else [*steps, exchange]
    return plan(steps)


def alltoall(shape: Shape) -> Plan:
    n, count = shape.size, shape.recv_counts[0]
    # Where the block that still has to travel `i` ranks in all lies now.
    place = [shape.send_block((shape.rank + i) % n) for i in range(n)]
    steps = [copy(shape, place[0], shape.recv_block(shape.rank))]
    for k in range(_rounds(n)):
        moving = [i for i in range(n) if i >> k & 1]
        sent = tuple(place[i] for i in moving)
        for i in moving:
            if i >> (k + 1):
                half = 1 - place[i].start // (n * count) if place[i].buffer == "scratch" and count else 0
                start = half * n * count + i * count
                place[i] = Span("scratch", start, start + count)
            else:
                place[i] = shape.recv_block((shape.rank - i) % n)
        exchange = Step(
            sends=(Send((shape.rank + (1 << k)) % n, sent),),
            receives=(Receive((shape.rank - (1 << k)) % n, tuple(place[i] for i in moving)),),
        )
        steps = [together(steps[0], exchange)] if k == 0 else [*steps, exchange]
    return plan(steps, scratch=2 * n * count if n > 2 else 0)


def allgather_closed(size: int, count: int, group: int) -> Closed:
    return Closed(_rounds(size), count * (size - 1), _rounds(size), count * (size - 1))


def alltoall_closed(size: int, count: int, group: int) -> Closed:
    hops = sum(index.bit_count() for index in range(size))
    return Closed(_rounds(size), hops * count, _rounds(size), hops * count)
