// Kernels of trials that another daemon offers, derived from their parameters.
#pragma once

#include <string>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "mdh/v1/runner.pb.h"
#include "server/store/trial_board.h"

namespace mdh {

// What trials of a search are for, as owners write it on the board and helpers read it.
std::string ProblemOfTrials(const Expression& expression, uint64_t seed, const Numerics& numerics);

// Of one search, for one device.
class OfferedKernels {
 public:
  // Errors: InvalidArgument if that is no problem of a search for an expression.
  static Result<OfferedKernels> Create(const std::string& problem, DeviceDescription device);

  const Expression& expression() const { return expression_; }
  uint64_t seed() const { return problem_.seed(); }
  Numerics numerics() const {
    return {static_cast<NumericsPolicy>(problem_.numerics_policy()), problem_.tolerance()};
  }
  // Errors: InvalidArgument if the parameters are none; FailedPrecondition if what becomes of them
  // here is another kernel than the owner's.
  Result<Kernel> KernelOf(const OfferedTrial& trial) const;

 private:
  OfferedKernels(v1::RunnerSetProblem problem, Expression expression, DeviceDescription device)
      : problem_(std::move(problem)),
        expression_(std::move(expression)),
        device_(std::move(device)) {}

  v1::RunnerSetProblem problem_;
  Expression expression_;
  DeviceDescription device_;
};

}  // namespace mdh
