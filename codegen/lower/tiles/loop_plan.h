// What building loops needs to know of a decomposition: derived once from a low-level expression.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lower/tiles/narrow_reduction.h"
#include "codegen/lower/tiles/outside_products.h"
#include "codegen/program/index.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/result_targets.h"
#include "codegen/program/store_function.h"
#include "core/base/round.h"
#include "core/decomposition/dot_plan.h"
#include "core/decomposition/low_level_expression.h"
#include "core/expression/dependences.h"

namespace mdh {

// Range of one dimension at some point of the loop nest.
struct DimensionRange {
  Index begin;
  Index end;     // exclusive
  Index length;  // end - begin, folded where it is known
};

// One sequential loop: parts of `step` points of one dimension.
struct PlannedLoop {
  int place;  // of its level (NestShape::levels)
  int layer;
  int dimension;
  int64_t step;
  std::string variable;
};

// Lanes and offset of one piece of a register tile along a dimension.
struct TilePiece {
  int64_t offset;
  int width;
  int depth = 1;  // neighbours that are in one word (LoopPlan::dot)
  int off = 0;    // last lanes that have no point: they are computed, but neither read nor written
};

// One of the tiles that end a dimension.
struct LastTile {
  int64_t points;
  int64_t origin;
};

// The copy of an input buffer that one part of a layer needs (paper: D3, D4).
struct StagedCopy {
  int input;
  int layer;                     // InputParameters::stage_layer
  std::string name;              // of the scratch buffer
  std::vector<int64_t> extents;  // per buffer dimension, of a full part, strips rounded up
  std::vector<int64_t> strides;  // elements of the copy per step of one in a buffer dimension;
                                 // in the strip dimension per step of one *between* strips
  int strip_dimension;           // -1: none
  int64_t strip;                 // its width; 1: none
  int strip_of;                  // the dimension of the expression whose tile a strip is; -1: none
  int64_t strip_shift;  // elements by which a last strip that is not full begins earlier in
                        // the buffer than its place says, so that a last tile finds its
                        // points at the start of it
  ScalarType type;      // of an element of the copy: of the buffer's, or uint32 of words
  // Of words: so many neighbours in the buffer along this dimension are an element of the copy,
  // whose strides are from word to word there. 1 and -1: none.
  int64_t group = 1;
  int group_dimension = -1;
  int64_t elements;
  std::vector<int> layout;  // order of the buffer's dimensions, outermost first
  int place;                // in front of that level it is made (NestShape::levels)
  // From an element of the buffer that this part reads to the same of the part that is copied next,
  // where one register tile alone uses each element of a copy; else 0.
  int64_t next = 0;
};

// Immutable after construction; plain facts, no statements.
class LoopPlan {
 public:
  // `mirror`: those that the configuration mirrors (BlockChoices::mirrors).
  explicit LoopPlan(LowLevelExpression low_level,
                    std::optional<ExchangeablePair> mirror = std::nullopt);

  const Expression& expression() const { return low_level_.expression(); }
  // With what results are combined by (WithWideSums).
  const Expression& sums() const { return sums_; }
  const TuningParameters& parameters() const { return low_level_.parameters(); }
  int rank() const { return expression().rank(); }
  int64_t size(int d) const { return expression().dimensions()[d].size; }
  bool is_reduction(int d) const { return expression().is_reduction(d); }

  const NestShape& shape() const { return low_level_.shape(); }

  // Parts of the core levels along d.
  int64_t core_parts(int d) const { return CeilDivide(size(d), shape().CorePart(d)); }

  // Loops around the register tile, outermost first, without those of one part.
  const std::vector<PlannedLoop>& outer_loops() const { return outer_loops_; }
  const PlannedLoop* LoopAt(int place) const;  // that of the level; nullptr: it has none
  // Reduced dimensions whose innermost loops run inside the register tile, outermost first.
  const std::vector<int>& inner_reductions() const { return inner_reductions_; }
  bool is_inner_reduction(int d) const;

  int64_t register_tile(int d) const { return register_tile_[d]; }
  // The tiles behind the loop of whole ones, if those leave points over (Remainder): one of these
  // points; or one that begins earlier than they do; or two, the one before begins where a whole
  // one would and has fewer points.
  const std::vector<LastTile>& last_tiles(int d) const { return last_tiles_[d]; }
  int vector_dimension() const { return vector_dimension_; }  // -1: none
  // Points of a whole vector, which has lanes that are off if these are no power of two.
  int lanes() const { return lanes_; }
  // How `points` points of dimension d are covered: whole vectors first. The last one may overlap
  // the one before, or along a reduction have lanes that are off and add nothing.
  std::vector<TilePiece> Pieces(int d, int64_t points) const;

  // How dot instructions compute what the tile does, and from which operands; nullptr: they do not.
  const DotPlan* dot() const { return dot_ ? &*dot_ : nullptr; }
  const DotSides& dot_sides() const { return *dot_sides_; }
  // How tile registers do; nullptr: vectors do, or there are no dot instructions.
  const DotTiles* dot_tiles() const { return dot_tiles_ ? &*dot_tiles_ : nullptr; }
  const MatrixInstruction& tile_instruction() const { return *tile_instruction_; }
  // Whether words of the operand with lanes depend on dimension d.
  bool has_words_along(int d) const;
  // Whether tiles that follow each other have these words in common, so that what flipped signs of
  // the other operand add is counted once for them, in an array with room for a tile's.
  bool shares_excess() const;
  std::string excess_name() const { return input_name(dot_sides().vector.buffer) + "_excess"; }
  int64_t excess_elements() const;

