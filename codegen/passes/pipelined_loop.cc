#include "codegen/passes/pipelined_loop.h"

#include <algorithm>
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

// The copies to the array, and the conditions of all branches.
struct CopiesTo {
  std::vector<AsyncCopy> copies;
  std::vector<Condition> conditions;
};
CopiesTo CopiesOf(const PipelinedLoop& loop, const std::string& array) {
  CopiesTo found;
  for (const Block& piece : loop.copies) {
    Visit(piece, {.statement = [&](const Statement& statement) {
            const auto* branch = StatementAs<If>(statement);
            const auto* copy = StatementAs<AsyncCopy>(statement);
            if (branch != nullptr) {
              found.conditions.insert(found.conditions.end(), branch->all_of.begin(),
                                      branch->all_of.end());
            }
            if (copy != nullptr && copy->target == array) found.copies.push_back(*copy);
          }});
  }
  return found;
}

}  // namespace

void ThreadIndices::Add(const Statement& statement) {
  if (const auto* hardware = StatementAs<HardwareIndex>(statement)) {
    const bool is_block = hardware->kind == HardwareIndex::Kind::kBlock;
    const auto& extents = is_block ? launch_.grid : launch_.block;
    Set(hardware->name, IndexRange{0, extents[hardware->axis] - 1}, is_block);
  } else if (const auto* index = StatementAs<DeclareIndex>(statement)) {
    Set(index->name, RangeOf(index->value, ranges_), IsUniform(index->value));
  }
}

void ThreadIndices::Set(const std::string& name, std::optional<IndexRange> range, bool is_uniform) {
  ranges_.erase(name);
  if (range) ranges_.emplace(name, *range);
  uniform_.erase(name);
  if (is_uniform) uniform_.insert(name);
}

bool ThreadIndices::IsUniform(const Index& index, const std::string& but_for) const {
  bool is_uniform = true;
  index.VisitVariables(
      [&](const std::string& name) { is_uniform &= name == but_for || uniform_.contains(name); });
  return is_uniform;
}

bool MayFill(const PipelinedLoop& loop, const std::string& array, int64_t elements,
             const ThreadIndices& known) {
  const auto [copies, conditions] = CopiesOf(loop, array);
  if (copies.empty()) return false;
  const Index first = copies[0].to;
  const int64_t lanes = copies[0].type.lanes;
  std::string thread;
  for (const IndexTerm& term : first.Sum().terms) {
    if (known.IsUniform(term.factor)) continue;
    if (!thread.empty() || !term.factor.IsVariable() || term.coefficient != lanes) return false;
    thread = term.factor.name();
  }
  const auto threads = known.ranges().find(thread);
  if (threads == known.ranges().end()) return false;
  for (const Condition& condition : conditions) {
    const bool is_of_thread = condition.flag.empty() && known.IsUniform(condition.a, thread) &&
                              known.IsUniform(condition.b, thread);
    if (!is_of_thread) return false;
  }
  std::vector<int64_t> begins;
  for (const AsyncCopy& copy : copies) {
    const std::optional<int64_t> further = ConstantDifference(copy.to, first);
    if (!further || copy.type.lanes != lanes) return false;
    begins.push_back(*further);
  }
  std::ranges::sort(begins);
  const int64_t reach = (threads->second.high - threads->second.low + 1) * lanes;
  for (size_t n = 1; n < begins.size(); ++n) {
    if (begins[n] - begins[n - 1] < reach) return false;
  }
  const auto lowest = RangeOf(first + Index(begins.front()), known.ranges());
  const auto highest = RangeOf(first + Index(begins.back() + lanes - 1), known.ranges());
  return lowest && highest && lowest->low >= 0 && highest->high < elements;
}

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
