// Building the md_hom of a step out of those of others.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// Instructions that compute scalar functions inside of another one. Values are numbers of
// instructions.
class ValueBuilder {
 public:
  int Append(ScalarInstruction instruction) {
    instructions_.push_back(std::move(instruction));
    return static_cast<int>(instructions_.size()) - 1;
  }
  int Constant(const ScalarValue& value);
  // `value` itself if it has the type.
  int Converted(int value, ScalarType type);
  // The results of f, with these values for its parameters.
  std::vector<int> Apply(const ScalarFunction& f, absl::Span<const int> arguments);
  ScalarType type(int value) const { return instructions_[value].type; }
  const std::vector<ScalarInstruction>& instructions() const { return instructions_; }

 protected:
  std::vector<ScalarInstruction> instructions_;
};

// A step with given dimensions: what it reads is collected, values are computed of it, and Finish
// makes the expression. Reads of one buffer share an input, equal ones a parameter of f.
class StepBuilder : public ValueBuilder {
 public:
  // `buffers`: those of the pipeline; not owned.
  StepBuilder(const std::vector<PipelineBuffer>& buffers, std::vector<Dimension> dimensions)
      : buffers_(buffers), dimensions_(std::move(dimensions)) {}

  // What an access reads: one value per field. `view` says what is read outside of the buffer,
  // whose number in the pipeline is `buffer`.
  std::vector<int> Read(int buffer, const Boundary& outside, const IndexFunction& access);
  // The value of an affine function of the indices, as int64.
  int Index(const AffineIndex& index);
  // What a step with these dimensions, in their order, gives to f, one value per parameter.
  std::vector<int> Arguments(const PipelineStep& step);

  // `outputs`: views, with the pipeline's buffers that they write in `numbers`; `results`: one
  // value per access and field of them, in the types in which they are combined. Errors: those of
  // Expression::Create, as FailedPrecondition: there is no such step.
  Result<PipelineStep> Finish(std::string name, std::vector<Buffer> outputs,
                              std::vector<int> numbers, std::vector<int> results,
                              std::vector<CombineOperator> operators);

  const std::vector<Dimension>& dimensions() const { return dimensions_; }

 private:
  struct Input {
    int buffer;
    Boundary outside;
    std::vector<IndexFunction> accesses;
  };
  // A parameter of f: a field of an access, or the index of a dimension.
  struct Parameter {
    int input = -1, access = 0, field = 0;
    int dimension = -1;
    friend bool operator==(const Parameter&, const Parameter&) = default;
  };
  int ValueOf(const Parameter& parameter, ScalarType type);
  std::string FreeName(int buffer, std::vector<std::string>* taken) const;

  const std::vector<PipelineBuffer>& buffers_;
  std::vector<Dimension> dimensions_;
  std::vector<Input> inputs_;
  std::vector<Parameter> parameters_;  // in the order in which they were asked for
};

// The pipeline with its steps put in an order in which they can run, and without temporaries that
// no step uses any more. Errors: FailedPrecondition if that is no pipeline.
Result<Pipeline> Reordered(PipelineSpec spec);

// Whether `to` needs what `from` writes, directly or through other steps.
bool DependsOn(const Pipeline& pipeline, int to, int from);

// A rewrite that is not legal, and why.
Status Obstacle(absl::string_view why);

}  // namespace mdh
