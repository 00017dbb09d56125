// What candidates of one expression are measured with: random inputs and the reference result.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/kernel.h"
#include "core/expression.h"
#include "core/interpreter.h"
#include "core/numerics.h"
#include "core/status.h"
#include "tuner/measure/candidate_run.h"
#include "tuner/measure/comparison.h"
#include "tuner/measure/compilers.h"
#include "tuner/measure/guarded_memory.h"
#include "tuner/measure/random_inputs.h"

namespace mdh {

// Not thread-safe; only for processes with a single thread (children inherit the inputs).
class Problem {
 public:
  // Draws inputs and computes the reference: by the interpreter where that is quick, else by the
  // plain loop nest, which is then compared with the interpreter at some points unless
  // `check_sample` is false. Inputs whose result is NaN, or the same everywhere, are drawn again
  // from other distributions. Errors: InvalidArgument if the result contains NaN for all of them;
  // ResourceExhausted if memory does not suffice; Internal if loop nest and interpreter disagree;
  // Cancelled; what Compile says.
  static Result<std::unique_ptr<Problem>> Create(Expression expression, uint64_t seed,
                                                 const Numerics& numerics, bool check_sample,
                                                 Compilers& compilers, Supervisor& supervisor);

  const Expression& expression() const { return expression_; }
  const std::vector<ReferenceBuffer>& references() const { return references_; }

  // Of a kernel: inputs, outputs, scratch memory.
  int num_arguments() const;
  // A run of a kernel of this expression, compiled to `library`.
  CandidateRun MakeRun(const std::string& library, const std::string& entry, int threads,
                       const MeasureOptions& options) const;

  // Best of up to three calls of the plain loop nest on one thread. Kept.
  Result<int64_t> LoopNestTime(Compilers& compilers, Supervisor& supervisor);

 private:
  Problem(Expression expression, const Numerics& numerics)
      : expression_(std::move(expression)), numerics_(numerics) {}
  double Tolerance() const;
  Status DrawInputs(InputDistribution distribution, uint64_t seed);
  Status ComputeReferences(Compilers& compilers, Supervisor& supervisor);
  Result<std::vector<std::vector<std::byte>>> Interpreted() const;
  Result<std::vector<std::vector<std::byte>>> FromLoopNest(Compilers& compilers,
                                                           Supervisor& supervisor);
  Result<RunRecord> RunLoopNest(const MeasureOptions& options, Compilers& compilers,
                                Supervisor& supervisor) const;
  Status CheckSample(uint64_t seed) const;
  bool is_small() const;

  Expression expression_;
  Numerics numerics_;
  std::vector<GuardedMemory> inputs_;
  std::vector<ReferenceBuffer> references_;
  int64_t loop_nest_first_ns_ = 0;  // one call, 0: not called yet
  int64_t loop_nest_ns_ = 0;        // best of several, 0: not measured yet
};

// In the order in which they are tried for `expression`.
std::vector<InputDistribution> DistributionsFor(const Expression& expression);

}  // namespace mdh
