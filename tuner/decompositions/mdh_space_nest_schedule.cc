// Decisions of schedules in spaces of levels: what DecodeOrder, AxesOf, DecodeResults and
// DecodeInput make of codes, as formulas.
#include <algorithm>
#include <set>

#include "core/decomposition/constraints.h"
#include "tuner/decompositions/mdh_space_nest.h"

namespace mdh {

namespace {
using Kind = Decision::Kind;
}  // namespace

// ---- Order ----

// Of loops of the outermost memory layer, by where the threads are.
Formula NestDecompositions::IsOutsideInOuter(int d, int other) const {
  const Formula by_digits = orders_[outer_].IsOutside(builder_, d, other);
  const auto number = [&](int dimension, bool kept_last) {
    if (IsKept(dimension)) return kept_last ? 2 : 1;
    return p_.is_reduced(dimension) ? (kept_last ? 1 : 2) : 0;
  };
  Formula is_outside = by_digits;
  const Formula place = builder_.At(place_);
  for (const int64_t at : {kResultsInnermost, kThreadsInside}) {
    const bool kept_last = at == kResultsInnermost;
    const int first = number(d, kept_last), second = number(other, kept_last);
    if (first != second) is_outside = If(place == at, first < second, is_outside);
  }
  return is_outside;
}

Formula NestDecompositions::IsOutside(MdhLevel level, MdhLevel other) const {
  const int d = level.dimension;
  if (is_core(level.layer) && is_explicit()) return AxisOf(level) < AxisOf(other);
  if (level.layer == other.layer) {
    if (is_explicit() && level.layer == outer_) return IsOutsideInOuter(d, other.dimension);
    return orders_[level.layer].IsOutside(builder_, d, other.dimension);
  }
  if (level.layer > other.layer) return !IsOutside(other, level);
  const bool may_be_inside = is_explicit() && level.layer == outer_ && IsKept(d);
  return may_be_inside ? builder_.At(place_) != kResultsInnermost : Formula(true);
}

// ---- Axes ----

Formula NestDecompositions::AxisOf(MdhLevel level) const {
  std::vector<Formula> before = {Formula(0)};
  const int d = level.dimension;
  const Formula& parts = Parts(level.layer, d);
  for (int other = 0; other < p_.rank(); ++other) {
    if (other == d) continue;
    const Formula& others = Parts(level.layer, other);
    Formula is_before = other < d ? others >= parts : others > parts;
    if (!is_explicit()) {
      is_before = orders_[level.layer].IsOutside(builder_, other, d);
    } else if (grid_x_ >= 0) {
      const Formula x = builder_.At(level.layer == 0 ? grid_x_ : block_x_);
      const Formula y = builder_.At(level.layer == 0 ? grid_y_ : block_y_);
      is_before = If(x == other, true,
                     If(x == d, false, If(y == other, true, If(y == d, false, is_before))));
    }
    before.push_back(If(others > 1 && is_before, 1, 0));
  }
  return Sum(before);
}

// Where no axis can exceed limits of the device, x and y run as asked for.
bool NestDecompositions::HasExactAxes(int layer) const {
  if (!is_explicit() || p_.rank() == 1) return true;
  if (has_warps() && layer == threads_) return true;
  const auto& limits = layer == 0 ? p_.device.blocks.max_grid : p_.device.blocks.max_block;
  std::vector<double> most;
  for (int d = 0; d < p_.rank(); ++d) {
    most.push_back(static_cast<double>(std::min(p_.size(d), MostParts(layer, d))));
  }
  std::sort(most.rbegin(), most.rend());
  double folded = 1;
  for (size_t n = 0; n + 2 < most.size(); ++n) folded *= most[n];
  return most[0] <= static_cast<double>(std::min(limits[0], limits[1])) &&
         folded <= static_cast<double>(limits[2]);
}

Formula NestDecompositions::LanesOf(MdhLevel level) const {
  const Formula& parts = Parts(level.layer, level.dimension);
  if (!has(lanes_)) return parts;
  const Formula axis = AxisOf(level), tile = builder_.At(lanes_);
  Formula lanes = parts;
  for (size_t n = 0; n < tiles_.size(); ++n) {
    lanes = If(tile == static_cast<int64_t>(n + 1),
               If(axis == 0, tiles_[n].first, If(axis == 1, tiles_[n].second, 1)), lanes);
  }
  return lanes;
}

// ---- Results ----

std::vector<MdhLevel> NestDecompositions::Loops() const {
  std::vector<MdhLevel> loops;
  for (const int layer : {outer_, inner_, registers_}) {
    for (int d = 0; d < p_.rank(); ++d) loops.push_back({layer, d});
  }
  return loops;
}

Formula NestDecompositions::RegionOfResults(MdhLevel level) const {
  const Formula results = builder_.At(results_);
  const bool is_outer = level.layer == outer_;
  const Formula region =
      If(results == kInDevice, 0, If(results >= kSharedInside, regions_ - 2, regions_ - 1));
  if (!is_outer) return region;
  if (IsKept(level.dimension)) return If(builder_.At(place_) == kResultsInnermost, region, 0);
  if (!p_.is_reduced(level.dimension)) return 0;
  return If(results == kRegistersAround || results == kSharedAround, region, 0);
}

Formula NestDecompositions::ResultsAreIn(const std::vector<RegionStep>& steps) const {
  const bool is_shared = !steps.empty() && steps[0].region == regions_ - 2;
  std::vector<Formula> conditions = {(builder_.At(results_) >= kSharedInside) == is_shared};
  for (const RegionStep& step : steps) {
    if (!(step.from == RegionStep::kInside)) conditions.push_back(IsActive(step.from));
  }
  for (const MdhLevel& loop : Loops()) {
    Formula expected = 0;
    for (const RegionStep& step : steps) {
      if (step.from == RegionStep::kInside) continue;
      const Formula is_from = loop == step.from ? Formula(true) : IsOutside(step.from, loop);
      expected = If(is_from, step.region, expected);
    }
    conditions.push_back(!IsActive(loop) || RegionOfResults(loop) == expected);
  }
  return AllOf(std::move(conditions));
}

Formula NestDecompositions::RegionOfCombination(MdhLevel level) const {
  if (!is_thread(level.layer)) return 0;
  const Formula how = builder_.At(combine_);
  const int most = level.layer == warps_ ? regions_ - 2 : regions_ - 1;
  return If(builder_.At(results_) == kInDevice || how == kCombineInDevice, 0,
            If(how == kShuffle, most, regions_ - 2));
}

// ---- Registers ----

// Of a copy in front of the loops of the register layer; nullopt: which elements it leaves out is
// known only once the parts are.
std::optional<Formula> NestDecompositions::ElementsInRegisters(int v) const {
  const Buffer& buffer = views_.inputs()[v];
  std::vector<Formula> extents = {Formula(1)};
  for (int x = 0; x < std::ssize(buffer.extents); ++x) {
    const ConstantRange constants = ConstantsOf(buffer, x);
    std::set<int64_t> steps;
    Formula extent = 1;
    for (int d = 0; d < p_.rank(); ++d) {
      const int64_t coefficient = buffer.accesses[0].indices[x].coefficients[d];
      if (coefficient == 0 || p_.size(d) == 1) continue;
      steps.insert(coefficient);
      extent = extent + (Parts(registers_, d) - 1);
    }
    if (constants.low != constants.high || steps.size() > 1) return std::nullopt;
    extents.push_back(std::move(extent));
  }
  return Product(extents);
}

std::optional<Formula> NestDecompositions::Registers() const {
  if (!is_explicit() || MayNeedPresence()) return std::nullopt;
  const Formula results = builder_.At(results_);
  std::vector<Formula> kept = {Formula(ResultWords())};
  for (int d = 0; d < p_.rank(); ++d) {
    if (p_.is_reduced(d)) continue;
    Formula parts = Parts(registers_, d) * Parts(inner_, d);
    if (IsKept(d)) parts = parts * If(IsInnermost(), Parts(outer_, d), 1);
    kept.push_back(If(results == kInDevice, 1, parts));
  }
  Formula words = If(results >= kSharedInside, 0, Product(kept));
  for (int v = 0; v < std::ssize(views_.inputs()); ++v) {
    const int copy = inputs_[OwnerOf(views_, v)].copy;
    if (!has(copy)) continue;
    const std::optional<Formula> elements = ElementsInRegisters(v);
    if (!elements.has_value()) return std::nullopt;
    const int64_t each = Words(views_.inputs()[v].type.size_bytes());
    words = words + If(builder_.At(copy) >= kPrivate, *elements * each, 0);
  }
  return words;
}

// ---- Copies ----

// Whether a loop is the outermost one inside of the copies that are shared, or private; kInside:
// there is none.
Formula NestDecompositions::IsFirst(MdhLevel from, bool is_private) const {
  const Formula is_innermost = builder_.At(place_) == kResultsInnermost;
  const auto is_inside = [&](MdhLevel loop) -> Formula {
    if (loop.layer == outer_) return IsKept(loop.dimension) ? is_innermost : Formula(false);
    return loop.layer == registers_ || !is_private;
  };
  std::vector<Formula> conditions;
  const bool has_from = !(from == RegionStep::kInside);
  if (has_from) conditions = {IsActive(from), is_inside(from)};
  for (const MdhLevel& loop : Loops()) {
    if (loop == from) continue;
    Formula is_fine = !IsActive(loop) || !is_inside(loop);
    if (has_from) is_fine = is_fine || IsOutside(from, loop);
    conditions.push_back(std::move(is_fine));
  }
  return AllOf(std::move(conditions));
}

Formula NestDecompositions::CopiesAreIn(int b, const std::vector<RegionStep>& steps) const {
  const Formula copy = has(inputs_[b].copy) ? builder_.At(inputs_[b].copy) : Formula(kNoCopy);
  if (steps.empty()) return copy == kNoCopy;
  if (!has(inputs_[b].copy)) return false;
  const bool is_shared = steps[0].region == regions_ - 2;
  const bool is_private = steps.back().region == regions_ - 1;
  Formula holds = copy == (is_shared ? (is_private ? kSharedAndPrivate : kShared) : kPrivate);
  for (const RegionStep& step : steps) {
    holds = holds && IsFirst(step.from, step.region == regions_ - 1);
  }
  return holds;
}

Formula NestDecompositions::LayoutIs(const Decision& decision) const {
  const InputChoices& input = inputs_[decision.buffer];
  if (!has(input.copy)) return true;
  const Formula copy = builder_.At(input.copy);
  const auto rank = static_cast<int64_t>(e_.inputs()[decision.buffer].extents.size());
  if (decision.region == regions_ - 1) {
    ChoiceValue usual;
    for (int64_t x = 0; x < rank; ++x) usual.push_back(x);
    return copy == kNoCopy || copy == kShared || decision.values.Contains(usual);
  }
  std::vector<Formula> is_one;
  for (const ValueSet::Span& span : decision.values.spans()) {
    is_one.push_back(input.layout.Is(builder_, span.low));
  }
  const Formula is_named = AnyOf(std::move(is_one));
  return copy == kNoCopy || copy == kPrivate ||
         (decision.values.is_negated() ? !is_named : is_named);
}

std::optional<Formula> NestDecompositions::FormulaOf(const Decision& decision) const {
  const MdhLevel level = {decision.layer, decision.dimension};
  const auto is_in = [&](const Formula& value) { return IsIn(decision.values, value); };
  const auto is_code = [&](int parameter, int64_t otherwise) {
    return is_in(has(parameter) ? builder_.At(parameter) : Formula(otherwise));
  };
  switch (decision.kind) {
    // Models of caches without tiles of registers: nothing is copied.
    case Kind::kCopy:
      return decision.values.Contains(InputParameters::kInPlace);
    case Kind::kStrips:
    case Kind::kAlong:
      return decision.values.Contains(Decision::kNoDimension);
    case Kind::kLayout:
      return is_explicit() ? LayoutIs(decision) : Formula(true);
    case Kind::kPadding:
      return is_code(inputs_[decision.buffer].padding, 0);
    case Kind::kWidth:
      return is_code(inputs_[decision.buffer].width, 1);
    case Kind::kStages:
      return is_code(inputs_[decision.buffer].stages, 1);
    case Kind::kMode:
      return is_code(inputs_[decision.buffer].mode,
                     static_cast<int64_t>(CopyMode::kThroughRegisters));
    case Kind::kRegions:
      return decision.is_output ? ResultsAreIn(decision.steps)
                                : CopiesAreIn(decision.buffer, decision.steps);
    case Kind::kCombine:
      return !IsActive(level) || is_in(RegionOfCombination(level));
    case Kind::kLanes:
      return !IsActive(level) || is_in(LanesOf(level));
    default:
      return std::nullopt;
  }
}

}  // namespace mdh
