// Where in a pipeline an error is: front ends map it to a position in their input.
#pragma once

#include <optional>

#include "core/base/status.h"

namespace mdh {

struct PipelinePlace {
  enum class Kind { kBuffer, kStep, kStepInput, kStepOutput };
  Kind kind;
  int number = 0;     // of the buffer or step
  int position = -1;  // of the input or output of the step

  friend bool operator==(const PipelinePlace&, const PipelinePlace&) = default;
};

// `status` with the place attached, as a payload.
Status AtPipelinePlace(Status status, const PipelinePlace& place);

// The place that AtPipelinePlace attached; nullopt if there is none.
std::optional<PipelinePlace> PlaceOfPipeline(const Status& status);

}  // namespace mdh
