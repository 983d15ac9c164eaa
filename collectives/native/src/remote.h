/* Messages to and from members on other hosts. Beside messages.h, which is for those of this host. */
#ifndef OPSDIST_REMOTE_H
#define OPSDIST_REMOTE_H

#include "messages.h"
#include "wire.h"

/* Bytes of a fold's result that are worth sending before the rest is there. */
#define OD_WORTH ((size_t)64 << 10)

/* Nothing moved: because there is nothing, or because the connection has come to its end. */
static inline bool still(run *now, const od_peer *peer) {
    if (peer->wire->broken) {
        now->result->outcome = OD_LOST;
        now->result->member = (int)(peer - now->channel->peers);
    }
    return false;
}

/* Send on; `ready` bytes of the message can be, all of it once it is `whole`. Whether anything moved. */
static inline bool send_remote(run *now, od_send *send, size_t ready, bool whole) {
    od_wire *wire = send->peer->wire;
    size_t left = send->length - send->sent;
    if (!whole && ready - send->sent < (left < OD_WORTH ? left : OD_WORTH)) return false;
    od_header header = {now->call.signature, now->call.count, send->length, now->call.sequence, step_number(now)};
    if (!od_wire_send(wire, &header, send->spans, &send->sent, ready)) return still(now, send->peer);
    if (send->sent == send->length && wire->header_sent == sizeof header) {
        wire->header_sent = 0;
        send->state = OD_DONE;
    }
    return true;
}

/* Whether the header is there, and that of the message that is expected. */
static inline bool heard(run *now, const od_incoming *incoming) {
    const od_wire *wire = incoming->peer->wire;
    const od_header *header = &wire->heard;
    if (!od_wire_heard(wire)) return false;
    if (header->sequence == now->call.sequence && header->signature == now->call.signature &&
        header->count == now->call.count && header->length == incoming->length)
        return true;
    od_call theirs = {header->signature, header->count, header->sequence};
    return mismatch(now, incoming, theirs, header->length, header->step);
}

/* `length` more bytes of the message have reached their end. */
static inline void used_remote(od_incoming *incoming, size_t length) {
    od_wire *wire = incoming->peer->wire;
    incoming->taken += length;
    od_wire_folded(wire, length);
    if (incoming->taken == incoming->length) {
        incoming->state = OD_DONE;
        wire->header_heard = 0;
    }
}

/* Take what is there of a message into its spans. Whether anything moved. What is written there before the header is
 * known to be the right one belongs to a call that fails anyway. */
static inline bool receive_remote(run *now, od_incoming *incoming) {
    od_wire *wire = incoming->peer->wire;
    if (!od_wire_take(wire, incoming->spans, &incoming->taken, incoming->length)) return still(now, incoming->peer);
    if (heard(now, incoming) && incoming->taken == incoming->length) {
        incoming->state = OD_DONE;
        wire->header_heard = 0;
    }
    return true;
}

/* Whether the next elements of an operand are there; then `at` and `available` tell. */
static inline bool operand_remote(run *now, od_incoming *incoming) {
    od_wire *wire = incoming->peer->wire;
    size_t left = incoming->length - incoming->taken - (wire->staged_to - wire->staged_from);
    if ((left || !od_wire_heard(wire)) && !od_wire_stage(wire, left)) return still(now, incoming->peer);
    if (!heard(now, incoming)) return false;
    incoming->at = wire->staged + wire->staged_from;
    incoming->available = (wire->staged_to - wire->staged_from) / now->item * now->item;
    return incoming->available || !incoming->length;
}

#endif
