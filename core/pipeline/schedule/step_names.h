// How schedules of pipelines name steps.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/schedule/cursor.h"

namespace mdh {

// A step of the pipeline that is planned, or of a partition of it.
struct StepName {
  int step = -1;      // of the pipeline: in a partition the step that writes what this one writes
  int position = -1;  // else: of the partition's pipeline

  friend bool operator==(const StepName&, const StepName&) = default;
};

// Refers to the pipeline. A step is called by its name, if no other step has it, by a buffer that
// it writes, or by its number, from 1 on. A step of a partition is also called "@1", "@2", ..
class StepNames {
 public:
  explicit StepNames(const Pipeline& pipeline) : pipeline_(pipeline) {}

  const Pipeline& pipeline() const { return pipeline_; }
  // Errors: InvalidArgument at the place, with the steps that there are.
  Result<int> Step(ScheduleCursor* cursor) const;
  // Also of a partition.
  Result<StepName> Name(ScheduleCursor* cursor) const;

  // As `Step` reads it; in keys, which know nothing of names, its number.
  std::string TextOf(int step, bool is_key) const;
  std::string TextOf(const StepName& name, bool is_key) const;

  // The step of a partition of the pipeline; -1: it is no step of its own there.
  int PositionOf(const StepName& name, const Pipeline& partition) const;
  // The name of a step of a partition.
  StepName NameAt(int position, const Pipeline& partition) const;

 private:
  bool IsOnly(const std::string& name) const;
  int Named(absl::string_view name) const;
  bool WritesOneOf(int step, const Pipeline& partition, int position) const;

  const Pipeline& pipeline_;
};

}  // namespace mdh
