#include "codegen/joint_parameters.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "codegen/choose/aligned_parts.h"
#include "codegen/choose/counting/early_choice.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/choose/stream_shape.h"
#include "codegen/choose/tiles/tile_choice.h"
#include "codegen/generate_pipeline.h"
#include "codegen/part_parameters.h"
#include "codegen/plane_layouts.h"
#include "codegen/row_layouts.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/backends.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_halo.h"
#include "core/pipeline/plan/joint_uses.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// Parts per core or multiprocessor, so that none waits long for the last one.
constexpr int64_t kPartsPerCore = 4;

// Of steps that use nothing again.
constexpr double kPartsInFirstCache = 6;
// Of contractions, and times what is the same for all parts.
constexpr double kContractionsInFirstCache = 4;
constexpr double kMuchOfPart = 8;

// What a search tries: parts of so many points, times those by counting, and threads of a block.
constexpr double kPartFactors[] = {1, 0.25, 4, 1.0 / 16};
constexpr size_t kOthersThanStreamed = 2;  // candidates, at least
constexpr size_t kMostPlanes = 4;          // layouts of planes, of whole chains and of halves
constexpr int64_t kAlignedThreads[] = {128, 256, 64, 32};
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
  for (const int64_t extent : CommonExtents(pipeline, group)) points *= static_cast<double>(extent);
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

// Bytes that a part shall have at most.
double FastMemory(const DeviceDescription& device) {
  return BackendOf(device.kind).has_blocks
             ? static_cast<double>(device.blocks.shared_bytes_per_block) / 2
             : static_cast<double>(device.l2_bytes) / 2;
}

// Points of a part by counting that have so many bytes.
int64_t PointsThatFit(const Pipeline& pipeline, const JointGroup& group, double bytes) {
  return static_cast<int64_t>(bytes / std::max(BytesPerPoint(pipeline, group), 1e-3));
}

// Whether a step has sums with an operand that is the same for several of their results.
bool HasContraction(const Pipeline& pipeline, const JointGroup& group) {
  for (const StepView& use : ViewsOf(pipeline, group.first, group.last)) {
    const Expression& e = pipeline.steps()[use.step].expression;
    bool is_reduced = false, stays = false;
    for (int d = 0; d < e.rank(); ++d) {
      is_reduced |= e.is_reduction(d) && use.view->DependsOn(d);
      stays |= !e.is_reduction(d) && !use.view->DependsOn(d);
    }
    if (!use.writes && is_reduced && stays) return true;
  }
  return false;
}

// What steps of the group read from outside that is the same for all parts; or for neighbours,
// where no first-level cache keeps it from one to the next.
double BytesOfAllParts(const Pipeline& pipeline, const JointGroup& group, double l1) {
  double bytes = 0;
  std::set<int> seen;
  for (const StepView& use : ViewsOf(pipeline, group.first, group.last)) {
    double same = static_cast<double>(pipeline.buffers()[use.buffer].size_bytes()), all = same;
    bool moves = false;  // along the last common dimension
    for (const int d : group.dimensions[use.step - group.first]) {
      const auto& dimensions = pipeline.steps()[use.step].expression.dimensions();
      moves = use.view->DependsOn(d);
      if (moves) same /= static_cast<double>(dimensions[d].size);
    }
    if (!moves && (same == all || same > l1 / 2) && seen.insert(use.buffer).second) bytes += same;
  }
  return bytes;
}

// Bytes that a part shall have by counting. CPUs find what the step before has left in the
// first-level cache, and wait for memory while they still compute what they have read, the more so
// the smaller parts are. What is the same for all parts is read again for each of them: where steps
// use it again, it is little beside a part.
double BytesOfGoodPart(const Pipeline& pipeline, const JointGroup& group,
                       const DeviceDescription& device) {
  const auto l1 = static_cast<double>(device.l1_bytes);
  if (BackendOf(device.kind).has_blocks) return FastMemory(device);
  const double of_all = BytesOfAllParts(pipeline, group, l1);
  if (HasContraction(pipeline, group)) {
    const double least = std::min(l1 / kContractionsInFirstCache, FastMemory(device));
    return std::clamp(kMuchOfPart * of_all, least, FastMemory(device));
  }
  return of_all > l1 / 2 ? FastMemory(device) : l1 / kPartsInFirstCache;
}

