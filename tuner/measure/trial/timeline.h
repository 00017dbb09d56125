// When threads did the pieces of their work, and how fast they were at best.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"

namespace mdh {

// Of each thread the times in nanoseconds at which it began its first piece of work, the second
// one, ..., and ended the last one. All pieces are equal, and short beside the time slices of the
// scheduler: whatever else works on the machine, some of them are done undisturbed.
class Timeline {
 public:
  // `stamps`: those of the first thread, then those of the second one, ... Errors: Internal if the
  // times of a thread do not rise.
  static Result<Timeline> Create(absl::Span<const int64_t> stamps, int threads);

  // Pieces per second of all threads, each at its fastest: for work in which threads share
  // nothing.
  double SumOfFastest() const;
  // Pieces per second of all threads together in the best interval of `interval_ns`: for work in
  // which threads share what limits them. 0 if there is no time in which all of them work so long.
  double BestTogether(int64_t interval_ns) const;

 private:
  explicit Timeline(std::vector<std::vector<int64_t>> stamps) : stamps_(std::move(stamps)) {}

  std::vector<std::vector<int64_t>> stamps_;  // by thread
};

}  // namespace mdh
