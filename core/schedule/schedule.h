// Expert schedules: what is known of a decomposition, as text; what is left out is searched. A
// schedule denotes the set of tuning parameters that all of its lines allow. The order of lines
// means nothing, and a line that is deleted leaves its decisions to the search.
// core/schedule/grammar.md has the language.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/decision.h"

namespace mdh {

// Of one expression and one system model. Immutable, cheap to copy, thread-safe.
class Schedule {
 public:
  // Also reads the steps of MDH's schedules of 2023 (core/schedule/steps.h).
  //
  // Lines below `for MODEL:` of other models are read only as far as that they are lines: they name
  // layers that this model lacks. Errors: InvalidArgument, "SOURCE:LINE:COLUMN: ..." with the line
  // and a caret: what cannot be read; a name of a layer, dimension, buffer, region or option that
  // there is not, and those that there are; values that no decomposition has, such as extents
  // beyond the dimension.
  static Result<Schedule> Parse(std::string_view text, const Expression& expression,
                                const SystemModel& model,
                                std::string_view source_name = "<schedule>");
  // The one that allows what means the same as these parameters, and nothing else: one nest,
  // levels on their own layers, as searches find them. At most 12 lines for a matrix
  // multiplication. Expects parameters that are valid for the expression and the model.
  static Schedule Of(const TuningParameters& parameters, const Expression& expression,
                     const SystemModel& model);

  // Whether it says nothing: everything is searched.
  bool is_free() const { return decisions().empty(); }
  // The same for schedules that differ in comments, blanks, the order of lines and decisions, names
  // of layers, or in lines for other models; reads back to the same. Empty: it is free.
  std::string CanonicalText() const;

  // Ok, or InvalidArgument: the first line that does not allow it, and what it has instead.
  // Expects parameters that are valid for the expression and the model. Choices without effect are
  // not looked at: places of loops with one part, layouts of copies that are not made.
  Status Allows(const TuningParameters& parameters) const;

  const Expression& expression() const;
  const SystemModel& model() const;
  // What its lines say, in their order.
  absl::Span<const Decision> decisions() const;
  // The same schedule with only those decisions.
  Schedule With(std::vector<Decision> decisions) const;
  // "s.sched:5": where a decision is.
  std::string PlaceOf(const Decision& decision) const;
  // A line that says this decision alone.
  std::string TextOf(const Decision& decision) const;
  // The groups of dimensions that `fuse` names. Others are separate if a line names them.
  FusedDimensions fused() const;
  // Whether it leaves these groups.
  bool AllowsFused(const FusedDimensions& fused) const;

 private:
  struct Implementation;
  explicit Schedule(std::shared_ptr<const Implementation> implementation)
      : implementation_(std::move(implementation)) {}

  std::shared_ptr<const Implementation> implementation_;
};

}  // namespace mdh
