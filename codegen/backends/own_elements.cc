#include "codegen/backends/own_elements.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/program/loop_program_walk.h"

namespace mdh {
namespace {

// Registers of a thread that elements of one array may take, and those of all.
constexpr int64_t kMostOfArray = 64;
constexpr int64_t kMostOfAll = 256;

// Where a thread has an element, as a function of its number and of loops around.
struct OwnPlace {
  std::string key;       // says which function; equal ones are equal
  Index place{0};        // in an array of the thread's own elements
  int64_t elements = 1;  // of that
  std::vector<std::string> loops = {};
};

// Whether `loop` sets all elements of an array to a literal, by all threads of the block.
const StoreElements* FilledBy(const For& loop, const ThreadsOfBody& who) {
  const bool runs_through = loop.begin == Index::Variable(who.thread) && loop.end.is_constant() &&
                            loop.step == who.threads && loop.body->size() == 1;
  if (!runs_through) return nullptr;
  const auto* store = std::get_if<StoreElements>(&loop.body->front().form);
  const bool fills = store != nullptr && std::holds_alternative<Literal>(store->value->form) &&
                     store->value->type.lanes == 1 &&
                     store->offset == Index::Variable(loop.variable);
  return fills ? store : nullptr;
}

// Walks over the body and knows what index variables stand for.
class ElementWalk : public Rewriter {
 public:
  explicit ElementWalk(const ThreadsOfBody& who) : who_(who) {}

  Block RewriteBlock(const Block& block) override {
    const std::map<std::string, Index> before = defined_;
    Block out = Rewriter::RewriteBlock(block);
    defined_ = before;
    return out;
  }

 protected:
  virtual void RewriteFill(const For& loop, const StoreElements& store, Block& out) = 0;
  virtual void RewriteLoop(const For& loop, Block& out) = 0;
  virtual void RewriteBranch(const If& branch, Block& out) = 0;
  virtual void RewriteStore(const StoreElements& store, Block& out) = 0;

  void RewriteStatement(const Statement& statement, Block& out) override {
    if (const auto* index = std::get_if<DeclareIndex>(&statement.form)) {
      defined_.insert_or_assign(index->name, Expanded(index->value));
    } else if (const auto* loop = std::get_if<For>(&statement.form)) {
      if (const StoreElements* store = FilledBy(*loop, who_)) {
        return RewriteFill(*loop, *store, out);
      }
      const bool is_constant = loop->begin.IsZero() && loop->end.is_constant() && loop->step == 1;
      const auto outside = extents_.find(loop->variable);
      if (outside != extents_.end()) outside->second = 0;  // two of the same name: of none
      const bool is_new = outside == extents_.end() && is_constant;
      if (is_new) extents_[loop->variable] = loop->end.constant();
      RewriteLoop(*loop, out);
      if (is_new) extents_.erase(loop->variable);
      return;
    } else if (const auto* branch = std::get_if<If>(&statement.form)) {
      return RewriteBranch(*branch, out);
    } else if (const auto* store = std::get_if<StoreElements>(&statement.form)) {
      return RewriteStore(*store, out);
    }
    Rewriter::RewriteStatement(statement, out);
  }

  void RewriteAny(const Statement& statement, Block& out) {
    Rewriter::RewriteStatement(statement, out);
  }

