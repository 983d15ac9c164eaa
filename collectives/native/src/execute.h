/* Runs programs: moves the messages of a step until all are done, then goes on to the next. */
#ifndef OPSDIST_EXECUTE_H
#define OPSDIST_EXECUTE_H

#include "program.h"

typedef enum {
    OD_FINE,
    OD_TIMED_OUT,   /* nothing moved for longer than the deadline */
    OD_MISMATCH,    /* a peer is in another call, or sends another length than this rank expects */
    OD_LOST,        /* the connection to a member has come to its end */
    OD_INTERRUPTED, /* the caller's `interrupted` said so */
    OD_CLOSED       /* the channel was closed meanwhile */
} od_outcome;

/* How a run ended, and, where it did not end well, where it stood. */
typedef struct {
    od_outcome outcome;
    int step;
    od_call mine;
    int member; /* of a mismatch, or lost */
    /* of a mismatch */
    od_call theirs;
    uint64_t their_length, my_length;
    uint32_t their_step;
} od_result;

typedef struct {
    od_channel *channel;
    int64_t timeout; /* ns without progress */
    /* Asked now and then while waiting; true ends the run. */
    bool (*interrupted)(void *context);
    void *context;
    uint32_t frame; /* who has called, as named in the ring */
} od_runner;

/* Run once, as call number `sequence` of the group. */
od_result od_run(const od_runner *runner, od_program *program, uint32_t sequence);

/* Run `iterations` times, the programs in turn, and stamp entry and exit of every `batch` of them (CLOCK_MONOTONIC, ns).
 * With a `barrier` that program runs, untimed, before every batch. `sequence` is the first run's and comes back as the
 * number that the next call will have; `last` is the program in which a run that did not end well stood. */
od_result od_time(const od_runner *runner, od_program *const *programs, int number, od_program *barrier,
                  int64_t iterations, int64_t batch, int64_t *stamps, uint32_t *sequence, const od_program **last);

/* After a run that did not end well: whether the member owes this rank a message, or has not taken one. */
bool od_owes(const od_program *program, int step, const od_peer *peer);
bool od_refuses(const od_program *program, int step, const od_peer *peer);

#endif
