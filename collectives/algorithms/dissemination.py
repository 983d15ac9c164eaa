"""Dissemination: in step k every rank tells the rank 2^k above it; after ceil(log2 n) steps all have heard of all.

    step 0   r -> r+1        step 1   r -> r+2        step 2   r -> r+4        (modulo n, any n)

Steps ceil(log2 n), no bytes: the messages are empty.
Reference: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", IJPP 1988.
May import: schedule.
"""

from __future__ import annotations

from collectives.schedule import Closed, Plan, Receive, Send, Shape, Step, plan


def _rounds(size: int) -> int:
    return (size - 1).bit_length()


def barrier(shape: Shape) -> Plan:
    return plan(
        [
            Step(
                sends=(Send((shape.rank + (1 << k)) % shape.size, ()),),
                receives=(Receive((shape.rank - (1 << k)) % shape.size, ()),),
            )
            for k in range(_rounds(shape.size))
        ]
    )


def barrier_closed(size: int, count: int, group: int) -> Closed:
    return Closed(_rounds(size), 0, _rounds(size), 0)
