/* The streaming store that od_copy and od_fold share. */
#ifndef OPSDIST_COPY_H
#define OPSDIST_COPY_H

#include <stddef.h>

/* Bytes of a cache line; streaming stores pay where they fill whole lines. */
enum { OD_LINE = 64 };

/* Copy `length` bytes past the caches, where the machine offers it: whole lines of `to`; what is left at its ends is
 * stored plainly. Nothing overlaps. Call od_stream_end once, after the last of a series. */
void od_stream(void *to, const void *from, size_t length);

/* From here on the streamed bytes are visible to whoever sees a later release store. */
void od_stream_end(void);

#endif
