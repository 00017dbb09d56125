// Pipelines: sequences of md_homs over named buffers, as one computation. The papers leave the
// composition of md_homs to future work; a pipeline of one step means what its md_hom means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

// Memory that steps read and write. What lies in it follows from the steps: their views say types,
// extents and strides, and all that use one buffer agree.
struct PipelineBuffer {
  enum class Role : uint8_t {
    kInput = 1,      // given by the caller; no step writes it
    kOutput = 2,     // given to the caller; steps behind its writer may read it
    kTemporary = 3,  // from its writer to its last reader; need not exist in memory at all
  };
  std::string name;
  Role role = Role::kTemporary;
  // Set by Create.
  ElementType type = ScalarType::kFloat32;
  std::vector<int64_t> extents = {};
  std::vector<int64_t> given_strides = {};  // empty: row-major and dense

  // As those of Buffer.
  int64_t elements() const;
  int64_t size_bytes() const { return elements() * type.size_bytes(); }
};

// One md_hom applied to buffers: their numbers, in the order of the expression's buffers.
struct PipelineStep {
  Expression expression;
  std::vector<int> inputs;   // one per passed input; a buffer may be given for several
  std::vector<int> outputs;  // one per output
};

// Everything Create takes; plain data. Inputs and outputs of the pipeline are the buffers of these
// roles, in their order.
struct PipelineSpec {
  std::string name;
  std::vector<PipelineBuffer> buffers;
  std::vector<PipelineStep> steps;
};

// Immutable; thread-safe. Steps run, or seem to run, one after the other; a step reads what the
// steps before it have written, rounded to the type of the buffer, and zero where no index function
// of the writer reaches.
class Pipeline {
 public:
  static constexpr size_t kMaxSteps = 64;
  static constexpr size_t kMaxEdges = 256;  // inputs of steps that steps write
  static constexpr size_t kMaxBuffers = 1024;

  // Checks: names are identifiers and distinct; every buffer but the inputs is written by one step,
  // before steps read it; no step reads and writes one buffer; inputs and temporaries are read;
  // there is an output; types, extents and strides agree among the steps that use a buffer. A view
  // that does not give the extents of a buffer takes them from the buffer's writer, or from the
  // other readers of an input, so that it may read a part. What an output keeps (Buffer's
  // keeps_unreached) can be read by no step. Errors: InvalidArgument or OutOfRange; PlaceOfPipeline
  // (core/pipeline/pipeline_place.h) says where it is.
  static Result<Pipeline> Create(PipelineSpec spec);

  // The pipeline whose only step is this expression.
  static Pipeline Of(Expression expression);

  const std::string& name() const { return spec_.name; }
  const std::vector<PipelineBuffer>& buffers() const { return spec_.buffers; }
  const std::vector<PipelineStep>& steps() const { return spec_.steps; }
  const PipelineSpec& spec() const { return spec_; }

  // Numbers of the buffers of a role, ascending.
  std::vector<int> BuffersOf(PipelineBuffer::Role role) const;
  // The step that writes a buffer, -1 for inputs.
  int writer(int buffer) const { return writers_[buffer]; }
  // The steps that read a buffer, ascending.
  std::vector<int> Readers(int buffer) const;

  // The only step, if it reads the inputs and writes the outputs, in their order: then the pipeline
  // is this expression, but for the names of buffers. nullptr: it is more than that.
  const Expression* AsExpression() const;

  // Of all buffers of a role; at most the largest int64_t.
  int64_t BytesOf(PipelineBuffer::Role role) const;
  // Of all steps; at most the largest int64_t.
  int64_t FloatingPointOperations() const;

 private:
  explicit Pipeline(PipelineSpec spec);
  PipelineSpec spec_;
  std::vector<int> writers_;
};

}  // namespace mdh
