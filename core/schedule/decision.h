// What one clause of a schedule says of a decomposition.
#pragma once

#include <cstdint>
#include <vector>

#include "core/decomposition/choices.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/schedule/limit.h"

namespace mdh {

// Values of a decision: numbers, or lists of them (layouts, options of several numbers).
class ValueSet {
 public:
  // From `low` to `high` in steps: low, low + step, ..; or low, low * factor, ... One value where
  // they are equal.
  struct Span {
    ChoiceValue low, high;
    int64_t step = 1;
    bool is_factor = false;

    friend bool operator==(const Span&, const Span&) = default;
  };

  ValueSet() = default;
  explicit ValueSet(ChoiceValue only) : spans_({{only, only}}) {}
  ValueSet(std::vector<Span> spans, bool is_negated);

  bool Contains(const ChoiceValue& value) const;
  bool Contains(int64_t value) const { return Contains(ChoiceValue{value}); }
  // Values that it names: all, if it is not negated. Of ranges at most so many.
  std::vector<ChoiceValue> Named(size_t most) const;
  bool is_negated() const { return is_negated_; }
  const std::vector<Span>& spans() const { return spans_; }

  friend bool operator==(const ValueSet&, const ValueSet&) = default;

 private:
  std::vector<Span> spans_;  // ascending
  bool is_negated_ = false;
};

// Where a buffer's parts are, from a loop on: "in SM from SHR.k".
struct RegionStep {
  static constexpr MdhLevel kInside = {-1, -1};  // of all loops

  int region;
  MdhLevel from;

  friend bool operator==(const RegionStep&, const RegionStep&) = default;
};

struct Decision {
  enum class Kind : uint8_t {
    kTile,     // extent of a part on (layer, dimension)
    kParts,    // number of parts
    kAxis,     // "on i=y": of the dimensions of that layer of cores that are cut, how many run
               // along earlier axes
    kLanes,    // lanes of the tile of neighbouring threads along the dimension
    kOrder,    // `before`, then others if there are `after`, then these
    kAlong,    // dimension of SIMD lanes, kNoDimension: none
    kCopy,     // layer of which each part has its copy (InputParameters::stage_layer)
    kStrips,   // buffer dimension; kNoDimension: none
    kLayout,   // order of the buffer's dimensions in its copy
    kPadding,  // of copies in shared memory: these four
    kWidth,
    kStages,
    kMode,
    kRegions,   // `steps`: nowhere else is the buffer than in the outermost region and there
    kCombine,   // region in which results of threads along (layer, dimension) are combined
    kOption,    // a row of Choices()
    kFuse,      // `dimensions` are a group
    kSeparate,  // `dimensions` are in no group
    kRequire,   // `limit` holds
  };
  static constexpr int64_t kNoDimension = -1;
  // Extents: that of the part around.
  static constexpr int64_t kAsOutside = -1;

  Kind kind;
  int line = 0;       // in the text; 0: it was not read
  size_t offset = 0;  // idem
  int layer = -1;     // of kOrder: -1, if it is across layers
  int dimension = -1;
  int buffer = -1;
  bool is_output = false;
  int region = -1;  // of kLayout: of the copies, where memory is explicit
  const Choice* option = nullptr;
  ValueSet values = {};
  std::vector<MdhLevel> before = {}, after = {};
  bool has_others = false;
  std::vector<RegionStep> steps = {};
  std::vector<int> dimensions = {};
  Limit limit = {};
};

}  // namespace mdh
