// Random contents for input buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/scalar/scalar_type.h"

namespace mdh {

// Which values are drawn. The first is for sums: with it results do not depend on the order of
// reductions as long as they are moderately long. The others are for computations for which the
// first gives NaN, or the same value everywhere (a product of many values is zero when one is).
enum class InputDistribution : uint8_t {
  kQuarters,  // floating point: multiples of 1/4 in [-2, 2]; integers: small; bool: either
  kPositive,  // floating point: [0.25, 2.25); integers: any; bool: mostly true
  kUnits,     // floating point: mostly 1 and -1, some 2 and 1/2; integers: odd; bool: mostly true
  kSparse,    // floating point: [0.25, 0.5); integers: mostly zero; bool: mostly false
  // As kQuarters, but multiples of 2^-12 of fp32, of 2^-26 of fp64, of 2^-8 of fp16: more bits than
  // a unit multiplies that rounds operands to a narrower type (tf32, fp32, bf16), where quarters
  // would pass; products with quarters, and moderately long sums of these, are exact still. For one
  // of the operands of a contraction.
  kFine,
};

// Those of whole computations.
inline constexpr InputDistribution kAllDistributions[] = {
    InputDistribution::kQuarters, InputDistribution::kPositive, InputDistribution::kUnits,
    InputDistribution::kSparse};

// Values in memory, `stride_bytes` apart.
struct ValuesAt {
  std::byte* first;
  int64_t count;
  int64_t stride_bytes;
};

// Of the values of one buffer so many are drawn; then they come again. A prime number, so that
// what is read from a wrong place, mostly a multiple of a power of two away, is another value.
inline constexpr int64_t kDrawnValues = 16'777'213;

// Fills them with values of `type`, in parallel; the same seed gives the same contents.
// `reduction_length`: how many values are combined; that rare values are about that rare.
// `give_up_ns`: on the clock of NowNs(), 0: never. False if it was given up then.
bool FillRandom(InputDistribution distribution, ScalarType type, const ValuesAt& to,
                int64_t reduction_length, uint64_t seed, int64_t give_up_ns = 0);

}  // namespace mdh
