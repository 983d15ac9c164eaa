/* Runs scenarios: all ranks of a world as threads of this process, on shared memory that is plain memory, and on sockets
 * between those that are on different hosts.
 *
 *     ranks_test FILE...      a file is what scenarios.py writes: programs, buffers, and what must be in them afterwards
 *
 * Every thread runs its program again and again on fresh inputs, without ever waiting for the others in between, and
 * compares. Exits non-zero with a message on the first difference.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "execute.h"
#include "fold.h"

typedef struct {
    int64_t send_start, send_length, recv_start, recv_length, scratch_length, registered, block_length, words;
} rank_header;

typedef struct {
    int64_t ranks, times, dtype, operator_, divisor, eager, direct, streaming, region_length, spins, nodes;
} header;

typedef struct {
    header scenario;
    rank_header head;
    int rank;
    od_world *world;
    int64_t *words;
    unsigned char *fill, *expected;
    pthread_barrier_t *ready;
    int sockets[64]; /* to each rank of another host */
    unsigned seed;
    const char *file;
} job;

static void die(const char *file, const char *what) {
    fprintf(stderr, "%s: %s\n", file, what);
    exit(1);
}

static void *take(FILE *from, const char *file, size_t length) {
    void *memory = aligned_alloc(OD_LINE, (length + OD_LINE) / OD_LINE * OD_LINE);
    if (!memory || fread(memory, 1, length, from) != length) die(file, "not a scenario");
    return memory;
}

/* A pause now and then, so that ranks meet in ever new orders. */
static bool dawdle(unsigned *seed) {
    *seed = *seed * 1103515245 + 12345;
    for (unsigned i = *seed >> 16 & 3; i; i--) sched_yield();
    return true;
}

static void *run_rank(void *argument) {
    job *mine = argument;
    const header *scenario = &mine->scenario;
    const rank_header *head = &mine->head;
    int size = (int)scenario->ranks;
    unsigned char *region = mine->world->regions[mine->rank];
    uint64_t place = (sizeof(od_region) + 4095) / 4096 * 4096;
    uint64_t buffers_place = place + (od_inbox_length(size, (size_t)scenario->eager) + 4095) / 4096 * 4096;
    int members[64];
    for (int i = 0; i < size; i++) members[i] = i;
    od_channel *channel = od_channel_open(mine->world, 77, members, size, mine->rank, place, (size_t)scenario->eager,
                                          (size_t)scenario->direct);
    if (!channel) die(mine->file, "no channel");
    for (int i = 0; i < size; i++)
        if (!mine->world->regions[i] && !od_channel_connect(channel, i, mine->sockets[i])) die(mine->file, "no memory");
    size_t block = (size_t)(head->block_length + head->scratch_length) + OD_LINE;
    unsigned char *memory = head->registered ? region + buffers_place : aligned_alloc(OD_LINE, block / OD_LINE * OD_LINE);
    int64_t seen = head->registered ? (int64_t)buffers_place : -1;
    unsigned char *scratch = memory + head->block_length;
    od_buffer buffers[3] = {
        {memory + head->send_start, (size_t)head->send_length, seen < 0 ? -1 : seen + head->send_start},
        {memory + head->recv_start, (size_t)head->recv_length, seen < 0 ? -1 : seen + head->recv_start},
        {scratch, (size_t)head->scratch_length, seen < 0 ? -1 : seen + head->block_length},
    };
    const char *reason;
    od_program *program = od_program_read(channel, mine->words, (size_t)head->words, buffers,
                                          (uint64_t)scenario->divisor, &reason);
    if (!program) die(mine->file, reason ? reason : "no memory");
    program->dtype = (int)scenario->dtype;
    program->operator_ = (int)scenario->operator_;
    program->footprint = (uint64_t)scenario->streaming; /* beyond a cache of nothing, or not */
    program->signature = 7;
    od_runner runner = {channel, (int64_t)60 * 1000000000, NULL, NULL, 0};
    pthread_barrier_wait(mine->ready);
    for (int64_t i = 0; i < scenario->times; i++) {
        memcpy(memory, mine->fill, (size_t)head->block_length);
        if (dawdle(&mine->seed)) {
            od_result result = od_run(&runner, program, (uint32_t)i + 1);
            if (result.outcome != OD_FINE) die(mine->file, "a run did not come to its end");
        }
        if (memcmp(memory + head->recv_start, mine->expected, (size_t)head->recv_length))
            die(mine->file, "a wrong result");
    }
    pthread_barrier_wait(mine->ready); /* peers may still look into this rank's lanes */
    od_program_free(program);
    od_channel_close(channel);
    if (!head->registered) free(memory);
    return NULL;
}

/* Connect two ranks. Little fits into the sockets, so that messages go in pieces and senders are held back. */
static void connect_pair(job *one, job *other) {
    int ends[2], room = 4096;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) die(one->file, "no sockets");
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    one->sockets[other->rank] = ends[0];
    other->sockets[one->rank] = ends[1];
}

static void run_file(const char *file) {
    FILE *from = fopen(file, "rb");
    if (!from) die(file, "cannot be read");
    header *scenario = take(from, file, sizeof *scenario);
    int ranks = (int)scenario->ranks;
    od_world *worlds[64];
    unsigned char *regions[64];
    job jobs[64];
    pthread_t threads[64];
    pthread_barrier_t ready;
    pthread_barrier_init(&ready, NULL, (unsigned)ranks);
    for (int i = 0; i < ranks; i++) {
        regions[i] = aligned_alloc(4096, (size_t)scenario->region_length);
        if (!regions[i]) die(file, "no memory");
        memset(regions[i], 0, (size_t)scenario->region_length);
    }
    for (int i = 0; i < ranks; i++) {
        worlds[i] = calloc(1, sizeof **worlds + (size_t)ranks * sizeof *regions);
        if (!worlds[i]) die(file, "no memory");
        *worlds[i] = (od_world){.length = (uint64_t)scenario->region_length, .ranks = ranks, .rank = i,
                                .patience = {(uint32_t)scenario->spins, 20}};
        for (int j = 0; j < ranks; j++) /* ranks are dealt to the hosts in turn */
            worlds[i]->regions[j] = i % scenario->nodes == j % scenario->nodes ? regions[j] : NULL;
        rank_header *head = take(from, file, sizeof *head);
        jobs[i] = (job){.scenario = *scenario, .head = *head, .rank = i, .world = worlds[i], .ready = &ready,
                        .seed = (unsigned)i * 7919 + 1, .file = file};
        jobs[i].words = take(from, file, (size_t)head->words * sizeof(int64_t));
        jobs[i].fill = take(from, file, (size_t)head->block_length);
        jobs[i].expected = take(from, file, (size_t)head->recv_length);
        free(head);
    }
    fclose(from);
    for (int i = 0; i < ranks; i++)
        for (int j = 0; j < i; j++)
            if (!worlds[i]->regions[j]) connect_pair(&jobs[i], &jobs[j]);
    for (int i = 0; i < ranks; i++)
        if (pthread_create(&threads[i], NULL, run_rank, &jobs[i])) die(file, "no thread");
    for (int i = 0; i < ranks; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < ranks; i++) {
        free(worlds[i]);
        free(regions[i]);
        free(jobs[i].words);
        free(jobs[i].fill);
        free(jobs[i].expected);
    }
    pthread_barrier_destroy(&ready);
    free(scenario);
}

int main(int number, char **files) {
    for (int i = 1; i < number; i++) run_file(files[i]);
    if (number < 2) die("ranks_test", "no scenario was given");
    return 0;
}
