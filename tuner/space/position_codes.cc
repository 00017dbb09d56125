#include "tuner/space/position_codes.h"

#include <algorithm>

namespace mdh {
namespace {

// Codes that lie further apart are looked up by the range.
constexpr uint64_t kMaxTable = 4096;

}  // namespace

PositionCodes::PositionCodes(const Range& range) : range_(range), size_(range.size()) {
  if (range.step() > 0) {
    first_ = range.CodeAt(0);
    step_ = range.step();
    return;
  }
  if (range.type() != ValueType::kBool && range.type() != ValueType::kInteger) return;
  int64_t last = range.CodeAt(0);
  first_ = last;
  for (uint32_t position = 0; position < size_; ++position) {
    codes_.push_back(range.CodeAt(position));
    first_ = std::min(first_, codes_.back());
    last = std::max(last, codes_.back());
  }
  const uint64_t span = static_cast<uint64_t>(last) - static_cast<uint64_t>(first_);
  if (span >= kMaxTable) return;
  positions_.assign(span + 1, kNone);
  for (uint32_t position = 0; position < size_; ++position) {
    positions_[static_cast<uint64_t>(codes_[position]) - static_cast<uint64_t>(first_)] = position;
  }
}

}  // namespace mdh
