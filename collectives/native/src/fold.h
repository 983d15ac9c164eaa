/* Arithmetic and copying: the rules of collectives/dtypes.py in C, with the same bits.
 *
 * Operands are combined in list order; float16 and bfloat16 are accumulated in float32 and rounded once, to the nearest
 * even; integers wrap; a divisor (operator avg, last fold) divides as C does, integers towards zero.
 * Of NaNs only that they are NaN is promised; minimum and maximum order signed zeros as numpy does on the same
 * processor (fold_scalar.h). Buffers may begin at any address.
 */
#ifndef OPSDIST_FOLD_H
#define OPSDIST_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The indices of DTYPES and OPERATORS in collectives/dtypes.py. */
enum {
    OD_INT8, OD_UINT8, OD_INT32, OD_UINT32, OD_INT64, OD_UINT64, OD_FLOAT16, OD_BFLOAT16, OD_FLOAT32, OD_FLOAT64,
    OD_DTYPES
};
enum { OD_SUM, OD_PROD, OD_MIN, OD_MAX, OD_AVG, OD_OPERATORS };

/* Bytes of an element. */
size_t od_item_size(int dtype);

/* Combine `number` operands (at least 1) of `count` elements each, element by element in list order, and write the
 * result to all `outputs` (at least 1) in one pass. An output may be one of the operands, exactly; nothing else may
 * overlap. `divisor` is 1 unless the result is to be divided. With `streaming`, outputs bypass the caches where the
 * machine offers it, and are in memory (visible to whoever sees a later release store) when this returns. */
void od_fold(int dtype, int operator_, size_t count, const void *const *operands, int number, void *const *outputs,
             int outputs_number, uint64_t divisor, bool streaming);

/* Copy `length` bytes; they do not overlap. `streaming` as above. */
void od_copy(void *to, const void *from, size_t length, bool streaming);

/* The instruction set that was chosen for this CPU, at the first call of od_fold or this: "avx512", "avx2" or
 * "baseline" (what every processor of the architecture has). */
const char *od_features(void);

/* Use the named instruction set from now on, in all threads: for tests. Returns 0, or -1 if this CPU does not have it
 * or the name is unknown; then nothing changes. */
int od_choose(const char *features);

#endif
