#include "core/pipeline/wide_sums.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/scalar/value_builder.h"

namespace mdh {
namespace {

// Gives one of its operands, or their opposite: what such an operation gives is not rounded if they
// are not.
bool Chooses(ScalarOp op) {
  switch (op) {
    case ScalarOp::kSelect:
    case ScalarOp::kMin:
    case ScalarOp::kMax:
    case ScalarOp::kFmin:
    case ScalarOp::kFmax:
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
      return true;
    default:
      return false;
  }
}

bool IsComputed(const ScalarInstruction& one) {
  return one.op != ScalarOp::kParameter && one.op != ScalarOp::kConstant &&
         one.op != ScalarOp::kTable;
}

// Which operations give halves that are nothing but results, perhaps chosen among others.
std::vector<bool> GiveResults(const ScalarFunction& function) {
  const std::vector<ScalarInstruction>& all = function.instructions();
  std::vector<int> uses(all.size()), as_result(all.size());
  for (const ScalarInstruction& one : all) {
    for (const int operand : one.operands) ++uses[operand];
  }
  for (const int n : function.result_instructions()) {
    ++uses[n];
    ++as_result[n];
  }
  std::vector<bool> give(all.size());
  for (size_t n = all.size(); n-- > 0;) {
    give[n] = IsComputed(all[n]) && IsStorageOnly(all[n].type) && uses[n] == as_result[n];
    if (!give[n] || !Chooses(all[n].op)) continue;
    for (const int operand : all[n].operands) ++as_result[operand];
  }
  return give;
}

}  // namespace

bool HasWideSums(const Expression& expression, NumericsPolicy numerics) {
  if (!expression.has_reduction() && !expression.has_prefix_sum()) return false;
  const std::vector<TypedName>& results = expression.function().results();
  return Reassociates(numerics) && expression.reduction().kinds()[0] != PointWiseKind::kCustom &&
         std::ranges::any_of(results, [](const auto& r) { return IsStorageOnly(r.type); });
}

ScalarFunction WithWideResults(const ScalarFunction& function) {
  const std::vector<bool> give_results = GiveResults(function);
  ValueBuilder builder;
  std::vector<int> number;  // of each instruction
  for (size_t n = 0; n < give_results.size(); ++n) {
    ScalarInstruction one = function.instructions()[n];
    for (int& operand : one.operands) operand = number[operand];
    if (give_results[n]) {
      one.type = Info(one.type).computed;
      for (int& operand : one.operands) {
        if (IsStorageOnly(builder.type(operand))) operand = builder.Converted(operand, one.type);
      }
    }
    const bool is_converted =
        one.op == ScalarOp::kCast && builder.type(one.operands[0]) == one.type;
    number.push_back(is_converted ? one.operands[0] : builder.Append(std::move(one)));
  }
  std::vector<TypedName> results = function.results();
  std::vector<int> values;
  for (size_t r = 0; r < results.size(); ++r) {
    results[r].type = Info(results[r].type).computed;
    values.push_back(builder.Converted(number[function.result_instructions()[r]], results[r].type));
  }
  return *ScalarFunction::Create(function.name(), function.parameters(), std::move(results),
                                 builder.instructions(), std::move(values));
}

Expression WithWideSums(const Expression& expression, NumericsPolicy numerics) {
  if (!HasWideSums(expression, numerics)) return expression;
  ExpressionSpec spec = expression.spec();
  spec.function = WithWideResults(spec.function);
  std::vector<ScalarType> types;
  for (const TypedName& result : spec.function.results()) types.push_back(result.type);
  const CombineOperator wide = *CombineOperator::PointWise(expression.reduction().kinds(), types);
  for (CombineOperator& combine : spec.combine_operators) {
    if (combine.is_concat()) continue;
    combine = combine.is_prefix_sum() ? wide.AsPrefixSum() : wide;
  }
  return Expression::Unchecked(std::move(spec));
}

}  // namespace mdh
