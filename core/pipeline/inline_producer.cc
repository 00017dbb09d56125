#include "core/pipeline/inline_producer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/pipeline/inverse_view.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

// Whether the access may be outside of the extents. Where nothing is said about that, it is inside
// at every point, even if ranges say otherwise, as there are no points.
bool Leaves(const Buffer& view, int access, const std::vector<Dimension>& dimensions) {
  if (view.boundary.kind == Boundary::Kind::kNone) return false;
  for (size_t x = 0; x < view.extents.size(); ++x) {
    const std::optional<ReadRange> range = RangeOf(view.accesses[access].indices[x], dimensions);
    if (!range.has_value() || range->smallest < 0 || range->largest >= view.extents[x]) return true;
  }
  return false;
}

class ProducerInliner {
 public:
  ProducerInliner(const Pipeline& pipeline, int producer, int consumer)
      : pipeline_(pipeline),
        number_(producer),
        producer_(pipeline.steps()[producer]),
        consumer_(pipeline.steps()[consumer]),
        builder_(pipeline.buffers(), consumer_.expression.dimensions()) {}

  Result<PipelineStep> Consumer() {
    const Expression& expression = consumer_.expression;
    MDH_ASSIGN_OR_RETURN(const std::vector<int> results,
                         builder_.f().ResultsAt(consumer_, PointIn(&builder_.f())));
    std::vector<int> stored;
    if (expression.store() != nullptr) {
      for (int r = 0; r < static_cast<int>(results.size()); ++r) {
        stored.push_back(builder_.store().ResultOfF(r, builder_.f().type(results[r])));
      }
      MDH_ASSIGN_OR_RETURN(stored, builder_.store().StoredAt(consumer_, PointIn(&builder_.store()),
                                                             std::move(stored)));
    }
    return builder_.Finish(expression.name(), {expression.outputs(), consumer_.outputs}, results,
                           expression.combine_operators(), std::move(stored));
  }

 private:
  // The consumer's own point, where what the producer writes is computed by `builder`.
  StepPoint PointIn(FunctionBuilder* builder) {
    StepPoint point = builder_.SamePoint();
    point.known = [this, builder](int buffer, const Buffer& view,
                                  int access) -> Result<std::vector<int>> {
      if (pipeline_.writer(buffer) != number_) return std::vector<int>();
      return Inlined(buffer, view, access, builder);
    };
    return point;
  }

  // What access a to what the producer writes reads, one value per field.
  Result<std::vector<int>> Inlined(int buffer, const Buffer& view, int a,
                                   FunctionBuilder* builder) {
    const bool leaves = Leaves(view, a, builder_.dimensions());
    if (leaves && view.boundary.kind == Boundary::Kind::kClamp) {
      return Obstacle("'", consumer_.expression.name(), "' reads '", view.name,
                      "' clamped at its border, which is no affine index");
    }
    const auto output =
        static_cast<int>(std::ranges::find(producer_.outputs, buffer) - producer_.outputs.begin());
    const Buffer& written = producer_.expression.outputs()[output];
    for (int w = 0; w < static_cast<int>(written.accesses.size()); ++w) {
      std::optional<std::vector<AffineIndex>> indices =
          InversePoint(written.accesses[w], producer_.expression.dimensions(), view.accesses[a],
                       builder_.dimensions(), view.extents, leaves);
      if (!indices.has_value()) continue;
      MDH_ASSIGN_OR_RETURN(std::vector<int> values,
                           ValuesAt({*std::move(indices), leaves}, output, w, builder));
      if (leaves) values = OrOutside(view, a, values, builder);
      return values;
    }
    return Obstacle("which point of '", producer_.expression.name(), "' writes what '",
                    consumer_.expression.name(), "' reads of '", view.name,
                    "' does not follow from its indices");
  }

  // What the producer writes by an access of an output, as it is stored.
  Result<std::vector<int>> ValuesAt(const StepPoint& point, int output, int access,
                                    FunctionBuilder* builder) {
    const Expression& expression = producer_.expression;
    MDH_ASSIGN_OR_RETURN(std::vector<int> stored, builder->ResultsAt(producer_, point));
    MDH_ASSIGN_OR_RETURN(stored, builder->StoredAt(producer_, point, std::move(stored)));
    std::vector<int> values;
    for (int n = 0; n < static_cast<int>(stored.size()); ++n) {
      const Expression::AccessRef ref = expression.output_access(n);
      if (ref.buffer != output || ref.access != access) continue;
      values.push_back(builder->Converted(stored[n], expression.stored_type(n)));
    }
    return values;
  }

