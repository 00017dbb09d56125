// What candidates of one computation are measured with: random inputs and the reference result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/expression/interpreter.h"
#include "core/expression/numerics.h"
#include "core/kernel/kernel_call.h"
#include "core/pipeline/computation.h"
#include "tuner/measure/pipeline_samples.h"
#include "tuner/measure/results/comparison.h"
#include "tuner/measure/results/random_inputs.h"
#include "tuner/measure/runner.h"
#include "tuner/measure/store_amplification.h"
#include "tuner/measure/trial/candidate_run.h"
#include "tuner/measure/trial/guarded_memory.h"
#include "tuner/measure/trial/witness.h"

namespace mdh {

class Problem;

// How well a result tells right from wrong, smaller is better.
enum class ResultQuality : uint8_t { kGood, kUniform, kInfinite, kSomeNan, kNan };

// Of a time limit this part may pass until a whole reference is there. Making a problem is done
// twice: for the search, and for the final figures.
inline constexpr int64_t kPartForReference = 6;

struct ProblemOptions {
  // Contents of all outputs, as a plain kernel computes them from the problem's inputs. Errors:
  // DeadlineExceeded if the call takes longer than `run_limit_ns` (0: no limit).
  using PlainKernel = std::function<Result<std::vector<std::vector<std::byte>>>(
      const Problem& problem, int64_t run_limit_ns)>;

  uint64_t seed = 1;
  Numerics numerics = {};
  // Whether the plain kernel is compared with the interpreter, at some points.
  bool check_sample = true;
  // Of all that is to be done with the problem, its making being the first of it; 0: none.
  int64_t time_limit_ns = 0;
  std::function<void(ProblemStep)> on_step = {};
  PlainKernel plain_kernel = {};
};

// Not thread-safe; only for processes with a single thread (children inherit the inputs).
class Problem {
 public:
  // Draws inputs and computes the reference: by the interpreter where that is quick, else by the
  // plain kernel, which is then compared with the interpreter at some points. Inputs whose result
  // has NaN, or is the same everywhere, are drawn again from other distributions; where there is
  // NaN for all of them (rows of a soft-max whose mask leaves nothing), it must be there in
  // results.
  //
  // With a time limit there is less where less fits into it. A whole reference that takes more than
  // a sixth of it is given up: then the interpreter computes some elements of every output, corners
  // and random ones, in a twelfth of it, and only these are compared; a mistake elsewhere goes
  // unnoticed, unless it spoils what surrounds the output. Where not one element can be computed in
  // that time, as of a sum over thousands of millions of points, no values are compared
  // (ReferenceBuffer::check says so). The comparison of plain kernel and interpreter, and further
  // distributions, are left out where there is no time for them.
  //
  // Errors: InvalidArgument if the result has no number for all distributions; ResourceExhausted if
  // memory does not suffice; DeadlineExceeded if the inputs cannot be drawn in half the time
  // limit; Internal if plain kernel and interpreter disagree; what the plain kernel says.
  //
  // Of pipelines all steps are computed in these ways, one after the other, and more than once:
  // intermediates kept wide, which is the reference; rounded to their types; and, unless results
  // must be exact, off by as much as kernels of the steps may be. What these change results may
  // change (ReferenceBuffer::variants). Where that would take more than a quarter of the time limit
  // only some results are computed, in these ways (SamplePipeline), in an eighth of it; without a
  // limit a step that takes too long is DeadlineExceeded.
  //
  // `before`: a problem that is not needed any more. If it is of the same computation its memory is
  // used again, and it tells how long a whole reference takes and which distribution is the best;
  // else it makes room.
  static Result<std::unique_ptr<Problem>> Create(Computation computation,
                                                 const ProblemOptions& options,
                                                 std::unique_ptr<Problem> before = nullptr);

  bool is_of_pipeline() const { return std::holds_alternative<Pipeline>(computation_); }
  // Expects that it is not of a pipeline.
  const Expression& expression() const { return std::get<Expression>(computation_); }
  const Numerics& numerics() const { return numerics_; }
  const std::vector<ReferenceBuffer>& references() const { return references_; }
  // What one call of the plain loop nest on one thread surely takes, as far as the reference has
  // shown; 0: it has not.
  int64_t LeastLoopNestTime() const { return least_whole_ns_; }

