/* Records that threads write while another reads: none is lost, and none is seen half written.
 *
 * First several write at once, as many as there is room for; then one writes on, many times around the ring, while one
 * call stays under way. All fields of a call are made of its thread and its number.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define WRITERS 3
#define TOGETHER (OD_RECORDS / WRITERS - 1)
#define ALONE 20000
#define ROUNDS 30

static od_ring_of_records *ring;
static _Atomic int writing, ready;

typedef struct {
    uint32_t thread, calls;
} part;

static void die(const char *what, uint64_t number) {
    fprintf(stderr, "%s: %llu\n", what, (unsigned long long)number);
    exit(1);
}

static void *write_calls(void *argument) {
    const part *mine = argument;
    uint32_t thread = mine->thread;
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < atomic_load(&writing)) sched_yield();
    for (uint32_t i = 1; i <= mine->calls; i++) {
        const od_call call = {(uint64_t)thread << 32 | i, (uint64_t)i * 3, i};
        od_record *record = od_enter(ring, &(od_names){thread, i * 5, i * 7}, &call);
        od_at_step(record, (int)(i % 9));
        od_leave(ring, record, 1 + i % 5);
    }
    atomic_fetch_sub(&writing, 1);
    return NULL;
}

/* Whether the record holds a call, and then whether all of it is of that call. */
static int look(const od_record *record) {
    uint64_t turn = atomic_load_explicit(&record->turn, memory_order_acquire);
    uint64_t signature = atomic_load_explicit(&record->signature, memory_order_acquire);
    uint64_t count = atomic_load_explicit(&record->count, memory_order_acquire);
    uint64_t entered = atomic_load_explicit(&record->entered, memory_order_acquire);
    uint32_t group = atomic_load_explicit(&record->group, memory_order_acquire);
    uint32_t sequence = atomic_load_explicit(&record->sequence, memory_order_acquire);
    uint32_t program = atomic_load_explicit(&record->program, memory_order_acquire);
    uint32_t frame = atomic_load_explicit(&record->frame, memory_order_acquire);
    if (!turn || atomic_load_explicit(&record->turn, memory_order_acquire) != turn) return 0;
    if (signature != ((uint64_t)group << 32 | sequence) || count != (uint64_t)sequence * 3 || program != sequence * 5 ||
        frame != sequence * 7 || !entered)
        die("a call of which parts are another's", turn);
    return 1;
}

/* Run these writers to their end, looking at all records meanwhile. */
static void run(part *parts, int number) {
    pthread_t threads[WRITERS];
    atomic_store(&writing, number);
    atomic_store(&ready, 0);
    for (int i = 0; i < number; i++)
        if (pthread_create(&threads[i], NULL, write_calls, &parts[i])) die("no thread", (uint64_t)i);
    while (atomic_load(&writing))
        for (int i = 0; i < OD_RECORDS; i++) look(&ring->records[i]);
    for (int i = 0; i < number; i++) pthread_join(threads[i], NULL);
}

/* The records of `calls` calls, the first of which is still under way, and whose numbers end with `last`. */
static void check(int calls, uint64_t last) {
    if (atomic_load(&ring->entered) != last) die("numbers given", atomic_load(&ring->entered));
    for (int i = 0; i < calls; i++) {
        const od_record *record = &ring->records[i];
        if (!look(record)) die("a record that is not whole", (uint64_t)i);
        if ((atomic_load(&record->turn) - 1) % OD_RECORDS != (uint64_t)i) die("a call in another's place", (uint64_t)i);
        if (i && !atomic_load(&record->outcome)) die("a call without an end", (uint64_t)i);
        if (i && atomic_load(&record->left) < atomic_load(&record->entered)) die("an end before its beginning", (uint64_t)i);
    }
    if (atomic_load(&ring->records[0].turn) != 1 || atomic_load(&ring->records[0].outcome))
        die("the call under way was written over", 0);
}

/* Empty, but for a call under way. */
static void begin(void) {
    memset(ring, 0, sizeof *ring);
    ring->clock = od_best_clock();
    const od_call under_way = {(uint64_t)9 << 32 | 1, 3, 1};
    od_enter(ring, &(od_names){9, 5, 7}, &under_way);
}

int main(void) {
    ring = aligned_alloc(4096, sizeof *ring);
    if (!ring) return 1;
    part together[WRITERS] = {{1, TOGETHER}, {2, TOGETHER}, {3, TOGETHER}}, alone = {4, ALONE};
    int calls = 1 + WRITERS * TOGETHER;
    for (int i = 0; i < ROUNDS; i++) {
        begin();
        run(together, WRITERS);
        check(calls, (uint64_t)calls);
    }
    run(&alone, 1);
    /* Each time around, the number of the call under way is passed over. */
    uint64_t last = (uint64_t)calls + ALONE;
    last += (last - 1) / (OD_RECORDS - 1);
    check(OD_RECORDS, last);
    free(ring);
    return 0;
}
