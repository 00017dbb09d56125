// The parts of Validate (core/decomposition/tuning_parameters.h), each with its constraints and
// messages: "NAME (WHERE IT IS FROM): VALUE > LIMIT". Errors have the ParameterPlace that they are
// about, but for those of models, devices and policies.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/decomposition/choices.h"
#include "core/decomposition/nest_shape.h"
#include "core/decomposition/parameter_place.h"
#include "core/decomposition/tuning_parameters.h"

namespace mdh {

template <typename... Parts>
Status InvalidParameters(const Parts&... parts) {
  return InvalidArgument("tuning parameters: ", parts...);
}

// Whether `values` are 0 .. count-1 in some order.
bool IsPermutation(const std::vector<int>& values, size_t count);

// "(2,1)", one-based.
std::string LevelText(MdhLevel level);

// The expression whose points the levels divide: its dimensions are fused as the parameters say; of
// one with an empty dimension, WithOnePoint. Errors: InvalidArgument, if that cannot be fused.
Result<Expression> DividedExpression(const Expression& expression,
                                     const TuningParameters& parameters);

// All of Validate, of such an expression. Expects a device that is valid. Gives the nest that it
// has looked at.
Result<NestShape> ValidateUnfused(const Expression& expression, const SystemModel& model,
                                  const DeviceDescription& device,
                                  const TuningParameters& parameters);

// Configurations of register tiles (Lowering::kTiles).
Status ValidateRegisterTiles(const NestShape& nest, const DeviceDescription& device);

// Extents of parts: 1 <= tile <= that around it, which it divides unless that is the whole
// dimension; the innermost is 1. Expects one extent per layer and dimension.
Status ValidateExtents(const Expression& expression, const SystemModel& model,
                       const TuningParameters& parameters);

// Configurations that are lowered level by level.
Status ValidateNest(const NestShape& nest, const DeviceDescription& device);

// Tables and permutations are complete (Table 1): what NestShape expects.
Status ValidateShapes(const Expression& expression, const SystemModel& model,
                      const TuningParameters& parameters);
// D3, D4 and the parameters of copies. Expects valid shapes.
Status ValidateCopies(const NestShape& decomposition, const DeviceDescription& device);
// Results are combined in the order of the numerics policy. Expects valid shapes.
Status ValidateNumerics(const NestShape& recomposition);

// Why blocks of threads cannot compute prefix sums, results by key, or contractions so
// (Choice::own_obstacle); empty: they can.
//   - `scan` is for prefix sums with NumericsPolicy::kReassociate; powers of two, at least 32
//     threads, at most 64 points a thread, which fit into registers and shared memory;
//   - `keyed` is for results that have keys (FindKeyedForm), in types that the device combines
//     atomically, of floating point with NumericsPolicy::kReassociate; tables fit into shared
//     memory;
//   - `unit` is for contractions (FindContractionForm) of fp16 or bf16 with
//     NumericsPolicy::kReassociate; stages fit into shared memory, and sums into registers.
std::string ScanObstacle(const ChoiceTarget& target, const TuningParameters& parameters);
std::string KeyedObstacle(const ChoiceTarget& target, const TuningParameters& parameters);
std::string UnitObstacle(const ChoiceTarget& target, const TuningParameters& parameters);
// The same of register tiles: `dot` is for contractions of bf16, or of bytes in int32, that are
// read as they are, with NumericsPolicy::kReassociate, on devices that have an instruction for
// them.
std::string DotObstacle(const ChoiceTarget& target, const TuningParameters& parameters);
std::string DotLack(const DeviceDescription& device, absl::Span<const int64_t> value);
std::vector<ChoiceValue> OfferDots(const ChoiceTarget& target);  // what spaces offer
// `dot_unit=tiles` is for such contractions on devices with tile registers.
bool HasWords(const Expression& expression, const TuningParameters&);
std::string DotUnitObstacle(const ChoiceTarget& target, const TuningParameters& parameters);
std::string DotUnitLack(const DeviceDescription& device, absl::Span<const int64_t> value);
std::vector<ChoiceValue> OfferDotUnits(const ChoiceTarget& target);
// How blocks of threads compute the prefix sums: as the parameters say, or, where these have the
// default, what suits the device. Without threads where nothing has no obstacle: then parts of
// lines are summed up by one thread each.
ScanParameters ScanOf(const ChoiceTarget& target, const TuningParameters& parameters);
// A number of things, and how many there may be.
struct CountLimit {
  absl::string_view name;
  int64_t count, limit;
};
// "NAME: COUNT > LIMIT" of the first that is too large; empty: none is.
std::string FirstExceeded(absl::Span<const CountLimit> counts);

// The regions of a buffer (D3 or R3) along the order of a phase get only faster.
Status ValidateRegions(const SystemModel& model, const PhaseParameters& phase,
                       const MemoryParameters& memory, const std::string& name);

// Layouts (D4 or R4) are ascending where the data is in the user's buffer, in the outermost region.
Status ValidateUserLayouts(const MemoryParameters& memory, const std::string& name);

}  // namespace mdh
