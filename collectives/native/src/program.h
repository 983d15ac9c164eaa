/* A plan bound to buffers: what collectives/schedule.py says in spans, as pointers, with the state of the run. */
#ifndef OPSDIST_PROGRAM_H
#define OPSDIST_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"

/* A buffer of the call. `place` is its offset in this rank's region, or negative for memory that peers cannot see. */
typedef struct {
    unsigned char *base;
    size_t length;
    int64_t place;
} od_buffer;

typedef struct {
    void *to;
    const void *from;
    size_t length;
} od_local_copy;

typedef enum { OD_WAITING, OD_MOVING, OD_POSTED, OD_DONE } od_state;

/* A message on its way out. */
typedef struct {
    od_peer *peer;
    int after;  /* the fold of this step that it forwards, or -1 */
    int behind; /* an earlier one of this step to the same peer, or -1 */
    const od_span *spans;
    int spans_number;
    size_t length;
    /* state */
    od_state state;
    size_t sent;
    uint64_t mark;    /* consumed entries that mean it is done with */
    uint64_t ordinal; /* among large ones, from 1; 0 for a small one */
    unsigned char *target; /* where the receiver wants it written */
} od_send;

/* A message expected: it overwrites spans, or is an operand of a fold (then it has none). */
typedef struct {
    od_peer *peer;
    int behind;
    const od_span *spans;
    int spans_number;
    size_t length;
    /* state */
    od_state state;
    size_t taken;
    const unsigned char *at; /* of an operand: the piece that is there */
    size_t available;
    uint64_t ordinal;
    bool offered; /* its sender was told where to write it */
} od_incoming;

typedef struct {
    const unsigned char *own;
    int incoming; /* the message that it is, or -1 for the rank's own span */
} od_operand;

typedef struct {
    od_span into;
    const od_operand *operands;
    int operands_number;
    uint64_t divisor;
    /* state */
    size_t position;
    bool done, streaming;
} od_bound_fold;

typedef struct {
    int copies, copies_number, sends, sends_number, incoming, incoming_number, folds, folds_number;
} od_step;

typedef struct {
    int dtype, operator_;
    uint32_t name; /* in the ring */
    uint64_t signature, count;
    uint64_t footprint; /* bytes that all ranks together read or write */
    uint64_t ended;     /* the world's bytes moved when it last ended; 0 before the first run */
    bool streaming;     /* this run stores past the caches */
    od_step *steps;
    int steps_number, widest; /* operands of the largest fold */
    od_local_copy *copies;
    od_send *sends;
    od_incoming *incoming;
    od_bound_fold *folds;
    od_operand *operands;
    od_span *spans;
    const void **sources; /* room for od_fold's arguments */
    void **targets;
} od_program;

/* Read a program from words, in the format that collectives/native/compile.py writes. NULL when it is not one (with
 * `*reason` told) or memory is out (reason NULL). */
od_program *od_program_read(od_channel *channel, const int64_t *words, size_t number, const od_buffer buffers[3],
                            uint64_t divisor, const char **reason);

void od_program_free(od_program *program);

#endif
