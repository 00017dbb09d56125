#include "codegen/lower/levels/hardware_parts.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "codegen/program/digits.h"

namespace mdh {
namespace {

class HardwareParts {
 public:
  HardwareParts(NestContext& context, bool needs_thread)
      : context_(context), needs_thread_(needs_thread) {}

  Block Run() {
    DeclareBlocks();
    context_.low_level().parameters().lanes.empty() ? DeclareThreads() : DeclareLanes();
    return std::move(block_);
  }

 private:
  // With TuningParameters::swizzle, the blocks of some rows of the grid are numbered anew, column
  // by column.
  void DeclareBlocks() {
    constexpr auto kBlock = HardwareIndex::Kind::kBlock;
    const std::array<int64_t, 3> grid = context_.shape().Grid();
    const int64_t rows = std::gcd(int64_t{context_.low_level().parameters().swizzle}, grid[1]);
    if (rows == 1 || grid[0] == 1) {
      for (int axis = 0; axis < 3; ++axis) DecodeAxis(kBlock, axis);
      return;
    }
    const std::string x = context_.names().Unique("block_x"),
                      y = context_.names().Unique("block_y");
    block_.push_back({HardwareIndex{x, kBlock, 0}});
    block_.push_back({HardwareIndex{y, kBlock, 1}});
    const std::string number = context_.names().Unique("block_of_rows");
    block_.push_back(
        {DeclareIndex{number, Index::Variable(y) % rows * grid[0] + Index::Variable(x)}});
    context_.DeclareParts(PlacesAlong(kBlock, 0), Index::Variable(number) / rows, &block_);
    context_.DeclareParts(PlacesAlong(kBlock, 1),
                          Index::Variable(y) / rows * rows + Index::Variable(number) % rows,
                          &block_);
    DecodeAxis(kBlock, 2);
  }

  void DeclareThreads() {
    const std::array<int64_t, 3> extents = context_.shape().Block();
    Index thread(0);
    int64_t stride = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const std::string name = DecodeAxis(HardwareIndex::Kind::kThread, axis);
      if (!name.empty()) thread = thread + Index::Variable(name) * stride;
      stride *= extents[axis];
    }
    if (stride > 1 && needs_thread_) block_.push_back({DeclareIndex{"tid", thread}});
  }

  // The thread's number counts within a tile of lanes, then tiles.
  void DeclareLanes() {
    const std::array<int64_t, 3> extents = context_.shape().Block();
    std::vector<int> places;
    Index thread(0);
    int64_t stride = 1;
    for (int axis = 0; axis < 3; ++axis) {
      for (const int n : PlacesAlong(HardwareIndex::Kind::kThread, axis)) places.push_back(n);
      if (extents[axis] == 1) continue;
      const std::string name = context_.names().Unique(absl::StrCat("thread_", AxisName(axis)));
      block_.push_back({HardwareIndex{name, HardwareIndex::Kind::kThread, axis}});
      thread = thread + Index::Variable(name) * stride;
      stride *= extents[axis];
    }
    if (stride == 1) return;
    block_.push_back({DeclareIndex{"tid", thread}});
    int64_t inside = 1;
    const auto digit = [&](int64_t count) {
      const Index of_thread = DigitAt(Index::Variable("tid"), inside, count, stride);
      inside *= count;
      return of_thread;
    };
    std::vector<Index> in_tile;
    for (const int n : places) in_tile.push_back(digit(context_.shape().Lanes(n)));
    for (size_t k = 0; k < places.size(); ++k) {
      const int64_t lanes = context_.shape().Lanes(places[k]);
      const Index tile = digit(context_.level(places[k]).parts / lanes);
      block_.push_back({DeclareIndex{context_.variable(places[k]), in_tile[k] + tile * lanes}});
    }
  }

  static std::string AxisName(int axis) { return std::string(1, "xyz"[axis]); }

  // Places whose parts are numbered along the axis, the fastest first.
  std::vector<int> PlacesAlong(HardwareIndex::Kind kind, int axis) const {
    std::vector<int> places;
    const bool has_warps = context_.low_level().model().LayerWith(LayerRole::kWarps) >= 0;
    for (int n = 0; n < context_.count(); ++n) {
      const NestShape::Level& level = context_.level(n);
      if (level.parts == 1 || !context_.shape().is_parallel(n)) continue;
      if (context_.shape().is_thread(n) != (kind == HardwareIndex::Kind::kThread)) continue;
      int own = std::min(level.assigned.dimension, 2);
      if (has_warps && context_.shape().is_thread(n)) own = level.role == LayerRole::kWarps ? 1 : 0;
      if (own == axis) places.push_back(n);
    }
    std::ranges::stable_sort(places, [&](int a, int b) {
      return context_.level(a).assigned.dimension < context_.level(b).assigned.dimension;
    });
    return places;
  }

  // Declares the part numbers of one axis, and gives its name, which is empty if it has one part.
  std::string DecodeAxis(HardwareIndex::Kind kind, int axis) {
    const std::vector<int> places = PlacesAlong(kind, axis);
    if (places.empty()) return "";
    if (places.size() == 1) {
      block_.push_back({HardwareIndex{context_.variable(places[0]), kind, axis}});
      return context_.variable(places[0]);
    }
    const std::string name = context_.names().Unique(
        absl::StrCat(kind == HardwareIndex::Kind::kBlock ? "block_" : "thread_", AxisName(axis)));
    block_.push_back({HardwareIndex{name, kind, axis}});
    context_.DeclareParts(places, Index::Variable(name), &block_);
    return name;
  }

  NestContext& context_;
  const bool needs_thread_;
  Block block_;
};

}  // namespace

Block DeclareHardwareParts(NestContext& context, bool needs_thread) {
  return HardwareParts(context, needs_thread).Run();
}

}  // namespace mdh
