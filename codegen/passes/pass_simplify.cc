#include "codegen/passes/pass_simplify.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/program/index_range.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"
#include "core/base/status.h"

namespace mdh {
namespace {

bool IsEmpty(const Block& block) {
  return std::ranges::all_of(block, [](const Statement& statement) {
    return std::holds_alternative<Comment>(statement.form);
  });
}

bool SameCondition(const Condition& a, const Condition& b) {
  return a.kind == b.kind && a.a == b.a && a.b == b.b && a.flag == b.flag;
}

// Appends statements to a block and drops comments whose statements all were dropped.
class CommentedBlock {
 public:
  explicit CommentedBlock(Block& block) : block_(block) {}

  // To be called after each statement of the source, which appended what it became to the block.
  void Next(const Statement& source, size_t size_before) {
    const bool is_comment = std::holds_alternative<Comment>(source.form);
    if (is_comment && dropped_) DropComments(size_before);
    if (is_comment) {
      ++comments_;
    } else if (block_.size() == size_before) {
      dropped_ = comments_ > 0;
    } else {
      comments_ = 0;
      dropped_ = false;
    }
  }
  void End() {
    if (dropped_) DropComments(block_.size());
  }

 private:
  // Those that end at `end`.
  void DropComments(size_t end) {
    const auto last = block_.begin() + static_cast<ptrdiff_t>(end);
    block_.erase(last - comments_, last);
    comments_ = 0;
    dropped_ = false;
  }

  Block& block_;
  int comments_ = 0;  // at the end of the block
  bool dropped_ = false;
};

class Simplifier : public Rewriter {
 public:
  Simplifier(const Block& body, const LaunchGeometry& launch) : launch_(launch) {
    ReserveNamesIn(body, names_);
  }

  Block RewriteBlock(const Block& block) override {
    const IndexRanges ranges_before = ranges_;
    const std::map<std::string, Index> values_before = values_;
    scopes_.emplace_back();
    for (const Statement& statement : block) {
      if (const std::string* name = DeclaredName(statement)) scopes_.back().insert(*name);
    }
    Block out;
    CommentedBlock commented(out);
    for (const Statement& statement : block) {
      const size_t size_before = out.size();
      RewriteStatement(statement, out);
      commented.Next(statement, size_before);
    }
    commented.End();
    scopes_.pop_back();
    ranges_ = ranges_before;
    values_ = values_before;
    return out;
  }

 protected:
  Index RewriteIndex(const Index& index) override {
    const Index replaced = index.Replace([&](const std::string& name) -> std::optional<Index> {
      const auto found = values_.find(name);
      if (found == values_.end()) return std::nullopt;
      return found->second;
    });
    return Simplified(replaced, ranges_);
  }

  LoopValue RewriteValue(const LoopValue& value) override {
    const LoopValue rewritten = Rewriter::RewriteValue(value);
    const auto* load = std::get_if<LoadInside>(&rewritten->form);
    if (load == nullptr) return rewritten;
    LoadInside result = *load;
    for (LoadInside::Dimension& d : result.dimensions) {
      const int64_t further = (value->type.lanes - 1) * d.lane_step;
      const auto range = RangeOf(d.index, ranges_);
      d.is_inside |= range.has_value() && range->low + std::min<int64_t>(further, 0) >= 0 &&
                     range->high + std::max<int64_t>(further, 0) < d.extent;
    }
    return std::make_shared<const ValueNode>(ValueNode{value->type, std::move(result)});
  }

  void RewriteStatement(const Statement& statement, Block& out) override {
    std::visit(
        Overloaded{
            [&](const For& s) { RewriteLoop(s, out); },
            [&](const ShareLoop& s) { RewriteShareLoop(s, out); },
            [&](const If& s) { RewriteBranch(s, out); },
            [&](const DeclareIndex& s) { RewriteDeclaration(s, out); },
            [&](const HardwareIndex& s) { RewriteDeclaration(s, out); },
            [&](const DeclareFlag& s) { RewriteDeclaration(s, out); },
            [&](const FindKey& s) {
              Rewriter::RewriteStatement(statement, out);
              SetRange(s.name, IndexRange{-1, (int64_t{1} << s.slot_bits) - 1});
            },
            [&](const CopyRegion& s) {
              auto body = RewriteInner(s.body);
              if (IsEmpty(*body)) return;
              out.push_back({CopyRegion{s.array, s.stages, std::move(body), s.is_asynchronous}});
            },
            [&](const auto&) { Rewriter::RewriteStatement(statement, out); }},
        statement.form);
  }

 private:
  void SetRange(const std::string& variable, std::optional<IndexRange> range) {
    values_.erase(variable);
    ranges_.erase(variable);
    if (range.has_value()) ranges_[variable] = *range;
  }

