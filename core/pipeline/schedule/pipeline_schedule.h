// Expert schedules of pipelines: what is fused and where, which steps run together, and, per step
// of what is fused, the lines of ordinary schedules. As there, what no line says is searched, and
// the order of lines means nothing. core/schedule/grammar.md has the language.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/device/system_model.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/pipeline/schedule/pipeline_decision.h"
#include "core/pipeline/schedule/pipeline_parameters.h"
#include "core/pipeline/schedule/said_groups.h"
#include "core/schedule/schedule.h"

namespace mdh {

// Of one pipeline and one system model. Immutable, cheap to copy, thread-safe.
class PipelineSchedule {
 public:
  // Errors: InvalidArgument, "SOURCE:LINE:COLUMN: ..." with the line and a caret: what cannot be
  // read; a name of a step or an edge that there is not, and those that there are. Lines of steps
  // are read where a partition is known (OfSteps), the names of the first that there may be here.
  static Result<PipelineSchedule> Parse(std::string_view text, const Pipeline& pipeline,
                                        const SystemModel& model,
                                        std::string_view source_name = "<schedule>");
  // The text of a key (KeyText), for a pipeline with names.
  static Result<PipelineSchedule> OfKey(std::string_view text, const Pipeline& pipeline,
                                        const SystemModel& model);

  // The text of the one that allows what means the same as these parameters, and nothing else.
  // Expects that they are valid for the model, and for that partition of the pipeline.
  static std::string TextOf(const Pipeline& pipeline, const Partition& partition,
                            const PipelineParameters& parameters, const SystemModel& model);

  // The lines of it that are about what is fused and what runs together.
  static std::string LinesOf(const Pipeline& pipeline, const Partition& partition,
                             absl::Span<const JointGroup> groups);

  bool is_free() const;
  const Pipeline& pipeline() const;
  const SystemModel& model() const;
  absl::Span<const PipelineDecision> decisions() const;
  // The same for schedules that differ in comments, blanks, the order of lines, names of layers, or
  // in lines for other models; reads back to the same. Empty: it is free.
  const std::string& CanonicalText() const;
  // The same without names: of steps and dimensions, numbers.
  const std::string& KeyText() const;

  // Ok, or InvalidArgument: the first line that does not allow them, and what they have instead.
  Status Allows(const PipelineParameters& parameters) const;
  Status AllowsEdges(absl::Span<const PlannedEdge> edges) const;
  // Of steps of a partition's pipeline.
  Status AllowsGroups(const Pipeline& partition, absl::Span<const JointGroup> groups) const;

  // What is said of each step, or of its part where it is in a group; free ones of steps that no
  // line is about. Errors: InvalidArgument at the place of what the step does not have.
  Result<std::vector<Schedule>> OfSteps(const Pipeline& partition,
                                        absl::Span<const JointGroup> groups) const;

  // Plans and searches for the partitions that it allows; refers to nothing.
  PlanOptions Under(PlanOptions options) const;
  SearchPlanOptions Under(SearchPlanOptions options) const;
  // Whether all lines of steps can be said of such a partition.
  bool MayBe(const Partition& partition) const;

  // Groups that `together` lines name, with these values at most; `usual` as GroupsWith. One, of no
  // group, if there are no such lines. Errors: InvalidArgument at the line that cannot be had.
  Result<std::vector<std::vector<JointGroup>>> NamedGroups(const Pipeline& partition,
                                                           UsualGroup usual, size_t most) const;
  // Whether nothing about edges and groups is left open for such a way.
  bool SaysEdges() const;
  bool SaysGroups(const Pipeline& partition, absl::Span<const JointGroup> groups) const;
  // Whether lines name groups.
  bool names_groups() const;

  // "s.sched:5: 'edge a -> b = inline'".
  std::string PlaceOf(const PipelineDecision& decision) const;
  // A line that says this decision alone.
  std::string TextOf(const PipelineDecision& decision) const;
  // The same schedule with only those decisions, and with all lines of steps or with none.
  PipelineSchedule With(std::vector<PipelineDecision> decisions, bool has_sections) const;

 private:
  struct Implementation;
  explicit PipelineSchedule(std::shared_ptr<const Implementation> implementation)
      : implementation_(std::move(implementation)) {}

  static Result<PipelineSchedule> Read(std::string_view text, const Pipeline& pipeline,
                                       const SystemModel& model, std::string_view source_name,
                                       bool is_key);
  // Sets the texts. Errors: as Parse.
  Status Complete(Implementation* made) const;

  std::shared_ptr<const Implementation> implementation_;
};

}  // namespace mdh
