#include "codegen/choose/block_design.h"

#include <algorithm>
#include <climits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/choose/block_levels.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/nest_shape.h"

namespace mdh {
namespace {

constexpr int64_t kMaxPrivateElements = 64;  // of an input, on their way to the scalar function

using Copy = BlockDesign::Copy;

bool UsesDimension(const Buffer& buffer, int d) {
  return std::ranges::any_of(buffer.accesses, [&](const IndexFunction& a) {
    return std::ranges::any_of(
        a.indices, [&](const AffineIndex& index) { return index.coefficients[d] != 0; });
  });
}

class Translator {
 public:
  Translator(const Expression& e, const SystemModel& m, const DeviceDescription& device,
             const BlockDesign& design)
      : e_(e),
        m_(m),
        device_(device),
        design_(design),
        levels_(e, m, NumericsPolicy::kReassociate),
        p_(levels_.parameters) {}

  TuningParameters Run() {
    SetTiles();
    SetOrder();
    // Without reductions blocks that follow each other have neighbouring results, and more of the
    // lines that they read in common.
    levels_.Assign(ThreadOrder(e_, design_), ThreadOrder(e_, design_), !e_.has_reduction());
    levels_.SetResults([&](int d) { return !IsKept(d) && Shuffles(); },
                       [&](int d) { return cut(d).loops > 1; });
    for (int b = 0; b < static_cast<int>(e_.inputs().size()); ++b) SetInput(b);
    for (int b = 0; b < static_cast<int>(e_.inputs().size()); ++b) SetCopy(b);
    SetUnrolling();
    static_cast<BlockChoices&>(p_) = design_;
    for (const int d : ThreadOrder(e_, design_)) {
      if (!design_.lane_tile.empty()) p_.lanes.push_back(design_.lane_tile[d]);
    }
    // What one block has is nothing to combine.
    if (NestShape(e_, m_, p_).Slots() == 1) p_.combine_blocks = CombineBlocks::kPartials;
    return p_;
  }

 private:
  const BlockDesign::Cut& cut(int d) const { return design_.cuts[d]; }
  int64_t size(int d) const { return e_.dimensions()[d].size; }
  bool IsKept(int d) const { return e_.combine_operators()[d].is_concat(); }

  void SetTiles() {
    for (int d = 0; d < e_.rank(); ++d) {
      const int64_t inside = levels_.Cut(d, {{levels_.inner, cut(d).vector},
                                             {levels_.threads, cut(d).threads},
                                             {levels_.outer, cut(d).strided * cut(d).loops}});
      levels_.CutBlocks(d, IsKept(d) ? inside : levels_.ShareOf(d, cut(d).blocks, inside));
    }
  }

  // Blocks, tiles of a block, threads, loops of reductions around copies and inside of them, and
  // the points of a thread.
  void SetOrder() {
    const auto kept = [&](int d) { return IsKept(d); };
    const auto reduced = [&](int d) { return !IsKept(d); };
    levels_.Add(levels_.blocks);
    tile_begin_ = levels_.place();
    levels_.Add(levels_.outer, [&](int d) { return IsKept(d) && cut(d).loops > 1; });
    levels_.Add(levels_.threads);
    reduction_begin_ = levels_.place();
    levels_.Add(levels_.outer, reduced);
    chunk_begin_ = levels_.place();
    levels_.Add(levels_.inner, reduced);
    levels_.Add(levels_.outer, [&](int d) { return IsKept(d) && cut(d).loops == 1; });
    levels_.Add(levels_.inner, kept);
    for (int l = levels_.inner + 1; l < levels_.layers; ++l) levels_.Add(l);
  }

  // Neighbouring threads of a warp that share a reduction combine by shuffles.
  bool Shuffles() const {
    int64_t reducing = 1, threads = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      threads *= cut(d).threads;
      if (!IsKept(d)) reducing *= cut(d).threads;
    }
    const int64_t warp = device_.blocks.warp_size;
    return HasShuffles(device_) && reducing > 1 && reducing <= warp &&
           (reducing & (reducing - 1)) == 0 && threads % warp == 0 &&
           !IsKept(design_.lane_dimension) && cut(design_.lane_dimension).threads == reducing;
  }

  // ---- Inputs ----

  int CopyBegin(Copy copy) const {
    switch (copy) {
      case Copy::kNone:
        return levels_.place();
      case Copy::kChunk:
        return chunk_begin_;
      case Copy::kTile:
        return reduction_begin_;
      case Copy::kBlock:
        return tile_begin_;
    }
    return 0;
  }

