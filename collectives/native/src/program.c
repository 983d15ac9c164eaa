#include "program.h"

#include <stdlib.h>

#include "fold.h"

/* Words still to be read; `reason` is set by the first that cannot be. */
typedef struct {
    const int64_t *words;
    size_t number, at;
    const od_buffer *buffers;
    const char *reason;
} reader;

static int64_t next(reader *from, int64_t least, int64_t most) {
    if (from->reason) return least;
    if (from->at >= from->number) {
        from->reason = "the program ends too early";
        return least;
    }
    int64_t word = from->words[from->at++];
    if (word < least || word > most) {
        from->reason = "a word of the program is out of its range";
        return least;
    }
    return word;
}

static od_span span(reader *from) {
    const od_buffer *buffer = &from->buffers[next(from, 0, 2)];
    int64_t start = next(from, 0, (int64_t)buffer->length);
    int64_t length = next(from, 0, (int64_t)buffer->length - start);
    /* No arithmetic on the NULL of a buffer that is not there. */
    unsigned char *at = buffer->base ? buffer->base + start : NULL;
    return (od_span){at, (size_t)length, buffer->place < 0 ? -1 : buffer->place + start};
}

static size_t spans(reader *from, od_program *program, int *used, int most, const od_span **first, int *number) {
    size_t length = 0;
    *number = (int)next(from, 0, most - *used);
    *first = program->spans + *used;
    for (int i = 0; i < *number && !from->reason; i++) {
        program->spans[*used] = span(from);
        length += program->spans[(*used)++].length;
    }
    return length;
}

static int earlier_send(const od_program *program, int first, int now) {
    for (int i = now - 1; i >= first; i--)
        if (program->sends[i].peer == program->sends[now].peer) return i;
    return -1;
}

static int earlier_incoming(const od_program *program, int first, int now) {
    for (int i = now - 1; i >= first; i--)
        if (program->incoming[i].peer == program->incoming[now].peer) return i;
    return -1;
}

/* What has been used of the program's arrays. */
typedef struct {
    int copies, sends, incoming, folds, operands, spans;
} extent;

static void read_fold(reader *from, od_channel *channel, od_program *program, extent *used, const extent *total,
                      int first_incoming, uint64_t divisor) {
    od_bound_fold *fold = &program->folds[used->folds++];
    fold->into = span(from);
    fold->divisor = next(from, 0, 1) ? divisor : 1;
    fold->operands_number = (int)next(from, 1, total->operands - used->operands);
    fold->operands = program->operands + used->operands;
    if (fold->operands_number > program->widest) program->widest = fold->operands_number;
    for (int i = 0; i < fold->operands_number && !from->reason; i++) {
        od_operand *operand = &program->operands[used->operands++];
        int64_t member = next(from, -1, channel->size - 1);
        if (member < 0) {
            od_span own = span(from);
            if (own.length != fold->into.length) from->reason = "an operand is not as long as its fold";
            *operand = (od_operand){own.at, -1};
        } else if (used->incoming < total->incoming) {
            od_incoming *incoming = &program->incoming[used->incoming];
            *incoming = (od_incoming){.peer = &channel->peers[member], .length = fold->into.length};
            incoming->behind = earlier_incoming(program, first_incoming, used->incoming);
            *operand = (od_operand){NULL, used->incoming++};
        } else {
            from->reason = "more messages than were announced";
        }
    }
}

