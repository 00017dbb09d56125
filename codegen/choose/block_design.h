// A schedule for a GPU, in the usual terms: tiles of blocks and threads, split reductions
// (split-k), what is staged in shared memory. A small part of what tuning parameters can say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// With the choices of BlockChoices: how blocks that share a reduction combine their results, where
// some do, and others.
struct BlockDesign : BlockChoices {
  // Of one dimension. The block computes `loops` tiles one after the other; a tile has `strided` x
  // `threads` x `vector` points of a dimension that is kept. Of a reduced dimension every block has
  // the part of `blocks`; its threads take `vector` points each between two copies.
  struct Cut {
    int64_t threads = 1;
    int64_t vector = 1;   // neighbouring points of a thread
    int64_t strided = 1;  // kept: further points of a thread, `threads` x `vector` apart
    int64_t loops = 1;    // kept: tiles of a block; only one of strided and loops is more than 1
    int64_t blocks = 1;   // reduced

    friend bool operator==(const Cut&, const Cut&) = default;
  };
  // Where an input is copied to shared memory: nowhere, or what a block needs for the next points
  // of the reductions, for a tile, or for all of its tiles.
  enum class Copy : uint8_t { kNone, kChunk, kTile, kBlock };
  // Elements, of rows in shared memory that are written by columns.
  static constexpr int kPadding = 4;

  // Designs are copied by the thousand, most of them without allocating.
  template <typename T>
  using List = absl::InlinedVector<T, 10>;

  List<Cut> cuts;     // per dimension
  List<Copy> copies;  // per input
  // Per input, or none: stages of its copy where that is asynchronous, which only kChunk can be; 0:
  // through registers.
  List<int> async_stages = {};
  // The dimension along which threads of a warp are neighbours.
  int lane_dimension = 0;
  // Per dimension, or none: threads of a tile of lanes (TuningParameters::lanes). As SetLaneTile
  // leaves it.
  List<int64_t> lane_tile = {};
  // Of the loops over a thread's points of reductions between two copies, how many are unrolled:
  // the innermost ones.
  int unrolled = 0;

  // Threads along dimension d that a tile of lanes has; all of them where there are no tiles.
  int64_t Lanes(int d) const { return lane_tile.empty() ? cuts[d].threads : lane_tile[d]; }
  int AsyncStages(int input) const {
    const auto b = static_cast<size_t>(input);
    return b < async_stages.size() ? async_stages[b] : 0;
  }

  friend bool operator==(const BlockDesign&, const BlockDesign&) = default;
};

// All dimensions: those first along which results are closest in memory, reductions last.
std::vector<int> ResultOrder(const Expression& expression);

// The same, but the dimension of the lanes first, and those without threads last: a block may have
// fewest threads along the last ones.
std::vector<int> ThreadOrder(const Expression& expression, const BlockDesign& design);

// The first two dimensions along which there are threads, in their order, if tiles of lanes can
// change that order: both are kept.
std::optional<std::pair<int, int>> LanePlane(const Expression& expression,
                                             const BlockDesign& design);

// Sets the tile of lanes to x by y threads along the dimensions of LanePlane, or to none where that
// says nothing: there is no plane, the tile does not divide its threads, or threads have the same
// order without it. So equal designs are equal values.
void SetLaneTile(const Expression& expression, int64_t x, int64_t y, BlockDesign* design);

// Reduced dimensions in the order of their loops, the outermost first.
std::vector<int> ReductionOrder(const Expression& expression);

// The only dimension that moves in dimension x of the buffer, in steps of one; -1: not so.
int OnlyDimension(const Buffer& buffer, int x);

// What follows from the design for an input.
struct DesignedInput {
  // The buffer's dimension that is innermost in the copy in shared memory, where it is not the
  // last one, or -1: neighbouring points of a thread shall be neighbours there.
  int innermost = -1;
  // Elements that one instruction loads into registers: from shared memory where it is copied
  // there, else from device memory.
  int vector = 1;
  // Whether these are neighbours along a reduction: a thread keeps them until it comes to them.
  bool is_along_reduction = false;
  // Elements that rows of the copy are longer than needed, so that threads of a warp that read or
  // write different rows meet in no bank.
  int padding = 0;
};
DesignedInput DesignInput(const Expression& expression, const BlockDesign& design, int input);

// The same for many designs: what follows from the expression is kept.
class InputDesigner {
 public:
  InputDesigner(const Expression& expression, int input);

  DesignedInput Run(const BlockDesign& design) const;

 private:
  // A dimension of the buffer in which only dimension d moves, in steps of one.
  struct Row {
    int x, d;
  };

  // What all accesses reach in a dimension of the buffer: distance of their constants, coefficients
  // of dimensions.
  struct Reach {
    int64_t constants;
    std::vector<std::pair<int, int64_t>> terms;
  };

  int VectorOf(int64_t points) const;
  bool FitsRegisters(const BlockDesign& design) const;
  bool IsUnrolled(const BlockDesign& design, int d) const;
  DesignedInput Direct(const BlockDesign& design) const;
  DesignedInput Copied(const BlockDesign& design) const;

  int input_;
  bool can_copy_;               // in any design
  bool keeps_to_rows_ = false;  // so that neighbours can be loaded at once where they are
  int most_lanes_;              // of 16 bytes
  std::vector<int> used_;       // dimensions
  std::vector<int> place_;      // per dimension: among the loops of reductions, or none of them
  int reductions_;              // reduced dimensions
  int last_ = -1;               // dimension of the buffer
  int along_last_ = -1;         // the only dimension that moves there, or -1
  std::vector<Row> kept_rows_;  // along which results are kept
  std::vector<Reach> reaches_;
};

// Whether some reduction is shared by several blocks.
bool HasSharedReduction(const BlockDesign& design);

// The elements of that many bytes that one asynchronous copy moves if `row` of them are neighbours
// on both sides, at places that `row` divides: as many as 16 bytes hold.
int64_t AsyncWidth(int64_t element_bytes, int64_t row);

// One line, for people: "i 2x16x4 j 2x16x4 k 1/32x16 A chunk B chunk async 3 lanes j unrolled 1",
// " lanes j 8x4" with tiles of lanes, " atomics", " last block" or " cluster" where blocks combine
// so, and other choices that are not the default: " resident 2", " early calls".
std::string ToString(const Expression& expression, const BlockDesign& design);

// Expects a model with explicit memory and without warps (CUDA, OpenCL), no prefix sums. What the
// design says, with layouts, widths and stages of copies that suit it; Validate may still reject
// it.
TuningParameters ToParameters(const Expression& expression, const SystemModel& model,
                              const DeviceDescription& device, const BlockDesign& design);

}  // namespace mdh
