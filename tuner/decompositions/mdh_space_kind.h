// What the spaces of register tiles and those of levels have in common for MdhSpace.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/bounds/design_bound.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/schedule.h"
#include "tuner/decompositions/mdh_space_parts.h"
#include "tuner/decompositions/parameter_meaning.h"
#include "tuner/space/cost_bound.h"

namespace mdh {

// Limits of CPUs: cores take turns with more parts than this, unless a schedule has them, and
// combine more partial results, only at a loss.
inline constexpr int64_t kPartsPerCore = 64;
inline constexpr int64_t kSlotsPerCore = 4;

// An expression on a device.
struct MdhProblem {
  Expression expression;                // whose dimensions are fused
  FusedDimensions fused;                // which of them are
  std::vector<int64_t> separate_sizes;  // of the dimensions before that
  SystemModel model;
  DeviceDescription device;
  NumericsPolicy numerics;
  std::optional<Schedule> schedule = {};  // what is known of its decompositions

  int rank() const { return expression.rank(); }
  // Dimensions that can be cut: those of more than one point.
  int long_dimensions() const;
  int64_t size(int d) const { return expression.dimensions()[d].size; }
  const std::string& name(int d) const { return expression.dimensions()[d].name; }
  bool is_reduced(int d) const { return expression.is_reduction(d); }
  // Whether the policy fixes the order in which values along d are combined.
  bool is_ordered(int d) const {
    return !Reassociates(numerics) && !expression.combine_operators()[d].is_concat();
  }
  // The order in which the space goes through the dimensions: what the policy orders first, then
  // kept ones, whose part counts meet in the limits of results, order and copies, then reduced
  // ones; of each, long ones first, so that the many part counts of those meet few different
  // products. Reductions first would need up to ten times as many nodes of the diagram.
  std::vector<int> DimensionsInTurn() const;
  // Dimensions with more than one part at a layer: those whose place in the order matters.
  std::vector<bool> HasParts(const TuningParameters& p, int layer) const;

  // ---- What a schedule pins (mdh_space_schedule.cc) ----
  // Numbers of parts that make the extents of dimension d that it names: their divisors, and the
  // numbers that it names. Levels offer them besides what they have.
  std::vector<int64_t> PinnedCounts(int d) const;
  // Parts of kept dimensions that cores of a CPU take turns with at most: more than they would by
  // themselves only if it names extents or parts that make more.
  double MostPartsOfCores() const;
  // Values of an option that it names.
  std::vector<ChoiceValue> PinnedValues(const Choice& row) const;
};

// What spaces call the constraint of a decision: "line 5: L2: tile k=128".
std::string ConstraintName(const Schedule& schedule, const Decision& decision);

// `counts` and those of `pinned` that are at most `most`, ascending.
std::vector<int64_t> WithPinned(std::vector<int64_t> counts, const std::vector<int64_t>& pinned,
                                int64_t most);

// Immutable after construction.
class MdhSpaceKind {
 public:
  MdhSpaceKind(MdhProblem problem, LoweringTarget lowering)
      : problem_(std::move(problem)), lowering_(lowering) {}
  virtual ~MdhSpaceKind() = default;

  const MdhProblem& problem() const { return problem_; }
  const SpaceBuilder& builder() const { return builder_; }

  virtual TuningParameters Decode(absl::Span<const int64_t> configuration) const = 0;
  // The codes that can be read off, any others elsewhere. Expects a table of extents of this rank
  // and as many layers, and parameters for as many inputs.
  virtual Configuration Read(const TuningParameters& parameters) const = 0;

  // Of all configurations of these codes; without parts where some may not be cut at all so.
  DesignRanges RangesOf(OpenCodes open) const;

  ParameterMeaning Meaning(int parameter) const;
  // Adds a constraint for each decision of the schedule. Whether these say all of it: else some
  // configurations of the space are not in the schedule.
  bool RequireSchedule();
  // Choices that offer the problem several values, but for which no parameter was asked: a mistake.
  std::vector<absl::string_view> ForgottenChoices() const;
  // The number of the schedule's decision that a constraint is of; -1: of none.
  int DecisionOf(int constraint) const {
    const int n = constraint - first_of_schedule_;
    return n < 0 ? -1 : required_[n];
  }

