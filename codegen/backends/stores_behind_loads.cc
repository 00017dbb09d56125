#include "codegen/backends/stores_behind_loads.h"

#include <optional>
#include <utility>
#include <vector>

#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

// Registers of a thread that values wait in.
constexpr int64_t kMostWaiting = 64;

// Unrolled loops one inside of the other, with declarations in front of each, around one store.
struct StoreNest {
  std::vector<const For*> loops;
  std::vector<Block> declarations;  // in the body of each loop
  const StoreElements* store = nullptr;
  int64_t iterations = 1;
};

std::optional<StoreNest> NestOf(const Statement& statement) {
  StoreNest nest;
  for (const Statement* at = &statement;;) {
    const auto* loop = std::get_if<For>(&at->form);
    if (loop == nullptr) {
      nest.store = std::get_if<StoreElements>(&at->form);
      break;
    }
    const bool is_simple = loop->unroll && loop->begin.IsZero() && loop->end.is_constant() &&
                           loop->step == 1 && !loop->body->empty();
    if (!is_simple) return std::nullopt;
    nest.loops.push_back(loop);
    nest.iterations *= loop->end.constant();
    Block& before = nest.declarations.emplace_back();
    for (size_t n = 0; n + 1 < loop->body->size(); ++n) {
      const Statement& declaration = (*loop->body)[n];
      const auto* value = std::get_if<DeclareValue>(&declaration.form);
      const bool is_declared = std::holds_alternative<DeclareIndex>(declaration.form) ||
                               std::holds_alternative<Comment>(declaration.form) ||
                               (value != nullptr && !value->is_mutable);
      if (!is_declared) return std::nullopt;
      before.push_back(declaration);
    }
    at = &loop->body->back();
  }
  if (nest.loops.empty() || nest.store == nullptr || nest.store->is_streaming) return std::nullopt;
  const LoopValueType type = nest.store->value->type;
  if (type.lanes != 1 || IsStorageOnly(type.scalar)) return std::nullopt;
  if (nest.iterations < 2 || nest.iterations > kMostWaiting) return std::nullopt;
  return nest;
}

class StoreRewriter : public Rewriter {
 public:
  StoreRewriter(const std::set<std::string>& memory, NameAllocator* names)
      : memory_(memory), names_(*names) {}

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    const std::optional<StoreNest> nest = NestOf(statement);
    if (!nest || !memory_.contains(nest->store->pointer)) {
      return Rewriter::RewriteStatement(statement, out);
    }
    const StoreElements& store = *nest->store;
    const std::string waiting = names_.Unique("waiting");
    Index place(0);
    for (const For* loop : nest->loops) {
      place = place * loop->end.constant() + Index::Variable(loop->variable);
    }
    Block inside;
    inside.push_back(
        {DeclareArray{waiting, store.value->type.scalar, nest->iterations, MemorySpace::kPrivate}});
    inside.push_back(
        Around(*nest, /*has_values=*/true, {StoreElements{waiting, place, store.value, 1}}));
    inside.push_back(
        Around(*nest, /*has_values=*/false,
               {StoreElements{store.pointer, store.offset,
                              MakeLoad(waiting, place, store.value->type, 1), store.stride}}));
    out.push_back({If{{}, ShareBlock(std::move(inside)), nullptr}});
  }

 private:
  static Statement Around(const StoreNest& nest, bool has_values, Statement leaf) {
    for (size_t n = nest.loops.size(); n-- > 0;) {
      Block body;
      for (const Statement& declaration : nest.declarations[n]) {
        if (has_values || std::holds_alternative<DeclareIndex>(declaration.form)) {
          body.push_back(declaration);
        }
      }
      body.push_back(std::move(leaf));
      For loop = *nest.loops[n];
      loop.body = ShareBlock(std::move(body));
      leaf = {std::move(loop)};
    }
    return leaf;
  }

  const std::set<std::string>& memory_;
  NameAllocator& names_;
};

}  // namespace

Block StoresBehindLoads(const Block& body, const std::set<std::string>& memory,
                        NameAllocator* names) {
  return StoreRewriter(memory, names).RewriteBlock(body);
}

}  // namespace mdh
