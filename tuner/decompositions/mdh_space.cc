#include "tuner/decompositions/mdh_space.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/validate.h"
#include "tuner/decompositions/mdh_space_kind.h"

namespace mdh {
namespace {

bool HasRole(const SystemModel& model, LayerRole role) { return model.LayerWith(role) >= 0; }

Result<std::unique_ptr<MdhSpaceKind>> KindFor(MdhProblem problem) {
  MDH_RETURN_IF_ERROR(ValidateDevice(problem.device));
  const SystemModel& model = problem.model;
  if (model.kind != problem.device.kind) {
    return InvalidArgument(
        "search space: model ", model.name, " is not for the kind of device that ",
        problem.device.name.empty() ? "was given" : problem.device.name, " is of");
  }
  if (HasRole(model, LayerRole::kDevices)) {
    return InvalidArgument("search space: model ", model.name,
                           " has several devices; what runs on one of them is tuned by itself");
  }
  const bool has_tiles = HasRole(model, LayerRole::kRegisters) || HasRole(model, LayerRole::kLanes);
  return model.memory == MemoryKind::kCaches && has_tiles ? RegisterTileSpace(std::move(problem))
                                                          : NestSpace(std::move(problem));
}

bool AreDimensions(const FusedDimensions& groups, int rank) {
  return std::ranges::all_of(groups, [rank](const std::vector<int>& group) {
    return !group.empty() &&
           std::ranges::all_of(group, [rank](int d) { return d >= 0 && d < rank; });
  });
}

// Parameters that can be read: complete tables for this expression and model, extents of other
// sizes, and of other fused dimensions, as those of this one.
TuningParameters Adapted(const MdhProblem& problem, TuningParameters p,
                         absl::Span<const int64_t> sizes) {
  const size_t layers = problem.model.layers.size();
  const auto rank = static_cast<size_t>(problem.rank());
  std::vector<int64_t> separate(sizes.begin(), sizes.end());
  for (size_t d = separate.size(); d < rank; ++d) separate.push_back(problem.separate_sizes[d]);
  const std::vector<int64_t> whole = FusedExtents(separate, problem.fused, separate);
  const bool is_other = p.fused != problem.fused && AreDimensions(p.fused, problem.rank());
  p.tile.resize(layers, std::vector<int64_t>(rank, 1));
  for (std::vector<int64_t>& row : p.tile) {
    row.resize(rank, 1);
    if (is_other) {
      row = FusedExtents(SeparateExtents(row, p.fused, separate), problem.fused, separate);
    }
    for (size_t d = 0; d < rank; ++d) {
      const int64_t size = problem.size(static_cast<int>(d));
      const bool is_whole = row[d] >= whole[d];
      row[d] = is_whole ? size : std::clamp<int64_t>(row[d], 1, size);
    }
  }
  std::vector<bool> seen(layers * rank, false);
  bool is_order = p.phase.order.size() == layers * rank;
  for (const MdhLevel& level : p.phase.order) {
    const bool is_level = level.layer >= 0 && level.layer < static_cast<int>(layers) &&
                          level.dimension >= 0 && level.dimension < problem.rank();
    const size_t at = is_level ? level.layer * rank + level.dimension : 0;
    is_order = is_order && is_level && !seen[at];
    if (is_order) seen[at] = true;
  }
  if (!is_order) p.phase = {NestedOrder(std::vector(layers, Identity(rank))), {}};
  p.inputs.resize(problem.expression.inputs().size());
  p.system_model = problem.model.name;
  p.numerics = problem.numerics;
  return p;
}

}  // namespace

Result<ScheduledKind> MakeKind(Expression expression, SystemModel model, DeviceDescription device,
                               NumericsPolicy asked, const FusedDimensions& fused,
                               const Schedule* schedule) {
  const NumericsPolicy numerics = PolicyFor(expression, asked);
  if (schedule != nullptr && !schedule->AllowsFused(fused)) {
    return FailedPrecondition("search space: the schedule runs through other dimensions as one");
  }
  std::vector<int64_t> sizes;
  for (const Dimension& dimension : expression.dimensions()) sizes.push_back(dimension.size);
  TuningParameters common;
  common.numerics = numerics;
  common.fused = fused;
  MDH_ASSIGN_OR_RETURN(Expression one, WithFusedDimensions(expression, common));
  MDH_ASSIGN_OR_RETURN(
      std::unique_ptr<MdhSpaceKind> made,
      KindFor({std::move(one), fused, std::move(sizes), std::move(model), std::move(device),
               numerics, schedule == nullptr ? std::nullopt : std::optional(*schedule)}));
  const bool is_exact = made->RequireSchedule();
  return ScheduledKind{std::move(made), is_exact};
}

Result<MdhSpace> MdhSpace::Create(Expression expression, SystemModel model,
                                  DeviceDescription device, NumericsPolicy asked,
                                  SpaceOptions options, const FusedDimensions& fused,
                                  const Schedule* schedule) {
  MDH_ASSIGN_OR_RETURN(ScheduledKind made, MakeKind(std::move(expression), std::move(model),
                                                    std::move(device), asked, fused, schedule));
  options.order = ParameterOrder::kDeclared;
  const SpaceBuilder& builder = made.kind->builder();
  MDH_ASSIGN_OR_RETURN(SearchSpace space,
                       SearchSpace::Create(builder.parameters(), builder.constraints(), options));
  return MdhSpace(std::move(made.kind), std::move(space), made.is_exact);
}

const FusedDimensions& MdhSpace::fused() const { return kind_->problem().fused; }

const Expression& MdhSpace::divided() const { return kind_->problem().expression; }
const SystemModel& MdhSpace::model() const { return kind_->problem().model; }
const DeviceDescription& MdhSpace::device() const { return kind_->problem().device; }
NumericsPolicy MdhSpace::numerics() const { return kind_->problem().numerics; }

DesignRanges MdhSpace::RangesOf(OpenCodes open) const { return kind_->RangesOf(open); }

TuningParameters MdhSpace::Decode(absl::Span<const int64_t> configuration) const {
  TuningParameters parameters = kind_->Decode(configuration);
  parameters.fused = fused();
  return parameters;
}

std::optional<Configuration> MdhSpace::Encode(const TuningParameters& parameters) const {
  if (!WhyNot(parameters).empty()) return std::nullopt;
  return kind_->Read(parameters);
}

std::string MdhSpace::WhyNot(const TuningParameters& parameters) const {
  const MdhProblem& problem = kind_->problem();
  if (parameters.numerics != problem.numerics) {
    return absl::StrCat("they are for numerics=", Name(parameters.numerics), ", not ",
                        Name(problem.numerics));
  }
  if (parameters.fused != problem.fused) return "they run through other dimensions as one";
  const Status valid =
      ValidateUnfused(problem.expression, problem.model, problem.device, parameters).status();
  if (!valid.ok()) return std::string(valid.message());
  const Configuration configuration = kind_->Read(parameters);
  if (const std::string why = space_.WhyNot(configuration); !why.empty()) return why;
  const TuningParameters decoded = Decode(configuration);
  if (MeanTheSame(problem, decoded, parameters)) return "";
  return absl::StrCat("the nearest decomposition is another one: ", ToText(decoded));
}

Configuration MdhSpace::EncodeNearest(const TuningParameters& parameters,
                                      absl::Span<const int64_t> sizes) const {
  return space_.Nearest(Read(parameters, sizes));
}

Configuration MdhSpace::Read(const TuningParameters& parameters,
                             absl::Span<const int64_t> sizes) const {
  return kind_->Read(Adapted(kind_->problem(), parameters, sizes));
}

std::vector<ParameterMeaning> MdhSpace::Meanings() const {
  std::vector<ParameterMeaning> meanings;
  for (size_t n = 0; n < space_.parameters().size(); ++n) {
    meanings.push_back(kind_->Meaning(static_cast<int>(n)));
  }
  return meanings;
}

Result<MdhSpace> MdhSpace::Restricted(absl::Span<const NamedDecision> decisions) const {
  const std::vector<ValueNames> names = ValueNamesOf(Meanings());
  MDH_ASSIGN_OR_RETURN(const auto read, ReadDecisions(space_, decisions, names));
  MDH_ASSIGN_OR_RETURN(const PartialConfiguration left,
                       PartialConfiguration(space_, names).With(read));
  return MdhSpace(kind_, left.AsSpace(), is_exact_);
}

}  // namespace mdh