  void RewriteDeclaration(const DeclareIndex& s, Block& out) {
    const Index value = RewriteIndex(s.value);
    SetRange(s.name, RangeOf(value, ranges_));
    if (value.is_constant() || value.IsVariable()) {
      values_.insert_or_assign(s.name, value);
      return;
    }
    out.push_back({DeclareIndex{s.name, value}});
  }

  void RewriteDeclaration(const HardwareIndex& s, Block& out) {
    const auto& extents = s.kind == HardwareIndex::Kind::kBlock ? launch_.grid : launch_.block;
    SetRange(s.name, IndexRange{0, extents[s.axis] - 1});
    if (extents[s.axis] > 1) out.push_back({s});
  }

  void RewriteDeclaration(const DeclareFlag& s, Block& out) {
    const std::vector<Condition> open = Undecided(s.all_of);
    flags_.erase(s.name);
    if (!s.is_mutable && open.empty()) flags_[s.name] = true;
    if (!s.is_mutable && !open.empty() && Decide(open[0]) == false) flags_[s.name] = false;
    out.push_back({DeclareFlag{s.name, open, s.is_mutable}});
  }

  void RewriteLoop(const For& s, Block& out) {
    const Index begin = RewriteIndex(s.begin), end = RewriteIndex(s.end);
    const auto extent = RangeOf(end - begin, ranges_);
    const auto is_none = [&](int64_t n) { return s.whole_steps ? n < s.step : n <= 0; };
    const auto is_one = [&](int64_t n) {
      return s.whole_steps ? n / s.step == 1 : n > 0 && n <= s.step;
    };
    if (extent.has_value() && is_none(extent->high)) return;
    if (extent.has_value() && is_one(extent->low) && is_one(extent->high)) {
      return RewriteSingleIteration(s, begin, out);
    }
    const auto begins = RangeOf(begin, ranges_), ends = RangeOf(end, ranges_);
    std::optional<IndexRange> range;
    if (begins.has_value() && ends.has_value()) range = {begins->low, ends->high - 1};
    if (range.has_value() && begin.is_constant()) {  // only whole steps from there
      const int64_t last = ends->high - (s.whole_steps ? s.step : 1) - begins->low;
      range->high = begins->low + last / s.step * s.step;
    }
    auto body = RewriteInside(s.variable, range, s.body);
    if (IsEmpty(*body)) return;
    out.push_back({For{s.variable, begin, end, s.step, s.whole_steps, std::move(body), s.unroll,
                       s.unroll_by, s.is_never_empty}});
  }

  std::shared_ptr<const Block> RewriteInside(const std::string& variable,
                                             std::optional<IndexRange> range,
                                             const std::shared_ptr<const Block>& body) {
    const IndexRanges ranges_before = ranges_;
    const std::map<std::string, Index> values_before = values_;
    SetRange(variable, range);
    auto result = RewriteInner(body);
    ranges_ = ranges_before;
    values_ = values_before;
    return result;
  }

  void RewriteSingleIteration(const For& s, const Index& begin, Block& out) {
    Block body = *s.body;
    if (begin.is_constant() || begin.IsVariable()) {
      body = ReplaceVariables(body, [&](const std::string& name) -> std::optional<Index> {
        if (name == s.variable) return begin;
        return std::nullopt;
      });
    } else {
      body.insert(body.begin(), {DeclareIndex{s.variable, begin}});
    }
    Splice(body, out);
  }

  // Appends the statements of an inner block to the block around it.
  void Splice(const Block& source, Block& out) {
    const Block block = RewriteBlock(source);
    std::map<std::string, std::string> renamed;
    for (const Statement& statement : block) {
      const std::string* name = DeclaredName(statement);
      if (name == nullptr || !IsDeclared(*name)) continue;
      renamed[*name] = names_.Unique(*name);
    }
    for (Statement& statement : RenameAll(block, renamed)) {
      if (const std::string* name = DeclaredName(statement)) scopes_.back().insert(*name);
      out.push_back(std::move(statement));
    }
  }

  bool IsDeclared(const std::string& name) const {
    return std::ranges::any_of(
        scopes_, [&](const std::set<std::string>& scope) { return scope.contains(name); });
  }

  void RewriteShareLoop(const ShareLoop& s, Block& out) {
    if (s.items <= 0) return;
    auto body = RewriteInside(s.variable, IndexRange{0, s.items - 1}, s.body);
    if (!IsEmpty(*body)) out.push_back({ShareLoop{s.variable, s.items, std::move(body)}});
  }

  // Whether the condition holds; nullopt: sometimes.
  std::optional<bool> Decide(const Condition& condition) const {
    for (const Condition& fact : facts_) {
      if (SameCondition(fact, condition)) return true;
    }
    if (!condition.flag.empty()) {
      const auto flag = flags_.find(condition.flag);
      if (flag == flags_.end()) return std::nullopt;
      return flag->second == (condition.kind == Condition::Kind::kFlag);
    }
    const auto difference = RangeOf(condition.b - condition.a, ranges_);
    if (!difference.has_value()) return std::nullopt;
    if (condition.kind == Condition::Kind::kLess) {
      if (difference->low > 0) return true;
      if (difference->high <= 0) return false;
    } else {
      if (difference->low == 0 && difference->high == 0) return true;
      if (difference->low > 0 || difference->high < 0) return false;
    }
    return std::nullopt;
  }

