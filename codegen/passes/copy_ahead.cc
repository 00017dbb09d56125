#include "codegen/passes/copy_ahead.h"

#include <algorithm>

namespace mdh {
namespace {

int CountUses(const Block& block, const std::string& name) {
  int uses = 0;
  Visit(block, {.name = [&](const std::string& used) { uses += used == name ? 1 : 0; }});
  return uses;
}

// What the statement stores to; nullptr if it is no store.
const std::string* StoredBy(const Statement& statement) {
  if (const auto* store = std::get_if<StoreElements>(&statement.form)) return &store->pointer;
  if (const auto* add = std::get_if<AddElements>(&statement.form)) return &add->pointer;
  if (const auto* copy = std::get_if<AsyncCopy>(&statement.form)) return &copy->target;
  return nullptr;
}

// Arrays and pointers that the block stores to.
std::set<std::string> StoredIn(const Block& block) {
  std::set<std::string> stored;
  Visit(block, {.statement = [&](const Statement& statement) {
          if (const std::string* name = StoredBy(statement)) stored.insert(*name);
        }});
  return stored;
}

int CountStores(const Block& block, const std::string& array) {
  int stores = 0;
  Visit(block, {.statement = [&](const Statement& statement) {
          const std::string* name = StoredBy(statement);
          stores += name != nullptr && *name == array ? 1 : 0;
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

CopyRegion WithIndices(const CopyRegion& region, const Block& body) {
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
  CopyRegion result = region;
  result.body = std::make_shared<const Block>(ReplaceVariables(*region.body, value_of));
  return result;
}

// Whether the region uses nothing that the loop declares or writes.
bool StandsAlone(const CopyRegion& region, const For& loop) {
  std::set<std::string> own, used, changed = StoredIn(*loop.body);
  CollectDeclaredNames(*region.body, own);
  CollectUsedNames(*region.body, used);
  CollectDeclaredNames(*loop.body, changed);
  changed.erase(region.array);
  changed.erase(loop.variable);
  return std::ranges::none_of(
      used, [&](const std::string& name) { return changed.contains(name) && !own.contains(name); });
}

}  // namespace

std::map<std::string, DeclareArray> ArraysIn(const Block& body) {
  std::map<std::string, DeclareArray> arrays;
  Visit(body, {.statement = [&](const Statement& statement) {
          const auto* array = std::get_if<DeclareArray>(&statement.form);
          if (array != nullptr) arrays.insert_or_assign(array->name, *array);
        }});
  return arrays;
}

LoopPipeliner::LoopPipeliner(const Block& body) : body_(body), arrays_(ArraysIn(body)) {
  ReserveNamesIn(body, names_);
}

Block LoopPipeliner::Rewrite() {
  Block out = RewriteBlock(body_);
  for (Statement& statement : out) {
    auto* array = std::get_if<DeclareArray>(&statement.form);
    if (array == nullptr) continue;
    const auto parts = parts_.find(array->name);
    if (parts != parts_.end()) array->elements *= parts->second;
  }
  return out;
}

void LoopPipeliner::RewriteStatement(const Statement& statement, Block& out) {
  Rewriter::RewriteStatement(statement, out);
  const auto* loop = std::get_if<For>(&out.back().form);
  if (loop == nullptr) return;
  Block pipeline = Pipelined(*loop);
  if (pipeline.empty()) return;
  out.pop_back();
  Append(std::move(pipeline), &out);
}

std::optional<CopyRegion> CopyAhead(const CopyRegion& region, const For& loop, const Block& program,
                                    const std::map<std::string, DeclareArray>& arrays) {
  const std::string& array = region.array;
  const auto declared = arrays.find(array);
  if (declared == arrays.end() || declared->second.space != MemorySpace::kShared) {
    return std::nullopt;
  }
  if (IsPointedInto(program, array)) return std::nullopt;
  const int stores = CountStores(*region.body, array);  // and no loads
  if (stores != CountUses(*region.body, array) || stores != CountStores(*loop.body, array)) {
    return std::nullopt;
  }
  CopyRegion ahead = WithIndices(region, *loop.body);
  if (!StandsAlone(ahead, loop)) return std::nullopt;
  return ahead;
}

bool IsPassive(const Statement& statement) {
  return std::holds_alternative<Comment>(statement.form) ||
         std::holds_alternative<DeclareIndex>(statement.form);
}

Block WithoutRegions(const Block& body, const std::set<std::string>& arrays) {
  Block rest;
  bool is_waiting = false;  // for what comes before the next barrier
  for (size_t s = 0; s + 1 < body.size(); ++s) {
    const Statement& statement = body[s];
    const auto* region = std::get_if<CopyRegion>(&statement.form);
    if (region != nullptr && arrays.contains(region->array)) {
      while (!rest.empty() && std::holds_alternative<Comment>(rest.back().form)) {
        rest.pop_back();  // it spoke of the region
      }
      continue;
    }
    const bool is_barrier = std::holds_alternative<Barrier>(statement.form);
    if (is_barrier && !is_waiting) continue;
    is_waiting = !is_barrier && (is_waiting || !IsPassive(statement));
    rest.push_back(statement);
  }
  if (!is_waiting && !rest.empty() && std::holds_alternative<Barrier>(rest.back().form)) {
    rest.pop_back();
  }
  return rest;
}

Block AtPart(const Block& block, const std::string& variable, const Index& value) {
  return ReplaceVariables(block, [&](const std::string& name) -> std::optional<Index> {
    if (name == variable) return value;
    return std::nullopt;
  });
}

Block WithOwnNames(const Block& block, NameAllocator& names) {
  std::set<std::string> declared;
  CollectDeclaredNames(block, declared);
  std::map<std::string, std::string> renamed;
  for (const std::string& name : declared) renamed[name] = names.Unique(name);
  return RenameAll(block, renamed);
}

LoopValue PartSelector::RewriteValue(const LoopValue& value) {
  const auto* load = std::get_if<LoadElements>(&value->form);
  if (load == nullptr) return Rewriter::RewriteValue(value);
  const auto array = elements_.find(load->pointer);
  if (array == elements_.end()) return value;
  return MakeLoad(load->pointer, load->offset + part_ * array->second, value->type, load->stride,
                  load->off);
}

}  // namespace mdh
