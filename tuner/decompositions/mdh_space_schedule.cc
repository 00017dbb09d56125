// What schedules say, as constraints of spaces. They are formulas, so that construction prunes as
// soon as the parameters that they look at are known.
#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/decomposition/constraints.h"
#include "tuner/decompositions/mdh_space_kind.h"

namespace mdh {
namespace {

using Kind = Decision::Kind;

constexpr size_t kMostNamed = 256;  // values of a range

// A condition as a number.
Formula AsNumber(const Formula& condition) { return If(condition, 1, 0); }

}  // namespace

std::string ConstraintName(const Schedule& schedule, const Decision& decision) {
  const std::string text = schedule.TextOf(decision);
  return decision.line == 0 ? text : absl::StrCat("line ", decision.line, ": ", text);
}

std::vector<int64_t> WithPinned(std::vector<int64_t> counts, const std::vector<int64_t>& pinned,
                                int64_t most) {
  for (const int64_t count : pinned) {
    if (count <= most) counts.push_back(count);
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<int64_t> MdhProblem::PinnedCounts(int d) const {
  std::set<int64_t> counts;
  if (!schedule.has_value()) return {};
  for (const Decision& decision : schedule->decisions()) {
    const bool is_tile = decision.kind == Kind::kTile;
    if (decision.dimension != d || (!is_tile && decision.kind != Kind::kParts)) continue;
    for (const ChoiceValue& value : decision.values.Named(kMostNamed)) {
      const int64_t named = value[0];
      if (named < 1 || named > size(d)) continue;
      counts.insert(named);
      for (int64_t n = 1; is_tile && n * n <= named; ++n) {
        if (named % n != 0) continue;
        counts.insert(n);
        counts.insert(named / n);
      }
    }
  }
  return {counts.begin(), counts.end()};
}

double MdhProblem::MostPartsOfCores() const {
  std::vector<int64_t> named(static_cast<size_t>(rank()), 1);
  const absl::Span<const Decision> decisions =
      schedule.has_value() ? schedule->decisions() : absl::Span<const Decision>();
  for (const Decision& decision : decisions) {
    const int d = decision.dimension;
    const bool is_tile = decision.kind == Kind::kTile;
    if (decision.layer != 0 || (!is_tile && decision.kind != Kind::kParts)) continue;
    for (const ChoiceValue& value : decision.values.Named(kMostNamed)) {
      if (value[0] < 1 || value[0] > size(d)) continue;
      named[d] = std::max(named[d], is_tile ? (size(d) + value[0] - 1) / value[0] : value[0]);
    }
  }
  // Limits are in steps of powers of two.
  double parts = 1;
  for (const int64_t of_dimension : named) {
    parts *= static_cast<double>(std::bit_ceil(static_cast<uint64_t>(of_dimension)));
  }
  return std::max(parts, static_cast<double>(kPartsPerCore * device.cores));
}

std::vector<ChoiceValue> MdhProblem::PinnedValues(const Choice& row) const {
  std::vector<ChoiceValue> values;
  if (!schedule.has_value()) return values;
  for (const Decision& decision : schedule->decisions()) {
    if (decision.kind != Kind::kOption || decision.option != &row) continue;
    for (ChoiceValue& value : decision.values.Named(kMostNamed)) values.push_back(std::move(value));
  }
  return values;
}

bool MdhSpaceKind::RequireSchedule() {
  bool is_exact = true;
  first_of_schedule_ = static_cast<int>(builder_.constraints().size());
  if (!problem_.schedule.has_value()) return is_exact;
  const absl::Span<const Decision> decisions = problem_.schedule->decisions();
  for (int n = 0; n < std::ssize(decisions); ++n) {
    const Decision& decision = decisions[n];
    if (decision.kind == Kind::kFuse || decision.kind == Kind::kSeparate) continue;
    const std::optional<Formula> formula = AnyFormulaOf(decision);
    is_exact = is_exact && formula.has_value() &&
               (decision.layer < 0 || !IsCore(decision.layer) || HasExactAxes(decision.layer));
    if (!formula.has_value()) continue;
    builder_.Require(ConstraintName(*problem_.schedule, decision), *formula);
    required_.push_back(n);
  }
  return is_exact;
}

Formula MdhSpaceKind::IsIn(const ValueSet& values, const Formula& value) {
  std::vector<Formula> is_one;
  for (const ValueSet::Span& span : values.spans()) {
    const int64_t low = span.low[0], high = span.high[0];
    if (low == high) {
      is_one.push_back(value == low);
    } else if (!span.is_factor) {
      Formula is_in = value >= low && value <= high;
      if (span.step > 1) is_in = is_in && (value - low) % span.step == 0;
      is_one.push_back(is_in);
    } else {
      for (const ChoiceValue& named : ValueSet({span}, false).Named(kMostNamed)) {
        is_one.push_back(value == named[0]);
      }
    }
  }
  const Formula is_named = AnyOf(std::move(is_one));
  return values.is_negated() ? !is_named : is_named;
}

std::optional<Formula> MdhSpaceKind::AnyFormulaOf(const Decision& decision) const {
  const int l = decision.layer, d = decision.dimension;
  switch (decision.kind) {
    case Kind::kTile: {
      const bool has_outside =
          decision.values.Contains(Decision::kAsOutside) != decision.values.is_negated();
      if (!has_outside) return IsIn(decision.values, TileOf(l, d));
      const Formula is_named =
          IsIn(ValueSet(decision.values.spans(), false), TileOf(l, d)) || PartsOf(l, d) == 1;
      return decision.values.is_negated() ? !is_named : is_named;
    }
    case Kind::kParts:
      return IsIn(decision.values, PartsOf(l, d));
    case Kind::kAxis:
      return PartsOf(l, d) == 1 || IsIn(decision.values, AxisOf({l, d}));
    case Kind::kOrder:
      return OrderFormula(decision);
    case Kind::kOption:
      return OptionFormula(decision);
    case Kind::kRequire: {
      const std::optional<Formula> value = LimitFormula(decision.limit);
      if (!value.has_value()) return std::nullopt;
      return *value != 0;
    }
    default:
      return FormulaOf(decision);
  }
}

Formula MdhSpaceKind::OptionFormula(const Decision& decision) const {
  const Choice& row = *decision.option;
  for (const ChoiceParameter& choice : choices_) {
    if (choice.row != &row || choice.number < 0) continue;
    std::vector<Formula> is_one;
    for (size_t n = 0; n < choice.values.size(); ++n) {
      if (!decision.values.Contains(choice.values[n])) continue;
      is_one.push_back(builder_.At(choice.number) == choice.CodeOf(n));
    }
    return AnyOf(std::move(is_one));
  }
  TuningParameters p;  // spaces that have no parameter for it leave it as it is
  p.system_model = problem_.model.name;
  p.lowering = lowering_ == LoweringTarget::kRegisterTiles ? Lowering::kTiles : Lowering::kLevels;
  return decision.values.Contains(row.get(p));
}

Formula MdhSpaceKind::OrderFormula(const Decision& decision) const {
  const int layers = static_cast<int>(problem_.model.layers.size());
  const auto holds = [&](MdhLevel outer, MdhLevel inner) -> Formula {
    const bool is_core = IsCore(outer.layer);
    if (is_core != IsCore(inner.layer) || (is_core && outer.layer != inner.layer)) return true;
    return PartsOf(outer.layer, outer.dimension) == 1 ||
           PartsOf(inner.layer, inner.dimension) == 1 || IsOutside(outer, inner);
  };
  std::vector<MdhLevel> all = decision.before;
  all.insert(all.end(), decision.after.begin(), decision.after.end());
  std::vector<Formula> conditions;
  for (size_t n = 0; n < all.size(); ++n) {
    for (size_t m = n + 1; m < all.size(); ++m) conditions.push_back(holds(all[n], all[m]));
  }
  for (int l = 0; l < layers && decision.has_others; ++l) {
    if (decision.layer >= 0 && decision.layer != l) continue;
    for (int d = 0; d < problem_.rank(); ++d) {
      const MdhLevel other = {l, d};
      if (std::ranges::find(all, other) != all.end()) continue;
      for (const MdhLevel& level : decision.before) conditions.push_back(holds(level, other));
      for (const MdhLevel& level : decision.after) conditions.push_back(holds(other, level));
    }
  }
  return AllOf(std::move(conditions));
}

std::optional<Formula> MdhSpaceKind::LimitFormula(const Limit& limit) const {
  using Op = Limit::Op;
  std::vector<Formula> operands;
  for (const Limit& operand : limit.operands) {
    const std::optional<Formula> formula = LimitFormula(operand);
    if (!formula.has_value()) return std::nullopt;
    operands.push_back(*formula);
  }
  const auto first = [&] { return operands[0]; };
  const auto second = [&] { return operands[1]; };
  switch (limit.op) {
    case Op::kNumber:
      return Formula(limit.number);
    case Op::kTile:
      return TileOf(limit.layer, limit.dimension);
    case Op::kParts:
      return PartsOf(limit.layer, limit.dimension);
    case Op::kBytes: {
      const Expression& e = problem_.expression;
      const Buffer& buffer = limit.is_output ? e.outputs()[limit.buffer] : e.inputs()[limit.buffer];
      std::vector<Formula> factors = {Formula(buffer.type.size_bytes())};
      for (int x = 0; x < std::ssize(buffer.extents); ++x) {
        const ConstantRange constants = ConstantsOf(buffer, x);
        Formula extent = constants.high - constants.low + 1;
        const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[x].coefficients;
        for (int d = 0; d < problem_.rank(); ++d) {
          if (coefficients[d] == 0) continue;
          extent = extent + coefficients[d] * (TileOf(limit.layer, d) - 1);
        }
        factors.push_back(Min({Formula(buffer.extents[x]), extent}));
      }
      return Product(factors);
    }
    case Op::kThreads: {
      std::vector<Formula> factors;
      const bool is_explicit = problem_.model.memory == MemoryKind::kExplicit;
      for (int l = 0; l < std::ssize(problem_.model.layers); ++l) {
        if (!IsCore(l) || (is_explicit && l == 0)) continue;
        for (int d = 0; d < problem_.rank(); ++d) factors.push_back(PartsOf(l, d));
      }
      return Product(factors);
    }
    case Op::kRegisters:
      return Registers();
    case Op::kAdd:
      return first() + second();
    case Op::kSubtract:
      return first() - second();
    case Op::kMultiply:
      return first() * second();
    case Op::kDivide:
      return FloorDivide(first(), second());
    case Op::kRemainder:
      return first() % second();
    case Op::kMin:
      return Min(operands);
    case Op::kMax:
      return Max(operands);
    case Op::kLess:
      return AsNumber(first() < second());
    case Op::kLessEqual:
      return AsNumber(first() <= second());
    case Op::kEqual:
      return AsNumber(first() == second());
    case Op::kNotEqual:
      return AsNumber(first() != second());
    case Op::kAnd:
      return AsNumber(first() != 0 && second() != 0);
    case Op::kOr:
      return AsNumber(first() != 0 || second() != 0);
    case Op::kNot:
      return AsNumber(first() == 0);
  }
  return std::nullopt;
}

}  // namespace mdh
