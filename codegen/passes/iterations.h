// How often a loop runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "codegen/program/loop_program.h"

namespace mdh {

// nullopt if begin or end of the loop are no constants.
inline std::optional<int64_t> KnownIterations(const For& loop) {
  if (!loop.begin.is_constant() || !loop.end.is_constant()) return std::nullopt;
  const int64_t extent = loop.end.constant() - loop.begin.constant();
  return std::max<int64_t>(
      0, loop.whole_steps ? extent / loop.step : (extent + loop.step - 1) / loop.step);
}

}  // namespace mdh
