// What candidates of one expression are measured with: random inputs and the reference result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/kernel_call.h"
#include "core/expression/expression.h"
#include "core/expression/interpreter.h"
#include "core/expression/numerics.h"
#include "tuner/measure/results/comparison.h"
#include "tuner/measure/results/random_inputs.h"
#include "tuner/measure/runner.h"
#include "tuner/measure/trial/candidate_run.h"
#include "tuner/measure/trial/guarded_memory.h"

namespace mdh {

class Problem;

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
  // is NaN, or the same everywhere, are drawn again from other distributions.
  //
  // With a time limit there is less where less fits into it. A whole reference that takes more than
  // a sixth of it is given up: then the interpreter computes some elements of every output, corners
  // and random ones, in a twelfth of it, and only these are compared; a mistake elsewhere goes
  // unnoticed, unless it spoils what surrounds the output. Where not one element can be computed in
  // that time, as of a sum over thousands of millions of points, no values are compared
  // (ReferenceBuffer::check says so). The comparison of plain kernel and interpreter, and further
  // distributions, are left out where there is no time for them.
  //
  // Errors: InvalidArgument if the result contains NaN for all distributions; ResourceExhausted if
  // memory does not suffice; DeadlineExceeded if the inputs cannot be drawn in half the time
  // limit; Internal if plain kernel and interpreter disagree; what the plain kernel says.
  //
  // `before`: a problem that is not needed any more. If it is of the same expression its memory is
  // used again, and it tells how long a whole reference takes; else it makes room.
  static Result<std::unique_ptr<Problem>> Create(Expression expression,
                                                 const ProblemOptions& options,
                                                 std::unique_ptr<Problem> before = nullptr);

  const Expression& expression() const { return expression_; }
  const Numerics& numerics() const { return numerics_; }
  const std::vector<ReferenceBuffer>& references() const { return references_; }
  // What one call of the plain loop nest on one thread surely takes, as far as the reference has
  // shown; 0: it has not.
  int64_t LeastLoopNestTime() const { return least_whole_ns_; }

  // How a kernel for it is called.
  KernelCall CallOf(const Kernel& kernel) const;
  // A run of a kernel of this expression, compiled to `library`.
  CandidateRun MakeRun(const std::string& library, const std::string& entry, int threads,
                       const MeasureOptions& options) const;

 private:
  Problem(Expression expression, const Numerics& numerics)
      : expression_(std::move(expression)), numerics_(numerics) {}
  double Tolerance() const;
  void TakeOver(std::unique_ptr<Problem> before);
  Status MakeMemory();
  Status Draw(const ProblemOptions& options);
  Status DrawInputs(InputDistribution distribution, const ProblemOptions& options);
  Status ComputeReferences(const ProblemOptions& options);
  Status ComputeSamples(const ProblemOptions& options);
  Result<std::vector<std::vector<std::byte>>> Interpreted() const;
  Result<std::vector<std::vector<std::byte>>> PlainOutputs(const ProblemOptions& options);
  Status CheckSample(const ProblemOptions& options) const;
  std::vector<const std::byte*> InputPointers() const;
  double InterpretedPointNs() const;
  bool is_small() const;
  bool has_samples() const;

  Expression expression_;
  Numerics numerics_;
  std::vector<GuardedMemory> inputs_;
  std::vector<ReferenceBuffer> references_;
  double amplification_ = 1;  // of errors, by the store function
  int64_t least_whole_ns_ = 0;
};

// In the order in which they are tried for `expression`.
std::vector<InputDistribution> DistributionsFor(const Expression& expression);

}  // namespace mdh
