// What candidates of one expression are measured with: random inputs and the reference result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/kernel.h"
#include "core/expression.h"
#include "core/interpreter.h"
#include "core/kernel_call.h"
#include "core/numerics.h"
#include "core/status.h"
#include "tuner/measure/candidate_run.h"
#include "tuner/measure/comparison.h"
#include "tuner/measure/guarded_memory.h"
#include "tuner/measure/random_inputs.h"

namespace mdh {

// Not thread-safe; only for processes with a single thread (children inherit the inputs).
class Problem {
 public:
  // Contents of all outputs, as a plain kernel computes them from the problem's inputs.
  using PlainKernel =
      std::function<Result<std::vector<std::vector<std::byte>>>(const Problem& problem)>;

  // Draws inputs and computes the reference: by the interpreter where that is quick, else by the
  // plain kernel, which is then compared with the interpreter at some points unless `check_sample`
  // is false. Inputs whose result is NaN, or the same everywhere, are drawn again from other
  // distributions. Errors: InvalidArgument if the result contains NaN for all of them;
  // ResourceExhausted if memory does not suffice; Internal if plain kernel and interpreter
  // disagree; what the plain kernel says.
  static Result<std::unique_ptr<Problem>> Create(Expression expression, uint64_t seed,
                                                 const Numerics& numerics, bool check_sample,
                                                 const PlainKernel& plain_kernel);

  const Expression& expression() const { return expression_; }
  const Numerics& numerics() const { return numerics_; }
  const std::vector<ReferenceBuffer>& references() const { return references_; }

  // How a kernel for it is called.
  KernelCall CallOf(const Kernel& kernel) const;
  // A run of a kernel of this expression, compiled to `library`.
  CandidateRun MakeRun(const std::string& library, const std::string& entry, int threads,
                       const MeasureOptions& options) const;

 private:
  Problem(Expression expression, const Numerics& numerics)
      : expression_(std::move(expression)), numerics_(numerics) {}
  double Tolerance() const;
  Status DrawInputs(InputDistribution distribution, uint64_t seed);
  Status ComputeReferences(const PlainKernel& plain_kernel);
  Result<std::vector<std::vector<std::byte>>> Interpreted() const;
  Status CheckSample(uint64_t seed) const;
  bool is_small() const;

  Expression expression_;
  Numerics numerics_;
  std::vector<GuardedMemory> inputs_;
  std::vector<ReferenceBuffer> references_;
};

// In the order in which they are tried for `expression`.
std::vector<InputDistribution> DistributionsFor(const Expression& expression);

}  // namespace mdh