  // How a kernel for it is called.
  KernelCall CallOf(const Kernel& kernel) const;
  // As mdh::Judge, of a run of a kernel for this computation. Where results are compared with
  // samples, kernels are compared with each other as a whole (Witness).
  Measurement Judge(const RunRecord& record, const CandidateRun& run);
  // A run of a kernel of this computation, compiled to `library`.
  CandidateRun MakeRun(const std::string& library, const std::string& entry, int threads,
                       const MeasureOptions& options) const;

 private:
  // An input or output that kernels get.
  struct PassedBuffer {
    std::string name;
    ElementType type;
    int64_t elements;
    int64_t reduction_length;  // of inputs: values that are combined for one result, at most
    // Of inputs: whether it is the operand of a contraction that shows whether operands are
    // rounded.
    bool is_fine = false;

    int64_t size_bytes() const { return elements * type.size_bytes(); }
  };

  Problem(Computation computation, const Numerics& numerics);
  const std::string& name() const { return ComputationView(computation_).name(); }
  int64_t BytesOfInputs() const;
  Status CheckMemory() const;
  double Tolerance() const;
  void TakeOver(std::unique_ptr<Problem> before);
  Status MakeMemory();
  Status Draw(const ProblemOptions& options);
  Status DrawInputs(InputDistribution distribution, const ProblemOptions& options);
  Status ComputeReferences(const ProblemOptions& options);
  // Errors: also DeadlineExceeded.
  Status ComputeWholeReferences(const ProblemOptions& options);
  Status ComputeSamples(const ProblemOptions& options);
  // Where errors that the store function passes on are larger than elsewhere.
  void AddNearby();
  Result<std::vector<std::vector<std::byte>>> Interpreted() const;
  Result<std::vector<std::vector<std::byte>>> PlainOutputs(const ProblemOptions& options);
  Status CheckSample(const ProblemOptions& options) const;
  std::vector<const std::byte*> InputPointers() const;
  // Whether all of it is interpreted quickly.
  static bool IsSmall(const Expression& expression);
  bool is_small() const { return IsSmall(expression()); }
  bool has_samples() const;

  // In pipeline_problem.cc.
  Status ComputePipelineReferences(const ProblemOptions& options);
  // Errors: DeadlineExceeded after that, on the clock of NowNs(); 0: never.
  Status ComputeWholePipeline(const ProblemOptions& options, int64_t deadline_ns);
  Status ComputePipelineSamples(const ProblemOptions& options);
  double WholePipelineNs() const;
  PipelineSampleOptions PipelineSamplesIn(int64_t time_limit_ns) const;
  // What writes an output, and which of its own outputs that is.
  std::pair<const Expression*, int> WriterOf(size_t output) const;
  // As Witness::Arbiter.
  std::optional<ReferenceBuffer> ComputeElement(size_t output, int64_t element) const;
  // What a step gives of these inputs, which have so many different values, and how results are
  // compared.
  static Result<std::vector<ReferenceBuffer>> ReferencesOfStep(const Expression& step,
                                                               absl::Span<const BufferBytes> inputs,
                                                               std::vector<double> distinct,
                                                               const Numerics& numerics,
                                                               const ProblemOptions& options);

  Computation computation_;
  Numerics numerics_;
  std::vector<PassedBuffer> passed_inputs_, outputs_;
  std::vector<GuardedMemory> inputs_;
  std::vector<ReferenceBuffer> references_;
  std::vector<double> distinct_;  // values of the inputs, per passed input
  StoreAmplification amplification_;
  int64_t least_whole_ns_ = 0;
  // From which distribution, and how good its result was.
  struct Drawn {
    InputDistribution distribution;
    ResultQuality quality;
  };
  std::optional<Drawn> drawn_, drawn_before_;
  uint64_t seed_ = 1;
  int64_t time_limit_ns_ = 0;
  Witness witness_;
};

// In the order in which they are tried; of a pipeline those of its first step that combines values.
// Of products that the policy is about both operands have full mantissas.
std::vector<InputDistribution> DistributionsFor(
    const ComputationView& computation, NumericsPolicy numerics = NumericsPolicy::kReassociate);

}  // namespace mdh
