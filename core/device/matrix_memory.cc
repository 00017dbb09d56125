#include "core/device/matrix_memory.h"

#include <algorithm>
#include <numeric>

namespace mdh {
namespace {

constexpr int kRegisterBytes = 4;
constexpr int kRowsOfMatrix = 8;
constexpr int kLanesOfQuarter = 4;  // that hold one row of 16 bytes
constexpr int kWarpLanes = 32;

// The digits of lanes and of what is packed that make every register of a fragment an 8x8 matrix of
// 16 bits, as ldmatrix gives it to a warp.
bool IsMatrix(const FragmentLayout& fragment, int bytes, MatrixAxis axis, bool is_transposed) {
  const std::vector<LayoutDigit> packed = fragment.DigitsOf(DigitPlace::kPacked),
                                 lanes = fragment.DigitsOf(DigitPlace::kLane);
  if (lanes.size() < 2) return false;
  if (fragment.Count(DigitPlace::kPacked) * bytes != kRegisterBytes) return false;
  const LayoutDigit &first = lanes[0], &second = lanes[1];
  // Four lanes hold neighbours of an axis, the next 8 of the other one.
  if (first.extent != kLanesOfQuarter || second.extent != kRowsOfMatrix || second.stride != 1) {
    return false;
  }
  if (first.axis == second.axis || first.stride * bytes != kRegisterBytes) return false;
  const bool are_neighbours = std::ranges::all_of(packed, [&](const LayoutDigit& digit) {
    return digit.axis == first.axis && digit.stride == 1;
  });
  if (!are_neighbours || packed.size() > 1) return false;
  if (is_transposed && bytes != 2) return false;
  return (is_transposed ? second : first).axis == axis;
}

// The first `count` values of a list of digits, and the rest; nullopt if a digit is not a multiple.
struct Cut {
  std::vector<LayoutDigit> inside, outside;
};
std::optional<Cut> CutDigits(const std::vector<LayoutDigit>& digits, int64_t count) {
  Cut cut;
  for (LayoutDigit digit : digits) {
    const int64_t part = std::gcd(digit.extent, count);
    if (count > 1 && part != std::min(digit.extent, count)) return std::nullopt;
    count /= part;
    LayoutDigit inner = digit;
    inner.extent = part;
    if (part > 1) cut.inside.push_back(inner);
    digit.extent /= part;
    digit.stride *= part;
    if (digit.extent > 1) cut.outside.push_back(digit);
  }
  if (count > 1) return std::nullopt;
  return cut;
}

}  // namespace

std::optional<MatrixMove> MoveOf(const FragmentLayout& fragment, int element_bytes,
                                 MatrixAxis axis) {
  bool is_transposed = false;
  if (!IsMatrix(fragment, element_bytes, axis, false)) {
    is_transposed = true;
    if (!IsMatrix(fragment, element_bytes, axis, true)) return std::nullopt;
  }
  const std::vector<LayoutDigit> lanes = fragment.DigitsOf(DigitPlace::kLane),
                                 registers = fragment.DigitsOf(DigitPlace::kRegister);
  const int64_t count = fragment.Count(DigitPlace::kRegister);
  for (const int matrices : {4, 2, 1}) {
    if (count % matrices != 0) continue;
    std::optional<Cut> cut = CutDigits(registers, matrices);
    if (!cut.has_value()) continue;
    MatrixMove move{matrices, static_cast<int>(count / matrices), is_transposed, {}};
    std::vector<LayoutDigit>& rows = move.rows.digits;
    // Row l % 8 of matrix l / 8. The rows are along the axis that memory is not contiguous along.
    const MatrixAxis across = (is_transposed ? lanes[0] : lanes[1]).axis;
    rows.push_back({DigitPlace::kLane, across, 1, kRowsOfMatrix});
    for (LayoutDigit digit : cut->inside) {
      digit.place = DigitPlace::kLane;
      rows.push_back(digit);
    }
    const int idle = kWarpLanes / (kRowsOfMatrix * matrices);
    if (idle > 1) rows.push_back({DigitPlace::kLane, across, 0, idle});
    rows.insert(rows.end(), lanes.begin() + 2, lanes.end());  // the warps of a warpgroup
    rows.insert(rows.end(), cut->outside.begin(), cut->outside.end());
    return move;
  }
  return std::nullopt;
}

}  // namespace mdh
