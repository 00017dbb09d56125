// Tuning parameters (paper, Table 1, and code-level parameters beyond it): one value each is a
// configuration, which fixes a decomposition completely.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_description.h"
#include "core/expression.h"
#include "core/numerics.h"
#include "core/status.h"
#include "core/system_model.h"

namespace mdh {

// Definition 16. Zero-based.
struct MdhLevel {
  int layer;
  int dimension;

  friend bool operator==(const MdhLevel&, const MdhLevel&) = default;
};

// Where an input buffer is read from (D3, D4): in place, or from a packed copy of the part of the
// buffer that one part of layer `stage_layer` needs.
struct InputParameters {
  static constexpr int kInPlace = -2;      // no copy
  static constexpr int kWholeBuffer = -1;  // one copy, packed by all threads before the computation
  int stage_layer = kInPlace;              // or the number of a memory layer (role kMemory)
  std::vector<int> layout;                 // D4: order of the buffer's dimensions in the copy,
                                           // outermost first; a permutation of 0..D_b-1
  // Buffer dimension whose register tile is stored innermost ("strips"), or -1.
  int strip_dimension = -1;

  friend bool operator==(const InputParameters&, const InputParameters&) = default;
};

// Where results accumulate (R3).
enum class AccumulateIn : uint8_t {
  kRegisters = 1,  // reductions of the innermost memory layer run inside the register tile
  kOutput = 2,     // the loop order is free; results go to memory after every register tile
};

enum class Compiler : uint8_t { kGcc = 1, kClang = 2 };

// One value for every parameter. Plain data; whether it is valid for an expression, a system model
// and a device is what Validate says.
struct TuningParameters {
  std::string system_model;  // by name
  // 0: extent of one part on [layer][dimension] in points. Decreasing along the layers; a part of
  // layer l is cut into ceil(extent[l-1] / extent[l]) parts, the last one perhaps smaller.
  std::vector<std::vector<int64_t>> tile;
  // D1 = S1 = R1 for each layer: order of the dimensions' loops, outermost first. Layers are nested
  // in the system model's order.
  std::vector<std::vector<int>> order;
  std::vector<InputParameters> inputs;  // one per input buffer
  AccumulateIn accumulate_in = AccumulateIn::kRegisters;
  // Unrolled reductions keep one accumulator per unrolled step instead of one chain.
  bool independent_accumulators = false;
  Compiler compiler = Compiler::kGcc;
  // Not searched for, but given: which decompositions are valid depends on it.
  NumericsPolicy numerics = NumericsPolicy::kReassociate;

  friend bool operator==(const TuningParameters&, const TuningParameters&) = default;
};

// Text that reads back: `key=value` pairs separated by ';' on one line, dimensions by position. The
// numerics policy is left out if it is kReassociate.
std::string ToText(const TuningParameters& parameters);
Result<TuningParameters> ParseTuningParameters(std::string_view text);

// Checks the algorithmic and model constraints (Section 3.4, appendix C.1) and the limits:
//   - one extent per layer and dimension, 1 <= extent <= that of the layer outside;
//   - an extent is a multiple of the next inner one, or the whole size of the dimension;
//   - lanes on one dimension at most, a power of two; registers and unrolling within bounds;
//   - layouts are permutations; strips only where the buffer dimension is one plain index;
//   - with NumericsPolicy::kExactOrder and kFixedTree: no lanes on reduced dimensions and one
//   chain, the
//     points of a part are combined in lexicographic order, and parts of the core layer along
//     reduced dimensions and prefix sums are whole dimensions or those of FixedTreePart;
//   - staged copies fit: the private ones of a thread within 4 times its share of the caches.
// Errors: InvalidArgument, naming parameter, layer and dimension.
Status Validate(const Expression& expression, const SystemModel& model,
                const DeviceDescription& device, const TuningParameters& parameters);

}  // namespace mdh
