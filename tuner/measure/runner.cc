// Measuring several kernels at once, in terms of one after the other.
#include "tuner/measure/runner.h"

#include <utility>

namespace mdh {

Result<std::vector<Measurement>> Runner::Measure(absl::Span<const Kernel> kernels,
                                                 const MeasureOptions& options) {
  for (size_t k = 0; k < kernels.size(); ++k) {
    MDH_RETURN_IF_ERROR(Submit(static_cast<int64_t>(k), kernels[k], options));
  }
  std::vector<Measurement> measured(kernels.size());
  for (size_t k = 0; k < kernels.size(); ++k) {
    MDH_ASSIGN_OR_RETURN(Finished finished, Next());
    const auto number = static_cast<size_t>(finished.number);
    if (finished.number < 0 || number >= measured.size()) {
      return FailedPrecondition("kernel ", finished.number,
                                " was submitted before Measure was called");
    }
    measured[number] = std::move(finished.measurement);
  }
  return measured;
}

}  // namespace mdh
