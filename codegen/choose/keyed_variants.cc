#include "codegen/choose/keyed_variants.h"

#include <algorithm>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/keyed_form.h"

namespace mdh {
namespace {

constexpr int64_t kFewestKeys = 8;        // fewer are compared with each other
constexpr int64_t kFewestElements = 256;  // idem, and fewer than there are keys
constexpr int kKeyedThreads = 1024;       // of a multiprocessor
constexpr int64_t kElementsPerKey = 8;    // of a part
constexpr int64_t kMostTiles = 1024;
constexpr int64_t kCopiedResults = 128;  // in shared memory, where there are few keys
constexpr int kMostCopies = 8;

// Results by key: parts for about two blocks of every multiprocessor, but of so many elements that
// making a table pays. Values that the search space has (tuner/decompositions/mdh_space_nest.cc).
KeyedParameters ChooseKeyed(const Expression& e, const KeyedForm& form,
                            const DeviceDescription& device, int threads, int rounds) {
  const KeyedCut whole = CutByKey(e, form, {.threads = 1});
  const auto all_threads = static_cast<int64_t>(threads);
  KeyedParameters k = {.threads = threads, .rounds = rounds, .run = RunOfVectors(e)};
  while (k.rounds > 1 && all_threads * k.rounds * k.run > whole.elements) k.rounds /= 2;
  if (all_threads * k.run > whole.elements) k.run = 1;
  const int64_t blocks = CeilDivide(int64_t{device.blocks.multiprocessors} * kKeyedThreads,
                                    std::max<int64_t>(1, whole.batches * threads));
  const int64_t wanted = std::max(CeilDivide(whole.elements, blocks), kElementsPerKey * whole.keys);
  const int64_t part = std::min(wanted, whole.elements);
  const int64_t tile = all_threads * k.rounds * k.run;
  k.tiles =
      static_cast<int>(RoundDownToPowerOfTwo(std::clamp<int64_t>(part / tile, 1, kMostTiles)));
  while (k.copies < kMostCopies && k.copies * whole.keys < kCopiedResults) k.copies *= 2;
  return k;
}

}  // namespace

std::vector<TuningParameters> KeyedVariants(const Expression& expression, const SystemModel& model,
                                            const DeviceDescription& device,
                                            const TuningParameters& parameters) {
  std::vector<TuningParameters> variants;
  const Result<KeyedForm> form = FindKeyedForm(expression);
  if (!form.ok()) return variants;
  const KeyedCut whole = CutByKey(expression, *form, {.threads = 1});
  if (whole.keys < kFewestKeys) return variants;
  if (whole.elements < std::max(kFewestElements, whole.keys)) return variants;
  for (const int threads : {512, 1024, 256, 128, 32}) {
    for (const int rounds : {2, 1, 4}) {
      TuningParameters variant = parameters;
      variant.keyed = ChooseKeyed(expression, *form, device, threads, rounds);
      // The first of several stages reads no inputs.
      const bool has_parts = CutByKey(expression, *form, variant.keyed).parts > 1;
      if (has_parts && HasEarlyLaunches(device)) variant.early_launches = EarlyLaunches::kCalls;
      if (!Validate(expression, model, device, variant).ok()) continue;
      if (std::ranges::find(variants, variant) != variants.end()) continue;
      variants.push_back(std::move(variant));
    }
  }
  return variants;
}

}  // namespace mdh
