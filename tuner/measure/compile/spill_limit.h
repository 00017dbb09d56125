// Which compiled candidates need not be measured, because their registers overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "tuner/device/compiler_report.h"
#include "tuner/measure/results/measure_options.h"

namespace mdh {

// What the instructions of a function store for want of registers, in bytes of a thread, from which
// on it is hopeless: as much as all registers that a thread can have. Of the fastest kernels known
// for an H200 (deploy/records) only one spills anything, 44 bytes, also among those whose registers
// are limited by the blocks that shall be resident. The designs that are proposed first stay below
// 200; of random configurations one in ten is beyond the limit, most with several thousand bytes.
inline constexpr int64_t kMostSpilledBytes = 1024;

// Follows the candidates of one problem. Where every kernel spills, because one point of the
// computation has more values than registers, what the others spill is allowed, too.
class SpillLimit {
 public:
  // Why a candidate of these functions is given up: "mdh_mcc_0 spills 1240 bytes a thread (232
  // registers)"; empty if it is not. Without a best so far, or before any other candidate
  // was right, none is: there is always a result.
  std::string Objection(absl::Span<const FunctionResources> functions,
                        const MeasureOptions& options) const;
  // A candidate of these functions was right.
  void Record(absl::Span<const FunctionResources> functions);
  // Another problem begins.
  void Reset() { least_.reset(); }

 private:
  std::optional<int64_t> least_;  // bytes that one of those that were right spills
};

}  // namespace mdh
