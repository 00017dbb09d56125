// Places of errors, carried as payloads of statuses: three numbers in a text.
#include "core/pipeline/pipeline_place.h"

#include <cstdio>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_format.h"

namespace mdh {
namespace {
constexpr char kPipelinePlaceUrl[] = "mdh/pipeline_place";
}  // namespace

Status AtPipelinePlace(Status status, const PipelinePlace& place) {
  status.SetPayload(kPipelinePlaceUrl,
                    absl::Cord(absl::StrFormat("%d %d %d", static_cast<int>(place.kind),
                                               place.number, place.position)));
  return status;
}

std::optional<PipelinePlace> PlaceOfPipeline(const Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPipelinePlaceUrl);
  if (!payload.has_value()) return std::nullopt;
  int kind = 0;
  PipelinePlace place{PipelinePlace::Kind::kStep};
  const std::string text(*payload);
  if (std::sscanf(text.c_str(), "%d %d %d", &kind, &place.number, &place.position) != 3) {
    return std::nullopt;
  }
  place.kind = static_cast<PipelinePlace::Kind>(kind);
  return place;
}

}  // namespace mdh
