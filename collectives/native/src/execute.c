/* The state machine of a step.
 *
 * Sends to one peer are posted in list order, receives from one peer are matched in list order (operands of folds first);
 * `behind` holds that order. A small message is copied into a slot of the receiver's lane. A large one that lies in a
 * registered buffer is announced and read where it lies, and a sender that would only wait writes the rest of it
 * (assist.h). A large one that forwards a fold is written straight to its receiver, if that has offered a place by then:
 * the fold's result goes to all outputs in one pass.
 */
#include "execute.h"

#include "messages.h"
#include "remote.h"

static bool advance_send(run *now, od_send *send) {
    od_peer *peer = send->peer;
    if (send->state == OD_POSTED) {
        if (peer->consumed < send->mark) {
            peer->consumed = atomic_load_explicit(&peer->out->consumed, memory_order_acquire);
            if (peer->consumed < send->mark) return false;
        }
        send->state = OD_DONE;
        return true;
    }
    if (send->behind >= 0 && now->program->sends[send->behind].state < OD_POSTED) return false;
    size_t ready = send->length;
    const od_bound_fold *fold = NULL;
    if (send->after >= 0) {
        fold = &now->program->folds[send->after];
        ready = fold->position;
    }
    bool whole = !fold || fold->done;
    if (!od_peer_ready(now->channel, peer)) return false;
    if (peer->wire) return send_remote(now, send, ready, whole);
    if (send->state == OD_MOVING) { /* the fold writes it to its receiver */
        if (!whole || !lane_free(peer)) return false;
        publish(now, peer, next_entry(peer), OD_PUSHED, send->length);
        send->state = OD_DONE;
        return true;
    }
    if (direct(now, send)) {
        if (!whole || !lane_free(peer)) return false;
        od_entry *entry = next_entry(peer);
        entry->body.place = (uint64_t)send->spans->place;
        publish(now, peer, entry, OD_DIRECT, send->length);
        send->mark = peer->posted;
        send->state = OD_POSTED;
        return true;
    }
    bool moved = false;
    while (send->state == OD_WAITING && lane_free(peer)) {
        size_t left = send->length - send->sent;
        if (!whole && (!left || ready - send->sent < (left < now->channel->eager ? left : now->channel->eager))) break;
        post_piece(now, send, ready);
        moved = true;
    }
    return moved;
}

static inline bool blocked(const run *now, const od_incoming *incoming) {
    return incoming->behind >= 0 && now->program->incoming[incoming->behind].state != OD_DONE;
}

/* Copy what of a large message its sender does not; whether all of it is there. */
static bool pull(const run *now, const od_incoming *incoming, const unsigned char *from, bool *moved) {
    od_offer *offer = offer_of(incoming->peer->in, incoming->ordinal);
    for (od_claim mine; claim(offer, incoming->ordinal, incoming->length, OD_FRONT, &mine); *moved = true)
        od_copy(incoming->spans->at + mine.start, from + mine.start, mine.length, now->program->streaming);
    return assistance_done(offer);
}

/* Copy a chunk of a large message for a receiver that has not come to it; whether there was one. */
static bool assist(run *now) {
    for (int i = now->step->sends; i < now->step->sends + now->step->sends_number; i++) {
        const od_send *send = &now->program->sends[i];
        if (send->state != OD_POSTED || !divisible(send->length)) continue;
        unsigned char *to = offered(now, send);
        if (!to) continue;
        od_offer *offer = offer_of(send->peer->out, send->ordinal);
        od_claim mine;
        if (!claim(offer, send->ordinal, send->length, OD_BACK, &mine)) continue;
        od_copy(to + mine.start, send->spans->at + mine.start, mine.length, now->program->streaming);
        assisted(offer, &mine);
        od_ring(send->peer->inbox);
        return true;
    }
    return false;
}