  // nullopt: it depends on something else.
  std::optional<OwnPlace> PlaceOf(const Index& offset) const {
    struct Digit {
      int64_t coefficient, extent;
      std::string variable;
    };
    std::vector<Digit> digits;
    std::vector<std::string> of_thread;
    const IndexSum sum = Expanded(offset).Sum();
    for (const auto& [factor, coefficient] : sum.terms) {
      if (factor.IsVariable() && extents_.contains(factor.name())) {
        const int64_t extent = extents_.at(factor.name());
        if (extent < 1 || coefficient < 1) return std::nullopt;
        if (extent > 1) digits.push_back({coefficient, extent, factor.name()});
        continue;
      }
      bool is_of_thread = true;
      factor.VisitVariables([&](const std::string& name) { is_of_thread &= name == who_.thread; });
      if (!is_of_thread) return std::nullopt;
      of_thread.push_back(absl::StrCat(factor.ToString(), "*", coefficient));
    }
    if (of_thread.empty() && digits.empty()) {  // the same elements of all threads
      return OwnPlace{.key = "constant", .place = Index(sum.constant), .elements = 0};
    }
    std::ranges::sort(of_thread);
    std::ranges::sort(digits, {}, &Digit::coefficient);
    OwnPlace own{.key = absl::StrCat(absl::StrJoin(of_thread, "+"), "+", sum.constant)};
    int64_t reached = 0;  // by the digits before: places of others are beyond
    for (const Digit& digit : digits) {
      if (digit.coefficient <= reached) return std::nullopt;
      reached += digit.coefficient * (digit.extent - 1);
      own.place = Index::Variable(digit.variable) * own.elements + own.place;
      own.elements *= digit.extent;
      own.loops.push_back(digit.variable);
      absl::StrAppend(&own.key, ",", digit.coefficient, ":", digit.extent);
    }
    return own;
  }

  // Whether it is a branch that only the first lane takes.
  bool IsOfFirstLane(const If& branch) const {
    return who_.lanes > 1 && branch.all_of.size() == 1 && branch.else_block == nullptr &&
           branch.all_of[0].kind == Condition::Kind::kEqual &&
           branch.all_of[0].a == Index::Variable(who_.lane) && branch.all_of[0].b.IsZero();
  }

 private:
  Index Expanded(const Index& index) const {
    return index.Replace([&](const std::string& name) -> std::optional<Index> {
      const auto found = defined_.find(name);
      if (found == defined_.end()) return std::nullopt;
      return found->second;
    });
  }

  const ThreadsOfBody& who_;
  std::map<std::string, Index> defined_;    // by what is not declared here
  std::map<std::string, int64_t> extents_;  // of loops around with constant extents
};

// What is done with the given arrays.
class UseCollector : public ElementWalk {
 public:
  struct Uses {
    int64_t size = 0;                     // of the array
    int64_t known = 0;                    // uses that are loads, stores or fills
    bool is_kept = true;                  // so far
    std::optional<OwnPlace> own = {};     // of all stores
    std::vector<std::string> loads = {};  // keys; "": of other elements
    std::set<size_t> branches = {};       // of the first lane, with stores
    bool has_other_loads() const {
      return std::ranges::any_of(loads, [&](const std::string& key) { return key != own->key; });
    }
  };

  UseCollector(const Block& body, absl::Span<const ScratchBuffer> arrays, const ThreadsOfBody& who)
      : ElementWalk(who) {
    for (const ScratchBuffer& array : arrays) {
      uses_[array.name] = {.size = array.elements, .is_kept = !IsStorageOnly(array.type)};
    }
    RewriteBlock(body);
    std::map<std::string, int64_t> all;
    Visit(body, {.name = [&](const std::string& name) { ++all[name]; }});
    for (auto& [name, uses] : uses_) {
      if (uses.own && uses.own->elements == 0) uses.own->elements = uses.size;
      uses.is_kept &= uses.known == all[name] && uses.own && uses.own->elements <= kMostOfArray;
    }
    LeaveWhatIsTooMuch();
    while (LeaveWhatLanesDoNotHave()) continue;
  }

  const std::map<std::string, Uses>& uses() const { return uses_; }

 protected:
  LoopValue RewriteValue(const LoopValue& value) override {
    const auto* load = std::get_if<LoadElements>(&value->form);
    if (load != nullptr && uses_.contains(load->pointer)) {
      Uses& uses = uses_.at(load->pointer);
      ++uses.known;
      const auto place = value->type.lanes == 1 ? PlaceOf(load->offset) : std::nullopt;
      uses.loads.push_back(place ? place->key : "");
    }
    return ElementWalk::RewriteValue(value);
  }

  void RewriteFill(const For& loop, const StoreElements& store, Block& out) override {
    const auto found = uses_.find(store.pointer);
    if (found != uses_.end()) {
      ++found->second.known;
      found->second.is_kept &= loop.end.constant() == found->second.size;
    }
    out.push_back({loop});
  }

