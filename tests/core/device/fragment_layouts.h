// What tests ask of layouts of matrix units.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/device/matrix_instruction.h"
#include "core/device/matrix_layout.h"

namespace mdh {

// The least place where the point is held; nullopt if it is outside.
inline std::optional<HeldAt> Holding(const FragmentLayout& layout, const MatrixPoint& point) {
  for (const MatrixAxis axis : kMatrixAxes) {
    const int64_t at = point[static_cast<size_t>(axis)];
    if (at < 0 || at >= layout.Extent(axis)) return std::nullopt;
  }
  HeldAt held, units = {1, 1, 1};
  for (const LayoutDigit& digit : layout.digits) {
    const int64_t at = point[static_cast<size_t>(digit.axis)];
    // Digits along an axis do not overlap: a digit's value is that of a mixed-radix number.
    const int64_t value = digit.stride == 0 ? 0 : at / digit.stride % digit.extent;
    const auto number = [&](HeldAt& of) -> int64_t& {
      if (digit.place == DigitPlace::kLane) return of.lane;
      return digit.place == DigitPlace::kRegister ? of.reg : of.packed;
    };
    number(held) += value * number(units);
    number(units) *= digit.extent;
  }
  return held;
}

// With neighbouring registers packed into one, `factor` at a time. Expects registers' first digit
// to be a multiple of it.
inline FragmentLayout Packed(const FragmentLayout& layout, int64_t factor) {
  FragmentLayout packed;
  bool is_first = true;
  for (LayoutDigit digit : layout.digits) {
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

// The instruction of that name, with any n that there is. Expects that there is one.
inline MatrixInstruction InstructionNamed(std::string_view name) {
  for (const MatrixInstruction& row : MatrixInstructions()) {
    for (int64_t n = row.n; n <= 256; n += 8) {
      if (HasN(row, n) && WithN(row, n).name == name) return WithN(row, n);
    }
  }
  std::abort();
}

}  // namespace mdh
