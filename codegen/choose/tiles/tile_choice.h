// Register tiling and vectorization by counting: which dimension has the lanes, how many points and
// vectors a tile has, and which inputs are packed for it, ranked by the cycles that one core should
// need.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "codegen/choose/tiles/buffer_reuse.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/dependences.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

// Devices whose vectors are as long load and store lanes of them by masks.
inline constexpr int64_t kMaskedBytes = 64;
// How often all inputs must be read for TileChoice::has_short_parts.
inline constexpr double kLeastReuseOfShortParts = 4;

struct TileChoice {
  int vector_dimension = -1;  // -1: no lanes
  int64_t lanes = 1;
  std::vector<int64_t> tile;  // points per dimension
  bool independent_accumulators = false;
  // Results are combined in the output: the loops of reductions run around those of the outputs.
  bool accumulates_in_output = false;
  // With lanes along a reduction, whose parts are so short that the first-level cache keeps what
  // tiles one after the other have in common: results of lanes are combined more often.
  bool has_short_parts = false;
  // Per input of CountedExpression: in strips along the lanes; rows of tiles: as they are.
  std::vector<bool> packed;
  int dot = 0;        // TuningParameters::dot
  int64_t group = 1;  // elements of its words
  DotUnit dot_unit = DotUnit::kVectors;
  std::optional<ExchangeablePair> mirrors;  // half of equal results: BlockChoices::mirrors
  double cycles = 0;                        // estimate, for all points
};

// At most `most` choices, the best first; of those with the same lanes and packed inputs only the
// best few, each of another width. Never empty; without lanes if the model has none, and on tile
// registers only if it has registers, as in search spaces. The cycles count arithmetic, loads,
// latency of accumulators, loops and packing, and that memory prefers long rows; they are good for
// comparisons only. `runs`, per input: of how many runs of the expression, one after the other, a
// copy is good for all; 1 of those behind its end.
std::vector<TileChoice> RankTiles(const Expression& expression, const SystemModel& model,
                                  const DeviceDescription& device, NumericsPolicy numerics,
                                  size_t most, absl::Span<const int64_t> runs = {});
// Those of one input.
double RunsOf(absl::Span<const int64_t> runs, size_t input);

// Of a vector of the widest type that f's parameters and results are computed in.
int64_t FullLanes(const Expression& expression, const DeviceDescription& device);
// Whether vectors along dimension v of all elements of the expression can be loaded and stored in
// part, at no more cost than others: where indices are clamped that is done lane by lane.
bool HasMaskedVectors(const Expression& expression, const DeviceDescription& device, int v);
// Elements between the places of neighbours along dimension d.
int64_t StrideAlong(const Buffer& buffer, int access, int d);
// Whether vectors of so many results along dimension v are where they can pass the caches: rows
// begin at multiples of them, or are long. Else lines would be written partly past the caches,
// partly not, which takes several times as long.
bool HasRowsOfVectors(const Expression& expression, int v, int64_t lanes);
// Whether lanes of these parameters are along a dimension with such rows.
bool StoresRows(const Expression& expression, const SystemModel& model,
                const TuningParameters& parameters);
// Whether rows of a buffer along dimension v are as long as tiles: strips without being packed.
bool HasStrips(const Buffer& buffer, int v, const TileChoice& choice);

}  // namespace mdh
