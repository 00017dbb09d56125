#include "core/pipeline/merge_siblings.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

Status CheckAreSiblings(const Pipeline& pipeline, int first, int second) {
  const Expression& a = pipeline.steps()[first].expression;
  const Expression& b = pipeline.steps()[second].expression;
  if (first == second) return Obstacle("a step is no sibling of itself");
  if (DependsOn(pipeline, first, second) || DependsOn(pipeline, second, first)) {
    return Obstacle("one of '", a.name(), "' and '", b.name(), "' needs what the other writes");
  }
  if (a.rank() != b.rank()) return Obstacle("the steps have different numbers of dimensions");
  for (int d = 0; d < a.rank(); ++d) {
    if (a.dimensions()[d].size != b.dimensions()[d].size) {
      return Obstacle("dimension ", d + 1, " has the sizes ", a.dimensions()[d].size, " and ",
                      b.dimensions()[d].size);
    }
    if (a.is_reduction(d) != b.is_reduction(d) || a.is_prefix_sum(d) != b.is_prefix_sum(d)) {
      return Obstacle("dimension ", d + 1, " is combined by ", a.combine_operators()[d].ToString(),
                      " and by ", b.combine_operators()[d].ToString());
    }
  }
  return absl::OkStatus();
}

// Applies `a` to the first results of both sides and `b` to the others.
CombineOperator ProductOperator(const CombineOperator& a, const CombineOperator& b) {
  std::vector<ScalarType> types;
  for (const CombineOperator* one : {&a, &b}) {
    for (const TypedName& result : one->function().results()) types.push_back(result.type);
  }
  const bool is_named =
      a.kinds()[0] != PointWiseKind::kCustom && b.kinds()[0] != PointWiseKind::kCustom;
  if (is_named) {
    std::vector<PointWiseKind> kinds = a.kinds();
    kinds.insert(kinds.end(), b.kinds().begin(), b.kinds().end());
    return *CombineOperator::PointWise(kinds, types);
  }
  const size_t first = a.function().results().size();
  std::vector<TypedName> parameters, results;
  ValueBuilder builder;
  std::vector<int> of_a, of_b;  // arguments: the left and then the right side
  for (const char* const side : {"a", "b"}) {
    for (size_t r = 0; r < types.size(); ++r) {
      const auto number = static_cast<int>(parameters.size());
      (r < first ? of_a : of_b)
          .push_back(builder.Append({ScalarOp::kParameter, types[r], {}, number}));
      parameters.push_back({absl::StrCat(side, r + 1), types[r]});
    }
  }
  std::vector<int> values = builder.Apply(a.function(), of_a);
  for (const int value : builder.Apply(b.function(), of_b)) values.push_back(value);
  for (size_t r = 0; r < types.size(); ++r) results.push_back({absl::StrCat("c", r + 1), types[r]});
  std::optional<std::vector<ScalarValue>> identity;
  if (a.identity().has_value() && b.identity().has_value()) {
    identity = *a.identity();
    identity->insert(identity->end(), b.identity()->begin(), b.identity()->end());
  }
  return *CombineOperator::PointWise(
      *ScalarFunction::Create("combine", std::move(parameters), std::move(results),
                              builder.instructions(), std::move(values)),
      std::move(identity));
}

}  // namespace

Result<Pipeline> MergeSiblings(const Pipeline& pipeline, int first, int second) {
  MDH_RETURN_IF_ERROR(CheckAreSiblings(pipeline, first, second));
  const PipelineStep& a = pipeline.steps()[first];
  const PipelineStep& b = pipeline.steps()[second];
  StepBuilder builder(pipeline.buffers(), a.expression.dimensions());
  const StepPoint point = builder.SamePoint();
  const bool has_store = a.expression.store() != nullptr || b.expression.store() != nullptr;
  std::vector<int> results, stored;
  StepBuilder::Outputs outputs;
  for (const PipelineStep* step : {&a, &b}) {
    MDH_ASSIGN_OR_RETURN(const std::vector<int> own, builder.f().ResultsAt(*step, point));
    if (has_store) {
      std::vector<int> finished;
      for (const int value : own) {
        const auto number = static_cast<int>(results.size() + finished.size());
        finished.push_back(builder.store().ResultOfF(number, builder.f().type(value)));
      }
      MDH_ASSIGN_OR_RETURN(finished, builder.store().StoredAt(*step, point, std::move(finished)));
      stored.insert(stored.end(), finished.begin(), finished.end());
    }
    results.insert(results.end(), own.begin(), own.end());
    const std::vector<Buffer>& views = step->expression.outputs();
    outputs.views.insert(outputs.views.end(), views.begin(), views.end());
    outputs.buffers.insert(outputs.buffers.end(), step->outputs.begin(), step->outputs.end());
  }
  std::vector<CombineOperator> operators = a.expression.combine_operators();
  for (size_t d = 0; d < operators.size(); ++d) {
    if (operators[d].is_concat()) continue;
    const bool is_prefix_sum = operators[d].is_prefix_sum();
    operators[d] = ProductOperator(operators[d], b.expression.combine_operators()[d]);
    if (is_prefix_sum) operators[d] = operators[d].AsPrefixSum();
  }
  const std::string name =
      absl::StrCat(a.expression.name().substr(0, 60), "_", b.expression.name().substr(0, 60));
  MDH_ASSIGN_OR_RETURN(PipelineStep merged,
                       builder.Finish(name, std::move(outputs), std::move(results),
                                      std::move(operators), std::move(stored)));
  PipelineSpec spec = pipeline.spec();
  spec.steps[first] = std::move(merged);
  spec.steps.erase(spec.steps.begin() + second);
  return Reordered(std::move(spec));
}

}  // namespace mdh
