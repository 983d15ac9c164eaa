/* od_fold and od_copy against one element at a time, written here with no bit tricks. Exits 1 with a message at the
 * first difference. Operands end where their allocation ends, so that AddressSanitizer sees any read behind them;
 * outputs lie between canaries. Usage: fold_test */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold.h"

enum { MOST_OPERANDS = 8, MOST_OUTPUTS = 3, CANARIES = 80, CANARY = 0xA5 };

static const char *const dtypes[OD_DTYPES] = {"int8",   "uint8",   "int32",    "uint32",  "int64",
                                              "uint64", "float16", "bfloat16", "float32", "float64"};
static const char *const operators[OD_OPERATORS] = {"sum", "prod", "min", "max", "avg"};
static const char *const variants[] = {"baseline", "avx2", "avx512"};

/* ---- one element ---- */

/* An element of any dtype: as a float, or as an integer of the dtype's range, modulo 2**64. */
typedef struct {
    double real;
    uint64_t whole;
} number;

static int is_float(int dtype) { return dtype >= OD_FLOAT16; }
static int is_signed(int dtype) { return dtype == OD_INT8 || dtype == OD_INT32 || dtype == OD_INT64; }

/* A 16-bit float of `mantissa` bits and exponents up to `bias`. */
static double widened(uint16_t bits, int mantissa, int bias) {
    int exponent = (bits & 0x7FFF) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    double size;
    if (exponent == 2 * bias + 1)
        size = fraction ? NAN : INFINITY;
    else
        size = ldexp(fraction + (exponent ? 1 << mantissa : 0), (exponent ? exponent : 1) - bias - mantissa);
    return bits & 0x8000 ? -size : size;
}

static uint16_t narrowed(double value, int mantissa, int bias) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int64_t infinite = (int64_t)(2 * bias + 1) << mantissa, bits;
    if (isnan(value))
        return (uint16_t)(infinite + 1);
    if (isinf(value))
        return (uint16_t)(sign | infinite);
    if (value == 0)
        return sign;
    int exponent = ilogb(value) < 1 - bias ? 1 - bias : ilogb(value);
    bits = ((int64_t)(exponent + bias - 1) << mantissa) + (int64_t)nearbyint(ldexp(fabs(value), mantissa - exponent));
    return (uint16_t)(sign | (bits > infinite ? infinite : bits));
}

static number wrapped(int dtype, uint64_t whole) {
    int unused = 64 - 8 * (int)od_item_size(dtype);
    uint64_t low = whole << unused >> unused, sign = UINT64_C(1) << (63 - unused);
    return (number){0, is_signed(dtype) && unused ? (low ^ sign) - sign : low};
}

static number load(int dtype, const char *at) {
    uint64_t whole = 0;
    float single;
    number value = {0, 0};
    if (dtype == OD_FLOAT32)
        memcpy(&single, at, 4), value.real = single;
    else if (dtype == OD_FLOAT64)
        memcpy(&value.real, at, 8);
    else {
        for (size_t i = 0; i < od_item_size(dtype); i++)
            whole |= (uint64_t)(unsigned char)at[i] << 8 * i;
        if (dtype == OD_FLOAT16)
            value.real = widened((uint16_t)whole, 10, 15);
        else if (dtype == OD_BFLOAT16)
            value.real = widened((uint16_t)whole, 7, 127);
        else
            value = wrapped(dtype, whole);
    }
    return value;
}

static void store(int dtype, number value, char *at) {
    float single = (float)value.real;
    if (dtype == OD_FLOAT32)
        memcpy(at, &single, 4);
    else if (dtype == OD_FLOAT64)
        memcpy(at, &value.real, 8);
    else {
        uint64_t whole = dtype == OD_FLOAT16    ? narrowed(value.real, 10, 15)
                         : dtype == OD_BFLOAT16 ? narrowed(value.real, 7, 127)
                                                : value.whole;
        for (size_t i = 0; i < od_item_size(dtype); i++)
            at[i] = (char)(whole >> 8 * i);
    }
}

/* Every step is rounded to the accumulator; for float32, float64 in between is wide enough not to round twice. */
static number rounded(int dtype, double real) {
    return (number){dtype == OD_FLOAT64 ? real : (double)(float)real, 0};
}

