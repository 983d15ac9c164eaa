#define _GNU_SOURCE
#include "wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NAP 1000000 /* ns */
#define LONGEST_NAP 16000000
/* Rounds of spinning for what comes from another host, at the most. Each has a system call or more, so they are about a
 * millisecond: well above what it takes to wake the peer, or two ranks that were once late would go on to wake each other
 * for ever. There is no yielding then: that gives the core away for long, and the kernel, which brings the news, gives it
 * to who slept at once. */
#define MOST_FOR_WIRES 2000
#define CLOCK_ROUNDS 64 /* while yielding, the clock is read every so many rounds */

int64_t od_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* `yield` does nothing on most cores; this is what spinning code uses */
#endif
}

void od_moved(od_waiter *waiter) {
    if (waiter->marked) {
        atomic_store_explicit(&waiter->inbox->sleeping, 0, memory_order_relaxed);
        waiter->marked = false;
    }
    waiter->rounds = 0;
    waiter->nap = FIRST_NAP;
    waiter->since = 0;
}

static void mark(od_waiter *waiter) {
    waiter->bell = atomic_load_explicit(&waiter->inbox->bell, memory_order_relaxed);
    atomic_store_explicit(&waiter->inbox->sleeping, 1, memory_order_seq_cst);
    waiter->marked = true;
}

static void nap(od_waiter *waiter) {
    if (od_wires_nap(waiter->wires, FIRST_NAP)) return;
    struct timespec time = {.tv_sec = 0, .tv_nsec = waiter->nap};
    syscall(SYS_futex, &waiter->inbox->bell, FUTEX_WAIT, waiter->bell, &time, NULL, 0);
    if (waiter->nap < LONGEST_NAP) waiter->nap *= 2;
}

static od_patience patience(const od_waiter *waiter) {
    od_patience found = waiter->patience;
    if (!od_wires_awaited(waiter->wires)) return found;
    return (od_patience){found.spins < MOST_FOR_WIRES ? found.spins : MOST_FOR_WIRES, 0};
}

bool od_wait(od_waiter *waiter) {
    uint32_t rounds = waiter->rounds++;
    od_patience most = patience(waiter);
    if (rounds < most.spins) {
        relax();
        return false;
    }
    if (rounds < most.spins + most.yields) {
        sched_yield();
        if (rounds % CLOCK_ROUNDS) return false;
    } else if (!waiter->marked) {
        mark(waiter);
        return false; /* one more look for news before the nap */
    } else {
        nap(waiter);
        mark(waiter); /* whoever rang has taken the mark away, and its news may not be what is waited for */
    }
    if (!waiter->since) waiter->since = od_now();
    return true;
}

void od_ring(od_inbox *inbox) {
    if (atomic_load_explicit(&inbox->sleeping, memory_order_relaxed)) {
        atomic_store_explicit(&inbox->sleeping, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&inbox->bell, 1, memory_order_release);
        syscall(SYS_futex, &inbox->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}
