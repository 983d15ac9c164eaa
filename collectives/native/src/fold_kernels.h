/* The loops of od_fold, for the compiler to vectorise. fold.c includes this file once per instruction set, with
 *
 *   OD_NAME(name)      the name of a function or table of this instruction set
 *   OD_TARGET          the attribute that lets the compiler use it
 *   OD_HALVES          undefined, or 4, 8 or 16: that many 16-bit floats are converted at a time (fold_halves.h)
 *
 * Each loop may write over one of its operands, exactly, so no pointer is `restrict`; OD_INDEPENDENT says instead that
 * iterations do not depend on each other. Elements are read and written through memcpy: any address will do, and it
 * costs nothing where the machine can load from any address.
 */

#define OD_BINARY(name, out_type, first_type, first_value, second_type, second_value, combine, result)                 \
    static OD_TARGET void OD_NAME(name)(void *out, const void *first, const void *second, size_t count) {              \
        OD_INDEPENDENT                                                                                                 \
        for (size_t i = 0; i < count; i++) {                                                                           \
            first_type one;                                                                                            \
            second_type other;                                                                                         \
            memcpy(&one, (const char *)first + i * sizeof one, sizeof one);                                            \
            memcpy(&other, (const char *)second + i * sizeof other, sizeof other);                                     \
            out_type value = (out_type)result(combine(first_value(one), second_value(other)));                         \
            memcpy((char *)out + i * sizeof value, &value, sizeof value);                                              \
        }                                                                                                              \
    }

#define OD_UNARY(name, out_type, in_type, expression)                                                                  \
    static OD_TARGET void OD_NAME(name)(void *out, const void *in, uint64_t divisor, size_t count) {                   \
        (void)divisor;                                                                                                 \
        OD_INDEPENDENT                                                                                                 \
        for (size_t i = 0; i < count; i++) {                                                                           \
            in_type one;                                                                                               \
            memcpy(&one, (const char *)in + i * sizeof one, sizeof one);                                               \
            out_type value = (out_type)(expression);                                                                   \
            memcpy((char *)out + i * sizeof value, &value, sizeof value);                                              \
        }                                                                                                              \
    }

/* Types that are their own accumulator. Sums and products of integers are the same bits for both signs. */

#define OD_WIDE(name, type, combine) OD_BINARY(name, type, type, OD_AS_IS, type, OD_AS_IS, combine, OD_AS_IS)

OD_WIDE(sum_8, uint8_t, OD_PLUS)
OD_WIDE(sum_32, uint32_t, OD_PLUS)
OD_WIDE(sum_64, uint64_t, OD_PLUS)
OD_WIDE(sum_float32, float, OD_PLUS)
OD_WIDE(sum_float64, double, OD_PLUS)
OD_WIDE(prod_8, uint8_t, OD_TIMES)
OD_WIDE(prod_32, uint32_t, OD_TIMES)
OD_WIDE(prod_64, uint64_t, OD_TIMES)
OD_WIDE(prod_float32, float, OD_TIMES)
OD_WIDE(prod_float64, double, OD_TIMES)
OD_WIDE(min_int8, int8_t, OD_LESSER)
OD_WIDE(min_uint8, uint8_t, OD_LESSER)
OD_WIDE(min_int32, int32_t, OD_LESSER)
OD_WIDE(min_uint32, uint32_t, OD_LESSER)
OD_WIDE(min_int64, int64_t, OD_LESSER)
OD_WIDE(min_uint64, uint64_t, OD_LESSER)
OD_WIDE(min_float32, float, lesser_float32)
OD_WIDE(min_float64, double, lesser_float64)
OD_WIDE(max_int8, int8_t, OD_GREATER)
OD_WIDE(max_uint8, uint8_t, OD_GREATER)
OD_WIDE(max_int32, int32_t, OD_GREATER)
OD_WIDE(max_uint32, uint32_t, OD_GREATER)
OD_WIDE(max_int64, int64_t, OD_GREATER)
OD_WIDE(max_uint64, uint64_t, OD_GREATER)
OD_WIDE(max_float32, float, greater_float32)
OD_WIDE(max_float64, double, greater_float64)

/* Types that are accumulated in float32: two narrow operands to a narrow result, two to an accumulator, an accumulator
 * and one to an accumulator, the same to a narrow result. */

