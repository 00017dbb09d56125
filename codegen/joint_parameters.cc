#include "codegen/joint_parameters.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "codegen/choose/default_parameters.h"
#include "codegen/choose/part_design.h"
#include "codegen/generate_pipeline.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/backends.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_part.h"
#include "core/pipeline/plan/joint_uses.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// Parts per core or multiprocessor, so that none waits long for the last one.
constexpr int64_t kPartsPerCore = 4;

// What a search tries: parts of so many points, times those by counting, and threads of a block.
constexpr double kPartFactors[] = {1, 0.25, 4, 1.0 / 16};
constexpr int64_t kBlockThreads[] = {256, 512, 128, 1024, 64, 32, 8, 1};

// What steps of the group write and read again.
double BytesWithin(const Pipeline& pipeline, const JointGroup& group) {
  double bytes = 0;
  const std::vector<StepView> views = ViewsOf(pipeline, group.first, group.last);
  for (const StepView& use : views) {
    if (use.writes && IsWithin(views, use.buffer)) {
      bytes += static_cast<double>(pipeline.buffers()[use.buffer].size_bytes());
    }
  }
  return bytes;
}

// Inputs that several steps of the group read, or that one reads by several of its inputs.
double BytesReadAgain(const Pipeline& pipeline, const JointGroup& group) {
  double bytes = 0;
  for (int b = 0; b < std::ssize(pipeline.buffers()); ++b) {
    int64_t readers = 0;
    for (const int s : pipeline.Readers(b)) readers += s >= group.first && s <= group.last;
    const bool is_outside = pipeline.writer(b) < group.first;
    if (!is_outside || readers < 2) continue;
    bytes += static_cast<double>((readers - 1) * pipeline.buffers()[b].size_bytes());
  }
  return bytes;
}

double BytesSaved(const Pipeline& pipeline, const JointGroup& group) {
  return BytesWithin(pipeline, group) + BytesReadAgain(pipeline, group);
}

// Bytes of a point of the common dimensions in what moves with the parts.
double BytesPerPoint(const Pipeline& pipeline, const JointGroup& group) {
  double points = 1;
  for (const int64_t extent : CommonExtents(pipeline, group)) {
    points *= static_cast<double>(extent);
  }
  double bytes = 0;
  std::vector<bool> is_counted(pipeline.buffers().size(), false);
  for (const StepView& use : ViewsOf(pipeline, group.first, group.last)) {
    if (is_counted[use.buffer]) continue;
    for (const int d : group.dimensions[use.step - group.first]) {
      if (!use.view->DependsOn(d) || is_counted[use.buffer]) continue;
      is_counted[use.buffer] = true;
      bytes += static_cast<double>(pipeline.buffers()[use.buffer].size_bytes());
    }
  }
  return bytes / points;
}

int64_t Multiprocessors(const DeviceDescription& device) {
  return BackendOf(device.kind).has_blocks ? std::max(device.blocks.multiprocessors, 1)
                                           : std::max(device.cores, 1);
}

// Points of a part by counting: what it moves fits into the fast memory, and there are enough
// parts.
int64_t PointsOfPart(const Pipeline& pipeline, const JointGroup& group,
                     const DeviceDescription& device) {
  const double memory = BackendOf(device.kind).has_blocks
                            ? static_cast<double>(device.blocks.shared_bytes_per_block) / 2
                            : static_cast<double>(device.l2_bytes) / 2;
  const int64_t fits =
      static_cast<int64_t>(memory / std::max(BytesPerPoint(pipeline, group), 1e-3));
  int64_t points = 1;
  for (const int64_t extent : CommonExtents(pipeline, group)) points *= extent;
  const int64_t share = points / (kPartsPerCore * Multiprocessors(device));
  return std::max<int64_t>(std::min(fits, share), 1);
}

// The device as one part sees it.
DeviceDescription OnePart(DeviceDescription device, int64_t threads) {
  device.cores = 1;
  if (!BackendOf(device.kind).has_blocks) return device;
  BlockLimits& limits = device.blocks;
  limits.multiprocessors = 1;
  limits.max_grid = {1, 1, 1};
  device.features.group_units = false;  // which have stages of their own
  limits.max_threads_per_block =
      static_cast<int>(std::min<int64_t>(threads, limits.max_threads_per_block));
  for (int64_t& most : limits.max_block) most = std::min(most, threads);
  return device;
}

TuningParameters ParametersOfPart(const Expression& part, const SystemModel& model,
                                  const DeviceDescription& device, NumericsPolicy numerics,
                                  int64_t threads) {
  const bool is_designed =
      BackendOf(device.kind).has_blocks && numerics == NumericsPolicy::kReassociate;
  std::optional<TuningParameters> designed;
  if (is_designed) designed = DesignPart(part, model, device, threads);
  return designed ? *designed : DefaultParameters(part, model, device, numerics);
}

// As DefaultParameters; at most so many threads of a block compute a part.
Result<std::vector<TuningParameters>> ParametersOfSteps(const Pipeline& pipeline,
                                                        absl::Span<const JointGroup> groups,
                                                        const SystemModel& model,
                                                        const DeviceDescription& device,
                                                        NumericsPolicy numerics, int64_t threads) {
  MDH_ASSIGN_OR_RETURN(const std::vector<Expression> expressions,
                       ComputedExpressions(pipeline, groups));
  std::vector<TuningParameters> parameters;
  for (int s = 0; s < std::ssize(expressions); ++s) {
    const Expression& e = expressions[s];
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const JointGroup& g) {
      return s >= g.first && s <= g.last;
    });
    const NumericsPolicy policy = PolicyFor(e, numerics);
    if (group == groups.end()) {
      parameters.push_back(DefaultParameters(e, model, device, policy));
      continue;
    }
    parameters.push_back(ParametersOfPart(e, model, OnePart(device, threads), policy, threads));
    const bool has_parts = PartsOf(pipeline, *group) > 1;
    parameters.back().threads = has_parts ? TuningParameters::kAllThreads : 1;
  }
  return parameters;
}

