// Steps that a plan has tried, and what two of them become as one.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/plan.h"

namespace mdh {

// A step, as it is or made of several, with its cost. Buffers have the numbers that they have in
// the pipeline that is planned.
struct PlannedStep {
  PipelineStep step;
  int data_flow;  // a number for what it reads and writes, without order
  int64_t bytes;
  int64_t operations;
  double cost;
};

// Numbers of planned steps; -1: it is gone.
struct FusedSteps {
  bool is_legal = false;
  int producer = -1, consumer = -1;
};

// Why two steps of the pipeline cannot be fused so, by themselves; of a split one, why it is not.
// Ok: they can, or nothing is fused. Errors: FailedPrecondition with the obstacle.
Status FusionObstacle(const Pipeline& pipeline, const PlannedEdge& edge,
                      const PlanOptions& options);

// What is tried once is known. Thread-compatible.
class StepFusions {
 public:
  // Neither is owned.
  StepFusions(const Pipeline& pipeline, const PlanOptions& options)
      : pipeline_(pipeline), options_(options) {}

  // The number of the step; equal ones have one.
  int Add(PipelineStep step);
  const PlannedStep& at(int number) const { return steps_[number]; }

  // What two planned steps become where these steps are left; null if enough has been tried.
  const FusedSteps* Fused(const std::vector<int>& steps, int producer, int consumer, EdgeKind kind);

 private:
  FusedSteps Rewritten(int producer, int consumer, EdgeKind kind,
                       const std::vector<bool>& is_needed);
  Pipeline TwoSteps(PipelineStep producer, PipelineStep consumer,
                    const std::vector<bool>& is_needed) const;
  int NumberOf(const std::string& name) const;

  const Pipeline& pipeline_;
  const PlanOptions& options_;
  std::vector<PlannedStep> steps_;
  std::map<std::tuple<std::string, std::vector<int>, std::vector<int>>, int> numbers_;
  std::map<std::pair<std::vector<int>, std::vector<int>>, int> data_flows_;
  std::map<std::tuple<int, int, EdgeKind, std::vector<bool>>, FusedSteps> fused_;
};

}  // namespace mdh