  void SetInput(int b) {
    const Buffer& buffer = e_.inputs()[b];
    const DesignedInput designed = DesignInput(e_, design_, b);
    InputParameters input = ReadInPlace(buffer);
    const bool is_copied = design_.copies[b] != Copy::kNone;
    const bool is_private = !is_copied && designed.vector > 1;
    if (is_copied || is_private) {
      const int begin = is_copied ? CopyBegin(design_.copies[b]) : chunk_begin_;
      input.memory.regions =
          levels_.RegionsFrom(begin, is_copied ? levels_.shared : levels_.registers);
    }
    if (is_copied && designed.innermost >= 0) {
      std::vector<int> layout = input.layout;
      std::stable_partition(layout.begin(), layout.end(),
                            [&](int x) { return x != designed.innermost; });
      for (const std::vector<int>& regions : input.memory.regions) {
        std::vector<std::vector<int>>& layouts = input.memory.layouts.emplace_back();
        for (const int region : regions) layouts.push_back(region > 0 ? layout : input.layout);
      }
    }
    input.padding = designed.padding;
    p_.inputs.push_back(std::move(input));
  }

  void SetCopy(int b) {
    if (design_.copies[b] == Copy::kNone) return;
    const NestShape shape(e_, m_, p_);
    InputParameters& input = p_.inputs[b];
    const int place = CopyBegin(design_.copies[b]);
    const bool has_next = design_.copies[b] == Copy::kChunk && chunk_begin_ > reduction_begin_ &&
                          shape.levels()[chunk_begin_ - 1].parts > 1;
    if (has_next && design_.AsyncStages(b) > 0) return SetAsyncCopy(shape, b, place);
    for (const int width : {4, 2}) {
      if (!CopyWidthObstacle(e_, shape, b, place, width).empty()) continue;
      input.copy_width = width;
      break;
    }
    if (has_next) input.copy_stages = 2;
  }

  // As wide as can be; a transposed copy moves single elements.
  void SetAsyncCopy(const NestShape& shape, int b, int place) {
    InputParameters& input = p_.inputs[b];
    input.copy_mode = CopyMode::kAsynchronous;
    input.copy_stages = design_.AsyncStages(b);
    for (const int width : {16, 8, 4, 2}) {
      if (!CopyWidthObstacle(e_, shape, b, place, width).empty()) continue;
      input.copy_width = width;
      if (AsyncCopyObstacle(e_, shape, p_, b, place).empty()) return;
    }
    input.copy_width = 1;
  }

  void SetUnrolling() {
    int64_t points = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (IsKept(d)) points *= cut(d).vector * cut(d).strided;
    }
    const std::vector<int> reductions = ReductionOrder(e_);
    const size_t rolled = reductions.size() - static_cast<size_t>(design_.unrolled);
    for (size_t n = rolled; n < reductions.size(); ++n) points *= cut(reductions[n]).vector;
    p_.unroll = static_cast<int>(points);
  }

  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const BlockDesign& design_;
  BlockLevels levels_;
  TuningParameters& p_;                                         // theirs
  int tile_begin_ = 0, reduction_begin_ = 0, chunk_begin_ = 0;  // places in the order
};

}  // namespace

int OnlyDimension(const Buffer& buffer, int x) {
  int only = -1;
  const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[x].coefficients;
  for (size_t d = 0; d < coefficients.size(); ++d) {
    if (coefficients[d] == 0) continue;
    if (coefficients[d] != 1 || only >= 0) return -1;
    only = static_cast<int>(d);
  }
  return only;
}

std::vector<int> ReductionOrder(const Expression& e) {
  std::vector<int> order;
  for (int d = 0; d < e.rank(); ++d) {
    if (!e.combine_operators()[d].is_concat()) order.push_back(d);
  }
  return order;
}

std::vector<int> ResultOrder(const Expression& e) {
  std::vector<int> order(e.rank());
  std::iota(order.begin(), order.end(), 0);
  const AffineIndex result = e.outputs()[0].Linearized(0);
  const auto distance = [&](int d) {  // of neighbouring results
    return e.combine_operators()[d].is_concat() ? result.coefficients[d] : INT64_MAX;
  };
  std::ranges::stable_sort(order, [&](int a, int b) { return distance(a) < distance(b); });
  return order;
}

std::vector<int> ThreadOrder(const Expression& e, const BlockDesign& design) {
  std::vector<int> order = ResultOrder(e);
  if (design.cuts[design.lane_dimension].threads > 1) {
    const auto lane = std::ranges::find(order, design.lane_dimension);
    std::rotate(order.begin(), lane, lane + 1);
  }
  std::stable_partition(order.begin(), order.end(),
                        [&](int d) { return design.cuts[d].threads > 1; });
  return order;
}

