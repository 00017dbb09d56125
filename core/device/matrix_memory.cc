#include "core/device/matrix_memory.h"

#include <algorithm>
#include <numeric>


namespace mdh {
namespace {

constexpr int kRegisterBytes = 4;
constexpr int kRowsOfMatrix = 8;
constexpr int kLanesOfQuarter = 4;  // that hold one row of 16 bytes
constexpr int kWarpLanes = 32;
constexpr int64_t kStartMask = 0x3ffff;  // of addresses in shared memory
constexpr uint64_t kFieldMask = 0x3fff;  // of a descriptor, in units of 16 bytes

struct SwizzleCode {
  Swizzle swizzle;
  uint64_t code;
};
constexpr SwizzleCode kSwizzleCodes[] = {
    {Swizzle::kNone, 0}, {Swizzle::k128, 1}, {Swizzle::k64, 2}, {Swizzle::k32, 3}};

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

// ---- Tiles ----

Result<OperandTile> OperandTile::Create(int64_t points, int64_t depth, int element_bytes,
                                        bool is_k_major, Swizzle swizzle) {
  const int64_t width = Bytes(swizzle);
  if (width == 0) return InvalidArgument("tiles of operands are swizzled");
  if (points <= 0 || depth <= 0 || element_bytes <= 0 || 16 % element_bytes != 0) {
    return InvalidArgument("a tile of ", points, " x ", depth, " elements of ", element_bytes,
                           " bytes");
  }
  const auto check = [&](const char* what, int64_t value, int64_t multiple) {
    if (value % multiple == 0) return absl::OkStatus();
    return InvalidArgument(what, " of a tile of an operand: ", value, " is no multiple of ",
                           multiple);
  };
  const int64_t row = std::max<int64_t>(width / element_bytes, 1);
  MDH_RETURN_IF_ERROR(check(is_k_major ? "k" : "points", is_k_major ? depth : points, row));
  MDH_RETURN_IF_ERROR(
      check(is_k_major ? "points" : "k", is_k_major ? points : depth, kRowsOfMatrix));
  OperandTile tile;
  tile.points_ = points;
  tile.depth_ = depth;
  tile.element_bytes_ = element_bytes;
  tile.is_k_major_ = is_k_major;
  tile.swizzle_ = swizzle;
  return tile;
}

int64_t OperandTile::Plain(int64_t point, int64_t k) const {
  const int64_t row = Bytes(swizzle_) / element_bytes_;
  const int64_t along = is_k_major_ ? k : point, across = is_k_major_ ? point : k;
  const int64_t rows = is_k_major_ ? points_ : depth_;
  return ((along / row * rows + across) * row + along % row) * element_bytes_;
}

int64_t OperandTile::leading_bytes() const { return is_k_major_ ? 16 : depth_ * Bytes(swizzle_); }

int64_t OperandTile::stride_bytes() const { return kRowsOfMatrix * Bytes(swizzle_); }

bool OperandTile::FitsPart(int64_t point, int64_t k, int64_t points, int64_t depth) const {
  if (point < 0 || k < 0 || point + points > points_ || k + depth > depth_) return false;
  const int64_t row = Bytes(swizzle_) / element_bytes_;
  if (!is_k_major_) return point % row == 0 && k % kRowsOfMatrix == 0;
  // Along k a descriptor does not reach beyond a row, in which it may start at 16 bytes.
  return point % kRowsOfMatrix == 0 && k * element_bytes_ % 16 == 0 && k % row + depth <= row;
}

// ---- Descriptors ----

uint64_t MatrixDescriptor::bits() const {
  const auto field = [](int64_t bytes) { return static_cast<uint64_t>(bytes >> 4) & kFieldMask; };
  uint64_t code = 0;
  for (const SwizzleCode& known : kSwizzleCodes) {
    if (known.swizzle == swizzle) code = known.code;
  }
  return field(start & kStartMask) | field(leading_bytes) << 16 | field(stride_bytes) << 32 |
         code << 62;
}

MatrixDescriptor MatrixDescriptor::FromBits(uint64_t bits) {
  const auto field = [&](int at) { return static_cast<int64_t>(bits >> at & kFieldMask) << 4; };
  MatrixDescriptor descriptor{field(0), field(16), field(32), Swizzle::kNone};
  for (const SwizzleCode& known : kSwizzleCodes) {
    if (known.code == bits >> 62) descriptor.swizzle = known.swizzle;
  }
  return descriptor;
}

int64_t MatrixDescriptor::Address(int64_t point, int64_t k, int element_bytes,
                                  bool is_k_major) const {
  const int64_t width = Bytes(swizzle);
  int64_t address = start;
  if (is_k_major) {
    address +=
        point % kRowsOfMatrix * width + point / kRowsOfMatrix * stride_bytes + k * element_bytes;
  } else {
    const int64_t along = point * element_bytes;
    address += along % width + along / width * leading_bytes + k % kRowsOfMatrix * width +
               k / kRowsOfMatrix * stride_bytes;
  }
  return Swizzled(address, swizzle);
}

MatrixDescriptor DescriptorOf(const OperandTile& tile, int64_t tile_start, int64_t point,
                              int64_t k) {
  return {tile_start + tile.PartOffset(point, k), tile.leading_bytes(), tile.stride_bytes(),
          tile.swizzle()};
}

}  // namespace mdh
