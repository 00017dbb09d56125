#include "codegen/lower/tiles/staging.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/lower/finish/transpose_tile.h"
#include "codegen/lower/tiles/combine_lanes.h"
#include "codegen/lower/tiles/dot_words.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/index_box.h"

namespace mdh {
namespace {

// Where a copy starts in one dimension of the buffer, and how many indices it covers.
struct CopiedRange {
  Index origin;
  Index length;
};

CopiedRange CopiedRangeOf(const Buffer& buffer, size_t x,
                          const std::vector<DimensionRange>& ranges) {
  const ConstantRange constants = ConstantsOf(buffer, static_cast<int>(x));
  CopiedRange range{Index(constants.low), Index(constants.high - constants.low + 1)};
  const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[x].coefficients;
  for (size_t d = 0; d < coefficients.size(); ++d) {
    if (coefficients[d] == 0) continue;
    range.origin = ranges[d].begin * coefficients[d] + range.origin;
    range.length = (ranges[d].length - Index(1)) * coefficients[d] + range.length;
  }
  return range;
}

// Tiles of more rows are too much code for what they gain.
constexpr int64_t kMostTileRows = 16;
constexpr int64_t kMostRowBytes = 64;
constexpr int64_t kFewestTileRows = 4;  // two rows take as long as their elements

class PackingBuilder {
 public:
  PackingBuilder(const LoopPlan& plan, const StagedCopy& copy,
                 const std::vector<DimensionRange>& ranges, bool shared)
      : plan_(plan),
        buffer_(plan.expression().inputs()[copy.input]),
        copy_(copy),
        shared_(shared),
        strides_(buffer_.strides()),
        order_(copy.layout),
        lanes_of_(copy.strip_dimension),
        lanes_(copy.strip),
        in_word_(copy.group) {
    for (size_t x = 0; x < buffer_.extents.size(); ++x) {
      const bool whole = copy.layer == InputParameters::kWholeBuffer;
      ranges_.push_back(whole ? CopiedRange{Index(0), Index(buffer_.extents[x])}
                              : CopiedRangeOf(buffer_, x, ranges));
      position_.push_back(Index(0));
      source_ = source_ + ranges_[x].origin * strides_[x];
    }
    PlanTransposition();
  }

  Block Build() {
    Block block;
    block.push_back({Comment{absl::StrCat("Pack ", plan_.input_name(copy_.input), ".")}});
    if (!source_.is_constant() && buffer_.boundary.kind == Boundary::Kind::kNone) {
      const std::string name = copy_.name + "_from";
      block.push_back({DeclareIndex{name, source_}});
      source_ = Index::Variable(name);
    }
    EmitDimension(0, block);
    return block;
  }

 private:
  static std::string Variable(int x) { return absl::StrCat("at", x); }
  bool transposes() const { return rows_of_ >= 0; }

  // Where neighbours of the copy are not neighbours in the buffer, tiles of both are transposed in
  // registers: as many rows and lanes as the vectors of the computation have. The dimension of the
  // buffer's neighbours is the innermost loop then.
  void PlanTransposition() {
    if (copy_.group > 1) return;  // words
    if (strides_.empty()) return;
    const int rows_of = static_cast<int>(strides_.size()) - 1;
    const int lanes_of = lanes_of_ >= 0 ? lanes_of_ : copy_.layout.back();
    if (lanes_of == rows_of || strides_[rows_of] != 1) return;
    const int64_t fewest =
        std::min<int64_t>({plan_.lanes(), copy_.extents[rows_of], copy_.extents[lanes_of],
                           lanes_of_ >= 0 ? copy_.strip : copy_.extents[lanes_of]});
    const int64_t rows = RowsOfTransposedTile(buffer_, fewest);
    if (rows == 1) return;
    tile_rows_ = rows;
    if (lanes_of_ < 0) lanes_ = rows;
    lanes_of_ = lanes_of;
    rows_of_ = rows_of;
    order_.erase(std::ranges::find(order_, rows_of));
    order_.push_back(rows_of);
  }

  void EmitDimension(size_t n, Block& block) {
    if (n == order_.size() - (transposes() ? 1 : 0)) return EmitLanes(block);
    const int x = order_[n];
    const int64_t step = x == lanes_of_ ? lanes_ : x == copy_.group_dimension ? copy_.group : 1;
    Index begin(0), end = ranges_[x].length;
    if (n == 0 && shared_) {
      const int64_t steps = CeilDivide(copy_.extents[x], step);
      begin = Index::ShareBegin(steps) * step;
      end = Min(Index::ShareEnd(steps) * step, end);
    }
    if (n > 0 && end == Index(1) && step == 1) return EmitDimension(n + 1, block);
    position_[x] = Index::Variable(Variable(x));
    Block body;
    if (x == copy_.group_dimension) {
      EmitGroup(n, body);
    } else {
      EmitDimension(n + 1, body);
    }
    position_[x] = Index(0);
    block.push_back({For{Variable(x), begin, end, step, false, ShareBlock(std::move(body))}});
  }

