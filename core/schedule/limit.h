// Joint limits of schedules: `require bytes(A, L2) + bytes(B, L2) <= 524288`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// A formula over what decompositions have, with integers as values; conditions are 0 and 1.
struct Limit {
  enum class Op : uint8_t {
    kNumber,
    kTile,     // extent of a part of (layer, dimension)
    kParts,    // number of parts of (layer, dimension)
    kBytes,    // of input `buffer` that a part of `layer` needs
    kThreads,  // of a block; of CPUs, parts of the computation that cores take
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,     // rounded towards minus infinity
    kRemainder,  // of that
    kMin,
    kMax,
    kLess,
    kLessEqual,
    kEqual,
    kNotEqual,
    kAnd,
    kOr,
    kNot,
  };

  Op op = Op::kNumber;
  int64_t number = 1;
  int layer = -1, dimension = -1, buffer = -1;
  std::vector<Limit> operands = {};
};

}  // namespace mdh
