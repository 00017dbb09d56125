#include "core/device/matrix_layout.h"

#include <algorithm>
#include <iterator>

namespace mdh {
namespace {

int64_t& NumberAt(HeldAt& held, DigitPlace place) {
  if (place == DigitPlace::kLane) return held.lane;
  return place == DigitPlace::kRegister ? held.reg : held.packed;
}

}  // namespace

int64_t FragmentLayout::Count(DigitPlace place) const {
  int64_t count = 1;
  for (const LayoutDigit& digit : digits) {
    if (digit.place == place) count *= digit.extent;
  }
  return count;
}

int64_t FragmentLayout::Extent(MatrixAxis axis) const {
  int64_t last = 0;
  for (const LayoutDigit& digit : digits) {
    if (digit.axis == axis) last += digit.stride * (digit.extent - 1);
  }
  return last + 1;
}

MatrixPoint FragmentLayout::At(const HeldAt& held) const {
  HeldAt rest = held;
  MatrixPoint point = {0, 0, 0};
  for (const LayoutDigit& digit : digits) {
    int64_t& number = NumberAt(rest, digit.place);
    point[static_cast<size_t>(digit.axis)] += number % digit.extent * digit.stride;
    number /= digit.extent;
  }
  return point;
}

std::vector<LayoutDigit> FragmentLayout::DigitsOf(DigitPlace place) const {
  std::vector<LayoutDigit> of_place;
  std::ranges::copy_if(digits, std::back_inserter(of_place),
                       [&](const LayoutDigit& digit) { return digit.place == place; });
  return of_place;
}

}  // namespace mdh
