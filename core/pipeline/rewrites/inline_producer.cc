#include "core/pipeline/rewrites/inline_producer.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/pipeline/rewrites/inverse_view.h"
#include "core/pipeline/rewrites/step_builder.h"

namespace mdh {
namespace {

bool Leaves(const Buffer& view, int access, const std::vector<Dimension>& dimensions) {
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
    std::vector<int> arguments;
    for (size_t b = 0; b < expression.inputs().size(); ++b) {
      const Buffer& view = expression.inputs()[b];
      for (int a = 0; a < static_cast<int>(view.accesses.size()); ++a) {
        const bool is_inlined = pipeline_.writer(consumer_.inputs[b]) == number_;
        std::vector<int> values;
        if (is_inlined) {
          MDH_ASSIGN_OR_RETURN(values, Inlined(static_cast<int>(b), a));
        } else {
          values = builder_.Read(consumer_.inputs[b], view.boundary, view.accesses[a]);
        }
        arguments.insert(arguments.end(), values.begin(), values.end());
      }
    }
    for (const int d : expression.index_dimensions()) arguments.push_back(IndexOf(d));
    return builder_.Finish(expression.name(), expression.outputs(), consumer_.outputs,
                           builder_.Apply(expression.function(), arguments),
                           expression.combine_operators());
  }

 private:
  int IndexOf(int d) {
    AffineIndex index{std::vector<int64_t>(builder_.dimensions().size(), 0), 0};
    index.coefficients[d] = 1;
    return builder_.Index(index);
  }

  // What access a of the consumer's input b reads, one value per field.
  Result<std::vector<int>> Inlined(int b, int a) {
    const Buffer& view = consumer_.expression.inputs()[b];
    const bool leaves = Leaves(view, a, builder_.dimensions());
    if (leaves && view.boundary.kind == Boundary::Kind::kClamp) {
      return Obstacle(absl::StrCat("'", consumer_.expression.name(), "' reads '", view.name,
                                   "' clamped at its border, which is no affine index"));
    }
    const auto output = static_cast<size_t>(
        std::find(producer_.outputs.begin(), producer_.outputs.end(), consumer_.inputs[b]) -
        producer_.outputs.begin());
    const Buffer& written = producer_.expression.outputs()[output];
    for (int w = 0; w < static_cast<int>(written.accesses.size()); ++w) {
      const std::optional<std::vector<AffineIndex>> point =
          InversePoint(written.accesses[w], producer_.expression.dimensions(), view.accesses[a],
                       builder_.dimensions(), view.extents, leaves);
      if (!point.has_value()) continue;
      MDH_ASSIGN_OR_RETURN(std::vector<int> values,
                           ResultsAt(*point, static_cast<int>(output), w, leaves));
      if (leaves) values = OrOutside(view, a, values);
      return values;
    }
    return Obstacle(absl::StrCat("which point of '", producer_.expression.name(), "' writes what '",
                                 consumer_.expression.name(), "' reads of '", view.name,
                                 "' does not follow from its indices"));
  }

  // The producer's results for its output, as they are stored, at a point that may lie outside of
  // its dimensions.
  Result<std::vector<int>> ResultsAt(const std::vector<AffineIndex>& point, int output, int access,
                                     bool may_be_outside) {
    const Expression& expression = producer_.expression;
    const size_t rank = builder_.dimensions().size();
    std::vector<int> arguments;
    for (size_t b = 0; b < expression.inputs().size(); ++b) {
      const Buffer& view = expression.inputs()[b];
      Boundary outside = view.boundary;
      // Something that can be read; the value is not used.
      if (may_be_outside && outside.kind == Boundary::Kind::kNone) {
        outside.kind = Boundary::Kind::kClamp;
      }
      for (const IndexFunction& inner : view.accesses) {
        const std::optional<IndexFunction> composed = Composed(inner, point, rank);
        if (!composed.has_value()) return Obstacle("an index does not fit in 63 bits");
        for (const int value : builder_.Read(producer_.inputs[b], outside, *composed)) {
          arguments.push_back(value);
        }
      }
    }
    for (const int d : expression.index_dimensions()) arguments.push_back(builder_.Index(point[d]));
    const std::vector<int> results = builder_.Apply(expression.function(), arguments);
    std::vector<int> values;
    for (int r = 0; r < static_cast<int>(results.size()); ++r) {
      const Expression::AccessRef ref = expression.output_access(r);
      if (ref.buffer != output || ref.access != access) continue;
      values.push_back(builder_.Converted(results[r], expression.stored_type(r)));
    }
    return values;
  }

