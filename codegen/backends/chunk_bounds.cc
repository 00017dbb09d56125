#include "codegen/backends/chunk_bounds.h"

#include <algorithm>

namespace mdh {
namespace {

Index Max(const Index& a, const Index& b) { return a + b - Min(a, b); }

// The largest value of what the common dimensions add to a bound.
Index LargestOfPart(const PartBounds& part, const StreamBound& bound) {
  Index sum(bound.constant);
  for (size_t k = 0; k < bound.coefficients.size(); ++k) {
    const int64_t c = bound.coefficients[k];
    sum = sum + Index::Variable(part.origins[k]) * c;
    if (c > 0) sum = sum + Index(c * (part.part[k] - 1));
  }
  return sum;
}

// Whether, from part to part along common dimension k, the last chunk that is needed, or the first
// one, lies farther behind.
bool EndMoves(const std::vector<StreamBound>& bounds, size_t k) {
  return std::ranges::any_of(bounds, [&](const StreamBound& bound) {
    return k < bound.coefficients.size() && bound.streamed < 0 && bound.coefficients[k] > 0;
  });
}
bool BeginMoves(const std::vector<StreamBound>& bounds, size_t k) {
  return std::ranges::any_of(bounds, [&](const StreamBound& bound) {
    return k < bound.coefficients.size() && bound.streamed > 0 && bound.coefficients[k] < 0;
  });
}

}  // namespace

// streamed * j >= -largest, for positive `streamed`.
Index FirstChunk(const PartBounds& part, Index first, const Index& end) {
  for (const StreamBound& bound : part.bounds) {
    if (bound.streamed < 0) continue;
    const Index least = Max(Index(0), Index(0) - LargestOfPart(part, bound));
    first = Max(first, least / (bound.streamed * part.chunk));
  }
  return part.runs ? Min(first, end - Index(1)) : first;
}

// -streamed * j <= largest, for negative `streamed`.
Index EndOfChunks(const PartBounds& part, const Index& first, Index end) {
  for (const StreamBound& bound : part.bounds) {
    if (bound.streamed > 0) continue;
    const int64_t chunk = -bound.streamed * part.chunk;
    end = Min(end, Max(Index(0), LargestOfPart(part, bound) + Index(chunk)) / chunk);
  }
  return Max(part.runs ? first + Index(1) : first, end);
}

bool NeedMoreBehind(const std::vector<StreamBound>& bounds, size_t k) {
  return EndMoves(bounds, k) && !BeginMoves(bounds, k);
}

std::vector<size_t> LongestFirst(std::vector<size_t> dimensions,
                                 const std::vector<StreamBound>& bounds) {
  std::stable_partition(dimensions.begin(), dimensions.end(),
                        [&](size_t k) { return EndMoves(bounds, k) != BeginMoves(bounds, k); });
  return dimensions;
}

}  // namespace mdh
