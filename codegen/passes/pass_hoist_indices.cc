#include "codegen/passes/pass_hoist_indices.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"
#include "core/base/status.h"

namespace mdh {
namespace {

// A loop around the statement at hand.
struct EnclosingLoop {
  bool is_rolled;
  size_t scope;       // the block that it is in: an index into `scopes_`
  Block before = {};  // declarations to be put in front of it
};

// Index variables of a block by the text of their values.
using Scope = std::map<std::string, std::string>;

class Hoister : public Rewriter {
 public:
  explicit Hoister(const Block& body) {
    ReserveNamesIn(body, names_);
    Visit(body, {.statement = [&](const Statement& statement) {
            if (const std::string* name = DeclaredName(statement)) ++declarations_[*name];
          }});
  }

  Block RewriteBlock(const Block& block) override {
    scopes_.emplace_back();
    const std::map<std::string, Index> values_before = values_;
    Block out = Rewriter::RewriteBlock(block);
    values_ = values_before;
    scopes_.pop_back();
    return out;
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    std::visit(
        Overloaded{[&](const For& s) { RewriteLoop(s, s.variable, !s.unroll, out); },
                   [&](const ShareLoop& s) { RewriteLoop(s, s.variable, /*is_rolled=*/true, out); },
                   [&](const DeclareIndex& s) { RewriteDeclaration(s, out); },
                   [&](const StoreElements& s) {
                     StoreElements result = s;
                     result.value = RewriteValue(s.value);
                     result.offset = Hoisted(s.offset, s.pointer + "_at");
                     out.push_back({std::move(result)});
                   },
                   [&](const AddElements& s) {
                     LoopValue value = RewriteValue(s.value);
                     out.push_back({AddElements{s.pointer, Hoisted(s.offset, s.pointer + "_at"),
                                                std::move(value)}});
                   },
                   [&](const AsyncCopy& s) {
                     const Index to = Hoisted(s.to, s.target + "_at");
                     const Index from = Hoisted(s.from, s.source + "_at");
                     out.push_back({AsyncCopy{s.target, to, s.source, from, s.type,
                                              RewriteConditions(s.all_of)}});
                   },
                   [&](const DeclarePointer& s) {
                     DeclarePointer result = s;
                     result.offset = Hoisted(s.offset, s.name + "_at");
                     out.push_back({std::move(result)});
                   },
                   [&](const HardwareIndex& s) {
                     depths_[s.name] = loops_.size();
                     out.push_back({s});
                   },
                   [&](const FindKey& s) {
                     Rewriter::RewriteStatement(statement, out);
                     depths_[s.name] = loops_.size();
                   },
                   [&](const auto&) { Rewriter::RewriteStatement(statement, out); }},
        statement.form);
  }

  LoopValue RewriteValue(const LoopValue& value) override {
    if (const auto* load = std::get_if<LoadElements>(&value->form)) {
      const Index offset = Hoisted(load->offset, load->pointer + "_at");
      return MakeLoad(load->pointer, offset, value->type, load->stride, load->off);
    }
    if (const auto* load = std::get_if<LoadInside>(&value->form)) {
      LoadInside result = *load;
      for (LoadInside::Dimension& d : result.dimensions) {
        d.index = Hoisted(d.index, load->pointer + "_at");
      }
      return std::make_shared<const ValueNode>(ValueNode{value->type, std::move(result)});
    }
    if (const auto* load = std::get_if<LoadWords>(&value->form)) {
      const Index offset = Hoisted(load->offset, load->pointer + "_at");
      return MakeLoadWords(load->pointer, offset, value->type.lanes, load->stride);
    }
    if (const auto* load = std::get_if<LoadOfBlock>(&value->form)) {
      return MakeLoadOfBlock(load->array, Hoisted(load->offset, load->array + "_at"), load->block,
                             value->type.scalar);
    }
    return Rewriter::RewriteValue(value);
  }

  // Indices in conditions, bounds and values: named after their first variable.
  Index RewriteIndex(const Index& index) override {
    std::string first;
    index.VisitVariables([&](const std::string& variable) {
      if (first.empty()) first = variable;
    });
    return Hoisted(index, first + "_at");
  }

 private:
  template <typename Loop>
  void RewriteLoop(const Loop& s, const std::string& variable, bool is_rolled, Block& out) {
    Loop result = s;
    if constexpr (std::is_same_v<Loop, For>) {
      result.begin = RewriteIndex(s.begin);
      result.end = RewriteIndex(s.end);
    }
    loops_.push_back({is_rolled, scopes_.size() - 1});
    depths_[variable] = loops_.size();
    is_rolled ? static_cast<void>(unrolled_.erase(variable))
              : static_cast<void>(unrolled_.insert(variable));
    result.body = RewriteInner(s.body);
    // Comments in front of the loop stay there.
    auto place = out.end();
    while (place != out.begin() && std::holds_alternative<Comment>(std::prev(place)->form)) --place;
    out.insert(place, loops_.back().before.begin(), loops_.back().before.end());
    loops_.pop_back();
    out.push_back({std::move(result)});
  }

