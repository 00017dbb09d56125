#include "codegen/backends/stage_on_part.h"

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/program/loop_program_walk.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

// Items that threads share go to the threads at hand: number `thread` of `threads`.
class ThreadRewriter : public Rewriter {
 public:
  ThreadRewriter(Index thread, int64_t threads) : thread_(std::move(thread)), threads_(threads) {}

 protected:
  Index RewriteIndex(const Index& index) override {
    switch (index.kind()) {
      case Index::Kind::kConstant:
        return index;
      case Index::Kind::kVariable:
        if (index.name() == "thread") return thread_;
        return index.name() == "threads" ? Index(threads_) : index;
      case Index::Kind::kShareBegin:
        return ShareBound(index.shared_items(), thread_);
      case Index::Kind::kShareEnd:
        return ShareBound(index.shared_items(), thread_ + Index(1));
      case Index::Kind::kMin:
        return Min(RewriteIndex(index.left()), RewriteIndex(index.right()));
      case Index::Kind::kXor:
        return RewriteIndex(index.left()) ^ RewriteIndex(index.right());
      default:
        return RewriteSum(index);
    }
  }

  void RewriteStatement(const Statement& statement, Block& out) override {
    if (std::holds_alternative<AwaitStages>(statement.form)) return;
    if (const auto* loop = std::get_if<ShareLoop>(&statement.form)) {
      out.push_back({For{loop->variable, thread_, Index(loop->items), threads_, false,
                         RewriteInner(loop->body)}});
      return;
    }
    Rewriter::RewriteStatement(statement, out);
    if (auto* branch = std::get_if<If>(&out.back().form)) DropCertain(branch);
  }

 private:
  Index ShareBound(int64_t items, const Index& thread) const { return thread * items / threads_; }

  Index RewriteSum(const Index& index) {
    const Index left = RewriteIndex(index.left()), right = RewriteIndex(index.right());
    if (left.IsSame(index.left()) && right.IsSame(index.right())) return index;
    switch (index.kind()) {
      case Index::Kind::kAdd:
        return left + right;
      case Index::Kind::kSub:
        return left - right;
      case Index::Kind::kMul:
        return left * right.constant();
      case Index::Kind::kDiv:
        return left / right.constant();
      default:
        return left % right.constant();
    }
  }

  // Conditions on the number of the only thread.
  static void DropCertain(If* branch) {
    std::erase_if(branch->all_of, [](const Condition& c) {
      return c.kind == Condition::Kind::kEqual && c.a.is_constant() && c.b.is_constant() &&
             c.a.constant() == c.b.constant();
    });
  }

  const Index thread_;
  const int64_t threads_;
};

// Digit of a number whose digits have these extents, the first one fastest.
Index Digit(const Index& number, const std::array<int64_t, 3>& extents, int axis) {
  Index digit = number;
  for (int a = 0; a < axis; ++a) digit = digit / extents[a];
  int64_t rest = 1;
  for (int a = axis + 1; a < 3; ++a) rest *= extents[a];
  return rest == 1 ? digit : digit % extents[axis];
}

class BlockRewriter : public ThreadRewriter {
 public:
  // `thread`: its number among `threads`, which share items.
  BlockRewriter(const Stage& stage, const BlockOfPart& block, Index thread, int64_t threads)
      : ThreadRewriter(std::move(thread), threads), launch_(stage.launch), block_(block) {}

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    const auto* index = std::get_if<HardwareIndex>(&statement.form);
    if (index == nullptr) return ThreadRewriter::RewriteStatement(statement, out);
    const bool is_block = index->kind == HardwareIndex::Kind::kBlock;
    const std::array<int64_t, 3>& extents = is_block ? launch_.grid : launch_.block;
    const Index number = Index::Variable(is_block ? block_.round : block_.thread);
    out.push_back({DeclareIndex{
        index->name, extents[index->axis] == 1 ? Index(0) : Digit(number, extents, index->axis)}});
  }

 private:
  const LaunchGeometry launch_;
  const BlockOfPart& block_;
};

struct StageNeeds {
  bool has_numbers = false, has_barriers = false, has_shuffles = false, waits_for_blocks = false;
};

