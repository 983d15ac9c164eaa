/* Waiting: spin briefly, then let others run, then sleep until the doorbell rings.
 *
 * Who brings news looks whether its receiver sleeps and only then pays for a system call. That look and the sleeper's last
 * look for news are not ordered against each other, which would cost every message a full barrier; so a wake-up can be
 * missed, and naps are short: a missed one costs a nap, never a hang. Where news may come from another host, the nap is one
 * on its sockets, and the doorbell is looked at after it.
 */
#ifndef OPSDIST_WAIT_H
#define OPSDIST_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared.h"
#include "wire.h"

/* How long to spin and to yield, in rounds of polling. */
typedef struct {
    uint32_t spins, yields;
} od_patience;

typedef struct {
    od_patience patience;
    od_inbox *inbox;
    const od_wires *wires;
    uint32_t rounds;
    uint32_t bell; /* as it was when the inbox was marked */
    bool marked;   /* peers have been told that this rank is about to sleep */
    int64_t nap;   /* ns */
    int64_t since; /* when something last moved, ns; 0 while no clock was read */
} od_waiter;

/* CLOCK_MONOTONIC in ns, the clock of Python's time.monotonic_ns. */
int64_t od_now(void);

/* Once before the first wait, and whenever something has moved. */
void od_moved(od_waiter *waiter);

/* One round of waiting. Returns whether the clock was read, so that deadlines are worth a look. */
bool od_wait(od_waiter *waiter);

/* Wake the owner of an inbox if it sleeps. */
void od_ring(od_inbox *inbox);

#endif