  // How vectors are added up if that is of short integers; nullptr: as f and the operator say.
  const NarrowReduction* narrow_reduction() const {
    return narrow_reduction_ ? &*narrow_reduction_ : nullptr;
  }
  // Of what is combined along the vector dimension.
  int accumulator_lanes() const {
    return narrow_reduction_ ? narrow_reduction_->AccumulatorLanes(lanes_) : lanes_;
  }

  // Products that tiles leave out; nullptr: none. Copies have zeros where the buffer ends.
  const OutsideProducts* outside_products() const {
    return outside_products_ ? &*outside_products_ : nullptr;
  }

  // f, with products as vectors of the tile share them best.
  const ScalarFunction& function() const { return *function_; }

  const std::vector<StagedCopy>& staged() const { return staged_; }
  const StagedCopy* StagedInput(int input) const;

  // Identifiers in generated code.
  std::string core_variable(int d) const { return index_name(d) + "_cor"; }
  const std::string& index_name(int d) const { return names_.indices[d]; }
  // Of the passed inputs.
  const std::string& input_name(int b) const { return names_.inputs[b]; }
  const std::string& output_name(int b) const { return names_.outputs[b]; }

  // Per parameter of f; views of records are declared by `views`.
  const std::string& input_pointer(int parameter) const { return input_pointers_[parameter]; }
  const Block& views() const { return views_; }

  // Where register tiles leave their results: in the outputs, or in arrays of their own.
  bool uses_result_arrays() const { return uses_result_arrays_; }
  const std::vector<ResultTarget>& targets() const {
    return uses_result_arrays_ ? arrays_ : outputs_;
  }
  const std::vector<ResultTarget>& outputs() const { return outputs_; }
  // Whether these arrays are the outputs, which prefix sums are computed in.
  bool sums_in_outputs() const { return sums_in_outputs_; }
  // Where f does nothing but name elements of inputs: these, which prefix sums begin with; else
  // none.
  const std::vector<ResultTarget>& terms() const { return terms_; }
  // What the store function reads.
  const StorePointers& store_pointers() const { return store_pointers_; }
  // Whether tiles apply the store function: to their results, or, where reductions run around them,
  // to what is in the arrays when the last parts of these are done.
  bool tiles_store() const {
    return expression().store() != nullptr && (!uses_result_arrays_ || stores_at_last_);
  }
  bool stores_at_last() const { return stores_at_last_; }
  // Whether what tiles store is not just their sums, in places that targets() tell.
  bool tiles_finish() const { return tiles_store() || stores_at_last_; }
  const std::vector<std::string>& index_names() const { return names_.indices; }
  const std::vector<std::string>& output_names() const { return names_.outputs; }

  // Tiles compute results on and below the diagonal of these dimensions, and a stage behind stores
  // those below it again, above it. Not where stages make outputs of arrays, of all that is there.
  const std::optional<ExchangeablePair>& mirror() const { return mirror_; }

  bool independent_accumulators() const { return parameters().independent_accumulators; }
  bool streams_results() const { return parameters().streams_results; }
  int prefetch() const { return parameters().prefetch; }  // iterations
  NumericsPolicy numerics() const { return parameters().numerics; }

 private:
  void PlanLoops();
  void PlanFunction();
  void PlanStaging();
  void PlanWords(StagedCopy* copy) const;
  int64_t NextPart(const StagedCopy& copy) const;
  void PlanResults();
  std::vector<ResultTarget> NamedTerms() const;
  void PlanLastTiles();
  std::vector<LastTile> LastTilesOf(int d) const;
  bool CanBeginEarlier(int d, int64_t points) const;
  bool HasRoomForTwo(int d) const;

  LowLevelExpression low_level_;
  std::optional<ExchangeablePair> mirror_;
  Expression sums_;
  std::vector<PlannedLoop> outer_loops_;
  std::vector<int> inner_reductions_;
  std::vector<int64_t> register_tile_;
  std::vector<std::vector<LastTile>> last_tiles_;
  int vector_dimension_ = -1;
  int lanes_ = 1;
  bool rests_have_lanes_ = false;
  std::optional<NarrowReduction> narrow_reduction_;
  std::optional<OutsideProducts> outside_products_;
  std::optional<ScalarFunction> function_;
  std::optional<DotPlan> dot_;
  std::optional<DotSides> dot_sides_;
  std::optional<DotTiles> dot_tiles_;
  const MatrixInstruction* tile_instruction_ = nullptr;
  std::vector<StagedCopy> staged_;
  KernelNames names_;
  std::vector<std::string> input_pointers_;
  Block views_;
  bool uses_result_arrays_ = false, stores_at_last_ = false, sums_in_outputs_ = false;
  std::vector<ResultTarget> outputs_, arrays_, terms_;
  StorePointers store_pointers_;
};

}  // namespace mdh
