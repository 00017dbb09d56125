// Copies of operands to scratch memory, as rows that begin where lines do, and on the way, where
// operands are converted, to what units take (core/decomposition/unit_plan.h).
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/finish/zero_results.h"
#include "codegen/lower/units/unit_copies.h"
#include "core/base/round.h"
#include "core/expression/dependences.h"

namespace mdh {

// Threads have a piece of the source each, convert it once if it is, and store it to every section.
int64_t UnitCopies::EmitPacking(LoopProgram* program, Block* block) {
  const UnitPlan& plan = context_.plan();
  const auto sections = static_cast<int64_t>(ProductsOfParts(plan.products).size());
  const int64_t piece = context_.piece_elements();
  const int64_t row_pieces = plan_.packed_points / (plan_.is_across ? 1 : sections) / piece;
  const int64_t rows = plan_.is_across ? plan.section_k : axis_.points;
  program->scratch.push_back({source_, element(), plan.packed_elements(is_a_), false});
  const std::string item = context_.names().Unique("item");
  // Neighbouring threads have neighbours in memory: in a row, or 8 rows at 4 pieces, so that what
  // they read and what they write are 32 bytes at least.
  const bool is_transposed = in_memory_.is_across != plan_.is_across;
  const int64_t near_rows = is_transposed ? 8 : 1, near_pieces = is_transposed ? 4 : row_pieces;
  const int64_t row_blocks = CeilDivide(rows, near_rows),
                piece_blocks = CeilDivide(row_pieces, near_pieces);
  const int64_t of_batch = row_blocks * piece_blocks * near_rows * near_pieces;
  const Index number = Index::Variable(item), block_number = number / (near_rows * near_pieces);
  const Index row = block_number % row_blocks * near_rows + number % near_rows;
  const Index in_pieces =
      block_number / row_blocks % piece_blocks * near_pieces + number / near_rows % near_pieces;
  const Index in_row = in_pieces * piece;
  Block body;
  const std::string batch = context_.names().Unique("batch");
  body.push_back({DeclareIndex{batch, number / of_batch}});
  const std::string values = EmitSource(Index::Variable(batch), row, in_row, &body);
  const std::vector<std::string> parts = EmitParts(values, &body);
  int64_t section = 0;
  for (const ProductOfParts& product : ProductsOfParts(plan.products)) {
    const Index first =
        plan_.is_across
            ? (Index::Variable(batch) * plan.k + row + Index(section * plan.section_k)) *
                  plan_.packed_row
            : (Index::Variable(batch) * rows + row) * plan_.packed_row +
                  Index(section * plan.section_k);
    const std::string& part = parts[static_cast<size_t>(is_a_ ? product.a : product.b)];
    const LoopValueType type{element(), static_cast<int>(piece)};
    body.push_back({StoreElements{source_, first + in_row, MakeLoad(part, Index(0), type, 1), 1}});
    ++section;
  }
  std::vector<Condition> exists;
  if (rows % near_rows != 0) exists.push_back(Less(row, Index(rows)));
  if (row_pieces % near_pieces != 0) exists.push_back(Less(in_pieces, Index(row_pieces)));
  if (!exists.empty()) body = {When(std::move(exists), std::move(body))};
  const int64_t items = plan.batches * of_batch;
  block->push_back({ShareLoop{item, items, ShareBlock(std::move(body))}});
  return items;
}

// A piece's values: the name of an array.
std::string UnitCopies::EmitSource(const Index& batch, const Index& row, const Index& in_row,
                                   Block* block) {
  const UnitPlan& plan = context_.plan();
  const int64_t piece = context_.piece_elements();
  const int64_t points_k = PointsAlong(context_.expression(), plan.form.k);
  const auto sections = static_cast<int64_t>(ProductsOfParts(plan.products).size());
  UnitContext::Point point(context_.expression().rank(), Index(0));
  context_.SetPoint(context_.Batches(), batch, "batch", &point, block);
  const auto exists = [&](const Index& own, const Index& along_k) {
    std::vector<Condition> conditions;
    if (plan_.is_across && axis_.points != plan_.packed_points) {
      conditions.push_back(Less(own, Index(axis_.points)));
    }
    if (points_k != (plan_.is_across ? plan.section_k : plan_.packed_points / sections)) {
      conditions.push_back(Less(along_k, Index(points_k)));
    }
    return conditions;
  };
  if (in_memory_.is_made) {
    const UnitValues::Neighbours neighbours{plan_.is_across ? in_row : row,
                                            plan_.is_across ? row : in_row, plan_.is_across, piece};
    const auto loaded = values_.Declare(piece, plan_.is_across, block);
    values_.EmitLoads(loaded, neighbours, point, exists, block);
    return values_.EmitValues(loaded, neighbours, point, exists, block);
  }
  const std::string values = context_.names().Unique("values");
  block->push_back({DeclareArray{values, plan_.held, piece, MemorySpace::kPrivate}});
  // Neighbours in memory, if they are some of the piece, too.
  const int width = in_memory_.is_across == plan_.is_across ? in_memory_.width : 1;
  for (int64_t at = 0; at < piece; at += width) {
    const Index own = plan_.is_across ? in_row + Index(at) : row;
    const Index along_k = plan_.is_across ? row : in_row + Index(at);
    std::vector<Condition> conditions = exists(own, along_k);
    for (Condition& inside : Inside(own, along_k, point, block)) {
      conditions.push_back(std::move(inside));
    }
    const Index from = At(offset_.kept, point) +
                       context_.Along(axis_, offset_.kept, own, input_ + "_point", block) +
                       context_.Along(context_.k(), offset_.reduced, along_k, input_ + "_k", block);
    UnitValues::EmitElements({plan_.held, width}, input_, from, values, Index(at),
                             std::move(conditions), block);
  }
  return values;
}

// What the values become: names of arrays, that of the largest parts first.
std::vector<std::string> UnitCopies::EmitParts(const std::string& values, Block* block) const {
  const UnitPlan& plan = context_.plan();
  const int64_t piece = context_.piece_elements();
  if (!plan.has_parts()) {
    if (plan.is_converted()) block->push_back({RoundToTf32{{values, Index(0)}, piece}});
    return {values};
  }
  std::vector<std::string> parts;
  for (int part = 0; part < PartsOf(plan.products); ++part) {
    parts.push_back(context_.names().Unique(absl::StrCat(values, "_part")));
    block->push_back({DeclareArray{parts.back(), element(), piece, MemorySpace::kPrivate}});
    const std::string at = context_.names().Unique("at");
    const Index one = Index::Variable(at);
    const auto left = [&] { return MakeLoad(values, one, {plan_.held, 1}, 1); };
    Block body = {{StoreElements{parts.back(), one, StoredValue(left(), element()), 1}}};
    if (part + 1 < PartsOf(plan.products)) {
      LoopValue taken = LoadValue(parts.back(), one, {element(), 1}, 1);
      body.push_back({StoreElements{
          values, one, MakeOperation(ScalarOp::kSub, plan_.held, {left(), std::move(taken)}), 1}});
    }
    block->push_back(Unrolled(at, piece, std::move(body)));
  }
  return parts;
}

void AppendPacking(const std::vector<UnitCopies*>& operands, LoopProgram* program) {
  Stage stage{"Operands as rows that begin where lines of caches do.", {}};
  int64_t pieces = 0;
  for (UnitCopies* copies : operands) {
    if (!copies->is_packed() || copies->is_packed_as_a()) continue;
    pieces = std::max(pieces, copies->EmitPacking(program, &stage.body));
  }
  if (pieces == 0) return;
  stage.launch = LaunchForItems(pieces);
  program->stages.push_back(std::move(stage));
}

}  // namespace mdh