  // Words of a last group that is not whole have zeros behind what there is.
  void EmitGroup(size_t n, Block& block) {
    const int64_t rest = plan_.size(plan_.dot()->dimension) % copy_.group;
    if (rest == 0) return EmitDimension(n + 1, block);
    const Index left = ranges_[order_[n]].length - position_[order_[n]];
    Block last, whole;
    in_word_ = rest;
    EmitDimension(n + 1, last);
    in_word_ = copy_.group;
    EmitDimension(n + 1, whole);
    block.push_back({If{{Less(left, Index(copy_.group))},
                        ShareBlock(std::move(last)),
                        ShareBlock(std::move(whole))}});
  }

  // One element, or as many neighbours of the copy as a strip or a tile has: a constant number
  // where the buffer's extent says how many the last one has.
  void EmitLanes(Block& block) {
    if (lanes_of_ < 0) return EmitCopy(Index(0), 0, block);
    const Index length = ranges_[lanes_of_].length;
    const bool is_whole = length.is_constant() ? length.constant() % lanes_ == 0
                                               : HasPlainStrips() && LeftOver() == 0;
    if (is_whole) return EmitStrip(lanes_, 0, block);
    const Index rest = length - position_[lanes_of_];
    Block last, all;
    if (copy_.strip_shift > 0) {
      EmitStrip(LeftOver() + copy_.strip_shift, copy_.strip_shift, last);
    } else if (length.is_constant()) {
      EmitStrip(length.constant() % lanes_, 0, last);
    } else if (HasPlainStrips()) {
      // Parts begin where strips do: only that at the end has one that is not full.
      EmitStrip(LeftOver(), 0, last);
    } else if (transposes()) {
      EmitRows(Index(0), rest, 0, last);
    } else {
      EmitLaneLoop(rest, 0, last);
    }
    EmitStrip(lanes_, 0, all);
    block.push_back(
        {If{{Less(rest, Index(lanes_))}, ShareBlock(std::move(last)), ShareBlock(std::move(all))}});
  }

  bool HasPlainStrips() const {
    return copy_.strip_of >= 0 && lanes_of_ == copy_.strip_dimension &&
           LoneDimension(plan_.expression(), buffer_, lanes_of_) == copy_.strip_of;
  }

  // What the last strip has of its dimension; 0: all.
  int64_t LeftOver() const { return plan_.size(copy_.strip_of) % copy_.strip; }

  // All rows, if the copy transposes, of so many lanes, which are `earlier` elements before their
  // place.
  void EmitStrip(int64_t lanes, int64_t earlier, Block& block) {
    if (!transposes()) return EmitLaneLoop(Index(lanes), earlier, block);
    const Index length = ranges_[rows_of_].length;
    position_[rows_of_] = Index::Variable(Variable(rows_of_));
    Block tiles;
    EmitTiles(lanes, earlier, tiles);
    position_[rows_of_] = Index(0);
    block.push_back({For{Variable(rows_of_), Index(0), length, tile_rows_, true,
                         ShareBlock(std::move(tiles))}});
    if (length.is_constant() && length.constant() % tile_rows_ == 0) return;
    EmitRows(length / tile_rows_ * tile_rows_, Index(lanes), earlier, block);
  }

  // tile_rows_ rows of so many lanes: the widest tiles first, each as high as it is wide.
  void EmitTiles(int64_t lanes, int64_t earlier, Block& block) const {
    NameAllocator names;
    for (const std::string& used :
         {plan_.input_name(copy_.input), copy_.name, copy_.name + "_from"}) {
      names.Reserve(used);
    }
    int64_t lane = 0;
    for (const int width : LaneRuns(lanes, tile_rows_)) {
      for (int64_t row = 0; row < tile_rows_; row += width) {
        EmitTile(lane, earlier, row, width, names, block);
      }
      lane += width;
    }
  }

  void EmitTile(int64_t lane, int64_t earlier, int64_t row, int width, NameAllocator& names,
                Block& block) const {
    const Index from = Source() + Index((lane - earlier) * strides_[lanes_of_] + row);
    const Index to = Target() + Index(lane + row * copy_.strides[rows_of_]);
    const std::string& input = plan_.input_name(copy_.input);
    if (width > 1) {
      TransposeTile({.type = {buffer_.type.scalar(), width},
                     .from = input,
                     .from_offset = from,
                     .from_stride = strides_[lanes_of_],
                     .to = copy_.name,
                     .to_offset = to,
                     .to_stride = copy_.strides[rows_of_]},
                    names, block);
      return;
    }
    block.push_back(
        {StoreElements{copy_.name, to, MakeLoad(input, from, {buffer_.type.scalar(), 1}, 1), 1}});
  }

