#include "codegen/passes/pass_unroll.h"

#include <algorithm>
#include <set>
#include <string>

#include "codegen/passes/iterations.h"
#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

// What a block has once its unrolled loops are unrolled.
struct UnrolledSize {
  int64_t points = 0;  // of its loops
  bool has_rolled_loop = false;
  bool has_branch = false;
};

UnrolledSize SizeOf(const Block& block) {
  UnrolledSize size;
  const auto add = [&](const std::shared_ptr<const Block>& inner, int64_t times) {
    if (inner == nullptr) return;
    const UnrolledSize inside = SizeOf(*inner);
    size.points += times * inside.points;
    size.has_rolled_loop |= inside.has_rolled_loop;
    size.has_branch |= inside.has_branch;
  };
  for (const Statement& statement : block) {
    if (const auto* loop = std::get_if<For>(&statement.form)) {
      size.has_rolled_loop |= !loop->unroll;
      const UnrolledSize inside = SizeOf(*loop->body);
      size.has_rolled_loop |= inside.has_rolled_loop;
      size.has_branch |= inside.has_branch;
      if (loop->unroll)
        size.points += *KnownIterations(*loop) * std::max<int64_t>(1, inside.points);
    } else if (const auto* share = std::get_if<ShareLoop>(&statement.form)) {
      size.has_rolled_loop = true;
      add(share->body, 0);
    } else if (const auto* branch = std::get_if<If>(&statement.form)) {
      size.has_branch = true;
      add(branch->then_block, 1);
      add(branch->else_block, 1);
    } else if (const auto* branch = std::get_if<IfAny>(&statement.form)) {
      size.has_branch = true;
      add(branch->then_block, 1);
    } else if (const auto* region = std::get_if<CopyRegion>(&statement.form)) {
      add(region->body, 1);
    }
  }
  return size;
}

class Unroller : public Rewriter {
 public:
  explicit Unroller(const UnrollOptions& options) : options_(options) {}

  Block RewriteBlock(const Block& block) override {
    const std::set<std::string> before = private_arrays_;
    Block out = Rewriter::RewriteBlock(block);
    private_arrays_ = before;
    return out;
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    if (const auto* array = std::get_if<DeclareArray>(&statement.form)) {
      if (array->space == MemorySpace::kPrivate) private_arrays_.insert(array->name);
    }
    if (const auto* pointer = std::get_if<DeclarePointer>(&statement.form)) {
      if (private_arrays_.contains(pointer->base)) private_arrays_.insert(pointer->name);
    }
    const bool was_in_copy = in_copy_;
    in_copy_ |= std::holds_alternative<CopyRegion>(statement.form);
    Rewriter::RewriteStatement(statement, out);
    in_copy_ = was_in_copy;
    auto* loop = std::get_if<For>(&out.back().form);
    if (loop == nullptr || loop->unroll || !KnownIterations(*loop)) return;
    if (loop->unroll_by == 1) return;  // is to stay a loop
    const UnrolledSize inside = SizeOf(*loop->body);
    loop->unroll = !inside.has_rolled_loop && Points(*loop, inside) <= Limit(inside);
    loop->unroll |= options_.private_arrays && IndexesPrivateArray(*loop);
    // What would be unrolled if it had no branches, and were no copy.
    if (loop->unroll || inside.has_rolled_loop || Points(*loop, inside) > options_.points) return;
    loop->unroll_by = std::max<int64_t>(1, Limit(inside) / std::max<int64_t>(1, inside.points));
  }

 private:
  static int64_t Points(const For& loop, const UnrolledSize& inside) {
    return *KnownIterations(loop) * std::max<int64_t>(1, inside.points);
  }

  // Most points of an unrolled nest that has this inside.
  int64_t Limit(const UnrolledSize& inside) const {
    return inside.has_branch || in_copy_ ? std::min(options_.points, options_.branching_points)
                                         : options_.points;
  }

  // Whether an index of a private array declared around the loop depends on the loop's variable.
  bool IndexesPrivateArray(const For& loop) const {
    std::set<std::string> dependent = {loop.variable};
    const auto depends = [&](const Index& index) {
      bool result = false;
      index.VisitVariables([&](const std::string& v) { result |= dependent.contains(v); });
      return result;
    };
    bool found = false;
    const auto visit_value = [&](const ValueNode& node) {
      const auto* load = std::get_if<LoadElements>(&node.form);
      if (load == nullptr || !private_arrays_.contains(load->pointer)) return;
      found |= depends(load->offset);
    };
    const auto visit_statement = [&](const Statement& statement) {
      if (const auto* index = std::get_if<DeclareIndex>(&statement.form)) {
        if (depends(index->value)) dependent.insert(index->name);
      } else if (const auto* store = std::get_if<StoreElements>(&statement.form)) {
        found |= private_arrays_.contains(store->pointer) && depends(store->offset);
      } else if (const auto* pointer = std::get_if<DeclarePointer>(&statement.form)) {
        found |= private_arrays_.contains(pointer->base) && depends(pointer->offset);
      }
    };
    Visit(*loop.body, {.statement = visit_statement, .value = visit_value});
    return found;
  }

  const UnrollOptions& options_;
  bool in_copy_ = false;
  std::set<std::string> private_arrays_;  // in scope, and pointers into them
};

}  // namespace

LoopProgram Unroll(LoopProgram program, const UnrollOptions& options) {
  return RewriteBodies(std::move(program),
                       [&](const Block& body) { return Unroller(options).RewriteBlock(body); });
}

}  // namespace mdh