  // The conditions without those that hold; only the first that fails, if one does.
  std::vector<Condition> Undecided(const std::vector<Condition>& conditions) {
    std::vector<Condition> open;
    for (Condition condition : RewriteConditions(conditions)) {
      const bool is_bound = condition.kind == Condition::Kind::kLess && condition.b.is_constant();
      if (is_bound) condition.a = WithoutRest(condition.a, condition.b.constant(), ranges_);
      const std::optional<bool> holds = Decide(condition);
      if (holds == false) return {condition};
      if (!holds.has_value()) open.push_back(condition);
    }
    return open;
  }

  void RewriteBranch(const If& s, Block& out) {
    const std::vector<Condition> open = Undecided(s.all_of);
    if (open.empty()) return Splice(*s.then_block, out);
    if (open.size() == 1 && Decide(open[0]) == false) {
      if (s.else_block != nullptr) Splice(*s.else_block, out);
      return;
    }
    const auto facts = static_cast<ptrdiff_t>(facts_.size());
    for (const Condition& condition : open) {
      if (condition.flag.empty()) facts_.push_back(condition);
    }
    If result{open, RewriteInner(s.then_block), nullptr};
    facts_.erase(facts_.begin() + facts, facts_.end());
    result.else_block = RewriteInner(s.else_block);
    if (result.else_block != nullptr && IsEmpty(*result.else_block)) result.else_block = nullptr;
    if (result.else_block == nullptr && IsEmpty(*result.then_block)) return;
    out.push_back({std::move(result)});
  }

  const LaunchGeometry& launch_;
  NameAllocator names_;
  IndexRanges ranges_;                         // of the variables in scope
  std::map<std::string, Index> values_;        // of those that are a constant or another variable
  std::map<std::string, bool> flags_;          // whose value is known
  std::vector<Condition> facts_;               // that hold here
  std::vector<std::set<std::string>> scopes_;  // declared names, blocks from the outside in
};

class UnusedDropper : public Rewriter {
 public:
  explicit UnusedDropper(const Block& body) { CollectUsedNames(body, used_); }
  bool has_dropped() const { return has_dropped_; }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    const std::string* name = DeclaredName(statement);
    if (name == nullptr || used_.contains(*name)) return Rewriter::RewriteStatement(statement, out);
    has_dropped_ = true;
  }

 private:
  std::set<std::string> used_;
  bool has_dropped_ = false;
};

// A dimension in which not all loads from a buffer are known to be inside is one in which none is:
// compilers find out which loads are the same only if indices are treated alike.
class InsideOfAll : public Rewriter {
 public:
  explicit InsideOfAll(const Block& body) {
    Visit(body, {.value = [&](const ValueNode& node) {
            const auto* load = std::get_if<LoadInside>(&node.form);
            if (load == nullptr) return;
            const std::vector<LoadInside::Dimension>& dimensions = load->dimensions;
            std::vector<bool>& all =
                inside_.try_emplace(load->pointer, dimensions.size(), true).first->second;
            for (size_t x = 0; x < all.size(); ++x) all[x] = all[x] && dimensions[x].is_inside;
          }});
  }

 protected:
  LoopValue RewriteValue(const LoopValue& value) override {
    const auto* load = std::get_if<LoadInside>(&value->form);
    if (load == nullptr) return Rewriter::RewriteValue(value);
    LoadInside result = *load;
    const std::vector<bool>& all = inside_.at(load->pointer);
    for (size_t x = 0; x < all.size(); ++x) result.dimensions[x].is_inside = all[x];
    return std::make_shared<const ValueNode>(ValueNode{value->type, std::move(result)});
  }

 private:
  std::map<std::string, std::vector<bool>> inside_;  // by pointer
};

Block SimplifyBody(const Block& body, const LaunchGeometry& launch) {
  Block result = body;
  for (bool is_done = false; !is_done;) {
    result = Simplifier(result, launch).RewriteBlock(result);
    UnusedDropper dropper(result);
    result = dropper.RewriteBlock(result);
    is_done = !dropper.has_dropped();
  }
  return InsideOfAll(result).RewriteBlock(result);
}

}  // namespace

LoopProgram Simplify(LoopProgram program) {
  for (Function& function : program.functions) {
    function.body = SimplifyBody(function.body, LaunchGeometry());
  }
  for (Stage& stage : program.stages) stage.body = SimplifyBody(stage.body, stage.launch);
  return program;
}

}  // namespace mdh
