#include "core/decomposition/translate_parameters.h"

#include <algorithm>

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
  if (!HasResidentBlocks(device)) translated.resident_blocks = 0;
  const CombineBlocks combine = translated.combine_blocks;
  const bool cannot =
      (combine == CombineBlocks::kLastBlock && !device.features.last_block) ||
      (combine == CombineBlocks::kCluster && !device.features.clusters) ||
      (combine == CombineBlocks::kAtomics && !HasAtomicAdd(device, ScalarType::kFloat32));
  if (cannot) translated.combine_blocks = CombineBlocks::kPartials;
  if (!HasEarlyLaunches(device)) translated.early_launches = EarlyLaunches::kStages;
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