static bool advance_receive(run *now, od_incoming *incoming) {
    if (blocked(now, incoming) || !od_peer_ready(now->channel, incoming->peer)) return false;
    if (incoming->peer->wire) return receive_remote(now, incoming);
    bool moved = false;
    while (incoming->state != OD_DONE) {
        const od_entry *entry = arrived(now, incoming);
        if (!entry) break;
        size_t length = incoming->length;
        if (entry->kind != OD_PUSHED) {
            const unsigned char *from = piece(now, incoming, entry, &length);
            if (!from) return false;
            if (entry->kind == OD_DIRECT && incoming->offered && divisible(length)) {
                if (!pull(now, incoming, from, &moved)) break;
            } else
                scatter(incoming->spans, incoming->taken, from, length, now->program->streaming);
        }
        used(incoming, length);
        moved = true;
    }
    return moved;
}

/* Whether the next piece of an operand is there; then `at` and `available` tell. */
static inline bool operand(run *now, od_incoming *incoming) {
    const od_entry *entry = arrived(now, incoming);
    if (!entry) return false;
    incoming->at = piece(now, incoming, entry, &incoming->available);
    return incoming->at != NULL;
}

/* Whether the next piece of every operand is there; `*length` becomes what all have. */
static bool operands_ready(run *now, const od_bound_fold *fold, size_t *length) {
    for (int i = 0; i < fold->operands_number; i++) {
        if (fold->operands[i].incoming < 0) continue;
        od_incoming *incoming = &now->program->incoming[fold->operands[i].incoming];
        if (incoming->state == OD_WAITING) {
            if (blocked(now, incoming) || !od_peer_ready(now->channel, incoming->peer)) return false;
            if (!(incoming->peer->wire ? operand_remote(now, incoming) : operand(now, incoming))) return false;
            incoming->state = OD_MOVING;
        }
        if (incoming->available < *length) *length = incoming->available;
    }
    return true;
}

/* Decide, at the fold's beginning, which of the messages that forward it it writes to their receivers itself. */
static void choose_pushes(run *now, od_bound_fold *fold, int number) {
    fold->streaming = now->program->streaming;
    for (int i = now->step->sends; i < now->step->sends + now->step->sends_number; i++) {
        od_send *send = &now->program->sends[i];
        if (send->after != number || send->state != OD_WAITING) continue;
        send->target = direct(now, send) ? offered(now, send) : NULL;
        if (send->target)
            send->state = OD_MOVING;
        else
            fold->streaming = false; /* what is read again at once had better stay in the caches */
    }
}

/* Fold `length` bytes of every operand from the fold's position on, into all its outputs. */
static void fold_piece(run *now, const od_bound_fold *fold, int number, size_t length) {
    od_program *program = now->program;
    for (int i = 0; i < fold->operands_number; i++) {
        const od_operand *operand = &fold->operands[i];
        program->sources[i] = operand->incoming < 0 ? operand->own + fold->position : program->incoming[operand->incoming].at;
    }
    int outputs = 0;
    program->targets[outputs++] = fold->into.at + fold->position;
    for (int i = now->step->sends; i < now->step->sends + now->step->sends_number; i++) {
        const od_send *send = &program->sends[i];
        if (send->after == number && send->state == OD_MOVING)
            program->targets[outputs++] = send->target + fold->position;
    }
    od_fold(program->dtype, program->operator_, length / now->item, program->sources, fold->operands_number,
            program->targets, outputs, fold->divisor, fold->streaming);
}

static bool advance_fold(run *now, od_bound_fold *fold, int number) {
    od_program *program = now->program;
    bool moved = false;
    while (!fold->done) {
        size_t length = fold->into.length - fold->position;
        if (!operands_ready(now, fold, &length)) break;
        if (!fold->position) choose_pushes(now, fold, number);
        if (length) fold_piece(now, fold, number, length);
        fold->position += length;
        fold->done = fold->position == fold->into.length;
        for (int i = 0; i < fold->operands_number; i++) {
            if (fold->operands[i].incoming < 0) continue;
            od_incoming *incoming = &program->incoming[fold->operands[i].incoming];
            incoming->at += length;
            incoming->available -= length;
            if (!incoming->available) {
                incoming->state = OD_WAITING;
                (incoming->peer->wire ? used_remote : used)(incoming, fold->position - incoming->taken);
            }
        }
        moved = true;
    }
    return moved;
}

