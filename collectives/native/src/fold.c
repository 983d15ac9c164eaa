/* od_fold: which loops serve this processor, and how they are strung together block by block. */
#include "fold.h"

#include <stdatomic.h>
#include <string.h>

#include "copy.h"
#include "fold_scalar.h"

#if defined(__clang__)
#define OD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define OD_INDEPENDENT _Pragma("GCC ivdep")
#else
#define OD_INDEPENDENT
#endif

typedef void binary(void *out, const void *first, const void *second, size_t count);
typedef void unary(void *out, const void *in, uint64_t divisor, size_t count);

/* The loops of a dtype; accumulators are float32 for float16 and bfloat16, otherwise of the type itself. */
struct loops {
    binary *two[OD_OPERATORS];   /* operand, operand -> result */
    binary *start[OD_OPERATORS]; /* operand, operand -> accumulator */
    binary *step[OD_OPERATORS];  /* accumulator, operand -> accumulator */
    binary *end[OD_OPERATORS];   /* accumulator, operand -> result */
    unary *widen;                /* operand -> accumulator; NULL where both are of the same type */
    unary *divide;               /* accumulator -> result */
};

#if defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#define OD_HALVES 4
#endif
#define OD_NAME(name) baseline_##name
#define OD_TARGET
#include "fold_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define OD_X86_64
#include <cpuid.h>
#include <immintrin.h>

#define OD_NAME(name) avx2_##name
#define OD_TARGET __attribute__((target("avx2,f16c")))
#define OD_HALVES 8
#include "fold_kernels.h"

#define OD_NAME(name) avx512_##name
/* Vectors stay at 256 bits, where compilers have the choice: 512 are no faster in the caches, and slower where memory
 * is the limit (measured on Zen 4: a streamed sum of four by a quarter). */
#if defined(__clang__)
#define OD_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#else
#define OD_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=256")))
#endif
#define OD_HALVES 16
#include "fold_kernels.h"
#endif

struct variant {
    const char *features;
    const struct loops *loops;
};

/* Best first. */
static const struct variant variants[] = {
#ifdef OD_X86_64
    {"avx512", avx512_loops},
    {"avx2", avx2_loops},
#endif
    {"baseline", baseline_loops},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static bool offered(const struct variant *variant) {
#ifdef OD_X86_64
    __builtin_cpu_init();
    if (variant->loops == avx512_loops)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    /* Not every compiler's __builtin_cpu_supports knows F16C. */
    unsigned a, b, c, d;
    if (variant->loops == avx2_loops)
        return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
#endif
    (void)variant;
    return true;
}

/* Chosen at the first call. Threads that meet here choose the same, and what it points to never changes, so relaxed
 * loads and stores do. */
static _Atomic(const struct variant *) chosen;

static const struct variant *choose(void) {
    const struct variant *variant = variants;
    while (!offered(variant))
        variant++;
    atomic_store_explicit(&chosen, variant, memory_order_relaxed);
    return variant;
}

static inline const struct variant *current(void) {
    const struct variant *variant = atomic_load_explicit(&chosen, memory_order_relaxed);
    return variant != NULL ? variant : choose();
}

const char *od_features(void) { return current()->features; }

int od_choose(const char *features) {
    for (const struct variant *variant = variants; variant < variants + VARIANTS; variant++)
        if (strcmp(variant->features, features) == 0 && offered(variant)) {
            atomic_store_explicit(&chosen, variant, memory_order_relaxed);
            return 0;
        }
    return -1;
}

static const unsigned char item_sizes[OD_DTYPES] = {
    [OD_INT8] = 1,   [OD_UINT8] = 1,   [OD_INT32] = 4,    [OD_UINT32] = 4,  [OD_INT64] = 8,
    [OD_UINT64] = 8, [OD_FLOAT16] = 2, [OD_BFLOAT16] = 2, [OD_FLOAT32] = 4, [OD_FLOAT64] = 8,
};

size_t od_item_size(int dtype) { return item_sizes[dtype]; }

/* Bytes of a block's accumulator. It, the results and what is read of the operands share the first-level cache.
 * Streamed blocks are small: the shorter the turns of reading and streaming, the better they overlap (measured: from
 * memory, blocks of 512 reach the bandwidth of a copy, those of 4096 three quarters; below 512 the calls tell). */
enum { BLOCK = 2048, STREAMED_BLOCK = 512 };

/* Elements of the first block: what brings `output` to the start of a line, if elements can do that. */
static size_t first_block(const void *output, size_t item, size_t block) {
    size_t ahead = -(uintptr_t)output % OD_LINE;
    return ahead != 0 && ahead % item == 0 ? ahead / item : block;
}

static void fold_blocks(const struct loops *loops, size_t item, int operator_, size_t count,
                        const void *const *operands, int number, void *const *outputs, int outputs_number,
                        uint64_t divisor, bool streaming) {
    _Alignas(OD_LINE) char accumulator[BLOCK];
    _Alignas(OD_LINE) char staged[STREAMED_BLOCK];
    size_t block = (streaming ? STREAMED_BLOCK : BLOCK) / (loops->widen != NULL ? sizeof(float) : item);
    size_t length = streaming ? first_block(outputs[0], item, block) : block;
    for (size_t done = 0; done < count; done += length, length = block) {
        if (length > count - done)
            length = count - done;
        size_t offset = done * item;
#define OPERAND(i) ((const char *)operands[i] + offset)
        /* Results go straight to the first output, whose block no later operand of this block can be. */
        char *result = streaming ? staged : (char *)outputs[0] + offset;
        if (number == 1 && divisor == 1) {
            result = (char *)OPERAND(0);
        } else if (number == 1) {
            const void *sums = OPERAND(0);
            if (loops->widen != NULL) {
                loops->widen(accumulator, sums, 1, length);
                sums = accumulator;
            }
            loops->divide(result, sums, divisor, length);
        } else if (number == 2 && divisor == 1) {
            loops->two[operator_](result, OPERAND(0), OPERAND(1), length);
        } else {
            loops->start[operator_](accumulator, OPERAND(0), OPERAND(1), length);
            int last = divisor == 1 ? number - 1 : number;
            for (int i = 2; i < last; i++)
                loops->step[operator_](accumulator, accumulator, OPERAND(i), length);
            if (divisor == 1)
                loops->end[operator_](result, accumulator, OPERAND(last), length);
            else
                loops->divide(result, accumulator, divisor, length);
        }
#undef OPERAND
        for (int i = 0; i < outputs_number; i++) {
            char *output = (char *)outputs[i] + offset;
            if (output == result)
                continue;
            if (streaming)
                od_stream(output, result, length * item);
            else
                memcpy(output, result, length * item);
        }
    }
}

void od_fold(int dtype, int operator_, size_t count, const void *const *operands, int number, void *const *outputs,
             int outputs_number, uint64_t divisor, bool streaming) {
    const struct loops *loops = &current()->loops[dtype];
    /* The smallest messages come this way: nothing may stand before it. */
    if (number == 2 && outputs_number == 1 && divisor == 1 && !streaming) {
        loops->two[operator_](outputs[0], operands[0], operands[1], count);
        return;
    }
    fold_blocks(loops, item_sizes[dtype], operator_, count, operands, number, outputs, outputs_number, divisor,
                streaming);
    if (streaming)
        od_stream_end();
}
