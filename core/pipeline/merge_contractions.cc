#include "core/pipeline/merge_contractions.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pipeline/inverse_view.h"
#include "core/pipeline/product_form.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

// A step over the points of both, in which the factor of the consumer that reads what the producer
// writes is the product of the producer's factors.
Result<PipelineStep> MergedStep(const Pipeline& pipeline, const PipelineStep& from,
                                const PipelineStep& to, const ProductFactor& factor) {
  const Expression& inner = from.expression;
  const Expression& outer = to.expression;
  std::vector<Dimension> dimensions = outer.dimensions(), written_over = inner.dimensions();
  std::vector<CombineOperator> operators = outer.combine_operators();
  std::set<std::string> names;
  for (const Dimension& dimension : dimensions) names.insert(dimension.name);
  std::vector<int> position(inner.rank(), -1);  // of reduced dimensions among the new ones
  for (int d = 0; d < inner.rank(); ++d) {
    if (!inner.is_reduction(d)) continue;
    written_over[d].size = 1;  // all points along it write one element
    position[d] = static_cast<int>(dimensions.size());
    Dimension dimension = inner.dimensions()[d];
    for (int n = 2; !names.insert(dimension.name).second; ++n) {
      dimension.name = absl::StrCat(inner.dimensions()[d].name.substr(0, 120), "_", n);
    }
    dimensions.push_back(std::move(dimension));
    operators.push_back(inner.combine_operators()[d]);
  }
  const auto widened = [&](AffineIndex index) {
    index.coefficients.resize(dimensions.size(), 0);
    return index;
  };
  const Buffer& view = outer.inputs()[factor.buffer];
  std::optional<std::vector<AffineIndex>> point =
      InversePoint(inner.outputs()[0].accesses[0], written_over, view.accesses[factor.access],
                   outer.dimensions(), view.extents, /*only_inside=*/false);
  if (!point.has_value()) {
    return Obstacle("which point of '", inner.name(), "' writes what '", outer.name(),
                    "' reads does not follow from its indices");
  }
  for (int d = 0; d < inner.rank(); ++d) {
    AffineIndex& index = (*point)[d];
    index = widened(std::move(index));
    if (position[d] >= 0) index.coefficients[position[d]] = 1;
  }
  StepBuilder builder(pipeline.buffers(), dimensions);
  StepPoint outer_point;
  for (int d = 0; d < outer.rank(); ++d) {
    outer_point.indices.push_back(builder.SamePoint().indices[d]);
  }
  // The temporary is read once: what is summed there is the product of the producer.
  outer_point.known = [&](int buffer, const Buffer&, int) -> Result<std::vector<int>> {
    if (buffer != from.outputs[0]) return std::vector<int>();
    return builder.f().ResultsAt(from, {*point});
  };
  MDH_ASSIGN_OR_RETURN(std::vector<int> results, builder.f().ResultsAt(to, outer_point));
  Buffer output = outer.outputs()[0];
  for (AffineIndex& index : output.accesses[0].indices) index = widened(std::move(index));
  return builder.Finish(outer.name(), {{std::move(output)}, to.outputs}, std::move(results),
                        std::move(operators));
}

}  // namespace

Result<Pipeline> MergeContractions(const Pipeline& pipeline, int producer, int consumer) {
  const PipelineStep& from = pipeline.steps()[producer];
  const PipelineStep& to = pipeline.steps()[consumer];
  MDH_ASSIGN_OR_RETURN(const std::vector<ProductFactor> inner, ProductForm(from.expression));
  MDH_ASSIGN_OR_RETURN(const std::vector<ProductFactor> outer, ProductForm(to.expression));
  const int temporary = from.outputs[0];
  const PipelineBuffer& buffer = pipeline.buffers()[temporary];
  const ScalarType type = to.expression.function().results()[0].type;
  if (buffer.role != PipelineBuffer::Role::kTemporary ||
      pipeline.Readers(temporary) != std::vector<int>{consumer}) {
    return Obstacle("'", buffer.name, "' is not for '", to.expression.name(), "' alone");
  }
  if (from.expression.function().results()[0].type != type || buffer.type != ElementType(type)) {
    return Obstacle("'", from.expression.name(), "', '", buffer.name, "' and '",
                    to.expression.name(), "' have different types");
  }
  const ProductFactor* found = nullptr;
  for (const ProductFactor& factor : outer) {
    if (to.inputs[factor.buffer] != temporary) continue;
    if (found != nullptr || !factor.is_plain()) {
      return Obstacle("'", to.expression.name(), "' has '", buffer.name,
                      "' not once as a factor by itself");
    }
    found = &factor;
  }
  MDH_ASSIGN_OR_RETURN(PipelineStep merged, MergedStep(pipeline, from, to, *found));
  PipelineSpec spec = pipeline.spec();
  spec.steps[consumer] = std::move(merged);
  spec.steps.erase(spec.steps.begin() + producer);
  return Reordered(std::move(spec));
}

}  // namespace mdh
