// Single md_homs that are planned: sums of products of many factors.
#pragma once

#include <vector>

#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "core/pipeline/computation.h"
#include "core/pipeline/plan/plan.h"

namespace mdh {

// Whether by the plan the expression costs less in sums of products of two (SplitContraction), even
// if each step of them waits for the one before.
bool PaysToSplit(const Expression& expression);

// What is searched, and made where nothing was measured: of an expression that pays to split, if
// the policy leaves its sums be reordered, the pipeline whose only step it is, which has the same
// digest; else what is given.
Computation AsPlanned(Computation given, NumericsPolicy policy);

// Leaves the only step of a pipeline as it stands out of its plan where others cost so much less
// that it would only be waited for.
void DropHopeless(const Pipeline& pipeline, double operations_per_byte,
                  std::vector<Partition>& partitions);

// Whether the steps of a partition are searched: not the only step of a pipeline as it stands where
// others cost less and its search, which would take the time from theirs, takes long. It is still
// measured, as rules or an earlier search have it.
bool IsSearchedAsItStands(const Pipeline& pipeline, double operations_per_byte,
                          const std::vector<Partition>& partitions, const Partition& partition);

}  // namespace mdh
