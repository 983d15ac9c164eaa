/* One element at a time: what the loops of fold_kernels.h are made of. What loops call is free of branches, so that a
 * compiler turns it into vector instructions, and gives the bits that numpy and ml_dtypes give; of NaNs, only that
 * they are. */
#ifndef OPSDIST_FOLD_SCALAR_H
#define OPSDIST_FOLD_SCALAR_H

#include <stdint.h>
#include <string.h>

#define OD_AS_IS(a) (a)
#define OD_PLUS(a, b) ((a) + (b))
#define OD_TIMES(a, b) ((a) * (b))
#define OD_LESSER(a, b) ((a) < (b) ? (a) : (b))
#define OD_GREATER(a, b) ((a) > (b) ? (a) : (b))

static inline uint32_t bits_of_float32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float32_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* All ones if `condition`, for choosing with OD_CHOOSE: compilers make branches of ?: and then no vectors of them. */
#define OD_MASK(type, condition) (-(type)(condition))
#define OD_CHOOSE(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))

/* Minimum and maximum, where either is a NaN: a NaN. Which of +0 and -0 is less is the processor's business in numpy,
 * and so here: with x86's instructions they are equal, and of equals the second is taken; with aarch64's, -0 is less;
 * and numpy's own code elsewhere takes the first of equals. */
#if defined(__aarch64__)

/* Equal numbers differ in bits only as zeros do: by the sign. */
#define OD_EXTREME_FLOAT(name, type, bits_type, is_before, of_equals)                                                  \
    static inline type name(type a, type b) {                                                                          \
        bits_type first, second, result;                                                                               \
        memcpy(&first, &a, sizeof first);                                                                              \
        memcpy(&second, &b, sizeof second);                                                                            \
        result = OD_CHOOSE(OD_MASK(bits_type, a is_before b) | OD_MASK(bits_type, a != a), first, second);             \
        result = OD_CHOOSE(OD_MASK(bits_type, a == b), first of_equals second, result);                                \
        memcpy(&a, &result, sizeof a);                                                                                 \
        return a;                                                                                                      \
    }
OD_EXTREME_FLOAT(lesser_float32, float, uint32_t, <, |)
OD_EXTREME_FLOAT(greater_float32, float, uint32_t, >, &)
OD_EXTREME_FLOAT(lesser_float64, double, uint64_t, <, |)
OD_EXTREME_FLOAT(greater_float64, double, uint64_t, >, &)

#else

#if defined(__x86_64__) || defined(__i386__)
#define OD_LESSER_FLOAT(a, b) ((a) != (a) ? (a) : (a) < (b) ? (a) : (b))
#define OD_GREATER_FLOAT(a, b) ((a) != (a) ? (a) : (a) > (b) ? (a) : (b))
#else
#define OD_LESSER_FLOAT(a, b) ((a) != (a) ? (a) : (a) <= (b) ? (a) : (b))
#define OD_GREATER_FLOAT(a, b) ((a) != (a) ? (a) : (a) >= (b) ? (a) : (b))
#endif
static inline float lesser_float32(float a, float b) { return OD_LESSER_FLOAT(a, b); }
static inline float greater_float32(float a, float b) { return OD_GREATER_FLOAT(a, b); }
static inline double lesser_float64(double a, double b) { return OD_LESSER_FLOAT(a, b); }
static inline double greater_float64(double a, double b) { return OD_GREATER_FLOAT(a, b); }

#endif

static inline float bfloat16_to_float32(uint16_t half) { return float32_of_bits((uint32_t)half << 16); }

static inline uint16_t float32_to_bfloat16(float value) {
    uint32_t bits = bits_of_float32(value);
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    uint32_t quiet_nan = bits >> 16 | 0x40;
    return (uint16_t)OD_CHOOSE(OD_MASK(uint32_t, (bits & 0x7FFFFFFF) > 0x7F800000), quiet_nan, rounded);
}

static inline float float16_to_float32(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t shifted = (uint32_t)(half & 0x7FFF) << 13;
    /* The exponents differ by 127 - 15; infinity and NaN have all ones in both. */
    uint32_t normal = shifted + (112u << 23) + (OD_MASK(uint32_t, shifted >= (31u << 23)) & 112u << 23);
    /* A mantissa without its implied one: put one there, and take it away as a float. */
    uint32_t subnormal = bits_of_float32(float32_of_bits(shifted + (113u << 23)) - float32_of_bits(113u << 23));
    return float32_of_bits(sign | OD_CHOOSE(OD_MASK(uint32_t, shifted < (1u << 23)), subnormal, normal));
}

static inline uint16_t float32_to_float16(float value) {
    uint32_t bits = bits_of_float32(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t rest = bits & 0x7FFFFFFF;
    /* Rounding may carry into the exponent, up to infinity; that is right. */
    uint32_t normal = (rest - (112u << 23) + 0xFFF + (rest >> 13 & 1)) >> 13;
    /* The steps of 0.5 + x are those of a subnormal float16: the addition rounds. */
    uint32_t subnormal = bits_of_float32(float32_of_bits(rest) + 0.5f) - bits_of_float32(0.5f);
    uint32_t half = OD_CHOOSE(OD_MASK(uint32_t, rest < (113u << 23)), subnormal, normal);
    half = OD_CHOOSE(OD_MASK(uint32_t, rest >= (143u << 23)), 0x7C00, half);
    half = OD_CHOOSE(OD_MASK(uint32_t, rest > (255u << 23)), 0x7E00, half);
    return (uint16_t)(sign | half);
}

static inline uint64_t magnitude(int64_t value) { return value < 0 ? -(uint64_t)value : (uint64_t)value; }
static inline int64_t with_sign(uint64_t size, int64_t like) { return (int64_t)(like < 0 ? -size : size); }

/* The exponent of a power of two. */
static inline uint64_t exponent(uint64_t power) {
    uint64_t result = 0;
    while (power >>= 1)
        result++;
    return result;
}

#endif
