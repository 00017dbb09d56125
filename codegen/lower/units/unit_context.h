// What the builders of a contraction on matrix units share: the plan, names, and the indices of
// points whose dimensions run as one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/program/index_range.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/loop_program.h"
#include "codegen/program/record_views.h"
#include "codegen/program/scalar_code.h"
#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/unit_plan.h"

namespace mdh {

inline constexpr int64_t kLanesOfWarp = 32;

// A composite of dimensions, and its tiles, which may reach beyond the last point.
struct UnitAxis {
  std::vector<int> dimensions;  // the last one varies fastest
  int64_t points;
  int64_t step;  // points of a tile
  int64_t tiles;

  bool is_ragged() const { return points != tiles * step; }
};

// Which sums of a block's tile a thread has: in each of `tiles` tiles along m those of `halves`
// rows, eight apart, and of these two in every eight columns. The thread's sums are numbered so:
// tile by tile; in a tile eight columns after the other; of these row by row.
struct SumTiles {
  int64_t tiles;
  int64_t tile_rows;              // from one tile to the next
  int64_t halves;                 // 1 or 2
  int64_t columns;                // of the warp
  Index first_row, first_column;  // of the warp in the block's tile

  int64_t of_eight() const { return 2 * halves; }
  int64_t of_tile() const { return columns / 8 * of_eight(); }
};

// Refers to `low_level`.
class UnitContext {
 public:
  UnitContext(const LowLevelExpression& low_level, UnitPlan plan);

  const Expression& expression() const { return low_level_.expression(); }
  const Expression& computed() const { return plan_.computed; }
  const TuningParameters& parameters() const { return low_level_.parameters(); }
  const UnitParameters& unit() const { return parameters().unit; }
  const UnitPlan& plan() const { return plan_; }
  const KernelNames& kernel_names() const { return kernel_names_; }
  NameAllocator& names() { return names_; }
  RecordViews& views() { return views_; }

  const UnitAxis& m() const { return m_; }
  const UnitAxis& n() const { return n_; }
  const UnitAxis& k() const { return k_; }
  UnitAxis Batches() const { return {plan_.form.batch, plan_.batches, 1, plan_.batches}; }
  int64_t threads() const { return unit().threads(); }
  // Rows of 128 bytes that all threads move at once, a piece each.
  int64_t rows_at_once() const { return threads() / kUnitRowPieces; }
  int64_t element_bytes() const { return plan_.element_bytes(); }
  int64_t depth() const { return plan_.depth(); }  // elements of a row
  int64_t piece_elements() const { return plan_.piece(); }
  // Where piece number `piece` of a row is in it: pieces that are read at once are in banks of
  // their own. `row`: its number modulo 8, or of doubles modulo 4.
  Index Swizzled(const Index& piece, const Index& row) const;
  SumTiles Sums() const;
  // Of the thread's warp, along m and along n; of warps that multiply by themselves.
  Index WarpOfM() const { return Thread() / kLanesOfWarp / unit().warps.along_n; }
  Index WarpOfN() const { return Thread() / kLanesOfWarp % unit().warps.along_n; }
  Index Lane() const { return Thread() % kLanesOfWarp; }

  // Where those threads meet that multiply and store: all, or all but a warp.
  Statement Meeting() const {
    return {Barrier{.threads = unit().has_producer() ? static_cast<int>(threads()) : 0}};
  }

  // Indices that are declared where a stage begins: of the block; of the thread, its row and piece
  // of those, and where the swizzled piece is in shared memory; of the first points of the block's
  // tile.
  Index BlockNumber() const { return Index::Variable(block); }
  Index Thread() const { return Index::Variable(thread); }
  Index Row() const { return Index::Variable(row); }
  Index Piece() const { return Index::Variable(piece); }
  Index Place() const { return Index::Variable(place); }
  // What rows and pieces can be.
  IndexRanges Ranges() const {
    return {{row, {0, rows_at_once() - 1}}, {piece, {0, kUnitRowPieces - 1}}};
  }
  Index FirstM() const { return Index::Variable(tile_.first_m); }
  Index FirstN() const { return Index::Variable(tile_.first_n); }

  // What an index function that depends on single dimensions adds up to along the axis, as one that
  // depends on the composite: its coefficient. nullopt: it is no such function.
  std::optional<int64_t> CoefficientAlong(const UnitAxis& axis, const AffineIndex& affine) const;
  // The summand of the index function along the axis, at a composite index.
  Index Along(const UnitAxis& axis, const AffineIndex& affine, const Index& composite,
              const std::string& name, Block* block);
  // The rest of it: along batches, and the constant.
  Index OfBlock(const AffineIndex& affine) const;

  // The block's number along m, and along n, in a cluster of several (UnitParameters::cluster_m);
  // and in that.
  Index ClusterM() const;
  Index ClusterN() const;
  Index NumberInCluster() const { return BlockNumber() % unit().cluster(); }

  // The block's part of k, and the composite index of its batch.
  Index Part() const { return Index::Variable(tile_.part); }
  Index Batch() const { return Index::Variable(tile_.batch); }
  // The indices of all dimensions at a point; those of reduced ones are 0 at first, and those of
  // batches the block's.
  using Point = std::vector<Index>;
  const Point& block_point() const { return tile_.point; }
  // What the indices of a tile are called, and its point.
  struct Tile {
    std::string number, part, first_m, first_n, batch;
    std::vector<std::string> batches;  // its dimensions
    Point point;
  };
  const Tile& tile() const { return tile_; }
  void set_tile(Tile tile) { tile_ = std::move(tile); }
  // One whose indices can be declared beside those of the tile: by names that begin so.
  Tile OtherTile(const std::string& prefix);
  // Declares the indices of the block and the thread; and those of a tile, by its number among all.
  void DeclareThread(Block* block) const;
  void DeclareTile(Index number, Block* block);
  // Sets the indices of the axis' dimensions to those of the composite index, which is declared as
  // `name` if it is needed several times.
  void SetPoint(const UnitAxis& axis, Index composite, const std::string& name, Point* point,
                Block* block);

  std::string block = "block_x", thread = "tid", row = "row", piece = "piece", place = "place";
  std::string sums = "sums";

 private:
  const LowLevelExpression& low_level_;
  const UnitPlan plan_;
  NameAllocator names_;
  const KernelNames kernel_names_;
  RecordViews views_{names_};
  void DeclareFirstPoints(Block* block) const;

  UnitAxis m_, n_, k_;
  Tile tile_;
};

// A loop from 0 on that stays one; and one that is unrolled entirely.
Statement Rolled(const std::string& variable, Index end, Block body);
Statement Unrolled(const std::string& variable, int64_t count, Block body);

// The index function at a point.
Index At(const AffineIndex& affine, const UnitContext::Point& point);

}  // namespace mdh