  void RewriteDeclaration(const DeclareIndex& s, Block& out) {
    const bool may_move = declarations_[s.name] == 1;
    const Index value = Hoisted(s.value, may_move ? s.name : s.name + "_at", may_move);
    if (may_move && value.IsVariable() && !(value == s.value)) {
      if (value.name() != s.name) values_.insert_or_assign(s.name, value);
      return;
    }
    depths_[s.name] = loops_.size();
    values_.erase(s.name);
    scopes_.back().emplace(value.ToString(), s.name);
    out.push_back({DeclareIndex{s.name, value}});
  }

  // Number of the loops, from the outside, that `index` changes in.
  size_t Depth(const Index& index) const {
    size_t depth = 0;
    index.VisitVariables([&](const std::string& variable) {
      const auto found = depths_.find(variable);
      if (found != depths_.end()) depth = std::max(depth, found->second);
    });
    return depth;
  }

  bool HasRolledLoop(size_t outer, size_t inner) const {
    return std::any_of(loops_.begin() + static_cast<ptrdiff_t>(outer),
                       loops_.begin() + static_cast<ptrdiff_t>(inner),
                       [](const EnclosingLoop& loop) { return loop.is_rolled; });
  }

  // Single variables, and what unrolling makes constant.
  bool IsWorthHoisting(const IndexSum& sum) const {
    bool is_constant = true;
    for (const IndexTerm& term : sum.terms) {
      term.factor.VisitVariables(
          [&](const std::string& v) { is_constant &= unrolled_.contains(v); });
    }
    const bool is_variable =
        sum.terms.size() == 1 && sum.terms[0].coefficient == 1 && sum.terms[0].factor.IsVariable();
    return !is_constant && !is_variable;
  }

  // The index at hand with its unchanging part declared outside. `is_exact`: under that very name,
  // if the whole index becomes one declaration, constant included.
  Index Hoisted(const Index& index, const std::string& name, bool is_exact = false) {
    const Index known = index.Replace([&](const std::string& variable) -> std::optional<Index> {
      const auto found = values_.find(variable);
      if (found == values_.end()) return std::nullopt;
      return found->second;
    });
    if (loops_.empty()) return known;
    const IndexSum sum = known.Sum();
    std::map<size_t, std::vector<IndexTerm>> by_depth;
    for (const IndexTerm& term : sum.terms) by_depth[Depth(term.factor)].push_back(term);
    IndexSum carried;
    bool has_declared = false;
    for (auto group = by_depth.begin(); group != by_depth.end(); ++group) {
      for (const IndexTerm& term : group->second) carried.Add(term.factor, term.coefficient);
      const auto next = std::next(group);
      const bool is_last = next == by_depth.end();
      if (!HasRolledLoop(group->first, is_last ? loops_.size() : next->first)) continue;
      if (is_last && is_exact) carried.constant = sum.constant;
      if (!IsWorthHoisting(carried)) continue;
      const std::string declared =
          Declare(carried.ToIndex(), name, is_last && is_exact, group->first);
      carried = {};
      carried.Add(Index::Variable(declared), 1);
      has_declared = true;
      if (is_last && is_exact) return carried.ToIndex();
    }
    return has_declared ? carried.ToIndex() + Index(sum.constant) : known;
  }

  // Declares `value` in front of loop `depth`, unless a block around has it; gives the name.
  std::string Declare(const Index& value, const std::string& name, bool is_exact, size_t depth) {
    EnclosingLoop& loop = loops_[depth];
    const std::string text = value.ToString();
    for (size_t scope = loop.scope + 1; scope-- > 0;) {
      const auto found = scopes_[scope].find(text);
      if (found != scopes_[scope].end()) return found->second;
    }
    const std::string unique = is_exact ? name : names_.Unique(name);
    scopes_[loop.scope][text] = unique;
    depths_[unique] = depth;
    loop.before.push_back({DeclareIndex{unique, value}});
    return unique;
  }

  std::map<std::string, int> declarations_;  // how often a name is declared
  NameAllocator names_;
  std::vector<EnclosingLoop> loops_;
  std::vector<Scope> scopes_;
  std::map<std::string, size_t> depths_;  // of variables: loops around their declaration
  std::set<std::string> unrolled_;        // variables of loops to be unrolled
  std::map<std::string, Index> values_;   // index variables that another one has the value of
};

}  // namespace

LoopProgram HoistIndices(LoopProgram program) {
  return RewriteBodies(std::move(program),
                       [](const Block& body) { return Hoister(body).RewriteBlock(body); });
}

}  // namespace mdh
