// Values whose lanes are evident: those of indices, what is the same in all lanes, and sums of
// both.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/program/loop_program.h"

namespace mdh {

// Lane l of a value of type int64 is first + l * step, modulo 2^64.
struct AffineLanes {
  LoopValue first;  // one lane
  int64_t step;
};

// nullopt: not evident, or of another type.
std::optional<AffineLanes> AffineLanesOf(const LoopValue& value);

}  // namespace mdh