std::optional<std::pair<int, int>> LanePlane(const Expression& e, const BlockDesign& design) {
  std::vector<int> plane;
  for (const int d : ThreadOrder(e, design)) {
    if (design.cuts[d].threads > 1) plane.push_back(d);
  }
  const auto kept = [&](int d) { return e.combine_operators()[d].is_concat(); };
  if (plane.size() < 2 || !kept(plane[0]) || !kept(plane[1])) return std::nullopt;
  return std::pair(plane[0], plane[1]);
}

void SetLaneTile(const Expression& e, int64_t x, int64_t y, BlockDesign* design) {
  design->lane_tile.clear();
  const std::optional<std::pair<int, int>> plane = LanePlane(e, *design);
  if (!plane.has_value() || y == 1) return;
  const int64_t along_x = design->cuts[plane->first].threads;
  const int64_t along_y = design->cuts[plane->second].threads;
  if (along_x == x || along_x % x != 0 || along_y % y != 0) return;
  design->lane_tile.assign(design->cuts.size(), 1);
  design->lane_tile[plane->first] = x;
  design->lane_tile[plane->second] = y;
}

DesignedInput DesignInput(const Expression& e, const BlockDesign& design, int b) {
  return InputDesigner(e, b).Run(design);
}

InputDesigner::InputDesigner(const Expression& e, int b)
    : input_(OwnerOf(e, b)), place_(e.rank(), INT_MAX) {
  const Buffer& buffer = e.inputs()[b];
  const std::vector<int> reductions = ReductionOrder(e);
  reductions_ = static_cast<int>(reductions.size());
  for (int n = 0; n < reductions_; ++n) place_[reductions[n]] = n;
  most_lanes_ = static_cast<int>(kMaxCopyBytes / buffer.type.size_bytes());
  can_copy_ = CanStageApart(buffer);
  if (!can_copy_) return;
  keeps_to_rows_ = KeepsToRows(e, buffer);
  for (int d = 0; d < e.rank(); ++d) {
    if (UsesDimension(buffer, d)) used_.push_back(d);
  }
  last_ = static_cast<int>(buffer.extents.size()) - 1;
  along_last_ = OnlyDimension(buffer, last_);
  for (int x = 0; x <= last_; ++x) {
    const int d = OnlyDimension(buffer, x);
    if (d >= 0 && e.combine_operators()[d].is_concat()) kept_rows_.push_back({x, d});
    const ConstantRange constants = ConstantsOf(buffer, x);
    Reach& reach = reaches_.emplace_back(Reach{constants.high - constants.low, {}});
    for (const int used : used_) {
      const int64_t step = std::abs(buffer.accesses[0].indices[x].coefficients[used]);
      if (step != 0) reach.terms.emplace_back(used, step);
    }
  }
}

// The widest load of neighbours, of at most 16 bytes, that `points` are made of.
int InputDesigner::VectorOf(int64_t points) const {
  int lanes = most_lanes_;
  while (lanes > 1 && points % lanes != 0) lanes /= 2;
  return std::max(lanes, 1);
}

// Whether a thread has room for the box of elements that its points read between two copies.
bool InputDesigner::FitsRegisters(const BlockDesign& design) const {
  int64_t elements = 1;
  for (const auto& [constants, terms] : reaches_) {
    int64_t extent = 1 + constants;
    for (const auto& [d, step] : terms) extent += step * (design.cuts[d].vector - 1);
    elements *= extent;
    if (elements > kMaxPrivateElements) return false;
  }
  return true;
}

// Whether all of a thread's points along d are in unrolled code.
bool InputDesigner::IsUnrolled(const BlockDesign& design, int d) const {
  return design.cuts[d].vector == 1 || place_[d] >= reductions_ - design.unrolled;
}

DesignedInput InputDesigner::Run(const BlockDesign& design) const {
  if (!can_copy_) return {};
  return design.copies[input_] == Copy::kNone ? Direct(design) : Copied(design);
}

DesignedInput InputDesigner::Direct(const BlockDesign& design) const {
  // Whether the points of a thread are one box, in registers.
  const bool is_one_box = std::ranges::all_of(
      used_, [&](int d) { return design.cuts[d].strided == 1 && IsUnrolled(design, d); });
  DesignedInput input;
  if (along_last_ >= 0 && is_one_box && keeps_to_rows_ && FitsRegisters(design)) {
    input.vector = VectorOf(design.cuts[along_last_].vector);
  }
  return input;
}

