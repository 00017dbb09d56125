#include "codegen/passes/pass_hoist_guards.h"

#include <algorithm>

#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

// The branch that a block consists of but for comments, if it has no other one; else nullptr.
const If* OnlyBranch(const Block& block) {
  const If* branch = nullptr;
  for (const Statement& statement : block) {
    if (std::holds_alternative<Comment>(statement.form)) continue;
    if (branch != nullptr) return nullptr;
    branch = std::get_if<If>(&statement.form);
    if (branch == nullptr || branch->else_block != nullptr) return nullptr;
  }
  return branch;
}

// The block with the statements of its only branch in the branch's place.
Block WithoutBranch(const Block& block) {
  Block out;
  for (const Statement& statement : block) {
    const If* branch = std::get_if<If>(&statement.form);
    if (branch == nullptr) {
      out.push_back(statement);
    } else {
      out.insert(out.end(), branch->then_block->begin(), branch->then_block->end());
    }
  }
  return out;
}

std::shared_ptr<const Block> Share(Block block) {
  return std::make_shared<const Block>(std::move(block));
}

class GuardHoister : public Rewriter {
 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    const auto* source = std::get_if<For>(&statement.form);
    if (source == nullptr) return Rewriter::RewriteStatement(statement, out);
    For loop = *source;
    loop.body = RewriteInner(source->body);
    const If* branch = OnlyBranch(*loop.body);
    if (branch == nullptr) return out.push_back({std::move(loop)});
    std::vector<Condition> around, inside;
    for (const Condition& condition : branch->all_of) {
      (DependsOn(condition, loop.variable) ? inside : around).push_back(condition);
    }
    if (around.empty()) return out.push_back({std::move(loop)});
    Block body = WithoutBranch(*loop.body);
    if (!inside.empty()) {
      Block guarded;
      guarded.push_back({If{std::move(inside), Share(std::move(body)), nullptr}});
      body = std::move(guarded);
    }
    loop.body = Share(std::move(body));
    Block hoisted;
    hoisted.push_back({std::move(loop)});
    out.push_back({If{std::move(around), Share(std::move(hoisted)), nullptr}});
  }

 private:
  // Flags may change in the loop.
  static bool DependsOn(const Condition& condition, const std::string& variable) {
    return !condition.flag.empty() || condition.a.Uses(variable) || condition.b.Uses(variable);
  }
};

}  // namespace

LoopProgram HoistGuards(LoopProgram program) {
  return RewriteBodies(std::move(program),
                       [](const Block& body) { return GuardHoister().RewriteBlock(body); });
}

}  // namespace mdh
