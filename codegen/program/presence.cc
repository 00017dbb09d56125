#include "codegen/program/presence.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/scalar/value_builder.h"

namespace mdh {
namespace {

// A function that is built: its parameters get numbers in the order of these calls.
class FunctionBuilder {
 public:
  ValueBuilder& values() { return values_; }
  int Parameter(std::string name, ScalarType type) {
    const int value =
        values_.Append({ScalarOp::kParameter, type, {}, static_cast<int>(parameters_.size())});
    parameters_.push_back({std::move(name), type});
    return value;
  }
  ScalarFunction Build(const std::string& name, std::vector<TypedName> results,
                       std::vector<int> of) {
    return *ScalarFunction::Create(name, std::move(parameters_), std::move(results),
                                   values_.instructions(), std::move(of));
  }

 private:
  ValueBuilder values_;
  std::vector<TypedName> parameters_;
};

std::vector<TypedName> Numbered(const std::string& stem, const std::vector<TypedName>& like) {
  std::vector<TypedName> names;
  for (size_t n = 0; n < like.size(); ++n) names.push_back({absl::StrCat(stem, n), like[n].type});
  return names;
}

// The results of f, and that there are any.
ScalarFunction PresentFunction(const ScalarFunction& f) {
  FunctionBuilder builder;
  std::vector<int> arguments;
  for (const TypedName& p : f.parameters()) arguments.push_back(builder.Parameter(p.name, p.type));
  std::vector<int> values = builder.values().Apply(f, arguments);
  values.push_back(builder.values().Constant(ScalarValue::Bool(true)));
  std::vector<TypedName> results = f.results();
  TypedName present = {"present", ScalarType::kBool};
  const auto is_taken = [&](const std::vector<TypedName>& names) {
    return std::ranges::any_of(names,
                               [&](const TypedName& other) { return other.name == present.name; });
  };
  while (is_taken(results) || is_taken(f.parameters())) present.name += "_";
  results.push_back(present);
  return builder.Build(f.name(), std::move(results), std::move(values));
}

CombineOperator PresentOperator(const CombineOperator& combine,
                                const std::vector<TypedName>& results) {
  FunctionBuilder builder;
  ValueBuilder& values = builder.values();
  std::vector<int> operands, present;
  for (const char* side : {"a", "b"}) {
    for (const TypedName& result : Numbered(side, results)) {
      operands.push_back(builder.Parameter(result.name, result.type));
    }
    present.push_back(operands.back());
    operands.pop_back();
  }
  const size_t count = results.size() - 1;
  std::vector<int> combined = values.Apply(combine.function(), operands);
  std::vector<ScalarValue> identity;
  for (size_t r = 0; r < count; ++r) {
    const ScalarType type = results[r].type;
    const int left =
        values.Append({ScalarOp::kSelect, type, {present[1], combined[r], operands[r]}});
    combined[r] = values.Append({ScalarOp::kSelect, type, {present[0], left, operands[count + r]}});
    identity.push_back(ScalarValue::Zero(type));
  }
  combined.push_back(values.Append({ScalarOp::kOr, ScalarType::kBool, present}));
  identity.push_back(ScalarValue::Bool(false));
  CombineOperator lifted = *CombineOperator::PointWise(
      builder.Build(combine.function().name(), Numbered("c", results), std::move(combined)),
      std::move(identity));
  lifted.set_keeps_order(combine.keeps_order());
  return combine.is_prefix_sum() ? lifted.AsPrefixSum() : lifted;
}

// What `store` makes of all but the last of the results; without one, these.
StoreFunction PresentStore(const StoreFunction* store, const std::vector<TypedName>& results) {
  FunctionBuilder builder;
  std::vector<int> arguments;
  for (const TypedName& result : Numbered("r", results)) {
    arguments.push_back(builder.Parameter(result.name, result.type));
  }
  arguments.pop_back();
  if (store == nullptr) {
    return {builder.Build("stored", {results.begin(), results.end() - 1}, std::move(arguments))};
  }
  const std::vector<TypedName>& parameters = store->function.parameters();
  for (size_t p = arguments.size(); p < parameters.size(); ++p) {
    arguments.push_back(builder.Parameter(absl::StrCat("s", p), parameters[p].type));
  }
  std::vector<int> stored = builder.values().Apply(store->function, arguments);
  return {builder.Build(store->function.name(), store->function.results(), std::move(stored)),
          store->inputs, store->index_dimensions};
}

}  // namespace

Expression WithPresence(const Expression& expression) {
  ExpressionSpec spec = expression.spec();
  spec.function = PresentFunction(expression.function());
  const std::vector<TypedName>& results = spec.function.results();
  for (CombineOperator& combine : spec.combine_operators) {
    if (!combine.is_concat()) combine = PresentOperator(combine, results);
  }
  spec.store = PresentStore(expression.store(), results);
  return Expression::Unchecked(std::move(spec));
}

LowLevelExpression WithPresence(const LowLevelExpression& low_level) {
  return LowerUnchecked(WithPresence(low_level.expression()), low_level.model(),
                        low_level.parameters());
}

}  // namespace mdh