DesignedInput InputDesigner::Copied(const BlockDesign& design) const {
  DesignedInput input;
  int best = -1;
  for (const auto& [x, d] : kept_rows_) {
    const int vector = VectorOf(design.cuts[d].vector);
    if (vector > input.vector || (vector == input.vector && vector > 1 && x == last_)) {
      input.vector = vector;
      best = x;
    }
  }
  if (best >= 0) {
    input.innermost = best == last_ ? -1 : best;
    input.padding = best == last_ ? 0 : BlockDesign::kPadding;
    return input;
  }
  if (along_last_ >= 0 && IsUnrolled(design, along_last_)) {
    input.vector = VectorOf(design.cuts[along_last_].vector);
  }
  // Rows stay as they are in memory, so that they are copied as they are, and are read along a
  // reduction; each begins where wide copies and loads can.
  input.is_along_reduction = input.vector > 1;
  if (input.is_along_reduction && used_.size() > 1) input.padding = most_lanes_;
  return input;
}

bool HasSharedReduction(const BlockDesign& design) {
  return std::ranges::any_of(design.cuts,
                             [](const BlockDesign::Cut& cut) { return cut.blocks > 1; });
}

int64_t AsyncWidth(int64_t element_bytes, int64_t row) {
  int64_t width = std::max<int64_t>(1, kMaxCopyBytes / element_bytes);
  while (row % width != 0) width /= 2;
  return width;
}

std::string ToString(const Expression& e, const BlockDesign& design) {
  std::string text;
  for (int d = 0; d < e.rank(); ++d) {
    const BlockDesign::Cut& cut = design.cuts[d];
    absl::StrAppend(&text, d == 0 ? "" : " ", e.dimensions()[d].name, " ");
    if (e.combine_operators()[d].is_concat()) {
      if (cut.loops > 1) absl::StrAppend(&text, cut.loops, "*");
      absl::StrAppend(&text, cut.strided, "x", cut.threads, "x", cut.vector);
    } else {
      absl::StrAppend(&text, cut.blocks, "/", cut.threads, "x", cut.vector);
    }
  }
  constexpr absl::string_view kNames[] = {"direct", "chunk", "tile", "block"};
  for (size_t b = 0; b < design.copies.size(); ++b) {
    absl::StrAppend(&text, " ", e.inputs()[b].name, " ",
                    kNames[static_cast<size_t>(design.copies[b])]);
    const int stages = design.AsyncStages(static_cast<int>(b));
    if (stages > 0) absl::StrAppend(&text, " async ", stages);
  }
  absl::StrAppend(&text, " lanes ", e.dimensions()[design.lane_dimension].name);
  if (const auto plane = LanePlane(e, design); plane && !design.lane_tile.empty()) {
    absl::StrAppend(&text, " ", design.lane_tile[plane->first], "x",
                    design.lane_tile[plane->second]);
  }
  absl::StrAppend(&text, " unrolled ", design.unrolled);
  const BlockChoices defaults;
  for (const Choice& choice : Choices()) {
    if (choice.get_of_blocks == nullptr) continue;
    const int64_t value = choice.get_of_blocks(design);
    if (value == choice.get_of_blocks(defaults)) continue;
    if (choice.key != "combine") {
      absl::StrAppend(&text, " ", choice.key, " ", choice.Text({value}));
    } else if (HasSharedReduction(design)) {
      absl::StrAppend(&text, " ", absl::StrReplaceAll(choice.Text({value}), {{"_", " "}}));
    }
  }
  return text;
}

TuningParameters ToParameters(const Expression& expression, const SystemModel& model,
                              const DeviceDescription& device, const BlockDesign& design) {
  const std::vector<Buffer>& inputs = expression.inputs();
  if (std::ranges::all_of(inputs, CanStage)) {
    return Translator(expression, model, device, design).Run();
  }
  const Expression separate = WithSeparateAccesses(expression);
  BlockDesign of_all = design;
  for (int b = static_cast<int>(inputs.size()); b < std::ssize(separate.inputs()); ++b) {
    of_all.copies.push_back(design.copies[OwnerOf(separate, b)]);
    of_all.async_stages.resize(of_all.copies.size(), 0);
    of_all.async_stages[b] = design.AsyncStages(OwnerOf(separate, b));
  }
  TuningParameters p = Translator(separate, model, device, of_all).Run();
  for (; p.inputs.size() > inputs.size(); p.inputs.pop_back()) {
    const int b = static_cast<int>(p.inputs.size()) - 1;
    int& width = p.inputs[OwnerOf(separate, b)].copy_width;
    width = std::min(width, p.inputs[b].copy_width);
  }
  return p;
}

}  // namespace mdh