StageNeeds NeedsOf(const Stage& stage) {
  StageNeeds needs;
  needs.waits_for_blocks = stage.cluster != Stage().cluster;
  const auto visit = [&](const Statement& statement) {
    const auto* index = std::get_if<HardwareIndex>(&statement.form);
    needs.has_numbers |= index != nullptr && index->kind == HardwareIndex::Kind::kThread;
    needs.has_barriers |= std::holds_alternative<Barrier>(statement.form);
    needs.waits_for_blocks |= std::holds_alternative<ClusterBarrier>(statement.form) ||
                              std::holds_alternative<DeclareLast>(statement.form);
  };
  const auto value = [&](const ValueNode& node) {
    needs.has_shuffles |= std::holds_alternative<ShuffleDown>(node.form) ||
                          std::holds_alternative<ShuffleUp>(node.form) ||
                          std::holds_alternative<ShuffleXor>(node.form);
  };
  Visit(stage.body, {.statement = visit, .value = value});
  return needs;
}

}  // namespace

Block OfOneThread(const Block& body) { return ThreadRewriter(Index(0), 1).RewriteBlock(body); }

int64_t NumberedThreads(const Stage& stage) {
  return NeedsOf(stage).has_numbers ? stage.launch.threads_per_block() : 1;
}

Result<Block> OfOneBlock(const Stage& stage, const BlockOfPart& block) {
  const StageNeeds needs = NeedsOf(stage);
  if (needs.waits_for_blocks) {
    return InvalidParameters(
        "joint_combine (a block computes its part alone): blocks that wait for each other");
  }
  const int64_t threads = stage.launch.threads_per_block();
  const bool has_others = needs.has_numbers || needs.has_barriers || needs.has_shuffles;
  const bool is_guarded = threads < block.threads && (has_others || threads == 1);
  const bool needs_all = needs.has_barriers || (needs.has_shuffles && threads % block.warp != 0);
  if (is_guarded && needs_all) {
    return InvalidParameters("joint_threads (threads of a block in all steps of a group): ",
                             threads, " < ", block.threads);
  }
  const auto [x, y, z] = stage.launch.grid;
  const int64_t rounds = x * y * z;
  const Index thread = Index::Variable(block.thread);
  // What only shares items does so among the threads at hand.
  if (!has_others && threads > 1) {
    return BlockRewriter(stage, block, thread, block.threads).RewriteBlock(stage.body);
  }
  const Index round = rounds == 1 ? Index(0) : Index::Variable(block.round);
  Block body = BlockRewriter(stage, block, round * threads + thread, rounds * threads)
                   .RewriteBlock(stage.body);
  if (is_guarded) {
    Block guarded;
    guarded.push_back({If{{{Condition::Kind::kLess, thread, Index(threads), ""}},
                          ShareBlock(std::move(body)),
                          nullptr}});
    body = std::move(guarded);
  }
  if (rounds == 1) return body;
  if (block.threads > 1) body.push_back({Barrier{/*of_device_memory=*/true}});
  Block loop;
  loop.push_back(
      {For{block.round, Index(0), Index(rounds), 1, false, ShareBlock(std::move(body))}});
  return loop;
}

void CollectDeviceOnly(const Block& body, std::set<std::string>* names) {
  std::map<std::string, std::string> bases;
  Visit(body, {.statement = [&](const Statement& statement) {
          if (const auto* s = std::get_if<DeclarePointer>(&statement.form)) {
            bases[s->name] = s->base;
          } else if (const auto* v = std::get_if<DeclareView>(&statement.form)) {
            bases[v->name] = v->base;
          } else if (const auto* copy = std::get_if<AsyncCopy>(&statement.form)) {
            names->insert(copy->source);
          } else if (const auto* add = std::get_if<AddElements>(&statement.form)) {
            names->insert(add->pointer);
          } else if (const auto* store = std::get_if<StoreElements>(&statement.form)) {
            if (store->is_streaming) names->insert(store->pointer);
          }
        }});
  for (size_t before = 0; before != names->size();) {
    before = names->size();
    for (const auto& [name, base] : bases) {
      if (names->contains(name)) names->insert(base);
    }
  }
}

}  // namespace mdh
