#include "core/schedule/broken_rule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/validate.h"
#include "core/schedule/complete_parameters.h"

namespace mdh {
namespace {

using Kind = Decision::Kind;

bool IsAny(int asked, int has) { return asked == ParameterPlace::kAny || asked == has; }

// What a decision about a buffer is called in its line.
absl::string_view WordOf(const Decision& decision) {
  switch (decision.kind) {
    case Kind::kStrips:
      return "strips";
    case Kind::kLayout:
      return "layout";
    case Kind::kPadding:
      return "padding";
    case Kind::kWidth:
      return "width";
    case Kind::kStages:
      return "stages";
    case Kind::kMode:
      return "mode";
    default:
      return "";
  }
}

// How closely a decision is what a rule is about: 0, not at all.
int Closeness(const Decision& decision, const ParameterPlace& place) {
  const bool is_extent = decision.kind == Kind::kTile || decision.kind == Kind::kParts;
  switch (place.kind) {
    case ParameterPlace::Kind::kTile:
      // Extents that are not written are those around or inside.
      if (!is_extent || !IsAny(place.dimension, decision.dimension)) return 0;
      return IsAny(place.layer, decision.layer) ? 2 : 1;
    case ParameterPlace::Kind::kOrder:
      return decision.kind == Kind::kOrder ? 1 : 0;
    case ParameterPlace::Kind::kInput:
    case ParameterPlace::Kind::kOutput: {
      const bool is_output = place.kind == ParameterPlace::Kind::kOutput;
      const bool is_it = decision.buffer >= 0 && decision.is_output == is_output &&
                         IsAny(place.buffer, decision.buffer);
      const bool is_where = decision.kind == Kind::kRegions || decision.kind == Kind::kCopy;
      const bool is_word = !place.choice.empty() && place.choice == WordOf(decision);
      // How much there is of them comes from the extents.
      return is_it ? (is_word ? 4 : is_where ? 3 : 2) : (is_extent ? 1 : 0);
    }
    case ParameterPlace::Kind::kChoice: {
      const bool is_lanes = decision.kind == Kind::kLanes && place.choice == "lanes";
      return is_lanes || (decision.option != nullptr && decision.option->key == place.choice) ? 1
                                                                                              : 0;
    }
    case ParameterPlace::Kind::kFused:
      return decision.kind == Kind::kFuse ? 1 : 0;
  }
  return 0;
}

std::optional<Decision> DecisionAt(const Schedule& schedule,
                                   const std::optional<ParameterPlace>& place) {
  std::optional<Decision> closest;
  int most = 0;
  for (const Decision& decision : schedule.decisions()) {
    const int closeness = place.has_value() ? Closeness(decision, *place) : 0;
    if (closeness <= most) continue;
    most = closeness;
    closest = decision;
  }
  return closest;
}

// Where threads stand is not said: regions that get slower inwards are the fault of a place.
bool HasRightRegions(const TuningParameters& p, const SystemModel& model) {
  const auto is_right = [&](const MemoryParameters& memory) {
    return ValidateRegions(model, p.phase, memory, "").ok();
  };
  return std::ranges::all_of(
             p.inputs, [&](const InputParameters& input) { return is_right(input.memory); }) &&
         std::ranges::all_of(p.outputs, is_right);
}

}  // namespace

std::optional<BrokenRule> FindBrokenRule(const Schedule& schedule, const DeviceDescription& device,
                                         NumericsPolicy numerics) {
  const Result<Expression> divided = FuseDimensions(schedule.expression(), schedule.fused());
  if (!divided.ok() || divided->is_empty()) return std::nullopt;
  Status first;
  bool has_right_regions = false;
  for (const TuningParameters& p : SaidParameters(schedule, *divided, numerics)) {
    Status valid = Validate(schedule.expression(), schedule.model(), device, p);
    if (valid.ok()) return std::nullopt;
    const bool is_right = HasRightRegions(p, schedule.model());
    if (first.ok() || (is_right && !has_right_regions)) first = std::move(valid);
    has_right_regions = has_right_regions || is_right;
  }
  if (first.ok()) return std::nullopt;
  return BrokenRule{DecisionAt(schedule, ParameterPlaceOf(first)),
                    std::string(absl::StripPrefix(first.message(), "tuning parameters: "))};
}

std::string ToText(const BrokenRule& broken, const Schedule& schedule) {
  if (!broken.decision.has_value())
    return absl::StrCat("the schedule breaks a rule: ", broken.rule);
  return absl::StrCat(schedule.PlaceOf(*broken.decision), ": '", schedule.TextOf(*broken.decision),
                      "' breaks a rule: ", broken.rule);
}

}  // namespace mdh
