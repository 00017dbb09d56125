// The search space of one expression on one device: every tuning parameter of a decomposition
// (Table 1 and beyond), with its constraints, generated from expression and system model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/bounds/design_bound.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/schedule.h"
#include "tuner/decompositions/parameter_meaning.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/named_decision.h"
#include "tuner/space/search_space.h"

namespace mdh {

class MdhSpaceKind;

// Constraints are formulas: every configuration decodes to parameters that Validate accepts. Limits
// of threads, registers and memory are products over all dimensions; where exact products would
// make the space too large to be built at once, they are rounded up to powers of two (or fractions
// of them), so that configurations just below a limit may be left out. Phases are not set apart.
//
// With a model of caches that has registers or lanes: register tiles. Else level by level.
//
// Immutable, cheap to copy, thread-safe.
class MdhSpace {
 public:
  // Only decompositions that keep to the numerics policy, all of them with the same dimensions
  // `fused`. The order of parameters is fixed: `options.order` has no effect. Errors:
  // InvalidArgument if model and device do not belong together, the model cannot be tuned (several
  // devices) or these dimensions cannot be fused; those of SearchSpace::Create.
  //
  // With a schedule (of the same expression and model), only what it allows; extents and values of
  // options that it names are offered where they would not be otherwise. Errors: also
  // FailedPrecondition if nothing is left, naming the line that emptied the space, or if the
  // schedule fuses other dimensions.
  static Result<MdhSpace> Create(Expression expression, SystemModel model, DeviceDescription device,
                                 NumericsPolicy numerics = NumericsPolicy::kReassociate,
                                 SpaceOptions options = {}, const FusedDimensions& fused = {},
                                 const Schedule* schedule = nullptr);

  // The configurations that decisions on parameters leave. Errors: those of ReadDecisions and
  // PartialConfiguration::With.
  Result<MdhSpace> Restricted(absl::Span<const NamedDecision> decisions) const;

  // Whether all configurations are in the schedule; else Schedule::Allows says which are not.
  bool has_exactly_schedule() const { return is_exact_; }

  const FusedDimensions& fused() const;
  // The expression whose dimensions are fused.
  const Expression& divided() const;
  const SystemModel& model() const;
  const DeviceDescription& device() const;
  NumericsPolicy numerics() const;
  const SearchSpace& space() const { return space_; }
  // The decomposition that a configuration of space() stands for. Valid for Lower.
  TuningParameters Decode(absl::Span<const int64_t> configuration) const;
  // How points are divided by the configurations that have these codes.
  DesignRanges RangesOf(OpenCodes open) const;
  // Inverse of Decode; nullopt if the parameters are not in the space. Where a choice has no effect
  // (the place of a level with one part in the order, the layout of a copy that is not made),
  // Decode(Encode(p)) has the usual one instead of that of p.
  std::optional<Configuration> Encode(const TuningParameters& parameters) const;
  // Why Encode gives nullopt, for people; empty if it does not.
  std::string WhyNot(const TuningParameters& parameters) const;
  // The codes that can be read off parameters that need not be valid, nor be for this device or
  // these sizes; any codes elsewhere. `sizes`: of the dimensions that they were for; without, those
  // of this space.
  Configuration Read(const TuningParameters& parameters,
                     absl::Span<const int64_t> sizes = {}) const;
  // The configuration nearest to parameters that need not be valid, nor be for this device or these
  // sizes: whatever can be read off is kept as far as the constraints allow. `sizes`: as of Read.
  Configuration EncodeNearest(const TuningParameters& parameters,
                              absl::Span<const int64_t> sizes = {}) const;
  // By parameter of space().
  std::vector<ParameterMeaning> Meanings() const;

 private:
  MdhSpace(std::shared_ptr<const MdhSpaceKind> kind, SearchSpace space, bool is_exact)
      : kind_(std::move(kind)), space_(std::move(space)), is_exact_(is_exact) {}

  std::shared_ptr<const MdhSpaceKind> kind_;
  SearchSpace space_;
  bool is_exact_;
};

}  // namespace mdh
