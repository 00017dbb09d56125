// Validate: which tuning parameters make a decomposition (paper, Section 3.4, appendix C.1).
#include "core/decomposition/validate.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/expression/one_point.h"

namespace mdh {

using Kind = ParameterPlace::Kind;

namespace {
constexpr char kPlaceUrl[] = "mdh/parameter_place";
}  // namespace

Status AtParameter(Status status, const ParameterPlace& place) {
  if (status.ok() || status.GetPayload(kPlaceUrl).has_value()) return status;
  status.SetPayload(
      kPlaceUrl, absl::Cord(absl::StrCat(static_cast<int>(place.kind), " ", place.layer, " ",
                                         place.dimension, " ", place.buffer, " ", place.choice)));
  return status;
}

std::optional<ParameterPlace> ParameterPlaceOf(const Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPlaceUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string text(*payload);
  const std::vector<std::string> fields = absl::StrSplit(text, ' ');
  int kind = 0;
  ParameterPlace place{};
  const bool is_read = fields.size() == 5 && absl::SimpleAtoi(fields[0], &kind) &&
                       absl::SimpleAtoi(fields[1], &place.layer) &&
                       absl::SimpleAtoi(fields[2], &place.dimension) &&
                       absl::SimpleAtoi(fields[3], &place.buffer);
  if (!is_read) return std::nullopt;
  place.kind = static_cast<Kind>(kind);
  place.choice = fields[4];
  return place;
}

bool IsPermutation(const std::vector<int>& values, size_t count) {
  std::vector<bool> seen(count, false);
  for (const int value : values) {
    if (value < 0 || value >= static_cast<int>(count) || seen[value]) return false;
    seen[value] = true;
  }
  return values.size() == count;
}

std::string FirstExceeded(absl::Span<const CountLimit> counts) {
  for (const auto& [name, count, limit] : counts) {
    if (count > limit) return absl::StrCat(name, ": ", count, " > ", limit);
  }
  return "";
}

std::string LevelText(MdhLevel level) {
  return absl::StrCat("(", level.layer + 1, ",", level.dimension + 1, ")");
}

Status ValidateExtents(const Expression& e, const SystemModel& m, const TuningParameters& p) {
  for (int d = 0; d < e.rank(); ++d) {
    const Dimension& dimension = e.dimensions()[d];
    int64_t outer = dimension.size;
    for (size_t l = 0; l < m.layers.size(); ++l) {
      const int64_t tile = p.tile[l][d];
      const std::string name =
          absl::StrCat("tile of layer ", m.layers[l].name, " in dimension ", dimension.name);
      const ParameterPlace place = {
          .kind = Kind::kTile, .layer = static_cast<int>(l), .dimension = d};
      if (tile < 1 || tile > outer) {
        return AtParameter(InvalidParameters(name, " is ", tile, ", not in 1..", outer), place);
      }
      if (outer % tile != 0 && outer != dimension.size) {
        return AtParameter(InvalidParameters(name, " is ", tile, ", which does not divide ", outer,
                                             ", the tile around it"),
                           place);
      }
      outer = tile;
    }
    if (outer != 1) {
      return AtParameter(
          InvalidParameters("tile of the innermost layer in dimension ", dimension.name, " is ",
                            outer, ", it must be 1"),
          {.kind = Kind::kTile, .layer = static_cast<int>(m.layers.size()) - 1, .dimension = d});
    }
  }
  return absl::OkStatus();
}

Result<Expression> DividedExpression(const Expression& expression,
                                     const TuningParameters& parameters) {
  if (!expression.is_empty()) {
    if (parameters.fused.empty()) return expression;
    Result<Expression> fused = WithFusedDimensions(expression, parameters);
    if (!fused.ok()) return AtParameter(fused.status(), {.kind = Kind::kFused});
    return fused;
  }
  if (parameters.fused.empty()) return WithOnePoint(expression);
  return AtParameter(InvalidParameters("fused: an empty dimension leaves nothing to fuse"),
                     {.kind = Kind::kFused});
}

Status Validate(const Expression& expression, const SystemModel& model,
                const DeviceDescription& device, const TuningParameters& parameters) {
  MDH_RETURN_IF_ERROR(ValidateDevice(device));
  if (parameters.fused.empty() && !expression.is_empty()) {
    return ValidateUnfused(expression, model, device, parameters).status();
  }
  MDH_ASSIGN_OR_RETURN(const Expression divided, DividedExpression(expression, parameters));
  return ValidateUnfused(divided, model, device, parameters).status();
}

Result<NestShape> ValidateUnfused(const Expression& expression, const SystemModel& model,
                                  const DeviceDescription& device,
                                  const TuningParameters& parameters) {
  if (parameters.system_model != model.name) {
    return InvalidParameters("they are for model ", parameters.system_model, ", not for ",
                             model.name);
  }
  const absl::string_view kind = BackendOf(device.kind).title;
  if (device.kind != model.kind) {
    return InvalidParameters("model ", model.name, " is for devices of kind ",
                             BackendOf(model.kind).title, ", the device is of kind ", kind);
  }
  if (std::string why = ProductsObstacle(expression, parameters.numerics); !why.empty()) {
    return InvalidParameters(why);
  }
  if (parameters.numerics != PolicyFor(expression, parameters.numerics)) {
    return InvalidParameters("numerics=", Name(parameters.numerics), ": operator '",
                             expression.reduction().ToString(),
                             "' is not associative where values are nan");
  }
  const ChoiceTarget target = {expression, device, LoweringTargetOf(model, parameters)};
  for (const Choice& choice : Choices()) {
    const std::string obstacle = choice.Obstacle(target, parameters);
    if (!obstacle.empty()) {
      return AtParameter(InvalidParameters(obstacle),
                         {.kind = Kind::kChoice, .choice = std::string(choice.key)});
    }
  }
  MDH_RETURN_IF_ERROR(ValidateShapes(expression, model, parameters));
  MDH_RETURN_IF_ERROR(ValidateExtents(expression, model, parameters));
  NestShape nest(expression, model, parameters);
  MDH_RETURN_IF_ERROR(parameters.lowering == Lowering::kTiles ? ValidateRegisterTiles(nest, device)
                                                              : ValidateNest(nest, device));
  return nest;
}

}  // namespace mdh
