#include "core/decomposition/parameter_place.h"

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {
constexpr char kPayloadUrl[] = "mdh/parameter_place";
}  // namespace

Status AtParameter(Status status, const ParameterPlace& place) {
  if (status.ok() || status.GetPayload(kPayloadUrl).has_value()) return status;
  status.SetPayload(
      kPayloadUrl, absl::Cord(absl::StrCat(static_cast<int>(place.kind), " ", place.layer, " ",
                                           place.dimension, " ", place.buffer, " ", place.choice)));
  return status;
}

std::optional<ParameterPlace> ParameterPlaceOf(const Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
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
  place.kind = static_cast<ParameterPlace::Kind>(kind);
  place.choice = fields[4];
  return place;
}

}  // namespace mdh
