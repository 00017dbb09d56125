#include "tuner/decompositions/mdh_space_kind.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/decomposition/nest_shape.h"

namespace mdh {

std::vector<int> Identity(size_t count) {
  std::vector<int> identity(count);
  std::iota(identity.begin(), identity.end(), 0);
  return identity;
}

int MdhProblem::long_dimensions() const {
  int count = 0;
  for (int d = 0; d < rank(); ++d) count += size(d) > 1 ? 1 : 0;
  return count;
}

std::vector<bool> MdhProblem::HasParts(const TuningParameters& p, int layer) const {
  std::vector<bool> has_parts(rank());
  for (int d = 0; d < rank(); ++d) {
    has_parts[d] = (layer == 0 ? size(d) : p.tile[layer - 1][d]) > p.tile[layer][d];
  }
  return has_parts;
}

std::vector<int> MdhProblem::DimensionsInTurn() const {
  std::vector<int> dimensions = Identity(rank());
  const auto is_fixed = [&](int d) { return is_ordered(d) && is_reduced(d); };
  std::ranges::stable_sort(dimensions, [&](int a, int b) {
    if (is_fixed(a) || is_fixed(b)) return is_fixed(a) && !is_fixed(b);
    return std::tuple(is_reduced(a), -size(a)) < std::tuple(is_reduced(b), -size(b));
  });
  return dimensions;
}

// ---- Choices ----

MdhSpaceKind::ChoiceParameter& MdhSpaceKind::Entry(const Choice& row) {
  for (ChoiceParameter& known : choices_) {
    if (known.row == &row) return known;
  }
  return choices_.emplace_back(ChoiceParameter{&row});
}

int MdhSpaceKind::choice(absl::string_view key) const {
  for (const ChoiceParameter& known : choices_) {
    if (known.row->key == key) return known.number;
  }
  return -1;
}

int MdhSpaceKind::AddChoiceOf(const Choice& row, std::vector<ChoiceValue> values) {
  ChoiceParameter& added = Entry(row);
  if (values.empty() || (values.size() == 1 && lowering_ == LoweringTarget::kBlocks)) return -1;
  added.values = std::move(values);
  std::vector<int64_t> codes;
  for (size_t n = 0; n < added.values.size(); ++n) codes.push_back(added.CodeOf(n));
  added.number = builder_.Add(std::string(row.key), std::move(codes));
  return added.number;
}

int MdhSpaceKind::AddChoice(absl::string_view key, absl::FunctionRef<bool(int64_t)> may,
                            bool takes_pinned) {
  const Choice& row = ChoiceOf(key);
  const ChoiceTarget target = {problem_.expression, problem_.device, lowering_};
  std::vector<ChoiceValue> values = row.Offers(target, problem_.numerics);
  std::erase_if(values, [&](const ChoiceValue& value) { return !may(value[0]); });
  for (const ChoiceValue& value : problem_.PinnedValues(row)) {
    if (!takes_pinned || values.empty()) break;
    TuningParameters p;
    p.numerics = problem_.numerics;
    row.set(value, &p);
    const bool is_known = std::ranges::find(values, value) != values.end();
    if (!is_known && row.Obstacle(target, p).empty()) values.push_back(value);
  }
  return AddChoiceOf(row, std::move(values));
}

void MdhSpaceKind::AddFreeChoices(std::initializer_list<absl::string_view> keys) {
  for (const absl::string_view key : keys) AddChoice(key, AnyValue, /*takes_pinned=*/true);
}

std::vector<absl::string_view> MdhSpaceKind::ForgottenChoices() const {
  std::vector<absl::string_view> forgotten;
  const ChoiceTarget target = {problem_.expression, problem_.device, lowering_};
  for (const Choice& row : Choices()) {
    const bool is_known =
        std::ranges::any_of(choices_, [&](const ChoiceParameter& c) { return c.row == &row; });
    if (!is_known && row.Offers(target, problem_.numerics).size() > 1) forgotten.push_back(row.key);
  }
  return forgotten;
}

void MdhSpaceKind::DecodeChoices(absl::Span<const int64_t> c, TuningParameters* p) const {
  for (const ChoiceParameter& choice : choices_) {
    if (choice.number < 0) continue;
    const int64_t code = c[static_cast<size_t>(choice.number)];
    choice.row->set(choice.row->has_several() ? choice.values[code] : ChoiceValue{code}, p);
  }
}

void MdhSpaceKind::ReadChoices(const TuningParameters& p, Configuration& configuration) const {
  for (const ChoiceParameter& choice : choices_) {
    if (choice.number < 0) continue;
    const ChoiceValue value = choice.row->get(p);
    const auto at = std::ranges::find(choice.values, value);
    const bool is_offered = at != choice.values.end();
    configuration[static_cast<size_t>(choice.number)] =
        is_offered                ? choice.CodeOf(static_cast<size_t>(at - choice.values.begin()))
        : choice.row->is_number() ? value[0]
                                  : choice.CodeOf(0);
  }
}

ParameterMeaning MdhSpaceKind::Meaning(int parameter) const {
  for (const ChoiceParameter& choice : choices_) {
    if (choice.number == parameter) return MeaningOfChoice(*choice.row, choice.values);
  }
  return MeaningOf(builder_.parameters()[static_cast<size_t>(parameter)], problem_.expression,
                   problem_.model);
}

// ---- Threads of CPUs ----

bool MdhSpaceKind::HasFixedParts() const {
  for (int d = 0; d < problem_.rank(); ++d) {
    if (!problem_.is_ordered(d)) continue;
    if (OrderedPart(problem_.expression, problem_.numerics, d) < problem_.size(d)) return true;
  }
  return false;
}

void MdhSpaceKind::AddThreads(const Formula& log_parts, int steps) {
  const int64_t cores = problem_.device.cores;
  std::vector<int64_t> counts = {TuningParameters::kAllThreads, 1};
  for (int64_t count = 2; count < cores; count *= 2) counts.push_back(count);
  // Where cores run two threads each, one on each core may be best.
  const bool has_half = std::ranges::find(counts, cores / 2) != counts.end();
  if (cores % 2 == 0 && cores > 2 && !has_half) counts.push_back(cores / 2);
  for (const ChoiceValue& pinned : problem_.PinnedValues(ChoiceOf("threads"))) {
    const bool is_known = std::ranges::find(counts, pinned[0]) != counts.end();
    if (!is_known && pinned[0] > 1 && pinned[0] <= cores) counts.push_back(pinned[0]);
  }
  std::vector<ChoiceValue> values;
  for (const int64_t count : counts) values.push_back({count});
  const Formula threads = builder_.At(AddChoiceOf(ChoiceOf("threads"), std::move(values)));
  const Formula one_part = log_parts == 0;
  builder_.Require("one thread for one part",
                   HasFixedParts() ? threads != 1 || one_part : (threads == 1) == one_part);
  for (const int64_t count : counts) {
    if (count == TuningParameters::kAllThreads || count == 1) continue;
    builder_.Require(
        absl::StrCat(count, " threads for as many parts"),
        threads != count || (log_parts >= FloorLog(static_cast<double>(count), steps) &&
                             log_parts <= FloorLog(static_cast<double>(cores), steps)));
  }
}

DesignRanges MdhSpaceKind::RangesOf(OpenCodes open) const {
  DesignRanges ranges;
  if (has_choice("unit") || has_choice("warps")) return ranges;
  const auto extents = [&](int layer) {
    ExtentRanges tile;
    for (int d = 0; d < problem_.rank(); ++d) tile.push_back(TileRange(layer, d, open));
    return tile;
  };
  ranges.part = extents(0);
  if (const int threads = ThreadLayer(problem_.model); threads > 0) {
    ranges.around_threads = extents(threads - 1);
    ranges.thread = extents(threads);
  }
  SetVectors(open, ranges);
  if (const int number = choice("threads"); number >= 0) {
    for (const int64_t count : open[number]) {
      if (count == TuningParameters::kAllThreads) {
        ranges.most_threads = 0;
        break;
      }
      ranges.most_threads = std::max(ranges.most_threads, count);
    }
  }
  return ranges;
}

void MdhSpaceKind::ReadThreads(const TuningParameters& p, Configuration& configuration) const {
  bool has_parts = HasFixedParts();
  for (int d = 0; d < problem_.rank(); ++d) {
    has_parts = has_parts || (!problem_.is_ordered(d) && p.tile[0][d] < problem_.size(d));
  }
  const int number = choice("threads");
  int64_t& code = configuration[static_cast<size_t>(number)];
  const bool is_listed =
      builder_.parameters()[static_cast<size_t>(number)].range.PositionOf(code).has_value();
  if (!has_parts)
    code = 1;
  else if (!is_listed || (code == 1 && !HasFixedParts()))
    code = TuningParameters::kAllThreads;
}

namespace {

// The same copies, where they are made, and how.
bool IsSameInput(const NestShape& shape, int b, const NestShape& other, const InputParameters& x,
                 const InputParameters& y, bool has_regions) {
  if (x.stage_layer != y.stage_layer || x.strip_dimension != y.strip_dimension) return false;
  if (x.stage_layer != InputParameters::kInPlace && x.layout != y.layout) return false;
  if (x.padding != y.padding || x.copy_width != y.copy_width) return false;
  if (x.copy_stages != y.copy_stages || x.copy_mode != y.copy_mode) return false;
  if (!has_regions) return true;
  const auto copies = [b](const NestShape& nest) {
    std::vector<std::pair<int, std::pair<int, std::vector<int>>>> found;
    for (const int place : nest.CopyPlaces(b)) {
      int active = 0;  // loops around the copy
      for (int n = 0; n < place; ++n) {
        active += nest.levels()[n].parts > 1 && !nest.is_parallel(n) ? 1 : 0;
      }
      found.push_back({active, {nest.InputRegion(b, place), nest.LayoutAt(b, place)}});
    }
    return found;
  };
  return copies(shape) == copies(other);
}

// A level with several parts as far as it has an effect.
using ActiveLevel = std::array<int, 6>;

// Loops in their order, then cores: where those stand among the loops has no effect, nor has where
// results of kept dimensions would combine.
std::vector<ActiveLevel> ActiveLevels(const NestShape& nest, bool has_regions) {
  std::vector<ActiveLevel> loops, cores;
  for (int n = 0; n < nest.count(); ++n) {
    const NestShape::Level& level = nest.levels()[n];
    if (level.parts == 1) continue;
    ActiveLevel active = {
        level.level.layer, level.level.dimension, static_cast<int>(level.role), 0, 0, 0};
    if (has_regions && nest.is_reduced(n)) active[4] = nest.OutputRegion(0, n);
    if (!nest.is_parallel(n)) {
      if (has_regions) active[4] = nest.OutputRegion(0, n);
      loops.push_back(active);
      continue;
    }
    for (const NestShape::Level& other : nest.levels()) {  // places along the axes
      const bool is_before = other.role == level.role && other.parts > 1 &&
                             other.assigned.dimension < level.assigned.dimension;
      active[3] += is_before ? 1 : 0;
    }
    if (nest.is_thread(n)) active[5] = static_cast<int>(nest.Lanes(n));
    cores.push_back(active);
  }
  std::ranges::sort(cores);
  loops.insert(loops.end(), cores.begin(), cores.end());
  return loops;
}

bool IsSameNest(const NestShape& a, const NestShape& b, bool has_regions) {
  if (ActiveLevels(a, has_regions) != ActiveLevels(b, has_regions)) return false;
  return !has_regions || (a.AccumulatorElements() == b.AccumulatorElements() &&
                          a.AccumulatesInSharedMemory() == b.AccumulatesInSharedMemory());
}

}  // namespace

bool MeanTheSame(const MdhProblem& problem, const TuningParameters& a, const TuningParameters& b) {
  if (a.system_model != b.system_model || a.fused != b.fused) return false;
  if (a.tile != b.tile || a.numerics != b.numerics) return false;
  if (!HasFusedPhases(a) || !HasFusedPhases(b)) return false;
  for (const Choice& row : Choices()) {
    // Tiles of lanes are compared as far as they have an effect.
    if (row.key != "lanes" && row.get(a) != row.get(b)) return false;
  }
  if (a.inputs.size() != b.inputs.size()) return false;
  const NestShape nest(problem.expression, problem.model, a);
  const NestShape other(problem.expression, problem.model, b);
  // Caches copy by themselves: regions have no effect on code.
  const bool has_regions = problem.model.memory == MemoryKind::kExplicit;
  if (!IsSameNest(nest, other, has_regions)) return false;
  for (size_t n = 0; n < a.inputs.size(); ++n) {
    if (!IsSameInput(nest, static_cast<int>(n), other, a.inputs[n], b.inputs[n], has_regions)) {
      return false;
    }
  }
  return true;
}

}  // namespace mdh
