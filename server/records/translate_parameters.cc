#include "server/records/translate_parameters.h"

#include <algorithm>

#include "core/decomposition/choices.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

bool HaveSameLayers(const SystemModel& a, const SystemModel& b) {
  return a.memory == b.memory &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    [](const AsmLayer& x, const AsmLayer& y) { return x.role == y.role; });
}

}  // namespace

std::optional<TuningParameters> TranslateParameters(const TuningParameters& parameters,
                                                    const SystemModel& from, const SystemModel& to,
                                                    const DeviceDescription& device) {
  if (!HaveSameLayers(from, to)) return std::nullopt;
  TuningParameters translated = parameters;
  translated.system_model = to.name;
  LeaveOutWhatDeviceLacks(device, &translated);
  if (!HasAsyncCopies(device)) {
    constexpr int kMostStagesThroughRegisters = 2;
    for (InputParameters& input : translated.inputs) {
      if (input.copy_mode != CopyMode::kAsynchronous) continue;
      input.copy_mode = CopyMode::kThroughRegisters;
      input.copy_stages = std::min(input.copy_stages, kMostStagesThroughRegisters);
    }
  }
  return translated;
}

}  // namespace mdh
