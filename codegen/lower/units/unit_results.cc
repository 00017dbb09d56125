#include "codegen/lower/units/unit_results.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/finish/combine_slots.h"
#include "codegen/lower/finish/store_results.h"
#include "core/base/round.h"
#include "core/decomposition/unit_use.h"
#include "core/pipeline/wide_sums.h"

namespace mdh {
namespace {

// Results of 16 bits that lie together in shared memory.
constexpr int64_t kStagedPiece = kUnitPieceBytes / kUnitElementBytes;

}  // namespace

UnitResults::UnitResults(UnitContext& context)
    : context_(context),
      tiles_(context.Sums()),
      outputs_(OutputTargets(computed(), context.kernel_names().outputs, context.views())),
      store_(PointersOfStore(computed(), context.kernel_names().inputs, context.views())),
      sums_(context.plan().sharers > 1 ? context.names().Unique("own_sums") : context.sums) {
  if (!leaves_parts()) return;
  arrays_ = ArrayTargets(computed(), context.kernel_names().outputs);
  // Of parts of sums nothing is rounded.
  for (ResultTarget& array : arrays_) array.type = RegisterType(array.type);
}

// ---- Parts of k ----

void UnitResults::AppendStages(LoopProgram* program) {
  if (!leaves_parts()) return;
  AppendResultArrays(computed(), arrays_, context_.unit().parts, program);
  const ResultArrays arrays = {.index_names = context_.kernel_names().indices,
                               .arrays = arrays_,
                               .outputs = outputs_,
                               .store = store_,
                               .slots = context_.unit().parts};
  program->stages.push_back(
      CombineSlotsInBlocks(WithWideSums(computed(), context_.parameters().numerics), arrays));
}

// Every block of a cluster shows its part of the tile's sums, and adds all parts up of those that
// it stores.
void UnitResults::CombineInCluster(const std::string& shown, Block* block) {
  const int64_t threads = context_.threads(), sums = UnitSums(context_.unit());
  const int64_t of_tile = tiles_.of_tile(), own = own_of_tile();
  const std::string view = context_.names().Unique("shown"), sum = context_.names().Unique("sum");
  const Index at = Index::Variable(sum), part = context_.Part();
  block->push_back({Comment{
      absl::StrCat("Re-composition: ", context_.plan().sharers, " blocks of a cluster.")}});
  block->push_back({DeclareView{view, sum_type(), /*is_const=*/false, shown}});
  const LoopValue all = MakeLoad(context_.sums, at, {sum_type(), 1}, 1);
  block->push_back(
      Unrolled(sum, sums, {{StoreElements{view, at * threads + context_.Thread(), all, 1}}}));
  block->push_back({ClusterBarrier{}});
  block->push_back({DeclareArray{sums_, sum_type(), tiles_.tiles * own, MemorySpace::kPrivate}});
  Block combine;
  for (int64_t tile = 0; tile < tiles_.tiles; ++tile) {
    const Index from = (Index(tile * of_tile) + part * own + at) * threads + context_.Thread();
    LoopValue total;
    for (int64_t other = 0; other < context_.plan().sharers; ++other) {
      LoopValue there = MakeLoadOfBlock(view, from, Index(other), sum_type());
      total = other == 0 ? std::move(there)
                         : MakeOperation(ScalarOp::kAdd, sum_type(), {total, std::move(there)});
    }
    combine.push_back({StoreElements{sums_, Index(tile * own) + at, std::move(total), 1}});
  }
  block->push_back(Unrolled(sum, own, std::move(combine)));
  // Nobody writes there, or ends, before the others have read.
  block->push_back({ClusterBarrier{}});
}

// ---- Sums and points ----

Index UnitResults::FirstN() const {
  if (context_.plan().sharers == 1) return context_.FirstN();
  return context_.FirstN() + context_.Part() * columns();
}

LoopValue UnitResults::Sum(const Index& number, int lanes) const {
  return MakeLoad(sums_, number, {sum_type(), lanes}, 1);
}

// What `body` makes of the thread's pairs, eight columns after the other.
Block UnitResults::OverPairs(const std::function<void(const Pair& pair, Block* block)>& body) {
  const std::string eight = context_.names().Unique("eight");
  const Index lane = context_.Thread() % kLanesOfWarp;
  Block inside;
  for (int64_t tile = 0; tile < tiles_.tiles; ++tile) {
    for (int64_t half = 0; half < tiles_.halves; ++half) {
      const Index number =
          Index::Variable(eight) * tiles_.of_eight() + Index(tile * own_of_tile() + half * 2);
      const Index row = tiles_.first_row + lane / 4 + Index(tile * tiles_.tile_rows + half * 8);
      const Index column = tiles_.first_column + Index::Variable(eight) * 8 + lane % 4 * 2;
      body({number, context_.FirstM() + row, FirstN() + column}, &inside);
    }
  }
  return {Unrolled(eight, tiles_.columns / context_.plan().sharers / 8, std::move(inside))};
}

UnitContext::Point UnitResults::PointOf(const Index& m, const Index& n, Block* block) {
  UnitContext::Point point = context_.block_point();
  context_.SetPoint(context_.m(), m, "result_m", &point, block);
  context_.SetPoint(context_.n(), n, "result_n", &point, block);
  return point;
}

// Of an element of the target at a point.
Index UnitResults::OffsetOf(const ResultTarget& target, const Index& m, const Index& n,
                            Block* block) {
  return context_.OfBlock(target.offset) +
         context_.Along(context_.m(), target.offset, m, "result_m", block) +
         context_.Along(context_.n(), target.offset, n, "result_n", block);
}

std::vector<Condition> UnitResults::Exists(const Index& m, const Index& n) const {
  std::vector<Condition> conditions;
  if (context_.m().is_ragged()) conditions.push_back(Less(m, Index(context_.m().points)));
  if (context_.n().is_ragged()) conditions.push_back(Less(n, Index(context_.n().points)));
  return conditions;
}

std::vector<LoopValue> UnitResults::Stored(const Index& number, const UnitContext::Point& at,
                                           Block* block) {
  return EmitStoreFunction(computed(), store_, {.at = at}, {Sum(number)}, context_.names(), *block);
}

// Whether what is stored of a point can take the place of its sum.
bool UnitResults::FitsSums() const {
  if (computed().stored().size() != 1 || RegisterType(computed().stored()[0].type) != sum_type()) {
    return false;
  }
  return context_.plan().is_staged || outputs_[0].type == sum_type();
}

// Points that do not exist are computed from some that do.
void UnitResults::ApplyStore(Block* block) {
  if (computed().store() == nullptr) return;
  const auto existing = [](const UnitAxis& axis, const Index& index) {
    return axis.is_ragged() ? Min(index, Index(axis.points - 1)) : index;
  };
  const auto apply = [&](const Pair& pair, Block* body) {
    for (int side = 0; side < 2; ++side) {
      const Index number = pair.number + Index(side);
      const UnitContext::Point at = PointOf(existing(context_.m(), pair.m),
                                            existing(context_.n(), pair.n + Index(side)), body);
      LoopValue value = Stored(number, at, body)[0];
      body->push_back({StoreElements{sums_, number, std::move(value), 1}});
    }
  };
  Append(OverPairs(apply), block);
}

// ---- To memory ----

void UnitResults::Emit(const std::string& room, Block* block) {
  if (context_.plan().sharers > 1) CombineInCluster(room, block);
  if (leaves_parts()) {
    const int64_t elements = ResultArrayElements(computed());
    return EmitDirect(
        arrays_[0], context_.Part() * elements,
        NeighboursAlong(computed(), arrays_[0].offset, context_.n().dimensions.back(), 2), block);
  }
  if (!FitsSums()) return EmitOneByOne(block);
  ApplyStore(block);
  if (context_.plan().is_staged) return EmitStaged(room, block);
  EmitDirect(outputs_[0], Index(0), std::min(context_.plan().result_width, 2), block);
}

void UnitResults::EmitOneByOne(Block* block) {
  const ResultArrays results = {.index_names = context_.kernel_names().indices,
                                .arrays = {},
                                .outputs = outputs_,
                                .store = store_};
  const auto store = [&](const Pair& pair, Block* body) {
    for (int side = 0; side < 2; ++side) {
      const Index n = pair.n + Index(side);
      Block one;
      const UnitContext::Point at = PointOf(pair.m, n, &one);
      EmitFinalResults(computed(), results, at, {Sum(pair.number + Index(side))}, context_.names(),
                       &one);
      body->push_back(When(Exists(pair.m, n), std::move(one)));
    }
  };
  Append(OverPairs(store), block);
}

// Sums as they are: `width` of a pair at once.
void UnitResults::EmitDirect(const ResultTarget& target, const Index& base, int width,
                             Block* block) {
  const auto store = [&](const Pair& pair, Block* body) {
    for (int side = 0; side < 2; side += width) {
      const Index n = pair.n + Index(side);
      Block one;
      const Index to = base + OffsetOf(target, pair.m, n, &one);
      one.push_back({StoreElements{target.pointer, to, Sum(pair.number + Index(side), width), 1}});
      body->push_back(When(Exists(pair.m, n), std::move(one)));
    }
  };
  Append(OverPairs(store), block);
}

// Through shared memory, as rows of 128 bytes whose pieces are swizzled: blocks of 64 columns with
// all rows of the tile.
void UnitResults::EmitStaged(const std::string& staging, Block* block) {
  std::string staged = staging;
  if (context_.element_bytes() != kUnitElementBytes) {
    staged = context_.names().Unique("staged");
    block->push_back({DeclareView{staged, outputs_[0].type, /*is_const=*/false, staging}});
  }
  const int64_t at_once = std::min<int64_t>(columns(), context_.plan().staged_columns);
  for (int64_t first = 0; first < columns(); first += at_once) {
    const StagedColumns some{first, std::min(at_once, columns() - first)};
    if (first > 0) block->push_back(context_.Meeting());
    EmitMatrices(staged, some, block);
    block->push_back(context_.Meeting());
    EmitPieces(staged, some, block);
  }
}

void UnitResults::EmitMatrices(const std::string& staging, StagedColumns some, Block* block) {
  const UnitParameters& unit = context_.unit();
  const int64_t depth = kUnitDepth;
  const std::string sixteen = context_.names().Unique("sixteen");
  const Index lane = context_.Thread() % kLanesOfWarp, own = Index::Variable(sixteen);
  // Of the tile; warps of a group have all of them.
  const Index column = unit.has_warps() ? context_.WarpOfN() * (tiles_.columns / 16) + own : own;
  Block body;
  for (int64_t tile = 0; tile < tiles_.tiles; ++tile) {
    const Index row = tiles_.first_row + lane % 16 + Index(tile * tiles_.tile_rows);
    const Index piece = column % 4 * 2 + lane / 16;
    const Index at = StagedBegin() + column / 4 * (unit.rows * depth) + row * depth +
                     context_.Swizzled(piece, lane) * kStagedPiece;
    StoreMatrices store{staging, at, outputs_[0].type, {}};
    for (int64_t n = 0; n < 8; ++n) {
      store.values.push_back(Sum(own * 8 + Index(tile * own_of_tile() + some.first / 2 + n)));
    }
    body.push_back({std::move(store)});
  }
  // Of warps, columns are those of one.
  const int64_t count = unit.has_warps() ? tiles_.columns : some.count;
  block->push_back(Unrolled(sixteen, count / 16, std::move(body)));
}

// Of the first element.
Index UnitResults::StagedBegin() const {
  return Index(UnitRoomBegin(context_.unit(), context_.plan()) / kUnitElementBytes);
}

// Of a staged element behind the first of its 64 columns.
Index UnitResults::StagedPlace(const Index& row, const Index& column) const {
  return row * kUnitDepth + context_.Swizzled(column / kStagedPiece, row) * kStagedPiece +
         column % kStagedPiece;
}

// Neighbouring threads store neighbours, as many each as memory is aligned to.
void UnitResults::EmitPieces(const std::string& staging, StagedColumns some, Block* block) {
  const UnitParameters& unit = context_.unit();
  const int64_t depth = kUnitDepth, width = context_.plan().result_width;
  const int64_t of_row = depth / width, at_once = context_.threads() / of_row;
  const std::string sixty_four = context_.names().Unique("columns"),
                    rows = context_.names().Unique("rows");
  const Index thread_row = context_.Thread() / of_row,
              thread_column = context_.Thread() % of_row * width;
  // Rows that are eight apart have the same swizzle.
  const int64_t near = 8 / std::gcd(int64_t{8}, at_once);
  Block body;
  for (int64_t at = 0; at < near; ++at) {
    const Index first = Index::Variable(rows) * (at_once * near);
    const Index in_eight = thread_row + Index(at * at_once), row = first + in_eight;
    const Index column = Index::Variable(sixty_four) * depth + thread_column;
    const Index m = context_.FirstM() + row, n = FirstN() + Index(some.first) + column;
    const Index place = StagedBegin() + Index::Variable(sixty_four) * (unit.rows * depth) +
                        first * depth + StagedPlace(in_eight, thread_column);
    Block one;
    const Index to = OffsetOf(outputs_[0], m, n, &one);
    one.push_back({StoreElements{
        outputs_[0].pointer, to,
        MakeLoad(staging, place, {outputs_[0].type, static_cast<int>(width)}, 1), 1}});
    std::vector<Condition> conditions = Exists(m, n);
    if (unit.rows % (at_once * near) != 0) conditions.push_back(Less(row, Index(unit.rows)));
    if (some.count % depth != 0) conditions.push_back(Less(column, Index(some.count)));
    body.push_back(When(std::move(conditions), std::move(one)));
  }
  block->push_back(
      Unrolled(sixty_four, CeilDivide(some.count, depth),
               {Unrolled(rows, CeilDivide(unit.rows, at_once * near), std::move(body))}));
}

}  // namespace mdh
