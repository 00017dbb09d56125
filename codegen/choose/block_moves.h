// The neighbourhood of a design for devices with blocks of threads: small changes, the steps of
// local searches.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "codegen/choose/block_design.h"
#include "core/decomposition/choices.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"

namespace mdh {

struct BlockMoveOptions {
  // Also along all rows of Choices() that designs have, as far as they can be had; else to sums by
  // atomics, which the cost model knows best.
  bool choices = false;
  bool lane_tiles = false;  // also to tiles of lanes
  bool thirds = false;      // also to threads of three times a power of two
  bool full_waves = false;  // also to so many parts of a reduction that the last wave is full
  bool fits = false;        // also as VisitFits
};

class BlockMoves {
 public:
  BlockMoves(const Expression& expression, const DeviceDescription& device,
             const BlockMoveOptions& options = {});

  // Designs that one change leads to: one number up or down, one of a dimension up and another one
  // down, or the same number of two dimensions; the copy of an input, whether it is asynchronous,
  // or the stages of all that are; the dimension of the lanes, the loops that are unrolled, how
  // blocks combine and other choices, or the tile of lanes, which goes where it no longer says
  // anything. Numbers are powers of two and divisors of the size. They need not fit the device.
  std::vector<BlockDesign> Neighbours(const BlockDesign& design) const;

  // Shows `visit` the same designs in the same order, without the first `first` ones, until it
  // returns false. A design is only there during the call: it is made in place of the one before,
  // as a search that goes on with the first one that helps sees few of many. Returns how many
  // neighbours it went through, those left out included.
  size_t VisitNeighbours(const BlockDesign& design, size_t first,
                         absl::FunctionRef<bool(const BlockDesign&)> visit) const;

  // Shows designs whose tiles, along one dimension that is kept, have just as many points as divide
  // its size among a few tiles less or more, or among as many blocks as fill waves: a thread has
  // the same number of points or about so many, and there are any number of threads. Only those of
  // which the busiest multiprocessor has fewer points, those behind the end included, and none that
  // other changes lead to.
  void VisitFits(const BlockDesign& design,
                 absl::FunctionRef<bool(const BlockDesign&)> visit) const;

 private:
  using Field = int64_t BlockDesign::Cut::*;
  struct Walk;  // through neighbours of one design
  struct Steps {
    const Choice* choice;
    std::vector<int64_t> values;  // that can be had
  };

  static Steps StepsOf(const Choice& choice, const Expression& expression,
                       const DeviceDescription& device);

  bool IsKept(int d) const { return expression_.combine_operators()[d].is_concat(); }
  int64_t size(int d) const { return expression_.dimensions()[d].size; }
  const std::vector<int64_t>& LadderOf(int d, Field field) const;
  absl::Span<const Field> Fields(int d) const;
  bool StepOf(int d, Field field, int direction, int64_t* value) const;
  void Show(Walk& walk) const;
  void ShowOther(const BlockDesign& next, Walk& walk) const;
  void ShowStep(int d, Field field, int direction, Walk& walk) const;
  void ShowShifts(int d, Field down, Walk& walk) const;
  void ShowThirds(int d, Walk& walk) const;
  void ShowFullWaves(int d, Walk& walk) const;
  void ShowFits(int d, Walk& walk) const;
  double BusiestPoints(int64_t tiles, int64_t points, int64_t others) const;
  int64_t BlocksOfOthers(const BlockDesign& design, int d) const;
  void ShowSteps(int d, Walk& walk) const;
  void ShowCopies(Walk& walk) const;
  void ShowLaneTiles(Walk& walk) const;
  void ShowChoice(const Steps& steps, Walk& walk) const;
  void ShowAsyncStages(Walk& walk) const;

  const Expression& expression_;
  const int reductions_;
  const int64_t warp_size_, multiprocessors_;
  const bool has_lane_tiles_;
  const bool has_async_copies_, has_thirds_, has_full_waves_, has_fits_;
  Steps combination_;           // how blocks that share a reduction may combine
  std::vector<Steps> choices_;  // others
  std::vector<std::vector<int64_t>> small_, large_, slots_;  // per dimension
};

}  // namespace mdh
