/* A group as one rank sees it: the lanes to and from every member, and how far each has come. */
#ifndef OPSDIST_CHANNEL_H
#define OPSDIST_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "shared.h"
#include "wait.h"
#include "wire.h"

/* The regions of all ranks of this host, as mapped here, and NULL for ranks of others. All are of one length. */
typedef struct {
    uint64_t length;
    int ranks, rank;
    od_patience patience;
    uint64_t cache;         /* bytes of the last-level cache */
    _Atomic uint64_t moved; /* bytes, by all ranks in all calls so far that this rank took part in */
    od_ring_of_records *ring; /* or NULL */
    unsigned char *regions[];
} od_world;

typedef struct {
    int rank;
    od_wire *wire;   /* to a member on another host, once it is connected; what follows is for those on this one */
    od_inbox *inbox; /* the member's; NULL until it has opened the group */
    od_lane *out;    /* this rank's lane in it */
    od_lane *in;     /* the member's lane in this rank's inbox */
    unsigned char *out_payload, *in_payload;
    uint64_t posted, consumed; /* entries sent, and how many of them the member was seen to be done with */
    uint64_t taken;            /* entries received and done with */
    uint64_t large_out, large_in;   /* large messages begun */
    uint64_t large_done;            /* large messages received */
} od_peer;

typedef struct {
    od_world *world;
    uint64_t key;
    uint32_t name; /* in the ring */
    od_inbox *inbox;
    size_t eager;  /* bytes of a payload slot */
    size_t direct; /* longer messages are read and written where they lie, if peers can; alike on all members */
    int size, me;
    _Atomic int closed;
    od_wires wires;
    od_peer peers[];
} od_channel;

/* Bytes of an inbox for `size` members. */
size_t od_inbox_length(int size, size_t eager);

/* Open a group: `place` is where in this rank's region the (zeroed) inbox is, `members` are ranks. NULL when memory is out
 * or the directory full (errno tells: ENOMEM, ENOSPC). */
od_channel *od_channel_open(od_world *world, uint64_t key, const int *members, int size, int me, uint64_t place,
                            size_t eager, size_t direct);

void od_channel_close(od_channel *channel);

/* Reach a member on another host by a connected, non-blocking socket, which is the channel's from now on. False when
 * memory is out. Not while a program runs. */
bool od_channel_connect(od_channel *channel, int member, int descriptor);

/* Whether the member can be sent to: it has opened the group too, or is connected. */
bool od_peer_ready(od_channel *channel, od_peer *peer);

#endif
