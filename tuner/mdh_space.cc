#include "tuner/mdh_space.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/validate.h"
#include "tuner/mdh_space_kind.h"

namespace mdh {
namespace {

bool HasRole(const SystemModel& model, LayerRole role) { return model.LayerWith(role) >= 0; }

Result<std::unique_ptr<MdhSpaceKind>> KindFor(MdhProblem problem) {
  MDH_RETURN_IF_ERROR(ValidateDevice(problem.device));
  const SystemModel& model = problem.model;
  if (DeviceKindOf(model) != problem.device.kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("search space: model ", model.name, " is not for the kind of device that ",
                     problem.device.name.empty() ? "was given" : problem.device.name, " is of"));
  }
  if (HasRole(model, LayerRole::kDevices)) {
    return absl::InvalidArgumentError(
        absl::StrCat("search space: model ", model.name,
                     " has several devices; what runs on one of them is tuned by itself"));
  }
  const bool has_tiles = HasRole(model, LayerRole::kRegisters) || HasRole(model, LayerRole::kLanes);
  return model.memory == MemoryKind::kCaches && has_tiles ? RegisterTileSpace(std::move(problem))
                                                          : NestSpace(std::move(problem));
}

// Parameters that can be read: complete tables for this expression and model, extents of other
// sizes as those of this one.
TuningParameters Adapted(const MdhProblem& problem, TuningParameters p,
                         absl::Span<const int64_t> sizes) {
  const size_t layers = problem.model.layers.size();
  const auto rank = static_cast<size_t>(problem.rank());
  p.tile.resize(layers, std::vector<int64_t>(rank, 1));
  for (std::vector<int64_t>& row : p.tile) {
    row.resize(rank, 1);
    for (size_t d = 0; d < rank; ++d) {
      const int64_t size = problem.size(static_cast<int>(d));
      const bool is_whole = d < sizes.size() && row[d] >= sizes[d];
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

Result<MdhSpace> MdhSpace::Create(Expression expression, SystemModel model,
                                  DeviceDescription device, NumericsPolicy numerics,
                                  SpaceOptions options) {
  MDH_ASSIGN_OR_RETURN(
      std::unique_ptr<MdhSpaceKind> made,
      KindFor({std::move(expression), std::move(model), std::move(device), numerics}));
  const std::shared_ptr<const MdhSpaceKind> kind = std::move(made);
  options.order = ParameterOrder::kDeclared;
  MDH_ASSIGN_OR_RETURN(
      SearchSpace space,
      SearchSpace::Create(kind->builder().parameters(), kind->builder().constraints(), options));
  return MdhSpace(kind, std::move(space));
}

TuningParameters MdhSpace::Decode(absl::Span<const int64_t> configuration) const {
  return kind_->Decode(configuration);
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
  const Status valid = Validate(problem.expression, problem.model, problem.device, parameters);
  if (!valid.ok()) return std::string(valid.message());
  const Configuration configuration = kind_->Read(parameters);
  if (const std::string why = space_.WhyNot(configuration); !why.empty()) return why;
  const TuningParameters decoded = kind_->Decode(configuration);
  if (MeanTheSame(problem, decoded, parameters)) return "";
  return absl::StrCat("the nearest decomposition is another one: ", ToText(decoded));
}

Configuration MdhSpace::EncodeNearest(const TuningParameters& parameters,
                                      absl::Span<const int64_t> sizes) const {
  return space_.Nearest(kind_->Read(Adapted(kind_->problem(), parameters, sizes)));
}

}  // namespace mdh