// Points of the common dimensions but the first, of contractions whose parts shall have them all if
// half of a first-level cache has room for that: steps that reduce along one of these read the same
// for each of its points, and use it again where a part has several.
int64_t PointsOfRow(const Pipeline& pipeline, const JointGroup& group,
                    const DeviceDescription& device) {
  if (BackendOf(device.kind).has_blocks || !HasContraction(pipeline, group)) return 1;
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  int64_t row = 1;
  for (size_t k = 1; k < extents.size(); ++k) row *= extents[k];
  return row <= PointsThatFit(pipeline, group, device.l1_bytes / 2.0) ? row : 1;
}

// Points of such a part where there are enough parts.
int64_t PointsOfPart(const Pipeline& pipeline, const JointGroup& group,
                     const DeviceDescription& device) {
  const int64_t fits = PointsThatFit(pipeline, group, BytesOfGoodPart(pipeline, group, device));
  int64_t points = 1;
  for (const int64_t extent : CommonExtents(pipeline, group)) points *= extent;
  const int64_t share = points / (kPartsPerCore * Multiprocessors(device));
  const int64_t row = PointsOfRow(pipeline, group, device);
  return std::max<int64_t>(std::min(std::max(fits, row), share), 1);
}

// Neighbours along rows that are computed at the same time: those of a vector register, or of a
// line that threads access together.
int64_t LanesOf(const Pipeline& pipeline, const JointGroup& group,
                const DeviceDescription& device) {
  constexpr int64_t kLineBytes = 32;
  const int64_t bytes = BackendOf(device.kind).has_blocks ? kLineBytes : device.simd_bytes;
  const PipelineStep& last = pipeline.steps()[group.last];
  return std::max<int64_t>(bytes / pipeline.buffers()[last.outputs[0]].type.size_bytes(), 1);
}

// Of that, or so many times; of groups with halos the shape that repeats least.
JointGroup WithUsualPart(const Pipeline& pipeline, JointGroup group,
                         const DeviceDescription& device, double factor) {
  group = WithPart(pipeline, std::move(group), 1);
  if (HasHalo(pipeline, group)) {
    return WithLeastHalo(pipeline, std::move(group),
                         {.most_bytes = FastMemory(device) * factor,
                          .least_parts = Multiprocessors(device),
                          .lanes = LanesOf(pipeline, group, device)});
  }
  const double points = static_cast<double>(PointsOfPart(pipeline, group, device)) * factor;
  return WithPart(pipeline, std::move(group), static_cast<int64_t>(points));
}

// Groups with halos of four steps or more as two groups each: less work is repeated, and more goes
// through memory. Empty: there are none, or not all halves can be groups.
std::vector<JointGroup> Halved(const Pipeline& pipeline, const std::vector<JointGroup>& groups,
                               const DeviceDescription& device) {
  std::vector<JointGroup> halved;
  bool has_halves = false;
  for (const JointGroup& group : groups) {
    const int steps = group.last - group.first + 1;
    if (steps < 4 || !HasHalo(pipeline, group)) {
      halved.push_back(group);
      continue;
    }
    const auto middle = group.dimensions.begin() + steps / 2;
    JointGroup before = group, after = group;
    before.last = group.first + steps / 2 - 1;
    before.dimensions.assign(group.dimensions.begin(), middle);
    after.first = before.last + 1;
    after.dimensions.assign(middle, group.dimensions.end());
    for (JointGroup* const half : {&before, &after}) {
      half->part.assign(half->part.size(), 1);
      if (!CheckJointGroup(pipeline, *half).ok()) return {};
      halved.push_back(WithUsualPart(pipeline, *half, device, 1));
    }
    has_halves = true;
  }
  return has_halves ? halved : std::vector<JointGroup>();
}

