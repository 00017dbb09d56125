// Which points of a streamed dimension a part needs: causal and sliding windows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/scaled_sums.h"

namespace mdh {

// A part needs only points j of the streamed dimension with
//   sum_k coefficients[k] * i_k + streamed * j + constant >= 0
// for some point i of the part: at others, what the maximum is of is its neutral element.
struct StreamBound {
  std::vector<int64_t> coefficients;  // per common dimension
  int64_t streamed = 0;               // never 0
  int64_t constant = 0;

  friend bool operator==(const StreamBound&, const StreamBound&) = default;
};

// From selections by comparisons of indices, in what the maximum is of and in the steps that it
// comes from. Chunks without such points add the product of factors that are 0: nothing, unless a
// value that is multiplied by one is nan or infinite, which the steps one after the other would
// see. None where a step wants all points: what is written is used elsewhere, or reduced without a
// factor.
std::vector<StreamBound> StreamBoundsOf(const Pipeline& pipeline, const JointGroup& group,
                                        const ScaledSums& sums);

}  // namespace mdh
