#include "core/device/matrix_layout.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

int64_t& NumberAt(HeldAt& held, DigitPlace place) {
  if (place == DigitPlace::kLane) return held.lane;
  return place == DigitPlace::kRegister ? held.reg : held.packed;
}

constexpr std::array<DigitPlace, 3> kPlaces = {DigitPlace::kLane, DigitPlace::kRegister,
                                               DigitPlace::kPacked};

// "reg/2%4": the digit above `below` values of its place, the last one of which needs no %.
std::string DigitText(DigitPlace place, int64_t below, int64_t extent, bool is_last) {
  constexpr std::array<const char*, 3> kNames = {"lane", "reg", "packed"};
  std::string text = kNames[static_cast<size_t>(place)];
  if (below > 1) absl::StrAppend(&text, "/", below);
  if (!is_last) absl::StrAppend(&text, "%", extent);
  return text;
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

std::optional<HeldAt> FragmentLayout::Holding(const MatrixPoint& point) const {
  for (const MatrixAxis axis : kMatrixAxes) {
    const int64_t at = point[static_cast<size_t>(axis)];
    if (at < 0 || at >= Extent(axis)) return std::nullopt;
  }
  HeldAt held, units = {1, 1, 1};
  for (const LayoutDigit& digit : digits) {
    const int64_t at = point[static_cast<size_t>(digit.axis)];
    // Digits along an axis do not overlap: a digit's value is that of a mixed-radix number.
    const int64_t value = digit.stride == 0 ? 0 : at / digit.stride % digit.extent;
    int64_t& unit = NumberAt(units, digit.place);
    NumberAt(held, digit.place) += value * unit;
    unit *= digit.extent;
  }
  return held;
}

std::vector<LayoutDigit> FragmentLayout::DigitsOf(DigitPlace place) const {
  std::vector<LayoutDigit> of_place;
  std::ranges::copy_if(digits, std::back_inserter(of_place),
                       [&](const LayoutDigit& digit) { return digit.place == place; });
  return of_place;
}

FragmentLayout FragmentLayout::Packed(int64_t factor) const {
  FragmentLayout packed;
  bool is_first = true;
  for (LayoutDigit digit : digits) {
    if (digit.place == DigitPlace::kRegister && is_first) {
      is_first = false;
      LayoutDigit inner = digit;
      inner.place = DigitPlace::kPacked;
      inner.extent = factor;
      packed.digits.push_back(inner);
      digit.stride *= factor;
      digit.extent /= factor;
      if (digit.extent == 1) continue;
    }
    packed.digits.push_back(digit);
  }
  return packed;
}

std::string ToText(const FragmentLayout& layout) {
  constexpr std::array<const char*, 3> kNames = {"m", "n", "k"};
  std::vector<std::string> axes;
  for (const MatrixAxis axis : kMatrixAxes) {
    std::vector<std::string> terms;
    for (const DigitPlace place : kPlaces) {
      const std::vector<LayoutDigit> of_place = layout.DigitsOf(place);
      int64_t below = 1;
      for (size_t n = 0; n < of_place.size(); ++n) {
        const LayoutDigit& digit = of_place[n];
        const std::string text = DigitText(place, below, digit.extent, n + 1 == of_place.size());
        below *= digit.extent;
        if (digit.axis != axis || digit.stride == 0) continue;
        terms.push_back(digit.stride == 1 ? text : absl::StrCat(digit.stride, "*(", text, ")"));
      }
    }
    if (terms.empty()) continue;
    axes.push_back(
        absl::StrCat(kNames[static_cast<size_t>(axis)], " = ", absl::StrJoin(terms, " + ")));
  }
  return absl::StrJoin(axes, ", ");
}

}  // namespace mdh