// The parameters, but that results of these groups which none of their steps reads go past the
// caches of CPUs.
std::vector<TuningParameters> Streaming(const Pipeline& pipeline,
                                        absl::Span<const JointGroup> groups,
                                        const std::function<bool(const JointGroup&)>& streams,
                                        const SystemModel& model, const DeviceDescription& device,
                                        std::vector<TuningParameters> parameters) {
  const auto expressions = ComputedExpressions(pipeline, groups);
  for (const JointGroup& group : groups) {
    if (!expressions.ok() || !streams(group)) continue;
    for (int s = group.first; s <= group.last; ++s) {
      const std::vector<int>& outputs = pipeline.steps()[s].outputs;
      const bool is_read =
          std::ranges::any_of(outputs, [&](int b) { return !pipeline.Readers(b).empty(); });
      if (is_read || parameters[s].lowering != Lowering::kTiles) continue;
      TuningParameters streaming = parameters[s];
      streaming.streams_results = true;
      if (!StoresRows((*expressions)[s], model, streaming)) continue;
      if (Validate((*expressions)[s], model, device, streaming).ok()) {
        parameters[s] = std::move(streaming);
      }
    }
  }
  return parameters;
}

// Whether no cache keeps what passes through the group's steps once.
bool PassesCaches(const Pipeline& pipeline, const JointGroup& group,
                  const DeviceDescription& device) {
  double bytes = 0;
  std::set<int> counted;
  const std::vector<StepView> views = ViewsOf(pipeline, group.first, group.last);
  for (const StepView& use : views) {
    if (IsWithin(views, use.buffer) || !counted.insert(use.buffer).second) continue;
    bytes += static_cast<double>(pipeline.buffers()[use.buffer].size_bytes());
  }
  const auto cache = static_cast<double>(device.l3_bytes);
  return cache > 0 && bytes >= cache && !HasContraction(pipeline, group);
}

bool HasCode(const Pipeline& pipeline, absl::Span<const JointGroup> groups,
             const SystemModel& model, const DeviceDescription& device,
             absl::Span<const TuningParameters> parameters) {
  return PipelineProgramOf(pipeline, model, device, parameters, ProgramForm::kOptimized, groups)
      .ok();
}

// DefaultJointGroups, but that none is in rows; without streamed dimensions on demand: these add up
// in another order.
std::vector<JointGroup> UsualGroups(const Pipeline& pipeline, const DeviceDescription& device,
                                    bool streams) {
  std::vector<JointGroup> offered = JointGroups(pipeline);
  std::ranges::stable_sort(offered, [&](const JointGroup& a, const JointGroup& b) {
    return BytesSaved(pipeline, a) > BytesSaved(pipeline, b);
  });
  std::vector<JointGroup> chosen;
  for (JointGroup& group : offered) {
    const bool meets = std::ranges::any_of(chosen, [&](const JointGroup& other) {
      return group.first <= other.last && other.first <= group.last;
    });
    if (meets) continue;
    std::optional<JointGroup> streamed;
    if (streams && RowLayouts(pipeline, group, device).empty()) {
      streamed =
          Streamed(pipeline, group, device, PointsThatFit(pipeline, group, FastMemory(device)));
    }
    chosen.push_back(streamed ? *std::move(streamed)
                              : WithUsualPart(pipeline, std::move(group), device, 1));
  }
  std::ranges::sort(chosen, {}, &JointGroup::first);
  return chosen;
}

