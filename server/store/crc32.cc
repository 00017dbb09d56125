#include "server/store/crc32.h"

#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace mdh {
namespace {

uint32_t Append(uint32_t crc32, std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc32, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

#ifdef __x86_64__

constexpr size_t kBlock = sizeof(__m128i);
constexpr size_t kStride = 4 * kBlock;

#define MDH_CARRYLESS __attribute__((target("pclmul,sse4.1")))

MDH_CARRYLESS __m128i BlockAt(const char* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

// What `state` is before so many more bits as `powers` is of, and `next` after it.
MDH_CARRYLESS __m128i Fold(__m128i state, __m128i powers, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(state, powers, 0x00);
  const __m128i high = _mm_clmulepi64_si128(state, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// Of 128 bits the remainder by the polynomial, by Barrett's reduction.
MDH_CARRYLESS uint32_t Remainder(__m128i state, __m128i powers) {
  const __m128i low_words = _mm_setr_epi32(~0, 0, ~0, 0);
  const __m128i power64 = _mm_set_epi64x(0, 0x163cd6124);
  const __m128i polynomial = _mm_set_epi64x(0x1f7011641, 0x1db710641);
  state = _mm_xor_si128(_mm_srli_si128(state, 8), _mm_clmulepi64_si128(state, powers, 0x10));
  state = _mm_xor_si128(_mm_srli_si128(state, 4),
                        _mm_clmulepi64_si128(_mm_and_si128(state, low_words), power64, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(state, low_words), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), polynomial, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(state, quotient), 1));
}

// At least kStride bytes. Gopal, Ozturk, Guilford and others, "Fast CRC computation for generic
// polynomials using PCLMULQDQ" (Intel, 2009): numbers are powers of x modulo the polynomial, their
// bits reflected.
MDH_CARRYLESS uint32_t Crc32ByMultiplication(std::string_view bytes) {
  const __m128i powers512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i powers128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i states[4];
  for (size_t n = 0; n < 4; ++n) states[n] = BlockAt(bytes.data() + n * kBlock);
  states[0] = _mm_xor_si128(states[0], _mm_cvtsi32_si128(~0));
  bytes.remove_prefix(kStride);
  for (; bytes.size() >= kStride; bytes.remove_prefix(kStride)) {
    for (size_t n = 0; n < 4; ++n) {
      states[n] = Fold(states[n], powers512, BlockAt(bytes.data() + n * kBlock));
    }
  }
  __m128i state = states[0];
  for (size_t n = 1; n < 4; ++n) state = Fold(state, powers128, states[n]);
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) {
    state = Fold(state, powers128, BlockAt(bytes.data()));
  }
  return Append(~Remainder(state, powers128), bytes);
}

#undef MDH_CARRYLESS

#endif

}  // namespace

uint32_t Crc32Of(std::string_view bytes) {
#ifdef __x86_64__
  static const bool has_carryless =
      __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
  if (has_carryless && bytes.size() >= kStride) return Crc32ByMultiplication(bytes);
#endif
  return Append(0, bytes);
}

}  // namespace mdh