/* ---- running ---- */

/* Whether a message may be read or written where it lies. Both ends ask. */
static inline bool large(const run *now, const od_peer *peer, size_t length) {
    return length > now->channel->direct && !peer->wire;
}

static void enter(run *now) {
    od_program *program = now->program;
    od_step *step = now->step;
    for (int i = step->incoming; i < step->incoming + step->incoming_number; i++) {
        od_incoming *incoming = &program->incoming[i];
        incoming->state = OD_WAITING;
        incoming->taken = 0;
        incoming->ordinal = large(now, incoming->peer, incoming->length) ? ++incoming->peer->large_in : 0;
        incoming->offered = false;
        if (incoming->ordinal && incoming->spans_number == 1 && incoming->spans->place >= 0) offer(now, incoming);
    }
    for (int i = step->sends; i < step->sends + step->sends_number; i++) {
        od_send *send = &program->sends[i];
        send->state = OD_WAITING;
        send->sent = 0;
        send->ordinal = large(now, send->peer, send->length) ? ++send->peer->large_out : 0;
    }
    for (int i = step->folds; i < step->folds + step->folds_number; i++) {
        program->folds[i].position = 0;
        program->folds[i].done = false;
    }
}

static inline bool advance_sends(run *now, bool *moved) {
    bool done = true;
    for (int i = now->step->sends; i < now->step->sends + now->step->sends_number; i++) {
        od_send *send = &now->program->sends[i];
        if (send->state == OD_DONE) continue;
        *moved |= advance_send(now, send);
        done &= send->state == OD_DONE;
    }
    return done;
}

/* Go once over all that is under way; whether all is done. */
static inline bool pass(run *now, bool *moved) {
    od_program *program = now->program;
    if (now->channel->wires.number) od_wires_look(&now->channel->wires);
    od_step *step = now->step;
    bool done = advance_sends(now, moved);
    for (int i = step->folds; i < step->folds + step->folds_number; i++) {
        od_bound_fold *fold = &program->folds[i];
        if (fold->done) continue;
        *moved |= advance_fold(now, fold, i);
        done &= fold->done;
    }
    for (int i = step->incoming; i < step->incoming + step->incoming_number; i++) {
        od_incoming *incoming = &program->incoming[i];
        if (incoming->state == OD_DONE || !incoming->spans) continue;
        *moved |= advance_receive(now, incoming);
        done &= incoming->state == OD_DONE;
    }
    return done;
}

static bool give_up(run *now, od_waiter *waiter) {
    const od_runner *runner = now->runner;
    if (atomic_load_explicit(&now->channel->closed, memory_order_relaxed))
        now->result->outcome = OD_CLOSED;
    else if (runner->interrupted && runner->interrupted(runner->context))
        now->result->outcome = OD_INTERRUPTED;
    else if (od_now() - waiter->since > runner->timeout)
        now->result->outcome = OD_TIMED_OUT;
    return now->result->outcome != OD_FINE;
}

/* What the rank sends to itself. */
static void copy_locally(const run *now) {
    const od_program *program = now->program;
    for (int i = now->step->copies; i < now->step->copies + now->step->copies_number; i++)
        od_copy(program->copies[i].to, program->copies[i].from, program->copies[i].length, program->streaming);
}

/* Whether the step came to its end. */
static bool run_step(run *now, od_waiter *waiter) {
    enter(now);
    bool moved = false;
    if (now->step->copies_number) {
        /* Between telling the peers, who need not wait for it, and receiving, where those can help. */
        advance_sends(now, &moved);
        copy_locally(now);
    }
    bool done = pass(now, &moved);
    while (!done) {
        if (now->result->outcome != OD_FINE) return false;
        if (moved || assist(now))
            od_moved(waiter);
        else if (od_wait(waiter) && give_up(now, waiter))
            return false;
        moved = false;
        done = pass(now, &moved);
    }
    od_moved(waiter);
    return true;
}

