#include "server/help/offered_kernels.h"

#include <utility>
#include <variant>

#include "codegen/generate_kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/text/computation_text.h"
#include "server/devices/trial_places.h"

namespace mdh {

std::string ProblemOfTrials(const Expression& expression, uint64_t seed, const Numerics& numerics) {
  v1::RunnerSetProblem problem;
  problem.set_expression(ToText(ComputationView(expression)));
  problem.set_seed(seed);
  problem.set_numerics_policy(static_cast<int32_t>(numerics.policy));
  problem.set_tolerance(numerics.tolerance);
  return problem.SerializeAsString();
}

Result<OfferedKernels> OfferedKernels::Create(const std::string& problem,
                                              DeviceDescription device) {
  v1::RunnerSetProblem read;
  if (!read.ParseFromString(problem)) {
    return InvalidArgument("what is offered is no problem of a search");
  }
  MDH_ASSIGN_OR_RETURN(Computation computation, ParsePrinted(read.expression()));
  auto* const expression = std::get_if<Expression>(&computation);
  if (expression == nullptr) return InvalidArgument("trials of pipelines are not offered");
  return OfferedKernels(std::move(read), std::move(*expression), std::move(device));
}

Result<Kernel> OfferedKernels::KernelOf(const OfferedTrial& trial) const {
  MDH_ASSIGN_OR_RETURN(const TuningParameters parameters,
                       ParseTuningParameters(trial.parameters, expression_));
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                       Lower(expression_, TuningModel(device_.kind), device_, parameters));
  MDH_ASSIGN_OR_RETURN(Kernel kernel, GenerateKernel(low_level, device_));
  const std::string digest = KernelDigest(kernel);
  if (digest == trial.kernel_digest) return kernel;
  return FailedPrecondition("generators differ: parameters become kernel ", digest, " here, and ",
                            trial.kernel_digest, " where they come from");
}

}  // namespace mdh
