/* What a record costs: nanoseconds for a call's entering, its steps and its leaving, a line for every repeat.
 *
 * recording REPEATS CALLS STEPS CLOCK (1: counter, 0: CLOCK_MONOTONIC)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

/* Not to be known when compiling. */
static od_ring_of_records *volatile ring;
static volatile int steps;

static uint64_t calls(long number) {
    od_ring_of_records *where = ring;
    int last = steps;
    uint64_t began = od_monotonic();
    for (long i = 0; i < number; i++) {
        const od_call call = {1, (uint64_t)i, (uint32_t)i};
        od_record *record = od_enter(where, &(od_names){1, 2, 3}, &call);
        for (int step = 0; step < last; step++) od_at_step(record, step);
        od_leave(where, record, 1);
    }
    return od_monotonic() - began;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    long repeats = atol(argv[1]), number = atol(argv[2]);
    od_ring_of_records *mine = aligned_alloc(4096, sizeof *mine);
    if (!mine) return 1;
    memset(mine, 0, sizeof *mine);
    mine->clock = (uint32_t)atoi(argv[4]);
    ring = mine;
    steps = atoi(argv[3]);
    for (long i = 0; i < repeats; i++) printf("%.3f\n", (double)calls(number) / (double)number);
    return atomic_load(&mine->entered) == (uint64_t)(repeats * number) ? 0 : 1;
}
