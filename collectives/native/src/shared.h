/* What lies in shared memory between the ranks of one host.
 *
 * Every rank owns one region, mapped by all. It starts with a directory of the groups this rank takes part in, and holds
 * their inboxes and the registered buffers, all found by their offset in the region.
 *
 * An inbox has a lane for every member of the group: a ring of entries that one peer writes and the owner reads. What the
 * owner tells that peer, how many entries it has done with and where it wants data written, is in the lane too. So each
 * word has one writer, and one release store publishes it; nothing needs a stand-alone fence. The exception is an
 * offer, once it is published: both change its `claims`, and the peer counts in `assisted` (assist.h).
 *
 *     peer writes:   entries[i].turn     owner writes:   consumed, offers[j].turn
 */
#ifndef OPSDIST_SHARED_H
#define OPSDIST_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#define OD_LINE 64
#define OD_VERSION 2
/* Groups of one rank, at the most. */
#define OD_DIRECTORY 4096
/* Entries of a lane: messages, or pieces of them, that a sender may be ahead. */
#define OD_SLOTS 16
#define OD_OFFERS 8
/* Bytes that travel in the entry itself. */
#define OD_INLINE 24

/* Which call a message belongs to: what all ranks of a group must agree on, call by call. */
typedef struct {
    uint64_t signature; /* collective, operator, dtype and root, as Python packs them */
    uint64_t count;
    uint32_t sequence;
} od_call;

typedef enum {
    OD_EAGER,  /* the payload, or its next piece, is in the slot, in the entry itself where it is short */
    OD_DIRECT, /* the payload is at `place` in the sender's region, and is done with once the entry is consumed */
    OD_PUSHED  /* the payload has been written to where the receiver offered */
} od_kind;

/* A message or a piece of one: one line, and what a short message needs is in it. */
typedef struct {
    _Alignas(OD_LINE) _Atomic uint32_t turn; /* its number among all entries of this lane, from 1 */
    uint32_t sequence;
    uint64_t signature, count;
    uint64_t length; /* of the whole message */
    uint32_t step;   /* of the sender: told, not matched, since ranks may number steps differently */
    uint32_t kind;
    union {
        uint64_t place;
        unsigned char payload[OD_INLINE];
    } body;
} od_entry;

_Static_assert(sizeof(od_entry) == OD_LINE, "an entry is a line");

/* Where the receiver of a large message wants it written. A sender may look at an offer whose message has just ended
 * and whose place in the ring is being written anew, so all of it is atomic. */
typedef struct {
    _Alignas(OD_LINE) _Atomic uint32_t turn; /* its message's number among the large ones of this lane, from 1 */
    _Atomic uint32_t sequence;
    _Atomic uint64_t signature, count;
    _Atomic uint64_t place, length;
    _Atomic uint64_t claims;   /* chunks of the message that either end has taken on itself */
    _Atomic uint32_t assisted; /* chunks that the sender has written */
} od_offer;

_Static_assert(sizeof(od_offer) == OD_LINE, "an offer is a line");

typedef struct {
    _Alignas(2 * OD_LINE) _Atomic uint64_t consumed; /* entries that the owner has done with */
    _Alignas(2 * OD_LINE) od_offer offers[OD_OFFERS];
    _Alignas(2 * OD_LINE) od_entry entries[OD_SLOTS];
} od_lane;

typedef struct {
    _Alignas(2 * OD_LINE) _Atomic uint32_t bell; /* a futex: who has news for a sleeping owner changes and wakes it */
    _Alignas(2 * OD_LINE) _Atomic uint32_t sleeping;
    /* lanes, one a member, then the payload slots of each */
} od_inbox;

typedef struct {
    _Atomic uint64_t key; /* 0: free */
    uint64_t place;
} od_directory_row;

typedef struct {
    uint64_t version;
    _Alignas(OD_LINE) od_directory_row directory[OD_DIRECTORY];
} od_region;

#endif