static int takes_first(int operator_, double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(a);
#if defined(__aarch64__)
    if (a == b)
        return operator_ == OD_MIN ? signbit(a) != 0 : signbit(a) == 0;
#elif defined(__x86_64__)
    if (a == b)
        return 0;
#else
    if (a == b)
        return 1;
#endif
    return operator_ == OD_MIN ? a < b : a > b;
}

static number combined(int dtype, int operator_, number a, number b) {
    int extreme = operator_ == OD_MIN || operator_ == OD_MAX;
    if (is_float(dtype)) {
        if (extreme)
            return takes_first(operator_, a.real, b.real) ? a : b;
        return rounded(dtype, operator_ == OD_PROD ? a.real * b.real : a.real + b.real);
    }
    if (extreme) {
        /* Moving the signed range up to the unsigned one keeps its order. */
        uint64_t up = is_signed(dtype) ? UINT64_C(1) << 63 : 0;
        return ((a.whole ^ up) < (b.whole ^ up)) == (operator_ == OD_MIN) ? a : b;
    }
    return wrapped(dtype, operator_ == OD_PROD ? a.whole * b.whole : a.whole + b.whole);
}

static number divided(int dtype, number a, uint64_t divisor) {
    if (dtype == OD_FLOAT64)
        return rounded(dtype, a.real / (double)divisor);
    if (is_float(dtype))
        return rounded(dtype, a.real / (double)(float)divisor);
    if (is_signed(dtype) && a.whole >> 63)
        return wrapped(dtype, -(-a.whole / divisor));
    return wrapped(dtype, a.whole / divisor);
}

static void reference(int dtype, int operator_, size_t count, char *const *operands, int operands_number,
                      uint64_t divisor, char *result) {
    size_t item = od_item_size(dtype);
    for (size_t i = 0; i < count; i++) {
        number value = load(dtype, operands[0] + i * item);
        for (int k = 1; k < operands_number; k++)
            value = combined(dtype, operator_, value, load(dtype, operands[k] + i * item));
        store(dtype, divisor == 1 ? value : divided(dtype, value, divisor), result + i * item);
    }
}

/* ---- buffers ---- */

static uint64_t state = 0x9E3779B97F4A7C15;

static uint64_t noise(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Random bits, with many small values, zeros, infinities and NaNs among them. */
static void fill(int dtype, char *at, size_t count) {
    size_t item = od_item_size(dtype);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = noise();
        number value = {(double)(int64_t)bits / 4e18, bits % 7};
        memcpy(at + i * item, &bits, item);
        switch (noise() % 8) {
        case 0:
        case 1:
        case 2:
            if (is_float(dtype))
                store(dtype, value, at + i * item);
            break;
        case 3:
            value.real = bits & 1 ? 0.0 : -0.0;
            store(dtype, value, at + i * item);
            break;
        case 4:
            value.real = bits & 15 ? 0x1p-149 * (double)(bits % 999) : bits & 16 ? (double)INFINITY : (double)NAN;
            store(dtype, value, at + i * item);
            break;
        }
    }
}