  // `inside` where the access lies in the buffer, else the constant of the boundary.
  std::vector<int> OrOutside(const Buffer& view, int a, const std::vector<int>& inside) {
    int is_inside = -1;
    const auto require = [&](ScalarOp op, int index, int64_t bound) {
      const int limit = builder_.Constant(ScalarValue::Integer(ScalarType::kInt64, bound));
      const int holds = builder_.Append({op, ScalarType::kBool, {index, limit}});
      is_inside = is_inside < 0
                      ? holds
                      : builder_.Append({ScalarOp::kAnd, ScalarType::kBool, {is_inside, holds}});
    };
    for (size_t x = 0; x < view.extents.size(); ++x) {
      const AffineIndex& index = view.accesses[a].indices[x];
      const std::optional<ReadRange> range = RangeOf(index, builder_.dimensions());
      if (!range.has_value() || range->smallest < 0) {
        require(ScalarOp::kGe, builder_.Index(index), 0);
      }
      if (!range.has_value() || range->largest >= view.extents[x]) {
        require(ScalarOp::kLt, builder_.Index(index), view.extents[x]);
      }
    }
    std::vector<int> values;
    for (size_t f = 0; f < inside.size(); ++f) {
      const int constant = builder_.Constant(view.boundary.values[f]);
      values.push_back(builder_.Append(
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
  const std::vector<int> all = builder.Apply(expression.function(), builder.Arguments(step));
  std::vector<Buffer> outputs;
  std::vector<int> numbers, results;
  for (size_t o = 0; o < is_kept.size(); ++o) {
    if (!is_kept[o]) continue;
    outputs.push_back(expression.outputs()[o]);
    numbers.push_back(step.outputs[o]);
  }
  for (size_t r = 0; r < all.size(); ++r) {
    if (is_kept[expression.output_access(static_cast<int>(r)).buffer]) results.push_back(all[r]);
  }
  return builder.Finish(expression.name(), std::move(outputs), std::move(numbers),
                        std::move(results), expression.combine_operators());
}

}  // namespace

Result<Pipeline> InlineProducer(const Pipeline& pipeline, int producer, int consumer) {
  const PipelineStep& from = pipeline.steps()[producer];
  const PipelineStep& to = pipeline.steps()[consumer];
  const auto reads = [&](int output) {
    return std::count(to.inputs.begin(), to.inputs.end(), output) > 0;
  };
  if (std::none_of(from.outputs.begin(), from.outputs.end(), reads)) {
    return Obstacle(absl::StrCat("'", to.expression.name(), "' reads nothing of what '",
                                 from.expression.name(), "' writes"));
  }
  if (from.expression.has_reduction() || from.expression.has_prefix_sum()) {
    return Obstacle(absl::StrCat("'", from.expression.name(), "' combines points"));
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
  const auto kept = std::count(is_kept.begin(), is_kept.end(), true);
  if (kept == 0) {
    steps.erase(steps.begin() + producer);
  } else if (kept < static_cast<int64_t>(is_kept.size())) {
    MDH_ASSIGN_OR_RETURN(steps[producer], WithOutputs(pipeline, from, is_kept));
  }
  return Reordered(std::move(spec));
}

}  // namespace mdh
