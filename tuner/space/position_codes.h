// Codes of a range and their positions, faster than the range itself tells.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/formula/range.h"

namespace mdh {

class PositionCodes {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  explicit PositionCodes(const Range& range);

  int64_t CodeAt(uint32_t position) const {
    return codes_.empty() ? first_ + step_ * static_cast<int64_t>(position) : codes_[position];
  }
  // kNone if the range does not have the code.
  uint32_t PositionOf(int64_t code) const {
    const uint64_t offset = static_cast<uint64_t>(code) - static_cast<uint64_t>(first_);
    if (!positions_.empty()) return offset < positions_.size() ? positions_[offset] : kNone;
    if (codes_.empty()) {
      if (step_ == 1) return offset < size_ ? static_cast<uint32_t>(offset) : kNone;
      const uint64_t position = offset / static_cast<uint64_t>(step_);
      return position < size_ && offset % static_cast<uint64_t>(step_) == 0
                 ? static_cast<uint32_t>(position)
                 : kNone;
    }
    return range_.PositionOf(code).value_or(kNone);
  }
  uint32_t size() const { return size_; }

 private:
  Range range_;
  uint32_t size_;
  int64_t first_ = 0;
  int64_t step_ = 1;
  std::vector<int64_t> codes_;       // empty: first_ + step_ * position
  std::vector<uint32_t> positions_;  // by code - first_, if codes lie close together
};

}  // namespace mdh