// The same, but that results which no step of a group reads go past the caches of CPUs.
std::vector<TuningParameters> Streaming(const Pipeline& pipeline,
                                        absl::Span<const JointGroup> groups,
                                        const SystemModel& model, const DeviceDescription& device,
                                        std::vector<TuningParameters> parameters) {
  const auto expressions = ComputedExpressions(pipeline, groups);
  for (const JointGroup& group : groups) {
    for (int s = group.first; expressions.ok() && s <= group.last; ++s) {
      const std::vector<int>& outputs = pipeline.steps()[s].outputs;
      const bool is_read = std::any_of(outputs.begin(), outputs.end(),
                                       [&](int b) { return !pipeline.Readers(b).empty(); });
      if (is_read || parameters[s].lowering != Lowering::kTiles) continue;
      TuningParameters streaming = parameters[s];
      streaming.streams_results = true;
      if (Validate((*expressions)[s], model, device, streaming).ok()) {
        parameters[s] = std::move(streaming);
      }
    }
  }
  return parameters;
}

bool HasCode(const Pipeline& pipeline, absl::Span<const JointGroup> groups,
             const SystemModel& model, const DeviceDescription& device,
             absl::Span<const TuningParameters> parameters) {
  return PipelineProgramOf(pipeline, model, device, parameters, ProgramForm::kOptimized, groups)
      .ok();
}

}  // namespace

std::vector<JointGroup> DefaultJointGroups(const Pipeline& pipeline,
                                           const DeviceDescription& device) {
  std::vector<JointGroup> offered = JointGroups(pipeline);
  std::stable_sort(offered.begin(), offered.end(), [&](const JointGroup& a, const JointGroup& b) {
    return BytesSaved(pipeline, a) > BytesSaved(pipeline, b);
  });
  std::vector<JointGroup> chosen;
  for (JointGroup& group : offered) {
    const bool meets = std::any_of(chosen.begin(), chosen.end(), [&](const JointGroup& other) {
      return group.first <= other.last && other.first <= group.last;
    });
    if (meets) continue;
    const int64_t points = PointsOfPart(pipeline, group, device);
    chosen.push_back(WithPart(pipeline, std::move(group), points));
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const JointGroup& a, const JointGroup& b) { return a.first < b.first; });
  return chosen;
}

Result<std::vector<TuningParameters>> DefaultParameters(const Pipeline& pipeline,
                                                        absl::Span<const JointGroup> groups,
                                                        const SystemModel& model,
                                                        const DeviceDescription& device,
                                                        NumericsPolicy numerics) {
  if (!BackendOf(device.kind).has_blocks || groups.empty()) {
    return ParametersOfSteps(pipeline, groups, model, device, numerics, /*threads=*/1);
  }
  Result<std::vector<TuningParameters>> parameters = std::vector<TuningParameters>();
  for (const int64_t threads : kBlockThreads) {
    parameters = ParametersOfSteps(pipeline, groups, model, device, numerics, threads);
    if (parameters.ok() && HasCode(pipeline, groups, model, device, *parameters)) break;
  }
  return parameters;
}

std::vector<PipelineParameters> JointCandidates(const Partition& partition,
                                                const SystemModel& model,
                                                const DeviceDescription& device,
                                                NumericsPolicy numerics, size_t most) {
  const Pipeline& pipeline = partition.pipeline;
  std::vector<PipelineParameters> candidates;
  const auto add = [&](const std::vector<JointGroup>& groups, std::vector<TuningParameters> steps) {
    PipelineParameters p{partition.edges, groups, std::move(steps)};
    const bool is_new = std::find(candidates.begin(), candidates.end(), p) == candidates.end();
    if (candidates.size() < most && is_new && HasCode(pipeline, groups, model, device, p.steps)) {
      candidates.push_back(std::move(p));
    }
  };
  const bool has_blocks = BackendOf(device.kind).has_blocks;
  const std::vector<JointGroup> usual = DefaultJointGroups(pipeline, device);
  const auto try_both = [&](int64_t threads, double factor) {
    std::vector<JointGroup> groups;
    for (const JointGroup& group : usual) {
      const double points = static_cast<double>(PointsOfPart(pipeline, group, device)) * factor;
      groups.push_back(WithPart(pipeline, group, static_cast<int64_t>(points)));
    }
    auto steps = ParametersOfSteps(pipeline, groups, model, device, numerics, threads);
    if (!steps.ok()) return;
    add(groups, *steps);
    if (!has_blocks) add(groups, Streaming(pipeline, groups, model, device, *steps));
  };
  if (usual.empty()) return candidates;
  // The likeliest of both first.
  const size_t kinds = has_blocks ? std::size(kBlockThreads) : 1;
  for (size_t sum = 0; sum < kinds + std::size(kPartFactors) - 1; ++sum) {
    for (size_t n = 0; n <= sum; ++n) {
      const bool is_there = n < kinds && sum - n < std::size(kPartFactors);
      if (is_there && candidates.size() < most) try_both(kBlockThreads[n], kPartFactors[sum - n]);
    }
  }
  return candidates;
}

}  // namespace mdh
