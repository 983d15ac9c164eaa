#define _GNU_SOURCE
#include "record.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define POWER_MANAGEMENT 0x80000007
#define INVARIANT_COUNTER (1u << 8)

od_clock od_best_clock(void) {
#if defined(__x86_64__)
    unsigned int a, b, c, d;
    return __get_cpuid(POWER_MANAGEMENT, &a, &b, &c, &d) && d & INVARIANT_COUNTER ? OD_TICKS : OD_MONOTONIC;
#elif defined(__aarch64__)
    return OD_TICKS;
#else
    return OD_MONOTONIC;
#endif
}

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t od_monotonic(void) { return nanoseconds(CLOCK_MONOTONIC); }

void od_read_clocks(od_ring_of_records *ring) {
    od_reading *latest = &ring->latest;
    atomic_store_explicit(&latest->ticks, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    uint64_t ticks = od_ticks(ring->clock);
    atomic_store_explicit(&latest->monotonic, od_monotonic(), memory_order_relaxed);
    atomic_store_explicit(&latest->realtime, nanoseconds(CLOCK_REALTIME), memory_order_relaxed);
    atomic_store_explicit(&latest->ticks, ticks, memory_order_release);
}
