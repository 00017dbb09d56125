#include "core/pipeline/absorb_reader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/pipeline/inverse_view.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

// The dimensions of results: points along a reduced one give one result together.
std::vector<Dimension> ResultDimensions(const Expression& expression) {
  std::vector<Dimension> dimensions = expression.dimensions();
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_reduction(d)) dimensions[d].size = 1;
  }
  return dimensions;
}

class ReaderAbsorber {
 public:
  ReaderAbsorber(const Pipeline& pipeline, int producer, int consumer)
      : pipeline_(pipeline),
        number_(producer),
        reader_(consumer),
        producer_(pipeline.steps()[producer]),
        consumer_(pipeline.steps()[consumer]),
        builder_(pipeline.buffers(), producer_.expression.dimensions()) {}

  Result<PipelineStep> Absorbed() {
    const Expression& expression = producer_.expression;
    MDH_RETURN_IF_ERROR(FindPoint());
    const StepPoint same = builder_.SamePoint();
    FunctionBuilder& store = builder_.store();
    MDH_ASSIGN_OR_RETURN(const std::vector<int> results, builder_.f().ResultsAt(producer_, same));
    std::vector<int> stored;
    for (int r = 0; r < static_cast<int>(results.size()); ++r) {
      stored.push_back(store.ResultOfF(r, builder_.f().type(results[r])));
    }
    MDH_ASSIGN_OR_RETURN(stored, store.StoredAt(producer_, same, std::move(stored)));
    for (int n = 0; n < static_cast<int>(stored.size()); ++n) {
      stored[n] = store.Converted(stored[n], expression.stored_type(n));
    }
    StepPoint point{point_};
    point.known = [&](int buffer, const Buffer& view, int access) -> Result<std::vector<int>> {
      if (pipeline_.writer(buffer) != number_) return std::vector<int>();
      return FieldsOf(buffer, view.accesses[access], stored);
    };
    MDH_ASSIGN_OR_RETURN(std::vector<int> read, store.ResultsAt(consumer_, point));
    MDH_ASSIGN_OR_RETURN(read, store.StoredAt(consumer_, point, std::move(read)));
    StepBuilder::Outputs outputs;
    std::vector<int> values = KeptOutputs(stored, &outputs);
    values.insert(values.end(), read.begin(), read.end());
    for (size_t o = 0; o < consumer_.outputs.size(); ++o) {
      Buffer view = consumer_.expression.outputs()[o];
      for (IndexFunction& access : view.accesses) {
        std::optional<IndexFunction> composed =
            Composed(access, point_, builder_.dimensions().size());
        if (!composed.has_value()) return Obstacle("an index does not fit in 63 bits");
        access = *std::move(composed);
      }
      outputs.views.push_back(std::move(view));
      outputs.buffers.push_back(consumer_.outputs[o]);
    }
    return builder_.Finish(expression.name(), std::move(outputs), results,
                           expression.combine_operators(), std::move(values));
  }

 private:
  // The consumer's point at which a result is read; point_.
  Status FindPoint() {
    const std::vector<Dimension> results = ResultDimensions(producer_.expression);
    const Expression& reader = consumer_.expression;
    const auto add = [&](int buffer, const Buffer& view) -> Status {
      if (pipeline_.writer(buffer) != number_) return absl::OkStatus();
      for (const IndexFunction& read : view.accesses) {
        const IndexFunction* const written = WriterOf(buffer, read, results);
        std::optional<std::vector<AffineIndex>> point;
        if (written != nullptr) {
          point = InversePoint(read, reader.dimensions(), *written, results, view.extents, false);
        }
        if (!point.has_value() || (!point_.empty() && *point != point_)) {
          return Obstacle("the points of '", reader.name(), "' are not the results of '",
                          producer_.expression.name(), "' one by one");
        }
        point_ = *std::move(point);
      }
      return absl::OkStatus();
    };
    for (size_t b = 0; b < reader.inputs().size(); ++b) {
      MDH_RETURN_IF_ERROR(add(consumer_.inputs[b], reader.inputs()[b]));
    }
    for (int b = 0; reader.store() != nullptr && b < std::ssize(reader.store()->inputs); ++b) {
      MDH_RETURN_IF_ERROR(
          add(consumer_.inputs[reader.passed_store_input(b)], reader.store()->inputs[b]));
    }
    return absl::OkStatus();
  }

