// Building the md_hom of a step out of those of others.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/scalar/value_builder.h"

namespace mdh {

// Where a step is computed: its indices, one per dimension of it, as affine functions of those of
// the step that is built.
struct StepPoint {
  std::vector<AffineIndex> indices;
  // Perhaps outside of its dimensions, where values are not used but must be readable.
  bool may_be_outside = false;
  // What an access to a buffer of the pipeline reads, one value per field, where it is known by
  // other means; nothing: it is read. May be empty.
  std::function<Result<std::vector<int>>(int buffer, const Buffer& view, int access)> known = {};
};

// f of a step or its store function: what it reads is collected, values are computed of it. Reads
// of one buffer share an input, equal ones a parameter.
class FunctionBuilder : public ValueBuilder {
 public:
  // Neither is owned.
  FunctionBuilder(const std::vector<PipelineBuffer>& buffers,
                  const std::vector<Dimension>& dimensions)
      : buffers_(buffers), dimensions_(dimensions) {}

  // What an access reads: one value per field. `outside` says what there is outside of the buffer,
  // whose number in the pipeline is `buffer`.
  std::vector<int> Read(int buffer, const Boundary& outside, const IndexFunction& access);
  // The value of an affine function of the indices, as int64.
  int Index(const AffineIndex& index);
  // Result number r of f, in a store function.
  int ResultOfF(int r, ScalarType type);

  // The results of f of a step at a point. Errors: those of `known`; FailedPrecondition if an index
  // does not fit in 63 bits.
  Result<std::vector<int>> ResultsAt(const PipelineStep& step, const StepPoint& point);
  // What the step makes of these results before it stores them: one value per stored().
  Result<std::vector<int>> StoredAt(const PipelineStep& step, const StepPoint& point,
                                    std::vector<int> results);

 private:
  friend class StepBuilder;
  struct Input {
    int buffer;
    Boundary outside;
    std::vector<IndexFunction> accesses;
  };
  // A parameter: a field of an access, the index of a dimension, or a result of f.
  struct Parameter {
    int input = -1, access = 0, field = 0;
    int dimension = -1;
    int result = -1;
    friend bool operator==(const Parameter&, const Parameter&) = default;
  };
  struct Built {
    ScalarFunction function;
    std::vector<Buffer> views;
    std::vector<int> buffers;  // of the views
    std::vector<int> index_dimensions;
  };

  int ValueOf(const Parameter& parameter, ScalarType type);
  Status AppendReads(const std::vector<Buffer>& views, const std::vector<int>& numbers,
                     const StepPoint& point, std::vector<int>* values);
  // `first`: parameters before the reads. `name_of`: of the view of a buffer.
  Result<Built> Build(const std::string& name, std::vector<TypedName> first,
                      std::vector<TypedName> results, std::vector<int> values,
                      const std::function<std::string(int buffer)>& name_of) const;

  const std::vector<PipelineBuffer>& buffers_;
  const std::vector<Dimension>& dimensions_;
  std::vector<Input> inputs_;
  std::vector<Parameter> parameters_;  // in the order in which they were asked for
};

// A step with given dimensions.
class StepBuilder {
 public:
  // `buffers`: those of the pipeline; not owned.
  StepBuilder(const std::vector<PipelineBuffer>& buffers, std::vector<Dimension> dimensions)
      : buffers_(buffers), dimensions_(std::move(dimensions)) {}
  StepBuilder(const StepBuilder&) = delete;
  StepBuilder& operator=(const StepBuilder&) = delete;

  FunctionBuilder& f() { return f_; }
  FunctionBuilder& store() { return store_; }
  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  // The point of a step with these dimensions, in their order.
  StepPoint SamePoint() const;

  // What is written: views, with the pipeline's buffers that they write.
  struct Outputs {
    std::vector<Buffer> views;
    std::vector<int> buffers;
  };
  // `results`: values of f, in the types in which they are combined: one per access and field of
  // the outputs, or, with a store function, whatever that takes. `stored`: values of the store
  // function, one per access and field; empty: there is none. Errors: those of Expression::Create,
  // as FailedPrecondition: there is no such step.
  Result<PipelineStep> Finish(std::string name, Outputs outputs, std::vector<int> results,
                              std::vector<CombineOperator> operators, std::vector<int> stored = {});

 private:
  std::string FreeName(int buffer, std::vector<std::string>* taken) const;

  const std::vector<PipelineBuffer>& buffers_;
  const std::vector<Dimension> dimensions_;
  FunctionBuilder f_{buffers_, dimensions_}, store_{buffers_, dimensions_};
};

// The pipeline with its steps put in an order in which they can run, and without temporaries that
// no step uses any more. Errors: FailedPrecondition if that is no pipeline.
Result<Pipeline> Reordered(PipelineSpec spec);

// Whether `to` needs what `from` writes, directly or through other steps.
bool DependsOn(const Pipeline& pipeline, int to, int from);

// A rewrite that is not legal, and why.
template <typename... Parts>
Status Obstacle(const Parts&... why) {
  return FailedPrecondition(why...);
}

}  // namespace mdh
