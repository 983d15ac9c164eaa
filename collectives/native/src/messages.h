/* Messages, an entry at a time: posting, matching, taking, offering. Inline, since the smallest ones pay for every call.
 */
#ifndef OPSDIST_MESSAGES_H
#define OPSDIST_MESSAGES_H

#include <string.h>

#include "assist.h"
#include "execute.h"
#include "fold.h"

/* What a pass over the step's work needs. */
typedef struct {
    const od_runner *runner;
    od_channel *channel;
    od_program *program;
    od_step *step;
    od_call call;
    od_result *result;
    size_t item;
} run;

static inline size_t slot_bytes(const od_channel *channel) {
    return (channel->eager + 2 * OD_LINE - 1) / (2 * OD_LINE) * (2 * OD_LINE);
}

/* ---- sending ---- */

static inline bool lane_free(od_peer *peer) {
    if (peer->posted - peer->consumed < OD_SLOTS) return true;
    peer->consumed = atomic_load_explicit(&peer->out->consumed, memory_order_acquire);
    return peer->posted - peer->consumed < OD_SLOTS;
}

static inline od_entry *next_entry(od_peer *peer) { return &peer->out->entries[peer->posted % OD_SLOTS]; }

static inline uint32_t step_number(const run *now) { return (uint32_t)(now->step - now->program->steps); }

static inline void publish(run *now, od_peer *peer, od_entry *entry, od_kind kind, uint64_t length) {
    entry->sequence = now->call.sequence;
    entry->signature = now->call.signature;
    entry->count = now->call.count;
    entry->length = length;
    entry->step = step_number(now);
    entry->kind = kind;
    atomic_store_explicit(&entry->turn, (uint32_t)++peer->posted, memory_order_release);
    od_ring(peer->inbox);
}

/* Copy `length` bytes from offset `start` of a message's spans to one place, or the other way. */
static inline void gather(const od_span *spans, size_t start, unsigned char *to, size_t length) {
    for (; length; spans++) {
        if (start >= spans->length) {
            start -= spans->length;
            continue;
        }
        size_t part = spans->length - start < length ? spans->length - start : length;
        memcpy(to, spans->at + start, part);
        to += part;
        length -= part;
        start = 0;
    }
}

static inline void scatter(const od_span *spans, size_t start, const unsigned char *from, size_t length, bool streaming) {
    for (; length; spans++) {
        if (start >= spans->length) {
            start -= spans->length;
            continue;
        }
        size_t part = spans->length - start < length ? spans->length - start : length;
        od_copy(spans->at + start, from, part, streaming);
        from += part;
        length -= part;
        start = 0;
    }
}

/* Post the next piece through a slot. */
static inline void post_piece(run *now, od_send *send, size_t ready) {
    od_peer *peer = send->peer;
    od_entry *entry = next_entry(peer);
    size_t length = ready - send->sent;
    if (length > now->channel->eager) length = now->channel->eager;
    unsigned char *slot = entry->body.payload;
    if (send->length > OD_INLINE) slot = peer->out_payload + peer->posted % OD_SLOTS * slot_bytes(now->channel);
    if (!length) {
        /* nothing to copy, perhaps not even a buffer */
    } else if (send->spans_number == 1)
        memcpy(slot, send->spans->at + send->sent, length);
    else
        gather(send->spans, send->sent, slot, length);
    publish(now, peer, entry, OD_EAGER, send->length);
    send->sent += length;
    if (send->sent == send->length) send->state = OD_DONE;
}

/* Whether peers can read the message where it lies, and it is worth it. */
static inline bool direct(const run *now, const od_send *send) {
    return send->length > now->channel->direct && send->spans_number == 1 && send->spans->place >= 0;
}

/* The offer that belongs to a large message, in the peer's inbox or in this rank's. */
static inline od_offer *offer_of(od_lane *lane, uint64_t ordinal) { return &lane->offers[ordinal % OD_OFFERS]; }

