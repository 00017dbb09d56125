#include "codegen/bounds/product_sum.h"

#include <algorithm>
#include <map>

#include "core/scalar/needed_instructions.h"

namespace mdh {
namespace {

// Collects factors below an instruction.
void Walk(const ScalarFunction& f, int instruction, ProductSum& product) {
  const ScalarInstruction& one = f.instructions()[instruction];
  const bool is_product =
      one.op == ScalarOp::kMul || one.op == ScalarOp::kDiv || one.op == ScalarOp::kNeg;
  if (!is_product) {
    product.factors.push_back(instruction);
    return;
  }
  if (!product.products.insert(instruction).second) return;
  product.divides = product.divides || one.op == ScalarOp::kDiv;
  for (const int operand : one.operands) Walk(f, operand, product);
}

// Reduced dimensions that the same factors depend on, and these.
struct SummedTogether {
  DimensionSet dimensions = 0;
  DimensionSet joined = 0;  // all dimensions of these factors
  Coefficients rows;        // their elements
  int factors = 0;
};

std::vector<SummedTogether> Groups(const ProductSum& product, DimensionSet reduced) {
  std::map<std::vector<bool>, SummedTogether> groups;
  for (const int d : Members(reduced)) {
    std::vector<bool> users;
    for (const DimensionSet uses : product.uses) users.push_back(IsIn(uses, d));
    if (std::ranges::count(users, true) == 0) continue;
    groups[users].dimensions |= DimensionSet{1} << d;
  }
  std::vector<SummedTogether> result;
  for (auto& [users, group] : groups) {
    for (size_t n = 0; n < users.size(); ++n) {
      if (!users[n]) continue;
      ++group.factors;
      group.joined |= product.uses[n];
      group.rows.insert(group.rows.end(), product.rows[n].begin(), product.rows[n].end());
    }
    result.push_back(group);
  }
  return result;
}

}  // namespace

std::optional<ProductSum> FindProductSum(const Expression& expression) {
  const ScalarFunction& f = expression.function();
  if (f.results().size() != 1 || !expression.has_reduction() || expression.has_prefix_sum()) {
    return std::nullopt;
  }
  if (expression.reduction().kinds()[0] != PointWiseKind::kAdd) return std::nullopt;
  ProductSum product;
  product.type = f.results()[0].type;
  if (!IsFloatingPoint(product.type)) return std::nullopt;
  Walk(f, f.result_instructions()[0], product);
  if (product.products.empty()) return std::nullopt;
  const std::vector<DimensionSet> dimensions = DimensionsOfInstructions(expression);
  const std::vector<std::vector<bool>> parameters = ParametersOfInstructions(f);
  const DistinctOperands operands(expression);
  for (const int factor : product.factors) {
    product.uses.push_back(dimensions[factor]);
    product.rows.push_back(operands.OfParameters(parameters[factor]));
  }
  // Else nothing is regrouped.
  const std::vector<SummedTogether> groups = Groups(product, ReducedDimensions(expression));
  const bool is_shared =
      std::ranges::all_of(groups, [](const SummedTogether& one) { return one.factors > 1; });
  if (groups.empty() || (product.factors.size() <= 2 && !is_shared)) return std::nullopt;
  return product;
}

ArithmeticWork WorkOf(const ProductSum& product, const DistinctOperands& operands,
                      DimensionSet reduced) {
  ArithmeticWork work;
  const std::vector<SummedTogether> groups = Groups(product, reduced);
  if (groups.empty()) return work;
  const auto multiplied = [&](const SummedTogether& group, DimensionSet left) {
    return group.factors < 2 ? 0 : operands.Count(group.rows, left);
  };
  double first_products = multiplied(groups[0], groups[0].joined), one_group = 0;
  double first_sums = operands.Points(groups[0].joined);
  for (const SummedTogether& group : groups) {
    const double points = operands.Points(group.joined);
    const double sums = points - operands.Points(group.joined & ~group.dimensions);
    first_sums = std::min(first_sums, sums);
    first_products = std::min(first_products, multiplied(group, group.joined));
    // Whatever is summed before, these are left.
    const DimensionSet left = group.joined & ~(reduced & ~group.dimensions);
    one_group = std::max(one_group, multiplied(group, left));
    work.additions =
        std::max(work.additions, operands.Points(left) - operands.Points(left & ~group.dimensions));
  }
  work.multiplications = product.divides ? 0 : std::max(first_products, one_group);
  work.additions = std::max(work.additions, first_sums);
  return work;
}

}  // namespace mdh
