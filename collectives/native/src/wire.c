#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PARTS 64
/* Bytes of a system call: enough to make the call cheap, and little enough that both directions move in turn and what the
 * kernel copies is still in the caches. */
#define BURST ((size_t)256 << 10)
#define STAGE ((size_t)256 << 10)
#define FEW 3 /* connections that are tried one by one */
#define ALIGNED 64

od_wire *od_wires_add(od_wires *wires, int descriptor) {
    od_wire **list = realloc(wires->list, (size_t)(wires->number + 1) * sizeof *list);
    if (!list) return NULL;
    wires->list = list;
    struct pollfd *polls = realloc(wires->polls, (size_t)(wires->number + 1) * sizeof *polls);
    if (!polls) return NULL;
    wires->polls = polls;
    od_wire *wire = calloc(1, sizeof *wire);
    if (!wire) return NULL;
    wire->descriptor = descriptor;
    wire->staged = aligned_alloc(ALIGNED, STAGE); /* no page of it is there before it is used */
    if (!wire->staged) {
        free(wire);
        return NULL;
    }
    return wires->list[wires->number++] = wire;
}

void od_wires_close(od_wires *wires) {
    for (int i = 0; i < wires->number; i++) {
        close(wires->list[i]->descriptor);
        free(wires->list[i]->staged);
        free(wires->list[i]);
    }
    free(wires->list);
    free(wires->polls);
    *wires = (od_wires){NULL, NULL, 0};
}

static inline bool awaited(const od_wire *wire) { return (wire->starved || wire->full) && !wire->broken; }

int od_wires_awaited(const od_wires *wires) {
    int number = 0;
    for (int i = 0; i < wires->number; i++) number += awaited(wires->list[i]);
    return number;
}

bool od_wires_nap(const od_wires *wires, int64_t nap) {
    nfds_t number = 0;
    for (int i = 0; i < wires->number; i++) {
        const od_wire *wire = wires->list[i];
        short events = (short)((wire->starved ? POLLIN : 0) | (wire->full ? POLLOUT : 0));
        if (awaited(wire)) wires->polls[number++] = (struct pollfd){wire->descriptor, events, 0};
    }
    if (!number) return false;
    struct timespec time = {.tv_sec = nap / 1000000000, .tv_nsec = nap % 1000000000};
    if (ppoll(wires->polls, number, &time, NULL) <= 0) return true;
    const struct pollfd *told = wires->polls;
    for (int i = 0; i < wires->number; i++) {
        od_wire *wire = wires->list[i];
        if (!awaited(wire)) continue;
        short ended = told->revents & (POLLERR | POLLHUP | POLLNVAL);
        if (told->revents & POLLIN || ended) wire->starved = false;
        if (told->revents & POLLOUT || ended) wire->full = false;
        told++;
    }
    return true;
}

void od_wires_look(const od_wires *wires) {
    if (od_wires_awaited(wires) > FEW)
        od_wires_nap(wires, 0);
    else
        for (int i = 0; i < wires->number; i++) wires->list[i]->starved = wires->list[i]->full = false;
}

/* Lay out the bytes of the spans from `start` to `stop`, a burst at the most. Returns how many parts there are. */
static int lay_out(const od_span *spans, size_t start, size_t stop, struct iovec *parts, int room) {
    size_t length = stop - start < BURST ? stop - start : BURST;
    int number = 0;
    for (; length && number < room; spans++) {
        if (start >= spans->length) {
            start -= spans->length;
            continue;
        }
        size_t part = spans->length - start < length ? spans->length - start : length;
        parts[number++] = (struct iovec){spans->at + start, part};
        length -= part;
        start = 0;
    }
    return number;
}

/* Count what a call has moved: first of the header, the rest of the payload. */
static void count(size_t moved, size_t *of_header, size_t *of_payload) {
    size_t head = sizeof(od_header) - *of_header < moved ? sizeof(od_header) - *of_header : moved;
    *of_header += head;
    *of_payload += moved - head;
}

static bool for_now(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS; }

bool od_wire_send(od_wire *wire, const od_header *header, const od_span *spans, size_t *sent, size_t ready) {
    if (wire->full) return false;
    struct iovec parts[PARTS];
    int number = 0;
    if (wire->header_sent < sizeof *header)
        parts[number++] = (struct iovec){(char *)header + wire->header_sent, sizeof *header - wire->header_sent};
    number += lay_out(spans, *sent, ready, parts + number, PARTS - number);
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)number};
    ssize_t moved = sendmsg(wire->descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    wire->full = moved < 0;
    if (moved < 0) {
        wire->broken = !for_now();
        return false;
    }
    count((size_t)moved, &wire->header_sent, sent);
    return true;
}

static bool take(od_wire *wire, struct iovec *parts, int number, size_t *taken) {
    if (wire->starved) return false;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)number};
    ssize_t moved = recvmsg(wire->descriptor, &message, MSG_DONTWAIT);
    wire->starved = moved <= 0;
    if (moved <= 0) {
        wire->broken = !moved || !for_now();
        return false;
    }
    count((size_t)moved, &wire->header_heard, taken);
    return true;
}

static int rest_of_header(od_wire *wire, struct iovec *part) {
    if (od_wire_heard(wire)) return 0;
    *part = (struct iovec){(char *)&wire->heard + wire->header_heard, sizeof wire->heard - wire->header_heard};
    return 1;
}

bool od_wire_take(od_wire *wire, const od_span *spans, size_t *taken, size_t length) {
    struct iovec parts[PARTS];
    int number = rest_of_header(wire, parts);
    number += lay_out(spans, *taken, length, parts + number, PARTS - number);
    return take(wire, parts, number, taken);
}

bool od_wire_stage(od_wire *wire, size_t left) {
    /* Less than an element, whose rest is to come. */
    memmove(wire->staged, wire->staged + wire->staged_from, wire->staged_to - wire->staged_from);
    wire->staged_to -= wire->staged_from;
    wire->staged_from = 0;
    size_t room = STAGE - wire->staged_to;
    struct iovec parts[2];
    int number = rest_of_header(wire, parts);
    if (left) parts[number++] = (struct iovec){wire->staged + wire->staged_to, left < room ? left : room};
    return take(wire, parts, number, &wire->staged_to);
}
