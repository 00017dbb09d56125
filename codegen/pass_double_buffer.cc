#include "codegen/pass_double_buffer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/loop_program_walk.h"
#include "codegen/prefetch_region.h"
#include "codegen/scalar_code.h"
#include "core/status.h"

namespace mdh {
namespace {

using Regions = std::map<std::string, CopyRegion>;  // by array

int CountUses(const Block& block, const std::string& name) {
  int uses = 0;
  Visit(block, {.name = [&](const std::string& used) { uses += used == name ? 1 : 0; }});
  return uses;
}

// Arrays and pointers that the block stores to.
std::set<std::string> StoredIn(const Block& block) {
  std::set<std::string> stored;
  Visit(block, {.statement = [&](const Statement& statement) {
          if (const auto* store = std::get_if<StoreElements>(&statement.form)) {
            stored.insert(store->pointer);
          }
          if (const auto* add = std::get_if<AddElements>(&statement.form)) {
            stored.insert(add->pointer);
          }
        }});
  return stored;
}

int CountStores(const Block& block, const std::string& array) {
  int stores = 0;
  Visit(block, {.statement = [&](const Statement& statement) {
          const auto* store = std::get_if<StoreElements>(&statement.form);
          stores += store != nullptr && store->pointer == array ? 1 : 0;
        }});
  return stores;
}

bool IsPointedInto(const Block& block, const std::string& array) {
  bool found = false;
  Visit(block, {.statement = [&](const Statement& statement) {
          const auto* pointer = std::get_if<DeclarePointer>(&statement.form);
          const auto* view = std::get_if<DeclareView>(&statement.form);
          found |= (pointer != nullptr && pointer->base == array) ||
                   (view != nullptr && view->base == array);
        }});
  return found;
}

bool HasTwoIterations(const For& loop) {
  return loop.begin.is_constant() && loop.end.is_constant() && !loop.unroll &&
         loop.end.constant() - loop.begin.constant() >
             (loop.whole_steps ? 2 * loop.step - 1 : loop.step);
}

// Loads from `array` are from its half `half` of `elements`.
class HalfSelector : public Rewriter {
 public:
  HalfSelector(const std::map<std::string, int64_t>& elements, const Index& half)
      : elements_(elements), half_(half) {}

 protected:
  LoopValue RewriteValue(const LoopValue& value) override {
    const auto* load = std::get_if<LoadElements>(&value->form);
    if (load == nullptr) return Rewriter::RewriteValue(value);
    const auto array = elements_.find(load->pointer);
    if (array == elements_.end()) return value;
    return MakeLoad(load->pointer, load->offset + half_ * array->second, value->type, load->stride);
  }

 private:
  const std::map<std::string, int64_t>& elements_;
  const Index& half_;
};

class DoubleBufferer : public Rewriter {
 public:
  DoubleBufferer(const Block& body, const DoubleBufferOptions& options)
      : body_(body), options_(options) {
    std::set<std::string> names;
    CollectDeclaredNames(body, names);
    CollectUsedNames(body, names);
    for (const std::string& name : names) names_.Reserve(name);
    Visit(body, {.statement = [&](const Statement& statement) {
            const auto* array = std::get_if<DeclareArray>(&statement.form);
            if (array != nullptr) arrays_.insert_or_assign(array->name, *array);
          }});
  }

  // The body with the arrays that have become larger.
  Block Rewrite() {
    Block out = RewriteBlock(body_);
    for (Statement& statement : out) {
      auto* array = std::get_if<DeclareArray>(&statement.form);
      if (array != nullptr && doubled_.contains(array->name)) array->elements *= 2;
    }
    return out;
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    Rewriter::RewriteStatement(statement, out);  // loops inside first
    if (!std::holds_alternative<For>(out.back().form)) return;
    const For loop = std::get<For>(out.back().form);
    const Regions regions = RegionsToPrefetch(loop);
    if (regions.empty()) return;
    out.pop_back();
    Pipeline(loop, regions, out);
  }

 private:
  Regions RegionsToPrefetch(const For& loop) const {
    const bool ends_with_barrier =
        !loop.body->empty() && std::holds_alternative<Barrier>(loop.body->back().form);
    if (!HasTwoIterations(loop) || !ends_with_barrier) return {};
    Regions regions;
    int64_t bytes = 0;
    for (const Statement& statement : *loop.body) {
      const auto* region = std::get_if<CopyRegion>(&statement.form);
      if (region == nullptr || region->stages != 2 || !CanPrefetch(*region, loop)) continue;
      const CopyRegion inlined = WithIndices(*region, *loop.body);
      const std::optional<int64_t> elements = PrefetchedElements(inlined);
      if (!elements.has_value() || !StandsAlone(inlined, loop)) continue;
      bytes += *elements * SizeBytes(arrays_.at(region->array).type);
      if (bytes > options_.private_bytes) return {};
      regions.insert_or_assign(region->array, inlined);
    }
    return regions;
  }

  bool CanPrefetch(const CopyRegion& region, const For& loop) const {
    const std::string& array = region.array;
    const auto declared = arrays_.find(array);
    if (declared == arrays_.end() || declared->second.space != MemorySpace::kShared) return false;
    if (IsPointedInto(body_, array)) return false;
    const int stores = CountStores(*region.body, array);  // and no loads
    return stores == CountUses(*region.body, array) && stores == CountStores(*loop.body, array);
  }