/* The place its receiver has offered for a large message, or NULL. */
static inline unsigned char *offered(const run *now, const od_send *send) {
    if (!send->ordinal || !od_peer_ready(now->channel, send->peer)) return NULL;
    od_offer *offer = offer_of(send->peer->out, send->ordinal);
    if (atomic_load_explicit(&offer->turn, memory_order_acquire) != (uint32_t)send->ordinal) return NULL;
    if (atomic_load_explicit(&offer->sequence, memory_order_relaxed) != now->call.sequence ||
        atomic_load_explicit(&offer->signature, memory_order_relaxed) != now->call.signature ||
        atomic_load_explicit(&offer->count, memory_order_relaxed) != now->call.count ||
        atomic_load_explicit(&offer->length, memory_order_relaxed) != send->length)
        return NULL; /* another call: the receiver's side of a mismatch, which the entries will tell */
    const od_world *world = now->channel->world;
    uint64_t place = atomic_load_explicit(&offer->place, memory_order_relaxed);
    if (place > world->length || send->length > world->length - place) return NULL;
    return world->regions[send->peer->rank] + place;
}

/* ---- receiving ---- */

/* Tell the sender of a large message where to write it, if it can be told. */
static inline void offer(run *now, od_incoming *incoming) {
    od_peer *peer = incoming->peer;
    if (incoming->ordinal - peer->large_done > OD_OFFERS) return; /* the place for it may still be read */
    od_offer *offer = offer_of(peer->in, incoming->ordinal);
    atomic_store_explicit(&offer->sequence, now->call.sequence, memory_order_relaxed);
    atomic_store_explicit(&offer->signature, now->call.signature, memory_order_relaxed);
    atomic_store_explicit(&offer->count, now->call.count, memory_order_relaxed);
    atomic_store_explicit(&offer->place, (uint64_t)incoming->spans->place, memory_order_relaxed);
    atomic_store_explicit(&offer->length, incoming->length, memory_order_relaxed);
    unclaimed(offer, incoming->ordinal);
    atomic_store_explicit(&offer->turn, (uint32_t)incoming->ordinal, memory_order_release);
    incoming->offered = true;
}

static inline bool mismatch(run *now, const od_incoming *incoming, od_call theirs, uint64_t length, uint32_t step) {
    od_result *result = now->result;
    result->outcome = OD_MISMATCH;
    result->member = (int)(incoming->peer - now->channel->peers);
    result->theirs = theirs;
    result->their_length = length;
    result->my_length = incoming->length;
    result->their_step = step;
    return false;
}

static inline const od_entry *unexpected(run *now, const od_incoming *incoming, const od_entry *entry) {
    mismatch(now, incoming, (od_call){entry->signature, entry->count, entry->sequence}, entry->length, entry->step);
    return NULL;
}

/* The entry whose turn it is from this peer, if it is there and what is expected. */
static inline const od_entry *arrived(run *now, const od_incoming *incoming) {
    od_peer *peer = incoming->peer;
    const od_entry *entry = &peer->in->entries[peer->taken % OD_SLOTS];
    if (atomic_load_explicit(&entry->turn, memory_order_acquire) != (uint32_t)(peer->taken + 1)) return NULL;
    if (entry->sequence != now->call.sequence || entry->signature != now->call.signature ||
        entry->count != now->call.count || entry->length != incoming->length)
        return unexpected(now, incoming, entry);
    return entry;
}

/* The payload, or the piece of it, that an entry brings. NULL for one outside the peer's region, which no peer of ours
 * sends. */
static inline const unsigned char *piece(run *now, const od_incoming *incoming, const od_entry *entry, size_t *length) {
    const od_peer *peer = incoming->peer;
    if (entry->kind == OD_DIRECT) {
        const od_world *world = now->channel->world;
        *length = incoming->length;
        if (entry->body.place > world->length || *length > world->length - entry->body.place) {
            unexpected(now, incoming, entry);
            return NULL;
        }
        return world->regions[peer->rank] + entry->body.place;
    }
    *length = incoming->length - incoming->taken;
    if (*length > now->channel->eager) *length = now->channel->eager;
    if (incoming->length <= OD_INLINE) return entry->body.payload;
    return peer->in_payload + peer->taken % OD_SLOTS * slot_bytes(now->channel);
}

static inline void consume(od_peer *peer) {
    atomic_store_explicit(&peer->in->consumed, ++peer->taken, memory_order_release);
    if (peer->inbox) od_ring(peer->inbox);
}

/* A piece has been used up. */
static inline void used(od_incoming *incoming, size_t length) {
    incoming->taken += length;
    if (incoming->taken == incoming->length) {
        incoming->state = OD_DONE;
        if (incoming->ordinal) incoming->peer->large_done++;
    }
    consume(incoming->peer);
}

#endif