 protected:
  // ---- What decisions of schedules are about, as formulas (mdh_space_schedule.cc) ----
  // Of tile[layer][dimension], what it may be.
  virtual ExtentRange TileRange(int layer, int d, OpenCodes open) const = 0;
  // The vectors of hosts, if the space has them.
  virtual void SetVectors(OpenCodes, DesignRanges&) const {}
  // The same as a formula, and the number of parts.
  virtual Formula TileOf(int layer, int d) const = 0;
  virtual Formula PartsOf(int layer, int d) const = 0;
  // Whether one level is outside of another one, both of which have several parts and are loops, or
  // cores of one layer; and the place of cores among those that run along earlier axes.
  virtual Formula IsOutside(MdhLevel level, MdhLevel other) const = 0;
  virtual Formula AxisOf(MdhLevel level) const = 0;
  // ScheduleFacts::Registers; nullopt: no formula says it.
  virtual std::optional<Formula> Registers() const = 0;
  // What the other decisions are about, for whole configurations; nullopt: no formula says it.
  virtual std::optional<Formula> FormulaOf(const Decision& decision) const = 0;
  // Whether AxisOf is right for all configurations.
  virtual bool HasExactAxes(int) const { return true; }
  bool IsCore(int layer) const {
    return problem_.model.layers[layer].memory_region.empty() &&
           problem_.model.layers[layer].role != LayerRole::kLanes;
  }
  static Formula IsIn(const ValueSet& values, const Formula& value);
  static bool AnyValue(int64_t) { return true; }
  // A parameter for the row of Choices() with that key, and its number: of what the row offers,
  // the values that `may` allows. -1, here and for whoever asks later, if there is none: on
  // devices with blocks of threads, where fewer than two are left.
  // With `takes_pinned`, also what a schedule names: no constraint of the space is about them.
  int AddChoice(absl::string_view key, absl::FunctionRef<bool(int64_t)> may = AnyValue,
                bool takes_pinned = false);
  // The same with these values, whatever the row offers.
  int AddChoiceOf(const Choice& row, std::vector<ChoiceValue> values);
  // Parameters for choices of which whatever is offered goes with all that the space has.
  void AddFreeChoices(std::initializer_list<absl::string_view> keys);
  int choice(absl::string_view key) const;
  bool has_choice(absl::string_view key) const { return choice(key) >= 0; }
  Formula ChoiceCode(absl::string_view key) const { return builder_.At(choice(key)); }

  // All choices that have parameters.
  void DecodeChoices(absl::Span<const int64_t> configuration, TuningParameters* parameters) const;
  // Values that are not offered: numbers as they are, else the first one that is.
  void ReadChoices(const TuningParameters& parameters, Configuration& configuration) const;

  // Targets with caches: how many threads a call has, by the parts of the computation that cores
  // take, apart from those that the policy fixes. One part needs no other thread than the caller's;
  // fewer parts than cores may have fewer threads. `log_parts`: of their number, `steps` per
  // doubling, rounded up.
  void AddThreads(const Formula& log_parts, int steps);
  // After ReadChoices.
  void ReadThreads(const TuningParameters& parameters, Configuration& configuration) const;

  MdhProblem problem_;
  SpaceBuilder builder_;

 private:
  struct ChoiceParameter {
    const Choice* row;
    int number = -1;  // of the parameter
    std::vector<ChoiceValue> values = {};

    // Several integers have the numbers of values as codes, others themselves.
    int64_t CodeOf(size_t value) const {
      return row->has_several() ? static_cast<int64_t>(value) : values[value][0];
    }
  };

  ChoiceParameter& Entry(const Choice& row);
  bool HasFixedParts() const;
  std::optional<Formula> AnyFormulaOf(const Decision& decision) const;
  Formula OptionFormula(const Decision& decision) const;
  Formula OrderFormula(const Decision& decision) const;
  std::optional<Formula> LimitFormula(const Limit& limit) const;

  const LoweringTarget lowering_;
  std::vector<ChoiceParameter> choices_;
  // The constraints of the schedule, which are the last ones: where they begin, and decisions.
  int first_of_schedule_ = 0;
  std::vector<int> required_;
};

// With all parameters and constraints.
struct ScheduledKind {
  std::shared_ptr<const MdhSpaceKind> kind;
  bool is_exact;  // MdhSpace::has_exactly_schedule
};
// As of MdhSpace::Create. Errors: InvalidArgument; FailedPrecondition if the schedule fuses other
// dimensions.
Result<ScheduledKind> MakeKind(Expression expression, SystemModel model, DeviceDescription device,
                               NumericsPolicy asked, const FusedDimensions& fused,
                               const Schedule* schedule);

std::unique_ptr<MdhSpaceKind> RegisterTileSpace(MdhProblem problem);
std::unique_ptr<MdhSpaceKind> NestSpace(MdhProblem problem);

// Whether both say the same, apart from choices without effect: places of levels with one part,
// layouts without copies.
bool MeanTheSame(const MdhProblem& problem, const TuningParameters& a, const TuningParameters& b);

// 0 .. count-1.
std::vector<int> Identity(size_t count);

}  // namespace mdh
