/* A large message moved from both its ends.
 *
 * One core alone does not use all the memory's bandwidth. So while the receiver of a message that is read where it lies
 * copies from its front on, a sender that would only wait writes from its back. What one of them takes on itself is a
 * chunk, claimed in a word of the offer that both change; from the front and from the back, so that in run after run each
 * touches what it has in its caches already.
 */
#ifndef OPSDIST_ASSIST_H
#define OPSDIST_ASSIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared.h"

#ifndef OD_CHUNK
#define OD_CHUNK ((size_t)32 << 10) /* bytes; a test takes smaller ones */
#endif

/* A word of claims: the message's number, so that a late sender never takes a chunk of another one, above two counts. */
#define OD_COUNT_BITS 24
#define OD_COUNT_MASK (((uint64_t)1 << OD_COUNT_BITS) - 1)
#define OD_FRONT 0
#define OD_BACK OD_COUNT_BITS
#define OD_NUMBER (2 * OD_COUNT_BITS)

/* Whether a message of this length is moved from both ends, where it has an offer. Both ends ask. */
static inline bool divisible(size_t length) {
    return length >= 2 * OD_CHUNK && length / OD_CHUNK < OD_COUNT_MASK;
}

/* Bytes from a chunk on, `number` of them or fewer. */
typedef struct {
    size_t start, length;
    uint32_t chunks;
} od_claim;

/* Of the receiver, before it publishes the offer. */
static inline void unclaimed(od_offer *offer, uint64_t ordinal) {
    atomic_store_explicit(&offer->claims, ordinal << OD_NUMBER, memory_order_relaxed);
    atomic_store_explicit(&offer->assisted, 0, memory_order_relaxed);
}

/* Claim half of what is left of large message `ordinal`, from OD_FRONT or OD_BACK; whether anything was. */
static inline bool claim(od_offer *offer, uint64_t ordinal, size_t length, int end, od_claim *mine) {
    uint64_t all = (length + OD_CHUNK - 1) / OD_CHUNK, number, front, back;
    uint64_t claims = atomic_load_explicit(&offer->claims, memory_order_relaxed);
    do {
        front = claims >> OD_FRONT & OD_COUNT_MASK;
        back = claims >> OD_BACK & OD_COUNT_MASK;
        if (claims >> OD_NUMBER != (ordinal << OD_NUMBER) >> OD_NUMBER || front + back == all) return false;
        number = (all - front - back + 1) / 2;
    } while (!atomic_compare_exchange_weak_explicit(&offer->claims, &claims, claims + (number << end),
                                                    memory_order_relaxed, memory_order_relaxed));
    uint64_t first = end == OD_FRONT ? front : all - back - number;
    size_t left = length - first * OD_CHUNK;
    *mine = (od_claim){first * OD_CHUNK, number * OD_CHUNK < left ? number * OD_CHUNK : left, (uint32_t)number};
    return true;
}

/* Of the sender: what it claimed is there. */
static inline void assisted(od_offer *offer, const od_claim *mine) {
    atomic_fetch_add_explicit(&offer->assisted, mine->chunks, memory_order_release);
}

/* Of the receiver, when no chunk is left to claim: whether all that the sender claimed is there. */
static inline bool assistance_done(const od_offer *offer) {
    uint64_t back = atomic_load_explicit(&offer->claims, memory_order_relaxed) >> OD_BACK & OD_COUNT_MASK;
    return atomic_load_explicit(&offer->assisted, memory_order_acquire) == back;
}

#endif
