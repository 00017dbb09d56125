// Random pipelines with a random configuration of every step: what block_pairs judges on demand.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/program/kernel.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/expression/interpreter.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "core/pipeline/plan/plan.h"
#include "tests/property/block_backend.h"

namespace mdh {

// A pipeline, one of its partitions, and its code as far as there is some.
struct PipelinePair {
  Pipeline given;
  Pipeline partition;
  std::vector<PlannedEdge> edges;  // of the partition
  SystemModel model;
  DeviceDescription device;
  std::vector<JointGroup> groups;            // of the steps of the partition
  std::vector<Expression> computed;          // what these compute: in groups, parts
  std::vector<TuningParameters> parameters;  // of these
  bool has_special_values = false;           // whether inputs have
  bool is_aligned = false;                   // whether AlignParts has made the parameters
  std::vector<BufferBytes> inputs;
  Result<Kernel> kernel = absl::InternalError("not generated");
};

// nullopt if a step has no valid configuration. Errors: those of RandomPairParameters.
Result<std::optional<PipelinePair>> RandomPipelinePair(const JudgedBackend& backend, uint64_t seed);

void GenerateKernelOf(const JudgedBackend& backend, PipelinePair* pair);
// "" or what is wrong with the kernel, for people: outputs are compared bit by bit with those of
// the pipeline before it was partitioned.
std::string JudgeKernelOf(JudgedBackend& backend, const PipelinePair& pair);
std::string Reproduction(const PipelinePair& pair);
// What of pipelines and of the lowering it exercises.
std::set<std::string> FeaturesOf(const PipelinePair& pair);

}  // namespace mdh