#define OD_NARROW(name, widen, narrow, combine)                                                                        \
    OD_BINARY(name##_two, uint16_t, uint16_t, widen, uint16_t, widen, combine, narrow)                                 \
    OD_BINARY(name##_start, float, uint16_t, widen, uint16_t, widen, combine, OD_AS_IS)                                \
    OD_BINARY(name##_step, float, float, OD_AS_IS, uint16_t, widen, combine, OD_AS_IS)                                 \
    OD_BINARY(name##_end, uint16_t, float, OD_AS_IS, uint16_t, widen, combine, narrow)

OD_UNARY(widen_bfloat16, float, uint16_t, bfloat16_to_float32(one))
OD_UNARY(widen_float16, float, uint16_t, float16_to_float32(one))

#ifndef OD_HALVES

OD_NARROW(sum_bfloat16, bfloat16_to_float32, float32_to_bfloat16, OD_PLUS)
OD_NARROW(prod_bfloat16, bfloat16_to_float32, float32_to_bfloat16, OD_TIMES)
OD_NARROW(min_bfloat16, bfloat16_to_float32, float32_to_bfloat16, lesser_float32)
OD_NARROW(max_bfloat16, bfloat16_to_float32, float32_to_bfloat16, greater_float32)
OD_NARROW(sum_float16, float16_to_float32, float32_to_float16, OD_PLUS)
OD_NARROW(prod_float16, float16_to_float32, float32_to_float16, OD_TIMES)
OD_NARROW(min_float16, float16_to_float32, float32_to_float16, lesser_float32)
OD_NARROW(max_float16, float16_to_float32, float32_to_float16, greater_float32)
OD_UNARY(divide_bfloat16, uint16_t, float, float32_to_bfloat16(one / (float)(double)divisor))
OD_UNARY(divide_float16, uint16_t, float, float32_to_float16(one / (float)(double)divisor))

#else
#include "fold_halves.h"
#endif

/* Averages. The divisor may exceed the type. A quotient of integers of up to 32 bits, taken in a float that holds both
 * exactly, is never rounded up to the next integer; a divisor that the float cannot hold leaves a quotient below 1. */

OD_UNARY(divide_int8, int8_t, int8_t, (int32_t)((float)one / (float)divisor))
OD_UNARY(divide_uint8, uint8_t, uint8_t, (int32_t)((float)one / (float)divisor))
OD_UNARY(divide_int32, int32_t, int32_t, (double)one / (double)divisor)
OD_UNARY(divide_uint32, uint32_t, uint32_t, (double)one / (double)divisor)
OD_UNARY(divide_float32, float, float, one / (float)(double)divisor)
OD_UNARY(divide_float64, double, double, one / (double)divisor)

/* There is no vector instruction for 64-bit quotients, but the usual divisors are powers of two. */

OD_UNARY(shift_int64, int64_t, int64_t, with_sign(magnitude(one) >> divisor, one))
OD_UNARY(shift_uint64, uint64_t, uint64_t, one >> divisor)
OD_UNARY(quotient_int64, int64_t, int64_t, with_sign(magnitude(one) / divisor, one))
OD_UNARY(quotient_uint64, uint64_t, uint64_t, one / divisor)

static OD_TARGET void OD_NAME(divide_int64)(void *out, const void *in, uint64_t divisor, size_t count) {
    if ((divisor & (divisor - 1)) == 0)
        OD_NAME(shift_int64)(out, in, exponent(divisor), count);
    else
        OD_NAME(quotient_int64)(out, in, divisor, count);
}

static OD_TARGET void OD_NAME(divide_uint64)(void *out, const void *in, uint64_t divisor, size_t count) {
    if ((divisor & (divisor - 1)) == 0)
        OD_NAME(shift_uint64)(out, in, exponent(divisor), count);
    else
        OD_NAME(quotient_uint64)(out, in, divisor, count);
}

/* The tables: by dtype; the functions by operator, of which avg is a sum. */

#define OD_ROW_OF(form, sum, prod, min, max)                                                                           \
    {OD_NAME(sum##form), OD_NAME(prod##form), OD_NAME(min##form), OD_NAME(max##form), OD_NAME(sum##form)}

#define OD_WIDE_ROW(type, sum, prod, min, max)                                                                         \
    {OD_ROW_OF(, sum, prod, min, max), OD_ROW_OF(, sum, prod, min, max), OD_ROW_OF(, sum, prod, min, max),             \
     OD_ROW_OF(, sum, prod, min, max), NULL, OD_NAME(divide_##type)}

#define OD_NARROW_ROW(type)                                                                                            \
    {OD_ROW_OF(_two, sum_##type, prod_##type, min_##type, max_##type),                                                 \
     OD_ROW_OF(_start, sum_##type, prod_##type, min_##type, max_##type),                                               \
     OD_ROW_OF(_step, sum_##type, prod_##type, min_##type, max_##type),                                                \
     OD_ROW_OF(_end, sum_##type, prod_##type, min_##type, max_##type), OD_NAME(widen_##type), OD_NAME(divide_##type)}

static const struct loops OD_NAME(loops)[OD_DTYPES] = {
    [OD_INT8] = OD_WIDE_ROW(int8, sum_8, prod_8, min_int8, max_int8),
    [OD_UINT8] = OD_WIDE_ROW(uint8, sum_8, prod_8, min_uint8, max_uint8),
    [OD_INT32] = OD_WIDE_ROW(int32, sum_32, prod_32, min_int32, max_int32),
    [OD_UINT32] = OD_WIDE_ROW(uint32, sum_32, prod_32, min_uint32, max_uint32),
    [OD_INT64] = OD_WIDE_ROW(int64, sum_64, prod_64, min_int64, max_int64),
    [OD_UINT64] = OD_WIDE_ROW(uint64, sum_64, prod_64, min_uint64, max_uint64),
    [OD_FLOAT16] = OD_NARROW_ROW(float16),
    [OD_BFLOAT16] = OD_NARROW_ROW(bfloat16),
    [OD_FLOAT32] = OD_WIDE_ROW(float32, sum_float32, prod_float32, min_float32, max_float32),
    [OD_FLOAT64] = OD_WIDE_ROW(float64, sum_float64, prod_float64, min_float64, max_float64),
};

#undef OD_NAME
#undef OD_TARGET
#undef OD_HALVES
#undef OD_BINARY
#undef OD_UNARY
#undef OD_WIDE
#undef OD_NARROW
#undef OD_ROW_OF
#undef OD_WIDE_ROW
#undef OD_NARROW_ROW
