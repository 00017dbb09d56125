// What a search for the best kernel of a pipeline tunes: distinct steps of a few partitions.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/plan.h"

namespace mdh {

// An expression that partitions have as a step.
struct SearchedStep {
  Expression expression;
  std::vector<int> partitions;  // their numbers, ascending
  double cost;                  // bytes, and operations by the exchange rate, of one execution
  std::string schedule = "";    // what is said of it (SearchPlanOptions::says)
};

struct SearchPlan {
  // The cheapest ones and the unfused one (but for a single step that is hopeless as it stands,
  // core/pipeline/plan/planned_expression.h), the cheapest first. Of the fused ones one keeps the
  // steps (Partition::keeps_steps), if there is such a one: by how much the others are better, the
  // plan knows least. If there is place for three, one is the cheapest where operations cost a
  // quarter of what the plan counts.
  std::vector<Partition> partitions;
  // With different canonical forms, or what is said of them, and with points. In the order in which
  // partitions have them.
  std::vector<SearchedStep> steps;
  // Such steps that cost less than all of `steps`, and the only one of the pipeline.
  int left_out = 0;
};

struct SearchPlanOptions {
  PlanOptions plan = {};
  int fused_partitions = 3;  // at most
  int most_steps = std::numeric_limits<int>::max();
  // Where somebody knows something: of which partitions, and what is said of a step of one of them
  // (nullopt: nothing of it is searched). Null: of all, and nothing.
  std::function<bool(const Partition&)> is_wanted = nullptr;
  std::function<std::optional<std::string>(const Partition&, int step)> says = nullptr;
};

// The same pipeline gives the same plan on every machine.
SearchPlan PlanSearch(const Pipeline& pipeline, const SearchPlanOptions& options = {});

// What each step gets of something that is for all of them: half is divided equally, as every
// search has a part that does not shrink with its problem, and half by the costs. Each gets at
// least 1 of what is more than 0; 0 means no limit, and stays 0.
std::vector<int64_t> Shares(int64_t whole, const SearchPlan& plan);

// What is fused, for people: "activation in the epilogue of matmul"; "unfused". Of many edges the
// first are named. Of groups of the partition's steps: "row_max, total together". `partition` is
// one of `pipeline`.
std::string Describe(const Pipeline& pipeline, const Partition& partition,
                     absl::Span<const JointGroup> groups = {});

}  // namespace mdh
