// Writes schedules of pipelines from programs.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/base/text_view.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/schedule_builder.h"

namespace mdh {

// As ScheduleBuilder: every method adds lines and gives the builder.
//   PipelineScheduleBuilder().Edge("matmul", "gelu", "epilogue").Step("matmul", tiles)
class PipelineScheduleBuilder {
 public:
  PipelineScheduleBuilder& Edge(std::string_view producer, std::string_view consumer,
                                std::string_view choice) {
    return Line("edge ", View(producer), " -> ", View(consumer), " = ", View(choice));
  }
  // "none", or "(a, b), (c, d)".
  PipelineScheduleBuilder& Siblings(std::string_view groups) {
    return Line("siblings ", View(groups));
  }
  PipelineScheduleBuilder& Split(std::string_view steps) { return Line("split ", View(steps)); }
  // `clauses`: as behind the colon; empty: none.
  PipelineScheduleBuilder& Together(absl::Span<const std::string> steps,
                                    std::string_view clauses = "") {
    return Line("together(", absl::StrJoin(steps, ", "), ")", clauses.empty() ? "" : ": ",
                View(clauses));
  }
  PipelineScheduleBuilder& Alone(absl::Span<const std::string> steps) {
    return Line("alone(", absl::StrJoin(steps, ", "), ")");
  }
  PipelineScheduleBuilder& Step(std::string_view step, const ScheduleBuilder& schedule) {
    return Line("step ", View(step), ":\n", schedule.text());
  }

  const std::string& text() const { return text_; }
  // Errors: those of PipelineSchedule::Parse, lines counted as they were added.
  Result<PipelineSchedule> Build(const Pipeline& pipeline, const SystemModel& model) const {
    return PipelineSchedule::Parse(text_, pipeline, model);
  }

 private:
  template <typename... Parts>
  PipelineScheduleBuilder& Line(const Parts&... parts) {
    absl::StrAppend(&text_, parts..., "\n");
    return *this;
  }

  std::string text_;
};

}  // namespace mdh