  // `inside` where the access lies in the buffer, else the constant of the boundary.
  std::vector<int> OrOutside(const Buffer& view, int a, const std::vector<int>& inside,
                             FunctionBuilder* builder) const {
    int is_inside = -1;
    const auto require = [&](ScalarOp op, int index, int64_t bound) {
      const int limit = builder->Constant(ScalarValue::Integer(ScalarType::kInt64, bound));
      const int holds = builder->Append({op, ScalarType::kBool, {index, limit}});
      is_inside = is_inside < 0
                      ? holds
                      : builder->Append({ScalarOp::kAnd, ScalarType::kBool, {is_inside, holds}});
    };
    for (size_t x = 0; x < view.extents.size(); ++x) {
      const AffineIndex& index = view.accesses[a].indices[x];
      const std::optional<ReadRange> range = RangeOf(index, builder_.dimensions());
      if (!range.has_value() || range->smallest < 0) {
        require(ScalarOp::kGe, builder->Index(index), 0);
      }
      if (!range.has_value() || range->largest >= view.extents[x]) {
        require(ScalarOp::kLt, builder->Index(index), view.extents[x]);
      }
    }
    std::vector<int> values;
    for (size_t f = 0; f < inside.size(); ++f) {
      const int constant = builder->Constant(view.boundary.values[f]);
      values.push_back(builder->Append(
          {ScalarOp::kSelect, view.type.fields()[f].type, {is_inside, inside[f], constant}}));
    }
    return values;
  }

  const Pipeline& pipeline_;
  const int number_;
  const PipelineStep& producer_;
  const PipelineStep& consumer_;
  StepBuilder builder_;
};

// The step with these of its outputs only; it combines nothing.
Result<PipelineStep> WithOutputs(const Pipeline& pipeline, const PipelineStep& step,
                                 const std::vector<bool>& is_kept) {
  const Expression& expression = step.expression;
  StepBuilder builder(pipeline.buffers(), expression.dimensions());
  const StepPoint point = builder.SamePoint();
  MDH_ASSIGN_OR_RETURN(std::vector<int> all, builder.f().ResultsAt(step, point));
  // Without combinations in between, f and the store function are one.
  MDH_ASSIGN_OR_RETURN(all, builder.f().StoredAt(step, point, std::move(all)));
  StepBuilder::Outputs outputs;
  std::vector<int> results;
  for (size_t o = 0; o < is_kept.size(); ++o) {
    if (!is_kept[o]) continue;
    outputs.views.push_back(expression.outputs()[o]);
    outputs.buffers.push_back(step.outputs[o]);
  }
  for (size_t n = 0; n < all.size(); ++n) {
    if (is_kept[expression.output_access(static_cast<int>(n)).buffer]) results.push_back(all[n]);
  }
  return builder.Finish(expression.name(), std::move(outputs), std::move(results),
                        expression.combine_operators());
}

}  // namespace

Result<Pipeline> InlineProducer(const Pipeline& pipeline, int producer, int consumer) {
  const PipelineStep& from = pipeline.steps()[producer];
  const PipelineStep& to = pipeline.steps()[consumer];
  const auto reads = [&](int output) { return std::ranges::count(to.inputs, output) > 0; };
  if (std::ranges::none_of(from.outputs, reads)) {
    return Obstacle("'", to.expression.name(), "' reads nothing of what '", from.expression.name(),
                    "' writes");
  }
  if (from.expression.has_reduction() || from.expression.has_prefix_sum()) {
    return Obstacle("'", from.expression.name(), "' combines points");
  }
  MDH_ASSIGN_OR_RETURN(PipelineStep inlined,
                       ProducerInliner(pipeline, producer, consumer).Consumer());
  std::vector<bool> is_kept;
  for (const int output : from.outputs) {
    std::vector<int> readers = pipeline.Readers(output);
    std::erase(readers, consumer);
    is_kept.push_back(pipeline.buffers()[output].role == PipelineBuffer::Role::kOutput ||
                      !readers.empty());
  }
  PipelineSpec spec = pipeline.spec();
  std::vector<PipelineStep>& steps = spec.steps;
  steps[consumer] = std::move(inlined);
  const auto kept = std::ranges::count(is_kept, true);
  if (kept == 0) {
    steps.erase(steps.begin() + producer);
  } else if (kept < static_cast<int64_t>(is_kept.size())) {
    MDH_ASSIGN_OR_RETURN(steps[producer], WithOutputs(pipeline, from, is_kept));
  }
  return Reordered(std::move(spec));
}

}  // namespace mdh
