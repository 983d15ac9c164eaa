/* The loops of float16 and bfloat16 for fold_kernels.h, which includes this file where there are instructions for them:
 * compilers do not find those of float16 by themselves, and take too many steps for bfloat16. OD_HALVES elements at a
 * time; what is left at the end is loaded and stored in part.
 *
 * A bfloat16 is rounded without regard to NaN: arithmetic on widened operands gives the default NaN or an operand's,
 * whose lower halves are zero, so that rounding cannot carry into the exponent.
 */

#if OD_HALVES == 16

typedef __m512 OD_NAME(floats);
typedef __m256i OD_NAME(halves);

#define OD_INLINE static inline OD_TARGET
#define OD_FIRST(count) ((__mmask16)((1u << (count)) - 1))

OD_INLINE __m512 OD_NAME(get_floats)(const void *at) { return _mm512_loadu_ps(at); }
OD_INLINE __m256i OD_NAME(get_halves)(const void *at) { return _mm256_loadu_si256(at); }
OD_INLINE void OD_NAME(put_floats)(void *at, __m512 value) { _mm512_storeu_ps(at, value); }
OD_INLINE void OD_NAME(put_halves)(void *at, __m256i value) { _mm256_storeu_si256(at, value); }
OD_INLINE __m512 OD_NAME(get_floats_part)(const void *at, size_t count) {
    return _mm512_maskz_loadu_ps(OD_FIRST(count), at);
}
OD_INLINE __m256i OD_NAME(get_halves_part)(const void *at, size_t count) {
    return _mm256_maskz_loadu_epi16(OD_FIRST(count), at);
}
OD_INLINE void OD_NAME(put_floats_part)(void *at, __m512 value, size_t count) {
    _mm512_mask_storeu_ps(at, OD_FIRST(count), value);
}
OD_INLINE void OD_NAME(put_halves_part)(void *at, __m256i value, size_t count) {
    _mm256_mask_storeu_epi16(at, OD_FIRST(count), value);
}

OD_INLINE __m512 OD_NAME(from_float16)(__m256i halves) { return _mm512_cvtph_ps(halves); }
OD_INLINE __m256i OD_NAME(to_float16)(__m512 value) { return _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT); }
OD_INLINE __m512 OD_NAME(from_bfloat16)(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
OD_INLINE __m256i OD_NAME(to_bfloat16)(__m512 value) {
    __m512i bits = _mm512_castps_si512(value);
    __m512i even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), even);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
}

/* Of two zeros, and of a NaN and a number, these instructions take the second; a NaN that came first is put back. */
OD_INLINE __m512 OD_NAME(lesser)(__m512 a, __m512 b) {
    return _mm512_mask_mov_ps(_mm512_min_ps(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}
OD_INLINE __m512 OD_NAME(greater)(__m512 a, __m512 b) {
    return _mm512_mask_mov_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}

#undef OD_FIRST

#else

#if OD_HALVES == 8

typedef __m256 OD_NAME(floats);
typedef __m128i OD_NAME(halves);

#define OD_INLINE static inline OD_TARGET

OD_INLINE __m256 OD_NAME(get_floats)(const void *at) { return _mm256_loadu_ps(at); }
OD_INLINE __m128i OD_NAME(get_halves)(const void *at) { return _mm_loadu_si128(at); }
OD_INLINE void OD_NAME(put_floats)(void *at, __m256 value) { _mm256_storeu_ps(at, value); }
OD_INLINE void OD_NAME(put_halves)(void *at, __m128i value) { _mm_storeu_si128(at, value); }

OD_INLINE __m256 OD_NAME(from_float16)(__m128i halves) { return _mm256_cvtph_ps(halves); }
OD_INLINE __m128i OD_NAME(to_float16)(__m256 value) { return _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT); }
OD_INLINE __m256 OD_NAME(from_bfloat16)(__m128i halves) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
OD_INLINE __m128i OD_NAME(to_bfloat16)(__m256 value) {
    __m256i bits = _mm256_castps_si256(value);
    __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), even);
    __m256i upper = _mm256_srli_epi32(rounded, 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
}

/* Of two zeros, and of a NaN and a number, these instructions take the second; a NaN that came first is put back. */
OD_INLINE __m256 OD_NAME(lesser)(__m256 a, __m256 b) {
    return _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
OD_INLINE __m256 OD_NAME(greater)(__m256 a, __m256 b) {
    return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

#else

typedef float32x4_t OD_NAME(floats);
typedef uint8x8_t OD_NAME(halves);

#define OD_INLINE static inline

/* As bytes, which may be anywhere. */
OD_INLINE float32x4_t OD_NAME(get_floats)(const void *at) { return vreinterpretq_f32_u8(vld1q_u8(at)); }
OD_INLINE uint8x8_t OD_NAME(get_halves)(const void *at) { return vld1_u8(at); }
OD_INLINE void OD_NAME(put_floats)(void *at, float32x4_t value) { vst1q_u8(at, vreinterpretq_u8_f32(value)); }
OD_INLINE void OD_NAME(put_halves)(void *at, uint8x8_t value) { vst1_u8(at, value); }

OD_INLINE float32x4_t OD_NAME(from_float16)(uint8x8_t halves) { return vcvt_f32_f16(vreinterpret_f16_u8(halves)); }
OD_INLINE uint8x8_t OD_NAME(to_float16)(float32x4_t value) { return vreinterpret_u8_f16(vcvt_f16_f32(value)); }
OD_INLINE float32x4_t OD_NAME(from_bfloat16)(uint8x8_t halves) {
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(halves), 16));
}
OD_INLINE uint8x8_t OD_NAME(to_bfloat16)(float32x4_t value) {
    uint32x4_t bits = vreinterpretq_u32_f32(value);
    uint32x4_t even = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7FFF)), even);
    return vreinterpret_u8_u16(vshrn_n_u32(rounded, 16));
}

