#include "codegen/lower/tiles/loop_plan.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/reduced_rest.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/index_box.h"
#include "core/pipeline/factor_order.h"
#include "core/pipeline/wide_sums.h"

namespace mdh {
namespace {

// Points of the last part of a dimension that is cut into parts of `extent` points.
int64_t LastPart(int64_t size, int64_t extent) { return (size - 1) % extent + 1; }

// Whether what is copied to strips along d ends with d.
bool EndsWithStrips(const Buffer& buffer, const StagedCopy& copy, int64_t size) {
  return copy.layer != InputParameters::kWholeBuffer ||
         buffer.extents[copy.strip_dimension] == size;
}

}  // namespace

LoopPlan::LoopPlan(LowLevelExpression low_level, std::optional<ExchangeablePair> mirror)
    : low_level_(std::move(low_level)),
      mirror_(mirror),
      sums_(WithWideSums(low_level_.expression(), low_level_.parameters().numerics)) {
  NameAllocator names;
  names_ = NamesOf(expression(), names);
  RecordViews views(names);
  input_pointers_ = views.InputPointers(expression(), names_.inputs);
  outputs_ = OutputTargets(expression(), names_.outputs, views);
  store_pointers_ = PointersOfStore(expression(), names_.inputs, views);
  views_ = views.Declarations();
  PlanLoops();
  PlanFunction();
  PlanStaging();
  outside_products_ = OutsideProductsOf(expression(), numerics());
  if (outside_products_ && StagedInput(outside_products_->zeros) != nullptr)
    outside_products_.reset();
  PlanResults();
  PlanLastTiles();
}

void LoopPlan::PlanLoops() {
  const SystemModel& model = low_level_.model();
  const TuningParameters& p = parameters();
  const int layers = static_cast<int>(model.layers.size());
  int innermost_memory = -1;
  for (int l = 0; l < layers; ++l) {
    if (model.layers[l].role == LayerRole::kMemory) innermost_memory = l;
  }
  register_tile_ = p.tile[innermost_memory];
  vector_dimension_ = LaneDimension(model, p);
  if (vector_dimension_ >= 0) {
    lanes_ = static_cast<int>(p.tile[model.LayerWith(LayerRole::kLanes) - 1][vector_dimension_]);
  }
  narrow_reduction_ = NarrowReductionOf(expression());
  if (!ReducesNarrowVectors(narrow_reduction_, expression(), vector_dimension_, lanes_))
    narrow_reduction_.reset();
  rests_have_lanes_ =
      lanes_ > 1 && !narrow_reduction_ && AddNothingAsZeros(expression(), vector_dimension_);
  dot_ = DotOf(expression(), p);
  if (dot_) dot_sides_ = SidesOf(expression(), *dot_, vector_dimension_);
  if (dot_ && dot_->on_tiles()) {
    dot_tiles_ = *PlanTiles(expression(), *dot_, vector_dimension_, register_tile_);
    tile_instruction_ = TileInstruction(dot_sides_->broadcast.type, dot_sides_->vector.type);
  }
  for (int n = 0; n < shape().count(); ++n) {
    const NestShape::Level& level = shape().levels()[n];
    if (level.role != LayerRole::kMemory) continue;
    const auto [l, d] = level.level;
    const bool innermost = l == innermost_memory;
    if (innermost && is_reduction(d) && p.accumulate_in == AccumulateIn::kRegisters) {
      inner_reductions_.push_back(d);
      continue;
    }
    if (level.parts == 1 && (!innermost || size(d) % level.tile == 0)) continue;
    const std::string suffix =
        innermost ? "" : absl::StrCat("_", absl::AsciiStrToLower(model.layers[l].name));
    outer_loops_.push_back({n, l, d, level.tile, absl::StrCat(names_.indices[d], suffix)});
  }
}

void LoopPlan::PlanFunction() {
  std::vector<int64_t> tile;
  for (int d = 0; d < rank(); ++d) {
    const int64_t points = is_reduction(d) ? 1 : register_tile_[d];
    tile.push_back(CeilDivide(points, d == vector_dimension_ ? lanes_ : 1));
  }
  function_ = FunctionInTile(expression(), numerics(), tile);
}

void LoopPlan::PlanStaging() {
  const TuningParameters& p = parameters();
  for (size_t b = 0; b < expression().inputs().size(); ++b) {
    const InputParameters& input = p.inputs[b];
    if (input.stage_layer == InputParameters::kInPlace) continue;
    const Buffer& buffer = expression().inputs()[b];
    const bool whole = input.stage_layer == InputParameters::kWholeBuffer;
    // Inputs of one name (WithSeparateAccesses) have copies of their own.
    const auto owner = static_cast<size_t>(OwnerOf(expression(), static_cast<int>(b)));
    const std::string suffix = owner == b ? "_packed" : absl::StrCat("_packed_", b);
    StagedCopy copy{.input = static_cast<int>(b),
                    .layer = input.stage_layer,
                    .name = names_.inputs[b] + suffix,
                    .extents = buffer.extents,
                    .strides = {},
                    .strip_dimension = input.strip_dimension,
                    .strip = 1,
                    .strip_of = -1,
                    .strip_shift = 0,
                    .type = buffer.type.scalar(),
                    .elements = 1,
                    .layout = input.layout,
                    .place = 0};
    for (size_t x = 0; x < buffer.extents.size() && !whole; ++x) {
      copy.extents[x] = Footprint(buffer, static_cast<int>(x), p.tile[input.stage_layer]);
    }
    if (copy.strip_dimension >= 0) {
      copy.strip_of = StripDimension(expression(), buffer, copy.strip_dimension);
      if (copy.strip_of >= 0) copy.strip = register_tile_[copy.strip_of];
      int64_t& extent = copy.extents[copy.strip_dimension];
      extent = RoundUp(extent, copy.strip);
    }
    PlanWords(&copy);
    copy.strides.assign(buffer.extents.size(), 0);
    int64_t stride = copy.strip;
    for (size_t n = input.layout.size(); n-- > 0;) {
      const int x = input.layout[n];
      const int64_t step = x == copy.strip_dimension ? copy.strip : 1;
      copy.strides[x] = stride / step;
      stride *= CeilDivide(copy.extents[x], x == copy.group_dimension ? copy.group : step);
    }
    copy.elements = stride;
    for (const PlannedLoop& loop : outer_loops_) {
      const bool changes_it = loop.layer <= copy.layer && buffer.DependsOn(loop.dimension);
      if (changes_it && !whole) copy.place = loop.place + 1;
    }
    copy.next = NextPart(copy);
    staged_.push_back(std::move(copy));
  }
}

// Copies of operands of dot instructions.
void LoopPlan::PlanWords(StagedCopy* copy) const {
  if (!dot_) return;
  for (const DotOperand& operand : {dot_->a, dot_->b}) {
    if (operand.buffer != copy->input) continue;
    copy->type = ScalarType::kUint32;
    copy->group = dot_->group;
    copy->group_dimension = WordDimension(expression(), *dot_, operand);
  }
}

// Other tiles would ask for the same lines again.
int64_t LoopPlan::NextPart(const StagedCopy& copy) const {
  const Buffer& buffer = expression().inputs()[copy.input];
  if (buffer.type.is_record() || buffer.accesses.size() > 1 ||
      buffer.boundary.kind != Boundary::Kind::kNone)
    return 0;
  int64_t next = 0;
  for (const PlannedLoop& loop : outer_loops_) {
    const int64_t move = buffer.Linearized(0).coefficients[loop.dimension] * loop.step;
    if (loop.place >= copy.place && !buffer.DependsOn(loop.dimension)) return 0;
    if (loop.place + 1 == copy.place) next = move;
  }
  return next;
}

// Results that several parts contribute to cannot be combined in the outputs: there they would have
// to be in their final type and place.
void LoopPlan::PlanResults() {
  const bool in_outputs = std::ranges::any_of(
      outer_loops_, [&](const PlannedLoop& loop) { return is_reduction(loop.dimension); });
  uses_result_arrays_ = UsesResultArrays(sums(), shape().Slots(), in_outputs);
  stores_at_last_ = sums().finishes_results() && in_outputs && !expression().has_prefix_sum() &&
                    shape().Slots() == 1;
  if (uses_result_arrays_ && !stores_at_last_) mirror_.reset();
  arrays_ = ArrayTargets(sums(), names_.outputs);
  sums_in_outputs_ = sums().has_prefix_sum() && shape().Slots() == 1 && sums().store() == nullptr &&
                     AreArrays(outputs_, arrays_);
  if (!sums_in_outputs_) return;
  arrays_ = outputs_;
  terms_ = NamedTerms();
}

// Only of inputs that are as the arrays are, so that vectors are the same.
std::vector<ResultTarget> LoopPlan::NamedTerms() const {
  if (expression().has_reduction() || !staged_.empty()) return {};
  const ScalarFunction& f = expression().function();
  std::vector<ResultTarget> terms;
  for (int r = 0; r < std::ssize(arrays_); ++r) {
    const ScalarInstruction& result = f.instructions()[f.result_instructions()[r]];
    if (result.op != ScalarOp::kParameter || expression().is_index(result.parameter)) return {};
    const Expression::AccessRef ref = expression().input_access(result.parameter);
    const Buffer& buffer = expression().inputs()[ref.buffer];
    if (buffer.type.is_record() || buffer.boundary.kind != Boundary::Kind::kNone) return {};
    terms.push_back({input_pointer(result.parameter), result.type, buffer.Linearized(ref.access)});
  }
  return AreArrays(terms, arrays_) ? terms : std::vector<ResultTarget>();
}

void LoopPlan::PlanLastTiles() {
  for (int d = 0; d < rank(); ++d) last_tiles_.push_back(LastTilesOf(d));
  for (StagedCopy& copy : staged_) {
    if (copy.strip_of >= 0 && !last_tiles_[copy.strip_of].empty()) {
      const LastTile& last = last_tiles_[copy.strip_of].back();
      copy.strip_shift = last.points - size(copy.strip_of) % copy.strip;
    }
  }
}

std::vector<LastTile> LoopPlan::LastTilesOf(int d) const {
  const int64_t tile = register_tile_[d], end = size(d), rest = end % tile;
  if (rest == 0) return {};
  const std::vector<LastTile> variant = {{rest, end - rest}};
  if (parameters().remainder == Remainder::kVariants || is_reduction(d)) return variant;
  if (parameters().remainder == Remainder::kOverlap && CanBeginEarlier(d, tile)) {
    return {{tile, end - tile}};
  }
  if (d != vector_dimension_) return variant;
  const int64_t vectors = RoundUp(rest, lanes_);
  if (CanBeginEarlier(d, vectors)) return {{vectors, end - vectors}};
  // The last vector takes points from the tile before, which keeps as many vectors if it has
  // several.
  const int64_t before = tile + rest - vectors;
  if (rest >= lanes_ || before < lanes_ || !HasRoomForTwo(d)) return variant;
  return {{before, end - rest - tile}, {vectors, end - vectors}};
}

// Whether the tile of the last `points` points of dimension d finds all of them in what the core
// has, and stores the values that are there already.
bool LoopPlan::CanBeginEarlier(int d, int64_t points) const {
  if (LastPart(size(d), shape().CorePart(d)) < points) return false;
  for (const PlannedLoop& loop : outer_loops_) {
    if (is_reduction(loop.dimension)) return false;
  }
  for (const StagedCopy& copy : staged_) {
    const Buffer& buffer = expression().inputs()[copy.input];
    if (copy.strip_of == d && !EndsWithStrips(buffer, copy, size(d))) return false;
    if (copy.layer == InputParameters::kWholeBuffer || !buffer.DependsOn(d)) continue;
    if (LastPart(size(d), parameters().tile[copy.layer][d]) < points) return false;
  }
  return true;
}

// Whether the part that ends dimension d has a whole tile beside the points that are left over.
bool LoopPlan::HasRoomForTwo(int d) const {
  int64_t part = shape().CorePart(d);
  for (const PlannedLoop& loop : outer_loops_) {
    if (loop.dimension == d && loop.variable != names_.indices[d]) part = loop.step;
  }
  for (const StagedCopy& copy : staged_) {
    const Buffer& buffer = expression().inputs()[copy.input];
    if (copy.strip_of == d && !EndsWithStrips(buffer, copy, size(d))) return false;
  }
  return LastPart(size(d), part) > register_tile_[d];
}

const PlannedLoop* LoopPlan::LoopAt(int place) const {
  const auto found = std::ranges::find(outer_loops_, place, &PlannedLoop::place);
  return found == outer_loops_.end() ? nullptr : &*found;
}

bool LoopPlan::is_inner_reduction(int d) const {
  return std::ranges::find(inner_reductions_, d) != inner_reductions_.end();
}

std::vector<TilePiece> LoopPlan::Pieces(int d, int64_t points) const {
  std::vector<TilePiece> pieces;
  if (dot_ && d == dot_->dimension) {
    for (int64_t offset = 0; offset < points; offset += dot_->group) {
      const int64_t depth = std::min<int64_t>(dot_->group, points - offset);
      pieces.push_back({offset, 1, static_cast<int>(depth)});
    }
    return pieces;
  }
  int width = d == vector_dimension_ ? lanes_ : 1;
  const auto add = [&](int64_t offset, int64_t lanes) {
    const int64_t all = RoundUpToPowerOfTwo(lanes);
    pieces.push_back({offset, static_cast<int>(all), 1, static_cast<int>(all - lanes)});
  };
  // A tile reads what it adds to before it stores: one vector may repeat points of another.
  const bool overlaps =
      parameters().remainder != Remainder::kVariants && !is_reduction(d) && width <= points;
  for (int64_t offset = 0; offset < points; offset += width) {
    if (overlaps) {
      add(std::min(offset, points - width), width);
      continue;
    }
    if (width > points - offset && is_reduction(d) && rests_have_lanes_) {
      pieces.push_back({offset, width, 1, static_cast<int>(width - (points - offset))});
      break;
    }
    // Narrower vectors for the rest; single points along a reduction, whose results would need
    // accumulators of their own for every width.
    while (width > points - offset) width = is_reduction(d) ? 1 : width / 2;
    add(offset, std::min<int64_t>(width, points - offset));
  }
  return pieces;
}

bool LoopPlan::has_words_along(int d) const {
  const Expression::AccessRef ref = expression().input_access(dot_sides_->vector.parameter);
  return std::ranges::any_of(expression().inputs()[ref.buffer].accesses[ref.access].indices,
                             [d](const AffineIndex& index) { return index.coefficients[d] != 0; });
}

bool LoopPlan::shares_excess() const {
  // The tile that would count it may be one that is left out.
  return dot_ && dot_sides_->flips_broadcast && !outer_loops_.empty() && !mirror_ &&
         !has_words_along(outer_loops_.back().dimension);
}

int64_t LoopPlan::excess_elements() const {
  int64_t elements = 1;
  for (int d = 0; d < rank(); ++d) {
    if (is_reduction(d) || !has_words_along(d)) continue;
    elements *= RoundUp(register_tile_[d], d == vector_dimension_ ? lanes_ : 1);
  }
  return elements;
}

const StagedCopy* LoopPlan::StagedInput(int input) const {
  const auto found = std::ranges::find(staged_, input, &StagedCopy::input);
  return found == staged_.end() ? nullptr : &*found;
}

}  // namespace mdh
