// Comparing kernels with each other where only samples of what is right are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tuner/measure/results/comparison.h"
#include "tuner/measure/trial/candidate_run.h"

namespace mdh {

// Keeps the outputs of the first kernel that is right at all samples, and compares those of others
// with them, element by element. Where two kernels differ by more than both may be off, what is
// right there is computed, and is a sample from then on: whoever is wrong there is wrong, perhaps
// the first kernel, when it is measured again. Mistakes that all kernels make go unnoticed outside
// of the samples. Not thread-safe.
class Witness {
 public:
  // Samples of one element of an output, and their variants; nullopt if that takes too long.
  using Arbiter = std::function<std::optional<ReferenceBuffer>(size_t output, int64_t element)>;

  // As mdh::Judge. Samples are added to `references`.
  Measurement Judge(const RunRecord& record, const CandidateRun& run, const Arbiter& arbiter,
                    std::vector<ReferenceBuffer>& references);

 private:
  void Keep(const RunRecord& record, const CandidateRun& run);
  bool Compare(size_t output, const std::byte* got, const Arbiter& arbiter,
               ReferenceBuffer& reference);

  std::vector<std::vector<std::byte>> outputs_;
  int arbitrations_ = 0;
};

// The first element, from `from` on, at which two results for a sampled buffer of `elements`
// elements differ by more than twice what either may be off; `elements` if there is none.
int64_t FirstDifference(const ReferenceBuffer& reference, const std::byte* a, const std::byte* b,
                        int64_t from, int64_t elements);

// Adds samples of the same buffer, with as many variants. What values are compared by stays.
void AddSamples(const ReferenceBuffer& more, ReferenceBuffer& reference);

}  // namespace mdh
