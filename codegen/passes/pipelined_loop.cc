#include "codegen/passes/pipelined_loop.h"

#include <utility>

#include "codegen/passes/copy_ahead.h"
#include "codegen/passes/iterations.h"
#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

// Copies as pieces that can begin at different times: iterations of unrolled loops.
std::vector<Block> Pieces(const Block& copies) {
  std::vector<Block> pieces;
  Block indices;  // that all behind them may use
  for (const Statement& statement : copies) {
    const For* loop = StatementAs<For>(statement);
    if (IsPassive(statement)) {
      indices.push_back(statement);
    } else if (loop != nullptr && loop->unroll) {
      for (int64_t n = 0; n < *KnownIterations(*loop); ++n) {
        Block piece = indices;
        Append(AtPart(*loop->body, loop->variable, loop->begin + Index(n * loop->step)), &piece);
        pieces.push_back(std::move(piece));
      }
    } else {
      Block piece = indices;
      piece.push_back(statement);
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

}  // namespace

std::optional<PipelinedLoop> TakeApart(const For& loop) {
  if (loop.unroll) return std::nullopt;
  PipelinedLoop parts;
  Block copies;
  enum { kPlace, kWait, kBarrier, kCopies, kPoints, kEnd } at = kPlace;
  for (const Statement& statement : *loop.body) {
    if (StatementAs<Comment>(statement) != nullptr && at != kPoints) continue;
    if (at == kPlace && StatementAs<DeclareIndex>(statement) != nullptr) {
      parts.place = *StatementAs<DeclareIndex>(statement);
      at = kWait;
    } else if (at == kWait && StatementAs<WaitForCopies>(statement) != nullptr) {
      parts.wait = *StatementAs<WaitForCopies>(statement);
      at = kBarrier;
    } else if (at == kBarrier && StatementAs<Barrier>(statement) != nullptr) {
      at = kCopies;
    } else if (at == kCopies) {
      if (StatementAs<CommitCopies>(statement) != nullptr) {
        at = kPoints;
      } else {
        copies.push_back(statement);
      }
    } else if (at == kPoints && IsPassive(statement)) {
      parts.passive.push_back(statement);
    } else if (at == kPoints && StatementAs<For>(statement) != nullptr &&
               StatementAs<For>(statement)->unroll) {
      parts.points = *StatementAs<For>(statement);
      at = kEnd;
    } else {
      return std::nullopt;
    }
  }
  if (at != kEnd || *KnownIterations(parts.points) < 2) return std::nullopt;
  const If* branch = copies.size() == 1 ? StatementAs<If>(copies[0]) : nullptr;
  if (branch != nullptr && branch->else_block == nullptr) {
    parts.if_exists = branch->all_of;
    copies = Block(*branch->then_block);
  }
  parts.copies = Pieces(copies);
  Visit(copies, {.statement = [&](const Statement& statement) {
          if (const auto* copy = StatementAs<AsyncCopy>(statement))
            parts.arrays.insert(copy->target);
        }});
  return parts;
}

}  // namespace mdh