  void RewriteLoop(const For& loop, Block& out) override { RewriteAny({loop}, out); }

  void RewriteBranch(const If& branch, Block& out) override {
    const bool is_of_first_lane = IsOfFirstLane(branch) && !is_conditional_;
    const auto before = std::pair(branch_, is_conditional_);
    if (is_of_first_lane) branch_ = branches_++;
    is_conditional_ |=
        !is_of_first_lane && (!branch.all_of.empty() || branch.else_block != nullptr);
    RewriteAny({branch}, out);
    std::tie(branch_, is_conditional_) = before;
  }

  void RewriteStore(const StoreElements& store, Block& out) override {
    const auto found = uses_.find(store.pointer);
    if (found == uses_.end()) {
      if (branch_ && !private_.contains(store.pointer)) fixed_.insert(*branch_);
      return RewriteAny({store}, out);
    }
    Uses& uses = found->second;
    ++uses.known;
    if (branch_) uses.branches.insert(*branch_);
    const auto place = store.value->type.lanes == 1 ? PlaceOf(store.offset) : std::nullopt;
    uses.is_kept &= place && !is_conditional_ && !store.is_streaming &&
                    (!uses.own || uses.own->key == place->key);
    if (!uses.own) uses.own = place;
    RewriteAny({store}, out);
  }

  void RewriteStatement(const Statement& statement, Block& out) override {
    if (const auto* array = std::get_if<DeclareArray>(&statement.form)) {
      if (array->space == MemorySpace::kPrivate) private_.insert(array->name);
    }
    const bool was_conditional = is_conditional_;
    is_conditional_ |= std::holds_alternative<IfAny>(statement.form);
    if (branch_ && !IsSimple(statement)) fixed_.insert(*branch_);
    ElementWalk::RewriteStatement(statement, out);
    is_conditional_ = was_conditional;
  }

 private:
  // What all lanes can do as well as the first one.
  static bool IsSimple(const Statement& statement) {
    return std::visit(
        Overloaded{[](const Comment&) { return true; }, [](const DeclareIndex&) { return true; },
                   [](const DeclareValue&) { return true; }, [](const Assign&) { return true; },
                   [](const DeclareArray&) { return true; }, [](const For&) { return true; },
                   [](const If&) { return true; }, [](const StoreElements&) { return true; },
                   [](const auto&) { return false; }},
        statement.form);
  }

  // Arrays of which a thread has the most elements, where all of them are more than registers.
  void LeaveWhatIsTooMuch() {
    std::vector<std::pair<int64_t, Uses*>> sizes;
    for (auto& [name, uses] : uses_) {
      if (uses.is_kept) sizes.push_back({uses.own->elements, &uses});
    }
    std::ranges::sort(sizes, [](const auto& a, const auto& b) { return a.first < b.first; });
    int64_t elements = 0;
    for (auto& [own, uses] : sizes) {
      elements += own;
      uses->is_kept = elements <= kMostOfAll;
    }
  }

  // Where the first lane stores to what is not its own alone, it goes on doing so.
  bool LeaveWhatLanesDoNotHave() {
    for (const auto& [name, uses] : uses_) {
      if (!uses.is_kept) fixed_.insert(uses.branches.begin(), uses.branches.end());
    }
    bool has_changed = false;
    for (auto& [name, uses] : uses_) {
      const bool is_fixed = std::ranges::any_of(
          uses.branches, [&](size_t branch) { return fixed_.contains(branch); });
      has_changed |= uses.is_kept && is_fixed;
      uses.is_kept &= !is_fixed;
    }
    return has_changed;
  }

  std::map<std::string, Uses> uses_;
  std::set<std::string> private_;
  std::set<size_t> fixed_;  // branches that lanes other than the first one do not take
  size_t branches_ = 0;
  std::optional<size_t> branch_;  // of the first lane, at hand
  bool is_conditional_ = false;   // in other branches
};

class OwnRewriter : public ElementWalk {
 public:
  OwnRewriter(const UseCollector& collected, const ThreadsOfBody& who, NameAllocator* names)
      : ElementWalk(who), uses_(collected.uses()), names_(*names) {
    for (const auto& [name, uses] : uses_) {
      if (uses.is_kept) own_[name] = names_.Unique(name + "_own");
    }
  }

