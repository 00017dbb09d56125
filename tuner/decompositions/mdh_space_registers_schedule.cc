// Decisions of schedules in spaces of register tiles.
#include "core/decomposition/constraints.h"
#include "tuner/decompositions/mdh_space_registers.h"

namespace mdh {

namespace {
using Kind = Decision::Kind;
}  // namespace

Formula RegisterDecompositions::TileOf(int layer, int d) const {
  if (layer > lanes_layer_ && layer > innermost_) return 1;
  const int level = layer <= innermost_ ? LevelOf(layer) - 1 : -1;
  return level < 0 ? lanes_of_[d] : dimensions_.at(d).outer(level);
}

Formula RegisterDecompositions::PartsOf(int layer, int d) const {
  if (layer <= innermost_) return dimensions_.at(d).parts(LevelOf(layer));
  if (p_.model.layers[layer].role == LayerRole::kRegisters) return dimensions_.at(d).parts(0);
  return lanes_of_[d];
}

// Layers are nested; those of registers and lanes have the dimensions in their order.
Formula RegisterDecompositions::IsOutside(MdhLevel level, MdhLevel other) const {
  if (level.layer != other.layer) return level.layer < other.layer;
  if (level.layer > innermost_) return level.dimension < other.dimension;
  return orders_[level.layer].IsOutside(builder_, level.dimension, other.dimension);
}

Formula RegisterDecompositions::AxisOf(MdhLevel level) const {
  std::vector<Formula> before = {Formula(0)};
  for (int d = 0; d < p_.rank(); ++d) {
    const MdhLevel other = {level.layer, d};
    if (d == level.dimension) continue;
    before.push_back(If(PartsOf(other.layer, d) > 1 && IsOutside(other, level), 1, 0));
  }
  return Sum(before);
}

std::optional<Formula> RegisterDecompositions::Registers() const {
  int64_t words = 0;
  for (const TypedName& result : e_.function().results()) words += Words(SizeBytes(result.type));
  std::vector<Formula> factors = {Formula(words)};
  for (int d = 0; d < p_.rank(); ++d) {
    Formula results = TileOf(innermost_, d);
    if (p_.is_reduced(d)) results = If(ChoiceCode("chains") == 1, results, lanes_of_[d]);
    factors.push_back(std::move(results));
  }
  return Product(factors);
}

std::optional<Formula> RegisterDecompositions::FormulaOf(const Decision& decision) const {
  switch (decision.kind) {
    case Kind::kAlong:
      return IsIn(decision.values, builder_.At(vector_dimension_));
    case Kind::kCopy:
      return IsIn(decision.values, builder_.At(staging_[decision.buffer].layer));
    case Kind::kStrips:
      return IsIn(decision.values, builder_.At(staging_[decision.buffer].strip));
    case Kind::kLayout: {
      const Staging& staging = staging_[decision.buffer];
      std::vector<Formula> is_one;
      for (const ValueSet::Span& span : decision.values.spans()) {
        is_one.push_back(staging.layout.Is(builder_, span.low));
      }
      const Formula is_named = AnyOf(std::move(is_one));
      return builder_.At(staging.layer) == InputParameters::kInPlace ||
             (decision.values.is_negated() ? !is_named : is_named);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace mdh
