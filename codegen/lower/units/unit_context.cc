#include "codegen/lower/units/unit_context.h"

#include <algorithm>
#include <utility>

namespace mdh {

UnitContext::UnitContext(const LowLevelExpression& low_level, UnitPlan plan)
    : low_level_(low_level),
      plan_(std::move(plan)),
      kernel_names_(NamesOf(low_level.expression(), names_)),
      m_{plan_.form.m, plan_.m, unit().rows, plan_.tiles_m},
      n_{plan_.form.n, plan_.n, unit().columns, plan_.tiles_n},
      k_{plan_.form.k, plan_.k, plan_.depth(), plan_.stages_k},
      tile_{"tile",
            "part",
            "first_m",
            "first_n",
            "batch",
            {},
            Point(low_level.expression().rank(), Index(0))} {
  for (const char* reserved : {"thread", "threads", "scratch", "slot"}) names_.Reserve(reserved);
  for (std::string* name : {&block, &thread, &row, &piece, &place, &tile_.number, &tile_.part,
                            &tile_.first_m, &tile_.first_n, &tile_.batch, &sums}) {
    *name = names_.Unique(*name);
  }
  for (const int d : plan_.form.batch) tile_.batches.push_back(kernel_names_.indices[d]);
}

// ---- Tiles ----

namespace {

void Declare(const std::string& name, Index value, Block* block) {
  block->push_back({DeclareIndex{name, std::move(value)}});
}

}  // namespace

UnitContext::Tile UnitContext::OtherTile(const std::string& prefix) {
  Tile other = tile_;
  const auto rename = [&](std::string* name) { *name = names_.Unique(prefix + *name); };
  for (std::string* name :
       {&other.number, &other.part, &other.first_m, &other.first_n, &other.batch}) {
    rename(name);
  }
  for (std::string& name : other.batches) rename(&name);
  return other;
}

void UnitContext::DeclareThread(Block* to) const {
  using Kind = HardwareIndex::Kind;
  to->push_back({HardwareIndex{block, Kind::kBlock, 0}});
  to->push_back({HardwareIndex{thread, Kind::kThread, 0}});
  Declare(row, Thread() / kUnitRowPieces, to);
  Declare(piece, Thread() % kUnitRowPieces, to);
  Declare(place, Row() * depth() + Swizzled(Piece(), Row()) * piece_elements(), to);
}

void UnitContext::DeclareTile(Index number, Block* to) {
  const auto take = [&](const std::string& name, int64_t count) {
    Declare(name, number % count, to);
    number = number / count;
  };
  // Those of a cluster are neighbours, which have other tiles, or parts of one.
  if (unit().cluster() > 1) number = number / unit().cluster();
  if (plan_.sharers > 1) take(tile_.part, unit().parts);
  take(tile_.number, plan_.tiles_m * plan_.tiles_n / unit().cluster());
  if (plan_.sharers == 1) take(tile_.part, unit().parts);
  DeclareFirstPoints(to);
  Declare(tile_.batch, number, to);
  SetPoint(Batches(), Batch(), "batch", &tile_.point, to);
  for (size_t x = 0; x < tile_.batches.size(); ++x) {
    Index& at = tile_.point[plan_.form.batch[x]];
    Declare(tile_.batches[x], at, to);
    at = Index::Variable(tile_.batches[x]);
  }
}

// Tiles of `swizzle` rows are run through column by column; of clusters, those of all blocks as
// one.
void UnitContext::DeclareFirstPoints(Block* to) const {
  const int64_t tiles_m = plan_.tiles_m / unit().cluster_m,
                tiles_n = plan_.tiles_n / unit().cluster_n;
  int64_t together = std::min<int64_t>(parameters().swizzle, tiles_m);
  while (tiles_m % together != 0) --together;
  const Index tile = Index::Variable(tile_.number);
  const int64_t band = together * tiles_n;
  const auto declare = [&](const std::string& name, Index at, int blocks, const Index& number,
                           int points) {
    at = at * (blocks * points);
    Declare(name, blocks > 1 ? at + number * points : at, to);
  };
  declare(tile_.first_m, tile / band * together + tile % together, unit().cluster_m, ClusterM(),
          unit().rows);
  declare(tile_.first_n, tile % band / together, unit().cluster_n, ClusterN(), unit().columns);
}

Index UnitContext::ClusterM() const {
  return unit().cluster_m == 1 ? Index(0) : BlockNumber() % unit().cluster_m;
}

Index UnitContext::ClusterN() const {
  return unit().cluster_n == 1 ? Index(0) : NumberInCluster() / unit().cluster_m;
}

// Fragments of doubles are read by half of a warp at once: two neighbouring pieces of four rows.
Index UnitContext::Swizzled(const Index& piece, const Index& row) const {
  constexpr int64_t kDouble = 8;
  if (element_bytes() == kDouble) return piece ^ (row % 4 * 2);
  return piece ^ (row % 8);
}

SumTiles UnitContext::Sums() const {
  const Index thread = Thread();
  if (!unit().has_warps()) {
    const int64_t tiles = unit().rows / kUnitRows / unit().groups;
    return {.tiles = tiles,
            .tile_rows = kUnitRows,
            .halves = 2,
            .columns = unit().columns,
            .first_row = thread / kUnitThreads * (tiles * kUnitRows) +
                         thread % kUnitThreads / kLanesOfWarp * 16,
            .first_column = Index(0)};
  }
  const UnitWarps& warps = unit().warps;
  const int64_t rows = unit().rows / warps.along_m, columns = unit().columns / warps.along_n;
  return {.tiles = rows / warps.m,
          .tile_rows = warps.m,
          .halves = warps.m / 8,
          .columns = columns,
          .first_row = WarpOfM() * rows,
          .first_column = WarpOfN() * columns};
}

void UnitContext::SetPoint(const UnitAxis& axis, Index composite, const std::string& name,
                           Point* point, Block* block) {
  if (axis.dimensions.size() > 1 && !composite.IsLeaf()) {
    const std::string declared = names_.Unique(name);
    block->push_back({DeclareIndex{declared, std::move(composite)}});
    composite = Index::Variable(declared);
  }
  for (size_t x = axis.dimensions.size(); x-- > 0;) {
    const int d = axis.dimensions[x];
    const int64_t size = expression().dimensions()[d].size;
    (*point)[d] = x == 0 ? composite : composite % size;
    composite = composite / size;
  }
}

std::optional<int64_t> UnitContext::CoefficientAlong(const UnitAxis& axis,
                                                     const AffineIndex& affine) const {
  const int64_t last = affine.coefficients[axis.dimensions.back()];
  int64_t expected = last;
  for (size_t x = axis.dimensions.size(); x-- > 0;) {
    const int d = axis.dimensions[x];
    if (affine.coefficients[d] != expected) return std::nullopt;
    expected *= expression().dimensions()[d].size;
  }
  return last;
}

Index UnitContext::Along(const UnitAxis& axis, const AffineIndex& affine, const Index& composite,
                         const std::string& name, Block* block) {
  if (const auto coefficient = CoefficientAlong(axis, affine)) return composite * *coefficient;
  Point point(expression().rank(), Index(0));
  SetPoint(axis, composite, name, &point, block);
  return At(affine, point) - Index(affine.constant);
}

Index UnitContext::OfBlock(const AffineIndex& affine) const { return At(affine, tile_.point); }

Statement Rolled(const std::string& variable, Index end, Block body) {
  return {For{.variable = variable,
              .begin = Index(0),
              .end = std::move(end),
              .step = 1,
              .whole_steps = false,
              .body = ShareBlock(std::move(body)),
              .unroll_by = 1}};
}

Statement Unrolled(const std::string& variable, int64_t count, Block body) {
  return {For{variable, Index(0), Index(count), 1, false, ShareBlock(std::move(body)), true}};
}

Index At(const AffineIndex& affine, const UnitContext::Point& point) {
  Index at(0);
  for (size_t d = 0; d < point.size(); ++d) at = at + point[d] * affine.coefficients[d];
  return at + Index(affine.constant);
}

}  // namespace mdh