  const Buffer& Written(int buffer) const {
    const auto output = std::ranges::find(producer_.outputs, buffer);
    return producer_.expression.outputs()[output - producer_.outputs.begin()];
  }

  // The access by which all that is read there is written; null if there is none.
  const IndexFunction* WriterOf(int buffer, const IndexFunction& read,
                                const std::vector<Dimension>& results) const {
    const Buffer& written = Written(buffer);
    for (const IndexFunction& access : written.accesses) {
      if (InversePoint(access, results, read, consumer_.expression.dimensions(), written.extents,
                       false)
              .has_value()) {
        return &access;
      }
    }
    return nullptr;
  }

  // Of what is stored the fields that the consumer reads by an access.
  Result<std::vector<int>> FieldsOf(int buffer, const IndexFunction& read,
                                    const std::vector<int>& stored) const {
    const IndexFunction* const written =
        WriterOf(buffer, read, ResultDimensions(producer_.expression));
    const Expression& expression = producer_.expression;
    std::vector<int> fields;
    for (int n = 0; n < static_cast<int>(stored.size()); ++n) {
      const Expression::AccessRef ref = expression.output_access(n);
      if (&expression.outputs()[ref.buffer].accesses[ref.access] == written) {
        fields.push_back(stored[n]);
      }
    }
    return fields;
  }

  // Outputs of the producer that are still needed, and the values for them.
  std::vector<int> KeptOutputs(const std::vector<int>& stored,
                               StepBuilder::Outputs* outputs) const {
    std::vector<int> values;
    for (int o = 0; o < static_cast<int>(producer_.outputs.size()); ++o) {
      const int buffer = producer_.outputs[o];
      std::vector<int> readers = pipeline_.Readers(buffer);
      std::erase(readers, reader_);
      const bool is_output = pipeline_.buffers()[buffer].role == PipelineBuffer::Role::kOutput;
      if (!is_output && readers.empty()) continue;
      outputs->views.push_back(producer_.expression.outputs()[o]);
      outputs->buffers.push_back(buffer);
      for (int n = 0; n < static_cast<int>(stored.size()); ++n) {
        if (producer_.expression.output_access(n).buffer == o) values.push_back(stored[n]);
      }
    }
    return values;
  }

  const Pipeline& pipeline_;
  const int number_, reader_;
  const PipelineStep& producer_;
  const PipelineStep& consumer_;
  StepBuilder builder_;
  std::vector<AffineIndex> point_;  // of the consumer, by the indices of the producer
};

}  // namespace

Result<Pipeline> AbsorbReader(const Pipeline& pipeline, int producer, int consumer) {
  const PipelineStep& from = pipeline.steps()[producer];
  const PipelineStep& to = pipeline.steps()[consumer];
  const bool reads =
      std::ranges::any_of(to.inputs, [&](int input) { return pipeline.writer(input) == producer; });
  if (!reads) {
    return Obstacle("'", to.expression.name(), "' reads nothing of what '", from.expression.name(),
                    "' writes");
  }
  if (to.expression.has_reduction() || to.expression.has_prefix_sum()) {
    return Obstacle("'", to.expression.name(), "' combines points");
  }
  MDH_ASSIGN_OR_RETURN(PipelineStep absorbed,
                       ReaderAbsorber(pipeline, producer, consumer).Absorbed());
  PipelineSpec spec = pipeline.spec();
  spec.steps[producer] = std::move(absorbed);
  spec.steps.erase(spec.steps.begin() + consumer);
  return Reordered(std::move(spec));
}

}  // namespace mdh