  void EmitRows(const Index& begin, const Index& lanes, int64_t earlier, Block& block) {
    position_[rows_of_] = Index::Variable(Variable(rows_of_));
    Block body;
    EmitLaneLoop(lanes, earlier, body);
    position_[rows_of_] = Index(0);
    block.push_back({For{Variable(rows_of_), begin, ranges_[rows_of_].length, 1, false,
                         ShareBlock(std::move(body))}});
  }

  void EmitLaneLoop(const Index& lanes, int64_t earlier, Block& block) const {
    Block body;
    EmitCopy(Index::Variable("lane"), earlier, body);
    block.push_back({For{"lane", Index(0), lanes, 1, false, ShareBlock(std::move(body))}});
  }

  // The element `earlier` elements before its place in the dimension of the lanes.
  void EmitCopy(const Index& lane, int64_t earlier, Block& block) const {
    block.push_back(
        {StoreElements{copy_.name, Target() + lane, Element(lane - Index(earlier)), 1}});
  }

  Index Target() const {
    Index to(0);
    for (size_t x = 0; x < position_.size(); ++x) {
      const bool is_grouped = static_cast<int>(x) == copy_.group_dimension;
      const Index at = is_grouped ? position_[x] / copy_.group : position_[x];
      to = to + at * copy_.strides[x];
    }
    return to;
  }

  Index Source() const {
    Index from = source_;
    for (size_t x = 0; x < position_.size(); ++x) from = from + position_[x] * strides_[x];
    return from;
  }

  LoopValue Element(const Index& lane) const {
    if (copy_.group > 1) return Word(lane);
    if (buffer_.boundary.kind == Boundary::Kind::kNone) {
      const Index from = lanes_of_ >= 0 ? Source() + lane * strides_[lanes_of_] : Source();
      return MakeLoad(plan_.input_name(copy_.input), from, {buffer_.type.scalar(), 1}, 1);
    }
    const std::vector<Index> indices = Indices(lane);
    const LoopValue value = LoadInsideValue(buffer_, plan_.input_name(copy_.input), 0, indices);
    return StoredValue(value, buffer_.type.scalar());
  }

  std::vector<Index> Indices(const Index& lane) const {
    std::vector<Index> indices;
    for (size_t x = 0; x < position_.size(); ++x) {
      const bool has_lanes = static_cast<int>(x) == lanes_of_;
      indices.push_back(ranges_[x].origin + position_[x] + (has_lanes ? lane : Index(0)));
    }
    return indices;
  }

  // The elements of a group.
  LoopValue Word(const Index& lane) const {
    const std::string& input = plan_.input_name(copy_.input);
    const ScalarType type = buffer_.type.scalar();
    const int64_t apart = strides_[copy_.group_dimension];
    const Index from = lanes_of_ >= 0 ? Source() + lane * strides_[lanes_of_] : Source();
    const bool has_boundary = buffer_.boundary.kind != Boundary::Kind::kNone;
    if (!has_boundary && apart == 1 && in_word_ == copy_.group) {
      return MakeLoadWords(input, from, /*lanes=*/1, /*stride=*/1);
    }
    std::vector<LoopValue> bits;
    for (int64_t n = 0; n < in_word_; ++n) {
      if (!has_boundary) {
        bits.push_back(LoadBits(input, from + Index(n * apart), {type, 1}, 1));
        continue;
      }
      std::vector<Index> indices = Indices(lane);
      indices[copy_.group_dimension] = indices[copy_.group_dimension] + Index(n);
      const std::vector<int64_t> steps(indices.size(), 0);
      bits.push_back(LoadBitsInside(buffer_, input, indices, steps, 1));
    }
    return JoinBits(bits, type);
  }

  const LoopPlan& plan_;
  const Buffer& buffer_;
  const StagedCopy& copy_;
  const bool shared_;
  const std::vector<int64_t> strides_;  // of the buffer
  std::vector<int> order_;              // of the loops, outermost first
  int lanes_of_;      // the buffer dimension of neighbours in the copy that a loop has; -1: none
  int64_t lanes_;     // of them at a time
  int rows_of_ = -1;  // the dimension of neighbours in the buffer, if tiles are transposed
  int64_t tile_rows_ = 1;
  int64_t in_word_;  // elements of the words at hand
  std::vector<CopiedRange> ranges_;
  std::vector<Index> position_;
  Index source_ = Index(0);
};

}  // namespace

int64_t RowsOfTransposedTile(const Buffer& buffer, int64_t most) {
  if (buffer.boundary.kind != Boundary::Kind::kNone) return 1;
  const int64_t rows = RoundDownToPowerOfTwo(
      std::min({most, kMostTileRows, kMostRowBytes / SizeBytes(buffer.type.scalar())}));
  return rows < kFewestTileRows ? 1 : rows;
}

Block BuildPacking(const LoopPlan& plan, const StagedCopy& copy,
                   const std::vector<DimensionRange>& ranges, bool shared) {
  return PackingBuilder(plan, copy, ranges, shared).Build();
}

}  // namespace mdh