// Those whose parts are rows, with their layouts number n, or the last of them; false: no group has
// so many.
bool InRows(const Pipeline& pipeline, const DeviceDescription& device, size_t n,
            std::vector<JointGroup>* groups) {
  bool has_new = false;
  for (JointGroup& group : *groups) {
    if (group.is_streamed()) continue;
    const std::vector<RowLayout> layouts = RowLayouts(pipeline, group, device);
    if (layouts.empty()) continue;
    has_new |= n < layouts.size();
    group = WithPart(pipeline, std::move(group), 1);
    group.rows = layouts[std::min(n, layouts.size() - 1)];
  }
  return has_new;
}

// Those that are chains of stencils, with parts and planes number n; false: no group has so many.
bool InPlanes(const Pipeline& pipeline, const DeviceDescription& device, size_t n,
              std::vector<JointGroup>* groups) {
  bool has_new = false;
  for (JointGroup& group : *groups) {
    if (group.rows || !HasHalo(pipeline, group)) continue;
    const std::vector<JointGroup> planes = PlaneGroups(pipeline, group, device);
    if (planes.empty()) continue;
    has_new |= n < planes.size();
    group = planes[std::min(n, planes.size() - 1)];
  }
  return has_new;
}

}  // namespace

Result<std::vector<TuningParameters>> ParametersOfSteps(
    const Pipeline& pipeline, absl::Span<const JointGroup> groups, const SystemModel& model,
    const DeviceDescription& device, NumericsPolicy numerics, const PartThreads& how) {
  MDH_ASSIGN_OR_RETURN(const ComputedPipeline computed, ComputedPipelineOf(pipeline, groups));
  std::vector<TuningParameters> parameters(pipeline.steps().size());
  for (size_t s = 0; s < computed.given.size(); ++s) {
    const Expression& e = computed.pipeline.steps()[s].expression;
    if (computed.given[s] < 0) continue;
    parameters[computed.given[s]] = DefaultParameters(e, model, device, PolicyFor(e, numerics));
  }
  bool has_aligned = false;
  for (const JointSteps& joint : computed.groups) {
    const bool has_parts = PartsOf(computed.pipeline, joint.group) * joint.group.splits > 1;
    std::optional<std::vector<TuningParameters>> aligned;
    if (how.aligns) aligned = AlignParts(joint, model, device, how.threads, how.lanes);
    has_aligned |= aligned.has_value();
    for (size_t n = 0; n < joint.part.steps.size(); ++n) {
      const int given = computed.given[joint.group.first + n];
      if (given < 0) continue;
      const NumericsPolicy policy = PolicyFor(joint.part.steps[n].expression, numerics);
      TuningParameters& own = parameters[given];
      if (aligned) {
        own = (*aligned)[n];
        own.numerics = policy;
      } else {
        own = ParametersOfPart(computed.pipeline, joint, n, model, device, policy, how.threads);
      }
      own.threads = has_parts ? TuningParameters::kAllThreads : 1;
      // Rows are over soon, and the next call's blocks take the room of those that have ended.
      const bool is_early = joint.group.rows && BeginLaunchesEarly(device);
      if (is_early) own.early_launches = EarlyLaunches::kCalls;
    }
  }
  if (how.aligns && !has_aligned) return FailedPrecondition("no group has rows of threads");
  return parameters;
}

JointGroup WithPartByCounting(const Pipeline& pipeline, JointGroup group,
                              const DeviceDescription& device) {
  return WithUsualPart(pipeline, std::move(group), device, 1);
}

std::vector<JointGroup> DefaultJointGroups(const Pipeline& pipeline,
                                           const DeviceDescription& device,
                                           NumericsPolicy numerics) {
  std::vector<JointGroup> groups = UsualGroups(pipeline, device, Reassociates(numerics));
  InRows(pipeline, device, 0, &groups);
  InPlanes(pipeline, device, 0, &groups);
  return groups;
}

