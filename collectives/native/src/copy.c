/* Copying, with plain stores or with stores that bypass the caches. */
#include "copy.h"

#include <stdint.h>
#include <string.h>

#include "fold.h"

/* ThreadSanitizer does not see streaming stores, so it is given plain ones to judge. */
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>
#define OD_STREAMING
#endif

#ifdef OD_STREAMING

/* Sixteen bytes at a time fill a line as fast as sixty-four do (measured), so one version serves every x86-64. */
void od_stream(void *to, const void *from, size_t length) {
    char *out = to;
    const char *in = from;
    size_t head = -(uintptr_t)out % OD_LINE;
    if (head >= length) {
        memcpy(out, in, length);
        return;
    }
    if (head > 0) {
        memcpy(out, in, head);
        out += head, in += head, length -= head;
    }
    for (; length >= OD_LINE; out += OD_LINE, in += OD_LINE, length -= OD_LINE) {
        __m128i a = _mm_loadu_si128((const void *)in);
        __m128i b = _mm_loadu_si128((const void *)(in + 16));
        __m128i c = _mm_loadu_si128((const void *)(in + 32));
        __m128i d = _mm_loadu_si128((const void *)(in + 48));
        _mm_stream_si128((void *)out, a);
        _mm_stream_si128((void *)(out + 16), b);
        _mm_stream_si128((void *)(out + 32), c);
        _mm_stream_si128((void *)(out + 48), d);
    }
    if (length > 0)
        memcpy(out, in, length);
}

void od_stream_end(void) {
    /* A release store orders plain stores only: on x86 it is an ordinary store, and streaming stores may become visible
     * after it. This fence makes them wait for nobody: they are all visible before any store that follows. */
    _mm_sfence();
}

#else

void od_stream(void *to, const void *from, size_t length) { memcpy(to, from, length); }

void od_stream_end(void) {}

#endif

void od_copy(void *to, const void *from, size_t length, bool streaming) {
    if (length == 0)
        return; /* The addresses may be NULL, which memcpy may not see. */
    if (!streaming) {
        memcpy(to, from, length);
        return;
    }
    od_stream(to, from, length);
    od_stream_end();
}
