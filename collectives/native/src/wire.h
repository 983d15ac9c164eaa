/* The connection to a member on another host: messages in the order they were sent, each a header and its payload.
 *
 * One TCP connection serves one pair of ranks in one group, so nothing has to be sorted out of it: the kernel queues what
 * arrives before its receiver comes to it, holds back a sender that is too far ahead, and delivers what was sent even if
 * the sender's call has ended. Payloads go from the buffer to the socket and from the socket to the buffer; only operands
 * of folds are staged. Both ends have the same byte order: a greeting in the other one is none (wires.py).
 */
#ifndef OPSDIST_WIRE_H
#define OPSDIST_WIRE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of a message, in order. */
typedef struct {
    unsigned char *at;
    size_t length;
    int64_t place; /* in this rank's region, or negative for memory that peers cannot see */
} od_span;

/* What goes before a payload: which call the message belongs to, as in od_entry. */
typedef struct {
    uint64_t signature, count;
    uint64_t length;
    uint32_t sequence, step;
} od_header;

_Static_assert(sizeof(od_header) == 32, "a header has no holes");

typedef struct {
    int descriptor;
    bool broken; /* by the other end, or by the network */
    /* Nothing to take, or no room to send, when it was last looked at: it is not tried until the next look. */
    bool starved, full;
    size_t header_sent, header_heard; /* of the message under way, each direction */
    od_header heard;
    unsigned char *staged; /* what has been taken of an operand and not been folded yet */
    size_t staged_from, staged_to;
} od_wire;

/* The connections of a group, for who waits for all of them. */
typedef struct {
    od_wire **list;
    struct pollfd *polls;
    int number;
} od_wires;

/* Add a connected, non-blocking socket, which is closed with the others. NULL when memory is out. */
od_wire *od_wires_add(od_wires *wires, int descriptor);
void od_wires_close(od_wires *wires);

/* How many are starved or full. */
int od_wires_awaited(const od_wires *wires);

/* See which of those no longer are: by trying, where there are few, else all by one system call. Before each round of
 * trying to move anything. */
void od_wires_look(const od_wires *wires);

/* Sleep until one of those no longer is, `nap` ns at the most. False at once where there are none. */
bool od_wires_nap(const od_wires *wires, int64_t nap);

/* Send on: what is left of the header, then the message's bytes from `*sent` to `ready`. Whether anything moved. */
bool od_wire_send(od_wire *wire, const od_header *header, const od_span *spans, size_t *sent, size_t ready);

/* Take what is there of the header, then of the payload from `*taken` to `length`, into the spans. Likewise. */
bool od_wire_take(od_wire *wire, const od_span *spans, size_t *taken, size_t length);

/* The same into `staged`, of which `left` bytes are still to come. */
bool od_wire_stage(od_wire *wire, size_t left);

static inline bool od_wire_heard(const od_wire *wire) { return wire->header_heard == sizeof wire->heard; }

/* Of what is staged, `length` bytes have been folded. */
static inline void od_wire_folded(od_wire *wire, size_t length) { wire->staged_from += length; }

#endif