static void read_step(reader *from, od_channel *channel, od_program *program, od_step *step, extent *used,
                      const extent *total, uint64_t divisor) {
    *step = (od_step){.copies = used->copies, .sends = used->sends, .incoming = used->incoming, .folds = used->folds};
    step->copies_number = (int)next(from, 0, total->copies - used->copies);
    step->sends_number = (int)next(from, 0, total->sends - used->sends);
    step->folds_number = (int)next(from, 0, total->folds - used->folds);
    int receives = (int)next(from, 0, total->incoming - used->incoming);
    for (int i = 0; i < step->copies_number && !from->reason; i++) {
        od_span to = span(from), source = span(from);
        if (to.length != source.length) from->reason = "a copy's ends differ in length";
        program->copies[used->copies++] = (od_local_copy){to.at, source.at, to.length};
    }
    for (int i = 0; i < step->sends_number && !from->reason; i++) {
        od_send *send = &program->sends[used->sends];
        send->peer = &channel->peers[next(from, 0, channel->size - 1)];
        int64_t after = next(from, -1, step->folds_number - 1);
        send->after = after < 0 ? -1 : step->folds + (int)after;
        send->length = spans(from, program, &used->spans, total->spans, &send->spans, &send->spans_number);
        if (after >= 0 && send->spans_number != 1) from->reason = "what is sent after a fold is one span";
        send->behind = earlier_send(program, step->sends, used->sends);
        used->sends++;
    }
    for (int i = 0; i < step->folds_number && !from->reason; i++)
        read_fold(from, channel, program, used, total, step->incoming, divisor);
    for (int i = 0; i < receives && !from->reason; i++) {
        if (used->incoming >= total->incoming) {
            from->reason = "more messages than were announced";
            return;
        }
        od_incoming *incoming = &program->incoming[used->incoming];
        incoming->peer = &channel->peers[next(from, 0, channel->size - 1)];
        incoming->length =
            spans(from, program, &used->spans, total->spans, &incoming->spans, &incoming->spans_number);
        incoming->behind = earlier_incoming(program, step->incoming, used->incoming);
        used->incoming++;
    }
    step->incoming_number = used->incoming - step->incoming;
}

static void *room(int number, size_t size) { return calloc((size_t)number + 1, size); }

od_program *od_program_read(od_channel *channel, const int64_t *words, size_t number, const od_buffer buffers[3],
                            uint64_t divisor, const char **reason) {
    reader from = {words, number, 0, buffers, NULL};
    const int64_t most = (int64_t)number;
    *reason = NULL;
    od_program *program = calloc(1, sizeof *program);
    if (!program) return NULL;
    program->steps_number = (int)next(&from, 0, most);
    extent used = {0}, total = {
        .copies = (int)next(&from, 0, most),
        .sends = (int)next(&from, 0, most),
        .incoming = (int)next(&from, 0, most),
        .folds = (int)next(&from, 0, most),
        .operands = (int)next(&from, 0, most),
        .spans = (int)next(&from, 0, most),
    };
    program->steps = room(program->steps_number, sizeof *program->steps);
    program->copies = room(total.copies, sizeof *program->copies);
    program->sends = room(total.sends, sizeof *program->sends);
    program->incoming = room(total.incoming, sizeof *program->incoming);
    program->folds = room(total.folds, sizeof *program->folds);
    program->operands = room(total.operands, sizeof *program->operands);
    program->spans = room(total.spans, sizeof *program->spans);
    bool whole = program->steps && program->copies && program->sends && program->incoming && program->folds &&
                 program->operands && program->spans;
    for (int i = 0; whole && i < program->steps_number && !from.reason; i++)
        read_step(&from, channel, program, &program->steps[i], &used, &total, divisor);
    if (whole && !from.reason && from.at != number) from.reason = "the program goes on after its end";
    program->sources = room(program->widest, sizeof *program->sources);
    program->targets = room(total.sends, sizeof *program->targets);
    if (!whole || !program->sources || !program->targets || from.reason) {
        *reason = from.reason;
        od_program_free(program);
        return NULL;
    }
    return program;
}

void od_program_free(od_program *program) {
    if (!program) return;
    free(program->steps);
    free(program->copies);
    free(program->sends);
    free(program->incoming);
    free(program->folds);
    free(program->operands);
    free(program->spans);
    free(program->sources);
    free(program->targets);
    free(program);
}
