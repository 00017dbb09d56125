// Which chunks of a streamed dimension a part needs, as indices of loop programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/index.h"
#include "core/pipeline/plan/stream_bounds.h"

namespace mdh {

struct PartBounds {
  const std::vector<StreamBound>& bounds;
  const std::vector<std::string>& origins;  // index variables: where the part begins
  const std::vector<int64_t>& part;         // its points, per common dimension
  int64_t chunk;                            // points
  bool runs;                                // at least one chunk, needed or not
};

// The number of the first chunk that the part needs, of those from number `first` to `end`.
Index FirstChunk(const PartBounds& part, Index first, const Index& end);
// The one behind the last chunk, of those in front of number `end`; not less than `first`.
Index EndOfChunks(const PartBounds& part, const Index& first, Index end);

// Whether parts that lie behind others in common dimension k need more chunks, as in causal
// attention; in a sliding window all need as many.
bool NeedMoreBehind(const std::vector<StreamBound>& bounds, size_t k);

// These common dimensions, those along which parts need more and more chunks, or fewer and fewer,
// first. Blocks begin in the order of their numbers: if these dimensions vary slowest, the blocks
// that take longest begin first, and in the end no multiprocessor works on one of them while others
// have nothing left.
std::vector<size_t> LongestFirst(std::vector<size_t> dimensions,
                                 const std::vector<StreamBound>& bounds);

}  // namespace mdh