static void *allocated(size_t length) {
    void *memory = malloc(length ? length : 1);
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void check_canaries(const unsigned char *block, size_t before, size_t length, const char *where) {
    for (size_t i = 0; i < before + length + CANARIES; i++)
        if ((i < before || i >= before + length) && block[i] != CANARY) {
            fprintf(stderr, "%s: byte %td outside the output was written\n", where, (ptrdiff_t)i - (ptrdiff_t)before);
            exit(1);
        }
}

static void compare(int dtype, const char *got, const char *expected, size_t count, const char *where) {
    size_t item = od_item_size(dtype);
    for (size_t i = 0; i < count; i++) {
        number a = load(dtype, got + i * item), b = load(dtype, expected + i * item);
        if (memcmp(got + i * item, expected + i * item, item) == 0 || (isnan(a.real) && isnan(b.real)))
            continue;
        fprintf(stderr, "%s: element %zu is %a (%llx), expected %a (%llx)\n", where, i, a.real,
                (unsigned long long)a.whole, b.real, (unsigned long long)b.whole);
        exit(1);
    }
}

/* ---- cases ---- */

static void fold_case(int dtype, int operator_, size_t count, int operands_number, uint64_t divisor) {
    size_t item = od_item_size(dtype), length = count * item;
    char where[200], *allocations[MOST_OPERANDS], *operands[MOST_OPERANDS], *expected = allocated(length);
    /* Of elements, or of anything: addresses need not be aligned to elements. */
    size_t unit = noise() % 4 ? item : 1;
    for (int k = 0; k < operands_number; k++) {
        size_t shift = noise() % 9 * unit;
        allocations[k] = allocated(shift + length);
        operands[k] = allocations[k] + shift;
        fill(dtype, operands[k], count);
    }
    reference(dtype, operator_, count, operands, operands_number, divisor, expected);
    for (int outputs_number = 1; outputs_number <= MOST_OUTPUTS; outputs_number++)
        for (int streaming = 0; streaming < 2; streaming++) {
            snprintf(where, sizeof where, "%s %s %s, %zu elements, %d operands, %d outputs, divisor %llu, %s",
                     od_features(), dtypes[dtype], operators[operator_], count, operands_number, outputs_number,
                     (unsigned long long)divisor, streaming ? "streaming" : "plain");
            unsigned char *blocks[MOST_OUTPUTS];
            void *outputs[MOST_OUTPUTS];
            size_t before[MOST_OUTPUTS];
            for (int m = 0; m < outputs_number; m++) {
                before[m] = noise() % 9 * unit;
                blocks[m] = allocated(before[m] + length + CANARIES);
                memset(blocks[m], CANARY, before[m] + length + CANARIES);
                outputs[m] = blocks[m] + before[m];
            }
            od_fold(dtype, operator_, count, (const void *const *)operands, operands_number, outputs, outputs_number,
                    divisor, streaming);
            for (int m = 0; m < outputs_number; m++) {
                compare(dtype, outputs[m], expected, count, where);
                check_canaries(blocks[m], before[m], length, where);
            }
            /* Again, with an output that is an operand; its values are then brought back. */
            int aliased = (int)(noise() % (unsigned)operands_number);
            char *original = allocated(length);
            memcpy(original, operands[aliased], length);
            outputs[noise() % (unsigned)outputs_number] = operands[aliased];
            od_fold(dtype, operator_, count, (const void *const *)operands, operands_number, outputs, outputs_number,
                    divisor, streaming);
            strcat(where, ", in place");
            for (int m = 0; m < outputs_number; m++) {
                compare(dtype, outputs[m], expected, count, where);
                free(blocks[m]);
            }
            memcpy(operands[aliased], original, length);
            free(original);
        }
    for (int k = 0; k < operands_number; k++)
        free(allocations[k]);
    free(expected);
}

static void folds(void) {
    static const uint64_t divisors[] = {2, 3, 8, 127, 200, 300, 70000, UINT64_C(1) << 33, UINT64_MAX};
    static const size_t lengths[] = {0, 1, 2, 7, 17, 31, 513, 1100};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    for (int dtype = 0; dtype < OD_DTYPES; dtype++)
        for (int operator_ = 0; operator_ < OD_OPERATORS; operator_++)
            for (int operands = 1; operands <= MOST_OPERANDS; operands += 1 + operands / 3)
                for (size_t i = 0; i < LENGTHS; i++) {
                    uint64_t divisor = operator_ == OD_AVG ? divisors[noise() % 9] : 1;
                    fold_case(dtype, operator_, lengths[i], operands, divisor);
                }
    fold_case(OD_INT8, OD_SUM, 4 * 2048 + 77, 3, 1);
}

static void copies(void) {
    for (size_t length = 0; length < 300; length++)
        for (int streaming = 0; streaming < 2; streaming++) {
            size_t before = noise() % 70, shift = noise() % 70;
            unsigned char *block = allocated(before + length + CANARIES);
            char *from = allocated(shift + length);
            memset(block, CANARY, before + length + CANARIES);
            fill(OD_INT8, from + shift, length);
            od_copy(block + before, from + shift, length, streaming);
            compare(OD_INT8, (char *)block + before, from + shift, length, "copy");
            check_canaries(block, before, length, "copy");
            free(block);
            free(from);
        }
}

int main(void) {
    copies();
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (od_choose(variants[i]) == 0) {
            if (strcmp(od_features(), variants[i]) != 0) {
                fprintf(stderr, "chose %s, but it is %s\n", variants[i], od_features());
                return 1;
            }
            folds();
            printf("%s: right\n", variants[i]);
        }
    if (od_choose("abacus") == 0) {
        fputs("an unknown instruction set was chosen\n", stderr);
        return 1;
    }
    return 0;
}