/* Footprint from which on memory that was not used for long is stored to past the caches. The results of smaller calls
 * are likely to be read at once, and both are slower then: an allreduce up to 64K by half on 2 ranks, of 256K level. */
#define LEAST_STREAMED ((uint64_t)1 << 20)

/* Whether the program's memory does not stay in the caches from one run to the next, so that stores may as well go past
 * them: because of its size, or of what else was moved since it last ran. All stores do or none: to keep a fixed part of
 * a larger footprint in the caches was measured to gain a tenth or so at 1.5 times their size (allgather, broadcast;
 * allreduce nothing, reduce_scatter lost a tenth), and to lose as much at 3 times. */
static bool past_caches(od_world *world, const od_program *program) {
    uint64_t moved = atomic_load_explicit(&world->moved, memory_order_relaxed);
    uint64_t between = program->ended && program->footprint >= LEAST_STREAMED ? moved - program->ended : 0;
    return between + program->footprint > world->cache;
}

static void count_moved(od_world *world, od_program *program) {
    program->ended = atomic_load_explicit(&world->moved, memory_order_relaxed) + program->footprint;
    atomic_store_explicit(&world->moved, program->ended, memory_order_relaxed);
}

/* As the ring has it, where 0 is a call under way. */
static uint32_t recorded(od_outcome outcome) {
    return outcome == OD_CLOSED ? (uint32_t)OD_INTERRUPTED + 1 : (uint32_t)outcome + 1;
}

od_result od_run(const od_runner *runner, od_program *program, uint32_t sequence) {
    od_result result = {.outcome = OD_FINE, .mine = {program->signature, program->count, sequence}};
    run now = {
        .runner = runner, .channel = runner->channel, .program = program, .call = result.mine, .result = &result,
        .item = od_item_size(program->dtype),
    };
    od_waiter waiter = {
        .patience = runner->channel->world->patience, .inbox = runner->channel->inbox, .wires = &runner->channel->wires,
    };
    od_moved(&waiter);
    program->streaming = past_caches(runner->channel->world, program);
    od_ring_of_records *ring = runner->channel->world->ring;
    od_record *record = od_enter(ring, &(od_names){runner->channel->name, program->name, runner->frame}, &result.mine);
    for (int i = 0; i < program->steps_number; i++) {
        now.step = &program->steps[i];
        od_at_step(record, i);
        if (!run_step(&now, &waiter)) {
            od_moved(&waiter);
            result.step = i;
            od_leave(ring, record, recorded(result.outcome));
            return result;
        }
    }
    od_leave(ring, record, recorded(OD_FINE));
    count_moved(runner->channel->world, program);
    return result;
}

od_result od_time(const od_runner *runner, od_program *const *programs, int number, od_program *barrier,
                  int64_t iterations, int64_t batch, int64_t *stamps, uint32_t *sequence, const od_program **last) {
    od_result result = {.outcome = OD_FINE};
    int64_t done = 0;
    int turn = 0;
    while (done < iterations) {
        int64_t stop = done + batch < iterations ? done + batch : iterations;
        if (barrier) {
            *last = barrier;
            result = od_run(runner, barrier, (*sequence)++);
            if (result.outcome != OD_FINE) return result;
        }
        *stamps++ = od_now();
        for (; done < stop; done++) {
            result = od_run(runner, programs[turn], (*sequence)++);
            if (result.outcome != OD_FINE) {
                *last = programs[turn];
                return result;
            }
            if (++turn == number) turn = 0;
        }
        *stamps++ = od_now();
    }
    return result;
}

bool od_owes(const od_program *program, int step, const od_peer *peer) {
    const od_step *where = &program->steps[step];
    for (int i = where->incoming; i < where->incoming + where->incoming_number; i++)
        if (program->incoming[i].peer == peer && program->incoming[i].state != OD_DONE) return true;
    return false;
}

bool od_refuses(const od_program *program, int step, const od_peer *peer) {
    const od_step *where = &program->steps[step];
    for (int i = where->sends; i < where->sends + where->sends_number; i++)
        if (program->sends[i].peer == peer && program->sends[i].state != OD_DONE) return true;
    return false;
}