  const std::map<std::string, std::string>& own() const { return own_; }

 protected:
  LoopValue RewriteValue(const LoopValue& value) override {
    const auto* load = std::get_if<LoadElements>(&value->form);
    if (load == nullptr || !own_.contains(load->pointer) || value->type.lanes != 1) {
      return ElementWalk::RewriteValue(value);
    }
    const auto place = PlaceOf(load->offset);
    if (!place || place->key != uses_.at(load->pointer).own->key) return value;
    return OwnAt(load->pointer, *place, value->type);
  }

  void RewriteFill(const For& loop, const StoreElements& store, Block& out) override {
    const auto own = own_.find(store.pointer);
    if (own == own_.end()) return out.push_back({loop});
    const UseCollector::Uses& uses = uses_.at(store.pointer);
    Block body;
    body.push_back({StoreElements{own->second, Index::Variable(loop.variable), store.value, 1}});
    out.push_back({For{loop.variable, Index(0), Index(uses.own->elements), 1, false,
                       ShareBlock(std::move(body)), /*unroll=*/true}});
    if (uses.has_other_loads()) out.push_back({loop});
  }

  void RewriteLoop(const For& loop, Block& out) override {
    RewriteAny({loop}, out);
    if (loops_.erase(loop.variable) == 0) return;
    auto& unrolled = std::get<For>(out.back().form);
    unrolled.unroll = true;
    unrolled.unroll_by = 0;
  }

  // All lanes do what the first one does with own elements.
  void RewriteBranch(const If& branch, Block& out) override {
    RewriteAny({branch}, out);
    bool stores_own = false;
    Visit(*branch.then_block, {.statement = [&](const Statement& statement) {
      const auto* store = std::get_if<StoreElements>(&statement.form);
      stores_own |= store != nullptr && own_.contains(store->pointer);
    }});
    if (stores_own && IsOfFirstLane(branch)) std::get<If>(out.back().form).all_of.clear();
  }

  void RewriteStore(const StoreElements& store, Block& out) override {
    const auto own = own_.find(store.pointer);
    if (own == own_.end()) return RewriteAny({store}, out);
    const auto place = PlaceOf(store.offset);
    const LoopValueType type = store.value->type;
    out.push_back({StoreElements{own->second, place->place, RewriteValue(store.value), 1}});
    if (!uses_.at(store.pointer).has_other_loads()) {
      loops_.insert(place->loops.begin(), place->loops.end());
      return;
    }
    StoreElements shared = store;
    shared.value = OwnAt(store.pointer, *place, type);
    out.push_back({std::move(shared)});
  }

 private:
  LoopValue OwnAt(const std::string& array, const OwnPlace& place, LoopValueType type) {
    loops_.insert(place.loops.begin(), place.loops.end());
    return MakeLoad(own_.at(array), place.place, type, 1);
  }

  const std::map<std::string, UseCollector::Uses>& uses_;
  NameAllocator& names_;
  std::map<std::string, std::string> own_;  // private arrays
  std::set<std::string> loops_;             // over elements of those, around what is at hand
};

}  // namespace

OwnElements KeepOwnElements(const Block& body, absl::Span<const ScratchBuffer> arrays,
                            const ThreadsOfBody& who, NameAllocator* names) {
  const UseCollector collected(body, arrays, who);
  OwnRewriter rewriter(collected, who, names);
  OwnElements result;
  for (const ScratchBuffer& array : arrays) {
    const UseCollector::Uses& uses = collected.uses().at(array.name);
    if (!uses.is_kept) continue;
    result.body.push_back({DeclareArray{rewriter.own().at(array.name), array.type,
                                        uses.own->elements, MemorySpace::kPrivate}});
    if (!uses.has_other_loads()) result.replaced.insert(array.name);
  }
  Append(rewriter.RewriteBlock(body), &result.body);
  return result;
}

}  // namespace mdh
