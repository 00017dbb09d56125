#include "core/pipeline/factor_order.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "core/pipeline/wide_sums.h"

namespace mdh {
namespace {

// Of a product: whether each instruction multiplies what depends on several accesses.
std::vector<bool> MultipliesFactors(const Expression& expression) {
  const std::vector<ScalarInstruction>& all = expression.function().instructions();
  std::vector<FactorSet> accesses;
  std::vector<bool> multiplies;
  for (const ScalarInstruction& instruction : all) {
    FactorSet set = 0;
    if (instruction.op == ScalarOp::kParameter) {
      const Expression::AccessRef access = expression.input_access(instruction.parameter);
      int number = access.access;
      for (int b = 0; b < access.buffer; ++b) {
        number += static_cast<int>(expression.inputs()[b].accesses.size());
      }
      set = FactorSet{1} << number;
    }
    for (const int operand : instruction.operands) set |= accesses[operand];
    accesses.push_back(set);
    multiplies.push_back(instruction.op == ScalarOp::kMul && std::popcount(set) > 1);
  }
  return multiplies;
}

// The value of an instruction, and of no others than those that it takes.
int Append(const std::vector<ScalarInstruction>& all, int number, ValueBuilder& builder) {
  ScalarInstruction instruction = all[static_cast<size_t>(number)];
  for (int& operand : instruction.operands) operand = Append(all, operand, builder);
  return builder.Append(std::move(instruction));
}

bool HasProducts(const Expression& expression) {
  return std::ranges::count(expression.function().instructions(), ScalarOp::kMul,
                            &ScalarInstruction::op) > 1;
}

}  // namespace

std::optional<FactorOrder> FactorOrder::Of(const Expression& expression, NumericsPolicy numerics) {
  if (!HasProducts(expression) || !Reassociates(numerics)) return std::nullopt;
  Result<std::vector<ProductFactor>> factors = ProductForm(expression);
  if (!factors.ok() || factors->size() < 3 || factors->size() > kMostFactors) return std::nullopt;
  return FactorOrder(expression, *std::move(factors));
}

FactorOrder::FactorOrder(const Expression& expression, std::vector<ProductFactor> factors)
    : f_(expression.function()),
      factors_(std::move(factors)),
      dimensions_(size_t{1} << factors_.size(), 0) {
  for (FactorSet set = 1; set < dimensions_.size(); ++set) {
    const ProductFactor& first = factors_[static_cast<size_t>(std::countr_zero(set))];
    dimensions_[set] = dimensions_[set & (set - 1)];
    for (int p = 0; p < expression.input_parameters(); ++p) {
      const Expression::AccessRef access = expression.input_access(p);
      if (access.buffer != first.buffer || access.access != first.access) continue;
      dimensions_[set] |= DimensionsOfParameter(expression, p);
    }
  }
  for (int d = 0; d < expression.rank(); ++d) all_ |= DimensionSet{1} << d;
  const std::vector<DimensionSet> of_instructions = DimensionsOfInstructions(expression);
  const std::vector<bool> multiplies = MultipliesFactors(expression);
  for (size_t n = 0; n < multiplies.size(); ++n) {
    if (multiplies[n]) products_.push_back(of_instructions[n]);
  }
}

double FactorOrder::Points(DimensionSet set, absl::Span<const int64_t> tile) const {
  double points = 1;
  for (size_t d = 0; d < tile.size(); ++d) {
    if (IsIn(set, static_cast<int>(d))) points *= static_cast<double>(tile[d]);
  }
  return points;
}

PairwiseOrder<double> FactorOrder::Best(absl::Span<const int64_t> tile) const {
  return PairwiseOrder<double>(
      factors_.size(), [](int) { return 0.0; },
      [&](FactorSet a, FactorSet b) { return Points(dimensions_[a | b], tile); },
      std::plus<double>());
}

double FactorOrder::WrittenIn(absl::Span<const int64_t> tile) const {
  double multiplications = 0;
  for (const DimensionSet set : products_) multiplications += Points(set, tile);
  return multiplications;
}

double FactorOrder::PerPoint(absl::Span<const int64_t> tile) const {
  const PairwiseOrder<double> best = Best(tile);
  return std::min(best.cost(best.all()), WrittenIn(tile)) / Points(all_, tile);
}

int FactorOrder::Multiply(FactorSet set, const PairwiseOrder<double>& order,
                          ValueBuilder& builder) const {
  if (IsSingle(set)) {
    const ScalarFunction& factor = factors_[static_cast<size_t>(std::countr_zero(set))].function;
    return Append(factor.instructions(), factor.result_instructions()[0], builder);
  }
  // The earlier factor first, as it mostly is where people write it.
  FactorSet first = order.Part(set), second = set ^ first;
  if (std::countr_zero(second) < std::countr_zero(first)) std::swap(first, second);
  const int left = Multiply(first, order, builder);
  const int right = Multiply(second, order, builder);
  return builder.Append({ScalarOp::kMul, f_.results()[0].type, {left, right}});
}

ScalarFunction FactorOrder::Function(absl::Span<const int64_t> tile) const {
  const PairwiseOrder<double> best = Best(tile);
  if (WrittenIn(tile) <= best.cost(best.all())) return f_;
  ValueBuilder builder;
  const int product = Multiply(best.all(), best, builder);
  Result<ScalarFunction> ordered = ScalarFunction::Create(f_.name(), f_.parameters(), f_.results(),
                                                          builder.instructions(), {product});
  return ordered.ok() ? *std::move(ordered) : f_;
}

std::vector<bool> ReorderedProducts(const Expression& expression) {
  const bool is_reordered = FactorOrder::Of(expression, NumericsPolicy::kReassociate).has_value();
  return is_reordered ? MultipliesFactors(expression)
                      : std::vector<bool>(expression.function().instructions().size(), false);
}

ScalarFunction FunctionInTile(const Expression& expression, NumericsPolicy numerics,
                              absl::Span<const int64_t> tile) {
  const std::optional<FactorOrder> order = FactorOrder::Of(expression, numerics);
  const ScalarFunction f = order ? order->Function(tile) : expression.function();
  return HasWideSums(expression, numerics) ? WithWideResults(f) : f;
}

}  // namespace mdh
