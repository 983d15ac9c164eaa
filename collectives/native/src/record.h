/* The flight recorder: every call leaves a record in a ring that lives in memory which outlives the process. What lies
 * where, and who may read it when, is told in collectives/ring.py.
 *
 * It is always on, so it must cost next to nothing: a record is one line, and its stores are waited for by nobody.
 */
#ifndef OPSDIST_RECORD_H
#define OPSDIST_RECORD_H

#include <stdalign.h>
#include <stddef.h>

#include "shared.h"

#define OD_RECORDS 2048
/* Calls from one look at all clocks to the next, so that ticks can be told as time. */
#define OD_CLOCK_EVERY 1024
/* Records that are still being written and are passed over, at the most. */
#define OD_MOST_BUSY 64

typedef enum { OD_MONOTONIC, OD_TICKS } od_clock;

/* The same moment on three clocks, the latter two in ns. */
typedef struct {
    _Atomic uint64_t ticks, monotonic, realtime;
} od_reading;

typedef struct {
    alignas(OD_LINE) _Atomic uint64_t turn; /* its number, from 1; 0 while it is being written */
    _Atomic uint64_t entered, left;         /* ticks; 0 while the call is under way */
    _Atomic uint64_t signature, count;
    _Atomic uint32_t group, sequence, program, step, frame, outcome;
} od_record;

_Static_assert(sizeof(od_record) == OD_LINE, "a record is a line");

typedef struct {
    char magic[8];
    uint32_t version, clock, rank, world_size, pid, records_number;
    od_reading start, latest;
    alignas(OD_LINE) _Atomic uint64_t entered; /* numbers given to calls so far */
    alignas(OD_LINE) uint64_t names;
    alignas(4096) od_record records[OD_RECORDS];
    /* then names, which only Python writes */
} od_ring_of_records;

/* What a call is called in the ring. */
typedef struct {
    uint32_t group, program, frame;
} od_names;

/* What this machine's clock for records is. */
od_clock od_best_clock(void);

/* The counter that runs evenly on all cores: a third of the price of the clock. Only where it is the best clock. */
static inline uint64_t od_counter(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

uint64_t od_monotonic(void);

static inline uint64_t od_ticks(uint32_t clock) { return clock == OD_TICKS ? od_counter() : od_monotonic(); }

/* Note the moment on all clocks. */
void od_read_clocks(od_ring_of_records *ring);

/* A call begins. NULL without a ring, which the other functions take. */
static inline od_record *od_enter(od_ring_of_records *ring, const od_names *names, const od_call *call) {
    if (!ring) return NULL;
    uint64_t number;
    od_record *record;
    int busy = 0;
    do { /* what is under way for long stays where it is: it is what will be looked for */
        number = atomic_fetch_add_explicit(&ring->entered, 1, memory_order_relaxed);
        record = &ring->records[number % OD_RECORDS];
    } while (atomic_load_explicit(&record->turn, memory_order_relaxed) &&
             !atomic_load_explicit(&record->outcome, memory_order_relaxed) && ++busy < OD_MOST_BUSY);
    if (number % OD_CLOCK_EVERY == 0) od_read_clocks(ring);
    /* None of what follows may be seen before this; there is no fence, which the sanitizer of threads does not know. */
    atomic_store_explicit(&record->turn, 0, memory_order_relaxed);
    atomic_store_explicit(&record->entered, od_ticks(ring->clock), memory_order_release);
    atomic_store_explicit(&record->left, 0, memory_order_release);
    atomic_store_explicit(&record->signature, call->signature, memory_order_release);
    atomic_store_explicit(&record->count, call->count, memory_order_release);
    atomic_store_explicit(&record->group, names->group, memory_order_release);
    atomic_store_explicit(&record->sequence, call->sequence, memory_order_release);
    atomic_store_explicit(&record->program, names->program, memory_order_release);
    atomic_store_explicit(&record->step, 0, memory_order_release);
    atomic_store_explicit(&record->frame, names->frame, memory_order_release);
    atomic_store_explicit(&record->outcome, 0, memory_order_release);
    atomic_store_explicit(&record->turn, number + 1, memory_order_release);
    return record;
}

static inline void od_at_step(od_record *record, int step) {
    if (record) atomic_store_explicit(&record->step, (uint32_t)step, memory_order_relaxed);
}

/* `outcome` is a number of collectives/ring.py, above 0. */
static inline void od_leave(const od_ring_of_records *ring, od_record *record, uint32_t outcome) {
    if (!record) return;
    atomic_store_explicit(&record->left, od_ticks(ring->clock), memory_order_relaxed);
    atomic_store_explicit(&record->outcome, outcome, memory_order_release);
}

#endif
