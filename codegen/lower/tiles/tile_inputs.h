// Loads of a register tile: where each input is read, in place or in a packed copy, and what was
// read already.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "codegen/lower/tiles/loop_plan.h"
#include "codegen/lower/tiles/tile_shape.h"
#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

// Name of the caller's variable that holds the origin of a staged copy in dimension d; empty: 0.
std::string StagedOriginName(const LoopPlan& plan, const StagedCopy& copy, int d);

// Whether all elements that a tile reads of buffers with a boundary are inside.
enum class TilePlace { kInside, kAnywhere };

// Refers to its arguments; `origins` changes as the tile's loops are entered.
class TileInputs {
 public:
  TileInputs(const LoopPlan& plan, TilePlace place, const std::vector<Index>& origins,
             NameAllocator& names)
      : plan_(plan), place_(place), origins_(origins), names_(names) {}

  // From here on, what is read in place is also requested for that many iterations later of the
  // loop over dimension d in steps of `step` points; 0 iterations: no longer.
  void PrefetchAlong(int d, int64_t step, int iterations);
  // Requests what the next parts of copies read at `points` of the tile (StagedCopy::next).
  void RequestNextParts(const std::vector<int64_t>& points, Block& block);
  // Forgets what was loaded: another block of statements begins.
  void StartBlock();
  // The value of a parameter of f at a point; every element is loaded once per block.
  LoopValue Load(int parameter, const TilePoint& point, Block& block);
  // The word of an operand of LoopPlan::dot at a point, or the words of its lanes: what is beyond
  // the piece's depth is 0 (tile_words.cc).
  LoopValue LoadWord(const DotOperand& operand, const TilePoint& point, Block& block);
  // Where the words at a point are, those of its lanes one after the other, and how far the next
  // ones along dimension d are (tile_words.cc). Expects a copy, or neighbours along that of words.
  struct WordPlace {
    std::string pointer;
    Index offset;
    int64_t step_bytes;
  };
  WordPlace PlaceOfWords(const DotOperand& operand, const TilePoint& point, int d, Block& block);

 private:
  // base (symbolic) + constant + a static part per unrolled step of each dimension.
  struct Address {
    std::string pointer;
    std::string stem;  // for names of variables
    Index base = Index(0);
    int64_t constant = 0;
    std::vector<int64_t> step;  // elements per unrolled step
    int grouped = -1;           // along this dimension a step is of `group` points
    int64_t group = 1;
    // Of a point, from base.
    int64_t OffsetOf(const TilePoint& point) const;
  };
  // What a load becomes, where it is and in how many lanes.
  using Loader = absl::FunctionRef<LoopValue(const Index& at, int width, int64_t stride)>;

  Address AddressOf(int parameter) const;
  Index BaseOf(const Address& address, Block& block);
  LoopValue LoadOnce(const Address& address, const TilePoint& point, absl::string_view what,
                     int bytes, Loader load, Block& block);
  LoopValue LoadWordInPlace(const DotOperand& operand, const Address& address,
                            const TilePoint& point, Block& block);
  LoopValue LoadWordAtBoundary(const DotOperand& operand, const TilePoint& point, Block& block);
  // Indices in a buffer with a boundary.
  struct InsidePlace {
    std::vector<Index> indices;
    std::vector<int64_t> lane_steps;
    int lanes = 1;
  };
  InsidePlace PlaceInside(int parameter, const TilePoint& point, int dimension,
                          int64_t further) const;
  LoopValue LoadIndex(int dimension, const TilePoint& point) const;
  LoopValue LoadAtBoundary(int parameter, const TilePoint& point, Block& block);
  void Request(const Address& address, const std::string& base, const Index& at, int64_t offset,
               int64_t neighbours, int bytes, Block& block);
  int64_t NeighboursOf(const Address& address, const TilePoint& point) const;
  Index CopyOrigin(const StagedCopy& copy, int d) const;

  const LoopPlan& plan_;
  const TilePlace place_;
  const std::vector<Index>& origins_;
  NameAllocator& names_;
  std::map<std::string, LoopValue> loads_;
  std::map<std::string, std::string> bases_;
  int prefetched_dimension_ = -1;
  int64_t prefetch_points_ = 0;
  std::set<std::string> requested_;  // cache lines of the block
};

}  // namespace mdh