  // Index variables of the loop's body replaced by their values, so that the region depends on
  // nothing in the body but the loop's variable.
  static CopyRegion WithIndices(const CopyRegion& region, const Block& body) {
    std::map<std::string, Index> values;
    const auto value_of = [&](const std::string& name) -> std::optional<Index> {
      const auto found = values.find(name);
      if (found == values.end()) return std::nullopt;
      return found->second;
    };
    for (const Statement& statement : body) {
      const auto* index = std::get_if<DeclareIndex>(&statement.form);
      if (index != nullptr) values.insert_or_assign(index->name, index->value.Replace(value_of));
    }
    return {region.array, region.stages,
            std::make_shared<const Block>(ReplaceVariables(*region.body, value_of))};
  }

  // Whether the region uses nothing that the loop declares or writes.
  static bool StandsAlone(const CopyRegion& region, const For& loop) {
    std::set<std::string> own, used, changed = StoredIn(*loop.body);
    CollectDeclaredNames(*region.body, own);
    CollectUsedNames(*region.body, used);
    CollectDeclaredNames(*loop.body, changed);
    changed.erase(region.array);
    changed.erase(loop.variable);
    return std::none_of(used.begin(), used.end(), [&](const std::string& name) {
      return changed.contains(name) && !own.contains(name);
    });
  }

  void Pipeline(const For& loop, const Regions& regions, Block& out) {
    const Index v = Index::Variable(loop.variable), next = v + Index(loop.step);
    const std::string half = names_.Unique(loop.variable + "_half");
    std::map<std::string, int64_t> elements;
    Block loads, stores;
    Block body = {{DeclareIndex{half, (v - loop.begin) / loop.step % 2}}};
    out.push_back({Comment{absl::StrCat("Copies for the first ", loop.variable, ".")}});
    for (const auto& entry : regions) {
      const std::string& array = entry.first;
      const DeclareArray& declared = arrays_.at(array);
      elements[array] = declared.elements;
      doubled_.insert(array);
      const std::string carrier = names_.Unique(array + "_next");
      const Prefetch prefetch = MakePrefetch(
          entry.second, carrier, (Index(1) - Index::Variable(half)) * declared.elements, names_);
      body.push_back(
          {DeclareArray{carrier, declared.type, prefetch.elements, MemorySpace::kPrivate}});
      AppendAt(prefetch.copy, loop.variable, loop.begin, out);
      AppendAt(prefetch.load, loop.variable, next, loads);
      AppendAt(prefetch.store, loop.variable, next, stores);
    }
    out.push_back({Barrier{}});
    const Condition has_next{Condition::Kind::kLess,
                             loop.whole_steps ? next + Index(loop.step - 1) : next, loop.end, ""};
    body.push_back({Comment{
        absl::StrCat("Load for the next ", loop.variable, " while this one is computed.")}});
    body.push_back({If{{has_next}, std::make_shared<const Block>(std::move(loads)), nullptr}});
    const Index at_half = Index::Variable(half);
    Block computation = HalfSelector(elements, at_half).RewriteBlock(Computation(loop, regions));
    body.insert(body.end(), computation.begin(), computation.end());
    body.push_back({If{{has_next}, std::make_shared<const Block>(std::move(stores)), nullptr}});
    body.push_back({Barrier{}});
    out.push_back({For{loop.variable, loop.begin, loop.end, loop.step, loop.whole_steps,
                       std::make_shared<const Block>(std::move(body)), loop.unroll}});
  }

  static void AppendAt(const Block& block, const std::string& variable, const Index& value,
                       Block& out) {
    Block at = ReplaceVariables(block, [&](const std::string& name) -> std::optional<Index> {
      if (name == variable) return value;
      return std::nullopt;
    });
    out.insert(out.end(), at.begin(), at.end());
  }

  // The loop's body without the regions, the barriers that waited for nothing else, and the last
  // barrier.
  static Block Computation(const For& loop, const Regions& regions) {
    Block computation;
    bool is_waiting = false;  // for what comes before the next barrier
    for (size_t s = 0; s + 1 < loop.body->size(); ++s) {
      const Statement& statement = (*loop.body)[s];
      const auto* region = std::get_if<CopyRegion>(&statement.form);
      if (region != nullptr && regions.contains(region->array)) {
        while (!computation.empty() && std::holds_alternative<Comment>(computation.back().form)) {
          computation.pop_back();  // it spoke of the region
        }
        continue;
      }
      const bool is_barrier = std::holds_alternative<Barrier>(statement.form);
      if (is_barrier && !is_waiting) continue;
      const bool is_passive = std::holds_alternative<Comment>(statement.form) ||
                              std::holds_alternative<DeclareIndex>(statement.form);
      is_waiting = !is_barrier && (is_waiting || !is_passive);
      computation.push_back(statement);
    }
    if (!is_waiting && !computation.empty() &&
        std::holds_alternative<Barrier>(computation.back().form)) {
      computation.pop_back();
    }
    return computation;
  }

  const Block& body_;
  const DoubleBufferOptions& options_;
  NameAllocator names_;
  std::map<std::string, DeclareArray> arrays_;
  std::set<std::string> doubled_;
};

}  // namespace

LoopProgram DoubleBuffer(LoopProgram program, const DoubleBufferOptions& options) {
  for (Stage& stage : program.stages) stage.body = DoubleBufferer(stage.body, options).Rewrite();
  return program;
}

}  // namespace mdh
