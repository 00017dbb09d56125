#include "tuner/space/solver/open_values.h"

#include <algorithm>
#include <bit>

namespace mdh {

OpenValues::OpenValues(absl::Span<const uint32_t> sizes, size_t reason_words)
    : why_(sizes.size() * reason_words), reason_words_(reason_words) {
  for (const uint32_t size : sizes) {
    const bool is_listed = size <= kMostListed;
    parameters_.push_back({0, size - 1, size, static_cast<uint32_t>(bits_.size()), is_listed});
    if (!is_listed) continue;
    bits_.resize(bits_.size() + size / 64, ~uint64_t{0});
    if (size % 64 != 0) bits_.push_back((uint64_t{1} << (size % 64)) - 1);
  }
}

bool OpenValues::IsOpen(int parameter, uint32_t position) const {
  const Parameter& p = parameters_[parameter];
  if (p.count == 0 || position < p.first || position > p.last) return false;
  return !p.is_listed || (bits_[p.bits + position / 64] >> (position % 64) & 1) != 0;
}

uint32_t OpenValues::FirstFrom(int parameter, uint32_t position) const {
  const Parameter& p = parameters_[parameter];
  if (position > p.last) return kNone;
  if (!p.is_listed) return position;
  uint64_t word = bits_[p.bits + position / 64] & ~uint64_t{0} << (position % 64);
  for (uint32_t n = position / 64; n <= p.last / 64; word = bits_[p.bits + ++n]) {
    if (word != 0) return n * 64 + static_cast<uint32_t>(std::countr_zero(word));
    if (n == p.last / 64) break;
  }
  return kNone;
}

uint32_t OpenValues::LastUpTo(int parameter, uint32_t position) const {
  const Parameter& p = parameters_[parameter];
  if (position < p.first) return kNone;
  if (!p.is_listed) return position;
  uint64_t word = bits_[p.bits + position / 64] & ~uint64_t{0} >> (63 - position % 64);
  for (uint32_t n = position / 64;; word = bits_[p.bits + --n]) {
    if (word != 0) return n * 64 + 63 - static_cast<uint32_t>(std::countl_zero(word));
    if (n == p.first / 64) return kNone;
  }
}

uint32_t OpenValues::Next(int parameter, uint32_t position) const {
  return FirstFrom(parameter, position + 1);
}

void OpenValues::Close(int parameter, uint32_t position) {
  Parameter& p = parameters_[parameter];
  if (p.is_listed) bits_[p.bits + position / 64] &= ~(uint64_t{1} << (position % 64));
  if (--p.count == 0) return;
  if (position == p.first) p.first = FirstFrom(parameter, position + 1);
  if (position == p.last) p.last = LastUpTo(parameter, position - 1);
}

void OpenValues::Close(int parameter, PositionRange run) {
  if (run.first == run.last) {
    Close(parameter, run.first);
  } else if (run.first == first(parameter)) {
    CloseBelow(parameter, run.last + 1);
  } else {
    CloseAbove(parameter, run.first - 1);
  }
}

void OpenValues::CloseBelow(int parameter, uint32_t position) {
  Parameter& p = parameters_[parameter];
  if (!p.is_listed) {
    if (position <= p.first) return;
    p.count = position > p.last ? 0 : p.last - position + 1;
    p.first = position;
    return;
  }
  while (p.count > 0 && p.first < position) Close(parameter, p.first);
}

void OpenValues::CloseAbove(int parameter, uint32_t position) {
  Parameter& p = parameters_[parameter];
  if (!p.is_listed) {
    if (position >= p.last) return;
    p.count = position < p.first ? 0 : position - p.first + 1;
    p.last = position;
    return;
  }
  while (p.count > 0 && p.last > position) Close(parameter, p.last);
}

void OpenValues::AddWhy(int parameter, absl::Span<const uint64_t> reasons) {
  for (size_t n = 0; n < reason_words_; ++n) why_[parameter * reason_words_ + n] |= reasons[n];
}

void OpenValues::SetWhy(int parameter, absl::Span<const uint64_t> reasons) {
  std::ranges::copy(reasons, why_.begin() + parameter * reason_words_);
}

}  // namespace mdh
