#include "codegen/backends/row_lanes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

class LaneRewriter : public Rewriter {
 public:
  LaneRewriter(const std::string& thread, int64_t lanes, const std::string& lane, int64_t apart)
      : own_lane_(Index::Variable(thread) % lanes), lanes_(lanes), lane_(lane), apart_(apart) {}

 protected:
  LoopValue RewriteValue(const LoopValue& value) override {
    const LoopValue inside = Rewriter::RewriteValue(value);
    const auto* shuffle = std::get_if<ShuffleDown>(&inside->form);
    if (shuffle == nullptr || shuffle->width != lanes_) return inside;
    const int apart = static_cast<int>(apart_);
    return MakeShuffleXor(shuffle->value, shuffle->distance * apart, shuffle->width * apart);
  }

  void RewriteStatement(const Statement& statement, Block& out) override {
    Rewriter::RewriteStatement(statement, out);
    if (const auto* index = std::get_if<DeclareIndex>(&statement.form)) {
      if (index->value == own_lane_) names_.insert(index->name);
    } else if (auto* branch = std::get_if<If>(&out.back().form)) {
      for (Condition& condition : branch->all_of) {
        const bool is_first = condition.kind == Condition::Kind::kEqual && condition.b.IsZero() &&
                              condition.a.IsVariable() && names_.contains(condition.a.name());
        if (is_first) condition = IsZero(Index::Variable(lane_));
      }
    }
  }

 private:
  const Index own_lane_;
  const int64_t lanes_;
  const std::string lane_;
  const int64_t apart_;          // numbers of threads from lane to lane
  std::set<std::string> names_;  // index variables that are the lane
};

}  // namespace

int64_t LanesOfRows(absl::Span<const Stage* const> stages) {
  constexpr int64_t kMost = 32;
  if (stages.empty()) return 1;
  const auto [lanes, rows, others] = stages[0]->launch.block;
  const bool are_equal = std::ranges::all_of(stages, [&](const Stage* stage) {
    return stage->launch.block == stages[0]->launch.block &&
           stage->launch.grid == LaunchGeometry().grid;
  });
  const bool are_rows = rows > 1 && others == 1 && lanes <= kMost;
  return are_equal && are_rows ? lanes : 1;
}

bool ShufflesAreOfLanes(absl::Span<const Stage* const> stages, int64_t lanes) {
  bool all = true;
  for (const Stage* stage : stages) {
    Visit(stage->body, {.value = [&](const ValueNode& node) {
            const auto* shuffle = std::get_if<ShuffleDown>(&node.form);
            all &= shuffle == nullptr || shuffle->width == lanes;
            all &= !std::holds_alternative<ShuffleUp>(node.form) &&
                   !std::holds_alternative<ShuffleXor>(node.form);
          }});
  }
  return all;
}

Index InTurns(const Index& thread, int64_t lanes) {
  return thread / 2 % lanes + (thread % 2 + thread / (2 * lanes) * 2) * lanes;
}

Block WithResultsInAllLanes(const Block& body, const std::string& thread, int64_t lanes,
                            const std::string& lane, bool in_turns) {
  bool has_shuffles = false;
  Visit(body, {.value = [&](const ValueNode& node) {
          const auto* shuffle = std::get_if<ShuffleDown>(&node.form);
          has_shuffles |= shuffle != nullptr && shuffle->width == lanes;
        }});
  if (!has_shuffles) return body;
  return LaneRewriter(thread, lanes, lane, in_turns ? 2 : 1).RewriteBlock(body);
}

Result<Block> OfRows(const Stage& stage, BlockOfPart block, int64_t lanes, const std::string& row) {
  Block body;
  body.push_back({DeclareIndex{row, Index::Variable(block.thread) / lanes}});
  block.thread = row;
  block.threads /= lanes;
  MDH_ASSIGN_OR_RETURN(Block inside, OfOneBlock(stage, block));
  Append(std::move(inside), &body);
  return body;
}

}  // namespace mdh