/* To these instructions -0 is less than +0, and a NaN is the result. */
OD_INLINE float32x4_t OD_NAME(lesser)(float32x4_t a, float32x4_t b) { return vminq_f32(a, b); }
OD_INLINE float32x4_t OD_NAME(greater)(float32x4_t a, float32x4_t b) { return vmaxq_f32(a, b); }

#endif

OD_INLINE OD_NAME(floats) OD_NAME(get_floats_part)(const void *at, size_t count) {
    float padded[OD_HALVES] = {0};
    memcpy(padded, at, count * sizeof *padded);
    return OD_NAME(get_floats)(padded);
}
OD_INLINE OD_NAME(halves) OD_NAME(get_halves_part)(const void *at, size_t count) {
    uint16_t padded[OD_HALVES] = {0};
    memcpy(padded, at, count * sizeof *padded);
    return OD_NAME(get_halves)(padded);
}
OD_INLINE void OD_NAME(put_floats_part)(void *at, OD_NAME(floats) value, size_t count) {
    float padded[OD_HALVES];
    OD_NAME(put_floats)(padded, value);
    memcpy(at, padded, count * sizeof *padded);
}
OD_INLINE void OD_NAME(put_halves_part)(void *at, OD_NAME(halves) value, size_t count) {
    uint16_t padded[OD_HALVES];
    OD_NAME(put_halves)(padded, value);
    memcpy(at, padded, count * sizeof *padded);
}

#endif

#define OD_BINARY_HALVES(name, out_type, put, to, first_type, get, from, from_second, combine)                         \
    static OD_TARGET void OD_NAME(name)(void *out, const void *first, const void *second, size_t count) {              \
        char *result = out;                                                                                            \
        const char *one = first, *other = second;                                                                      \
        for (; count >= OD_HALVES; count -= OD_HALVES) {                                                               \
            OD_NAME(floats) a = from(OD_NAME(get)(one)), b = from_second(OD_NAME(get_halves)(other));                  \
            OD_NAME(put)(result, to(combine(a, b)));                                                                   \
            result += OD_HALVES * sizeof(out_type);                                                                    \
            one += OD_HALVES * sizeof(first_type);                                                                     \
            other += OD_HALVES * sizeof(uint16_t);                                                                     \
        }                                                                                                              \
        if (count > 0) {                                                                                               \
            OD_NAME(floats) a = from(OD_NAME(get##_part)(one, count));                                                 \
            OD_NAME(floats) b = from_second(OD_NAME(get_halves_part)(other, count));                                   \
            OD_NAME(put##_part)(result, to(combine(a, b)), count);                                                     \
        }                                                                                                              \
    }

#define OD_DIVIDE_HALVES(name, to)                                                                                     \
    static OD_TARGET void OD_NAME(name)(void *out, const void *in, uint64_t divisor, size_t count) {                   \
        char *result = out;                                                                                            \
        const char *sums = in;                                                                                         \
        float by = (float)(double)divisor;                                                                             \
        for (; count >= OD_HALVES; count -= OD_HALVES) {                                                               \
            OD_NAME(put_halves)(result, to(OD_NAME(get_floats)(sums) / by));                                           \
            result += OD_HALVES * sizeof(uint16_t);                                                                    \
            sums += OD_HALVES * sizeof(float);                                                                         \
        }                                                                                                              \
        if (count > 0)                                                                                                 \
            OD_NAME(put_halves_part)(result, to(OD_NAME(get_floats_part)(sums, count) / by), count);                   \
    }

#define OD_NARROW_HALVES(name, from, to, combine)                                                                      \
    OD_BINARY_HALVES(name##_two, uint16_t, put_halves, to, uint16_t, get_halves, from, from, combine)                  \
    OD_BINARY_HALVES(name##_start, float, put_floats, OD_AS_IS, uint16_t, get_halves, from, from, combine)             \
    OD_BINARY_HALVES(name##_step, float, put_floats, OD_AS_IS, float, get_floats, OD_AS_IS, from, combine)             \
    OD_BINARY_HALVES(name##_end, uint16_t, put_halves, to, float, get_floats, OD_AS_IS, from, combine)

OD_NARROW_HALVES(sum_float16, OD_NAME(from_float16), OD_NAME(to_float16), OD_PLUS)
OD_NARROW_HALVES(prod_float16, OD_NAME(from_float16), OD_NAME(to_float16), OD_TIMES)
OD_NARROW_HALVES(min_float16, OD_NAME(from_float16), OD_NAME(to_float16), OD_NAME(lesser))
OD_NARROW_HALVES(max_float16, OD_NAME(from_float16), OD_NAME(to_float16), OD_NAME(greater))
OD_DIVIDE_HALVES(divide_float16, OD_NAME(to_float16))
OD_NARROW_HALVES(sum_bfloat16, OD_NAME(from_bfloat16), OD_NAME(to_bfloat16), OD_PLUS)
OD_NARROW_HALVES(prod_bfloat16, OD_NAME(from_bfloat16), OD_NAME(to_bfloat16), OD_TIMES)
OD_NARROW_HALVES(min_bfloat16, OD_NAME(from_bfloat16), OD_NAME(to_bfloat16), OD_NAME(lesser))
OD_NARROW_HALVES(max_bfloat16, OD_NAME(from_bfloat16), OD_NAME(to_bfloat16), OD_NAME(greater))
OD_DIVIDE_HALVES(divide_bfloat16, OD_NAME(to_bfloat16))

#undef OD_INLINE
#undef OD_BINARY_HALVES
#undef OD_DIVIDE_HALVES
#undef OD_NARROW_HALVES