Result<std::vector<TuningParameters>> DefaultParameters(const Pipeline& pipeline,
                                                        absl::Span<const JointGroup> groups,
                                                        const SystemModel& model,
                                                        const DeviceDescription& device,
                                                        NumericsPolicy numerics) {
  if (!BackendOf(device.kind).has_blocks || groups.empty()) {
    MDH_ASSIGN_OR_RETURN(std::vector<TuningParameters> steps,
                         ParametersOfSteps(pipeline, groups, model, device, numerics, {}));
    const auto streams = [&](const JointGroup& g) { return PassesCaches(pipeline, g, device); };
    return Streaming(pipeline, groups, streams, model, device, std::move(steps));
  }
  Result<std::vector<TuningParameters>> parameters = std::vector<TuningParameters>();
  for (const bool aligns : {true, false}) {
    const absl::Span<const int64_t> tried = aligns ? absl::Span<const int64_t>(kAlignedThreads)
                                                   : absl::Span<const int64_t>(kBlockThreads);
    for (const int64_t threads : tried) {
      parameters = ParametersOfSteps(pipeline, groups, model, device, numerics, {threads, aligns});
      if (parameters.ok() && HasCode(pipeline, groups, model, device, *parameters)) {
        return parameters;
      }
    }
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
    const bool is_new = std::ranges::find(candidates, p) == candidates.end();
    if (candidates.size() < most && is_new && HasCode(pipeline, groups, model, device, p.steps)) {
      candidates.push_back(std::move(p));
    }
  };
  const bool has_blocks = BackendOf(device.kind).has_blocks;
  const std::vector<JointGroup> usual = UsualGroups(pipeline, device, /*streams=*/false);
  const auto try_both = [&](int64_t threads, double factor) {
    std::vector<JointGroup> groups;
    for (const JointGroup& group : usual) {
      groups.push_back(WithUsualPart(pipeline, group, device, factor));
    }
    auto steps = ParametersOfSteps(pipeline, groups, model, device, numerics, {threads});
    if (!steps.ok()) return;
    add(groups, *steps);
    if (has_blocks) return;
    const auto all = [](const JointGroup&) { return true; };
    add(groups, Streaming(pipeline, groups, all, model, device, *std::move(steps)));
  };
  if (usual.empty()) return candidates;
  std::vector<JointGroup> rows = usual;
  const size_t most_rows = most - most / 3;
  for (size_t n = 0; candidates.size() < most_rows && InRows(pipeline, device, n, &rows); ++n) {
    auto steps = ParametersOfSteps(pipeline, rows, model, device, numerics, {});
    if (steps.ok()) add(rows, *std::move(steps));
  }
  const std::vector<JointGroup> streamed = UsualGroups(pipeline, device, Reassociates(numerics));
  for (const StreamShape& shape : StreamShapes(device)) {
    // Some others, too.
    if (streamed == usual || candidates.size() + kOthersThanStreamed >= most) break;
    std::vector<JointGroup> groups = streamed;
    for (JointGroup& group : groups) {
      if (group.is_streamed()) group = WithStreamShape(pipeline, std::move(group), device, shape);
    }
    for (const bool aligns : {true, false}) {
      auto steps =
          ParametersOfSteps(pipeline, groups, model, device, numerics, {shape.threads, aligns});
      if (steps.ok()) add(groups, *std::move(steps));
    }
  }
  const std::vector<JointGroup> halved = Halved(pipeline, usual, device);
  for (size_t n = 0; n < kMostPlanes; ++n) {
    for (std::vector<JointGroup> planes : {usual, halved}) {
      if (!InPlanes(pipeline, device, n, &planes)) continue;
      auto steps = ParametersOfSteps(pipeline, planes, model, device, numerics, {});
      if (steps.ok()) add(planes, *std::move(steps));
    }
  }
  if (!halved.empty()) {
    for (const int64_t threads :
         has_blocks ? std::vector<int64_t>{256, 512, 1024} : std::vector<int64_t>{1}) {
      auto steps = ParametersOfSteps(pipeline, halved, model, device, numerics, {threads});
      if (steps.ok()) add(halved, *std::move(steps));
    }
  }
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
