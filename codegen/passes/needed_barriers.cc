#include "codegen/passes/needed_barriers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

// What threads do between two barriers, by the names of arrays and buffers.
struct Accesses {
  std::set<std::string> stored, loaded;

  void Add(const Accesses& other) {
    stored.insert(other.stored.begin(), other.stored.end());
    loaded.insert(other.loaded.begin(), other.loaded.end());
  }
};

bool Meet(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& name) { return b.contains(name); });
}

bool Conflict(const Accesses& a, const Accesses& b) {
  return Meet(a.stored, b.stored) || Meet(a.stored, b.loaded) || Meet(a.loaded, b.stored);
}

// Accesses and barriers of a body in the order in which threads come to them.
struct Event {
  Accesses accesses;
  const Statement* barrier = nullptr;  // or one that may be left out
};

// Runs through the body, that of the loop over chunks as often as told.
class EventList {
 public:
  EventList(const Block& body, const std::string& chunks, int iterations)
      : chunks_(chunks), iterations_(iterations) {
    Visit(body, {.statement = [&](const Statement& statement) {
            if (const auto* pointer = std::get_if<DeclarePointer>(&statement.form)) {
              bases_[pointer->name] = pointer->base;
            } else if (const auto* view = std::get_if<DeclareView>(&statement.form)) {
              bases_[view->name] = view->base;
            } else if (const auto* array = std::get_if<DeclareArray>(&statement.form)) {
              if (array->space == MemorySpace::kPrivate) private_.insert(array->name);
            } else if (const std::string* name = DeclaredName(statement)) {
              private_.insert(*name);  // a value of the thread
            }
          }});
    Add(body);
  }

  const std::vector<Event>& events() const { return events_; }

 private:
  void Add(const Block& block) {
    for (const Statement& statement : block) {
      const auto* branch = std::get_if<If>(&statement.form);
      const auto* loop = std::get_if<For>(&statement.form);
      if (std::holds_alternative<Barrier>(statement.form)) {
        events_.push_back({{}, &statement});
      } else if (branch != nullptr && branch->all_of.empty()) {
        Add(*branch->then_block);
      } else if (loop != nullptr && loop->variable == chunks_) {
        for (int n = 0; n < iterations_; ++n) Add(*loop->body);
      } else {
        events_.push_back({AccessesOf(statement), nullptr});
      }
    }
  }

  // What a statement does with memory whose name does not say whether it is stored to or loaded
  // from is both.
  Accesses AccessesOf(const Statement& statement) const {
    Accesses all;
    std::map<std::string, int> names, loads;
    const auto value = [&](const ValueNode& node) {
      if (const auto* load = std::get_if<LoadElements>(&node.form)) ++loads[load->pointer];
      if (const auto* load = std::get_if<LoadInside>(&node.form)) ++loads[load->pointer];
    };
    const auto visit = [&](const Statement& inside) {
      if (const auto* pointer = std::get_if<DeclarePointer>(&inside.form)) --names[pointer->base];
      if (const auto* view = std::get_if<DeclareView>(&inside.form)) --names[view->base];
      if (const auto* copy = std::get_if<CopyRegion>(&inside.form)) --names[copy->array];
      if (const auto* copy = std::get_if<AsyncCopy>(&inside.form)) ++loads[copy->source];
    };
    Visit({statement},
          {.statement = visit, .value = value, .name = [&](const auto& name) { ++names[name]; }});
    for (const auto& [name, uses] : names) {
      const std::string base = BaseOf(name);
      if (private_.contains(base) || uses == 0) continue;
      if (loads[name] > 0) all.loaded.insert(base);
      if (loads[name] < uses) all.stored.insert(base);
    }
    return all;
  }

  const std::string& BaseOf(const std::string& name) const {
    const auto found = bases_.find(name);
    return found == bases_.end() ? name : BaseOf(found->second);
  }

  const std::string& chunks_;
  const int iterations_;
  std::map<std::string, std::string> bases_;
  std::set<std::string> private_;
  std::vector<Event> events_;
};

// Adds to `needed` the barriers that these events need besides those.
void AddNeeded(const std::vector<Event>& events, std::set<const Statement*>* needed) {
  Accesses before, since;  // in front of `last`, and behind it; all behind the last needed one
  const Statement* last = nullptr;
  for (const Event& event : events) {
    if (event.barrier != nullptr) {
      before.Add(since);
      since = {};
      last = event.barrier;
      if (needed->contains(last)) before = {};
      continue;
    }
    if (last != nullptr && Conflict(before, event.accesses)) {
      needed->insert(last);
      before = {};
    }
    since.Add(event.accesses);
  }
}

class BarrierRewriter : public Rewriter {
 public:
  BarrierRewriter(const std::set<const Statement*>& needed, const std::string& chunks)
      : needed_(needed), chunks_(chunks) {}

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    if (std::holds_alternative<Barrier>(statement.form)) {
      if (is_inside_ || needed_.contains(&statement)) out.push_back(statement);
      return;
    }
    const auto* branch = std::get_if<If>(&statement.form);
    const auto* loop = std::get_if<For>(&statement.form);
    const bool before = is_inside_;
    is_inside_ |= !(branch != nullptr && branch->all_of.empty()) &&
                  !(loop != nullptr && loop->variable == chunks_);
    Rewriter::RewriteStatement(statement, out);
    is_inside_ = before;
  }

 private:
  const std::set<const Statement*>& needed_;
  const std::string& chunks_;
  bool is_inside_ = false;  // of what all threads need not come to, or come to again
};

}  // namespace

Block WithNeededBarriers(const Block& body, const std::string& chunks) {
  std::set<const Statement*> needed;
  for (size_t before = 1; before != needed.size();) {
    before = needed.size();
    for (const int iterations : {0, 1, 2, 3}) {
      AddNeeded(EventList(body, chunks, iterations).events(), &needed);
    }
  }
  return BarrierRewriter(needed, chunks).RewriteBlock(body);
}

}  // namespace mdh
