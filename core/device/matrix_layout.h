// Who holds which element of a matrix: layouts as mixed-radix digits. Lanes, registers and what is
// packed into a register are parts of a decomposition with fixed extents, as MDH levels are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace mdh {

// Of C[m,n] += A[m,k] * B[k,n].
enum class MatrixAxis : uint8_t { kM, kN, kK };
inline constexpr std::array<MatrixAxis, 3> kMatrixAxes = {MatrixAxis::kM, MatrixAxis::kN,
                                                          MatrixAxis::kK};

// A point of m, n and k, by axis.
using MatrixPoint = std::array<int64_t, 3>;

enum class DigitPlace : uint8_t {
  kLane,      // of the threads that execute the instruction together
  kRegister,  // of a thread's registers
  kPacked,    // of the elements in a register: from its lowest bits on
};

// Moves by `stride` along `axis` from one value of the digit to the next.
struct LayoutDigit {
  DigitPlace place;
  MatrixAxis axis;
  int64_t stride;
  int64_t extent;

  friend bool operator==(const LayoutDigit&, const LayoutDigit&) = default;
};

// Where an element is held.
struct HeldAt {
  int64_t lane = 0, reg = 0, packed = 0;

  friend bool operator==(const HeldAt&, const HeldAt&) = default;
};

// The lane is the mixed-radix number of the digits with place kLane, in their order, the first one
// varying fastest; so are the register and the number in it. The element held there is at the sum
// of all digits times their strides. Plain data.
struct FragmentLayout {
  std::vector<LayoutDigit> digits;

  int64_t Count(DigitPlace place) const;  // lanes, registers, elements of a register
  int64_t Extent(MatrixAxis axis) const;  // 1 of an axis that no digit moves along
  MatrixPoint At(const HeldAt& held) const;
  // Digits of one place in their order.
  std::vector<LayoutDigit> DigitsOf(DigitPlace place) const;

  friend bool operator==(const FragmentLayout&, const FragmentLayout&) = default;
};

}  // namespace mdh
