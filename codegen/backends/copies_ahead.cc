#include "codegen/backends/copies_ahead.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/backends/invariant_copies.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

bool HasBarrier(const Block& block) {
  bool has = false;
  Visit(block,
        {.statement = [&](const Statement& s) { has |= std::holds_alternative<Barrier>(s.form); }});
  return has;
}

// Copies of neighbours, of as many bytes as pointers are aligned to, as asynchronous ones.
class AsyncRewriter : public Rewriter {
 public:
  explicit AsyncRewriter(const std::map<std::string, int>& alignments) : alignments_(alignments) {}

  bool has_others() const { return has_others_; }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    const auto* store = std::get_if<StoreElements>(&statement.form);
    if (store == nullptr) return Rewriter::RewriteStatement(statement, out);
    const auto* load = std::get_if<LoadElements>(&store->value->form);
    const LoopValueType type = store->value->type;
    const int64_t bytes = type.lanes * SizeBytes(type.scalar);
    const bool has_size = bytes == 4 || bytes == 8 || bytes == 16;
    const bool are_neighbours =
        load != nullptr && (type.lanes == 1 || (load->stride == 1 && store->stride == 1));
    if (!has_size || !are_neighbours || AlignmentOf(load->pointer) < bytes) {
      has_others_ = true;
      return Rewriter::RewriteStatement(statement, out);
    }
    out.push_back({AsyncCopy{store->pointer, store->offset, load->pointer, load->offset, type}});
  }

 private:
  int AlignmentOf(const std::string& pointer) const {
    const auto found = alignments_.find(pointer);
    return found == alignments_.end() ? kMostBytes : found->second;
  }

  static constexpr int kMostBytes = 16;
  const std::map<std::string, int>& alignments_;
  bool has_others_ = false;
};

// The body of the loop as its segments, between one barrier and the next.
class Segments {
 public:
  struct Copy {
    const Statement* region;
    std::string array;
    Block issue;  // it, and what it needs
    bool is_asynchronous = false;
    int segment;
  };

  Segments(const For& loop, const CopiesAhead& how) : how_(how) {
    Add(*loop.body, {});
    std::erase_if(copies_, [&](const Copy& copy) { return !CanMove(copy); });
  }

  int barriers() const { return has_others_ ? 0 : barriers_; }
  const std::vector<Copy>& copies() const { return copies_; }

 private:
  void Add(const Block& block, Block declared) {
    for (const Statement& statement : block) {
      const auto* branch = std::get_if<If>(&statement.form);
      if (std::holds_alternative<Barrier>(statement.form)) {
        ++barriers_;
      } else if (branch != nullptr && branch->all_of.empty()) {
        Add(*branch->then_block, declared);
      } else if (IsCopy(statement)) {
        AddCopy(statement, declared);
      } else {
        has_others_ |= HasBarrier({statement});
        CollectUsedNames({statement}, used_[barriers_]);
        if (const auto* pointer = std::get_if<DeclarePointer>(&statement.form)) {
          bases_[pointer->name] = pointer->base;
          alignments_[pointer->name] = pointer->alignment_bytes;
        }
        if (DeclaredName(statement) != nullptr) declared.push_back(statement);
      }
    }
  }

  static bool IsCopy(const Statement& statement) {
    const auto* copy = std::get_if<CopyRegion>(&statement.form);
    return copy != nullptr && !copy->is_asynchronous && copy->stages == 1;
  }

  void AddCopy(const Statement& statement, Block declared) {
    const auto& region = std::get<CopyRegion>(statement.form);
    AsyncRewriter rewriter(alignments_);
    CopyRegion copy = region;
    copy.body = ShareBlock(rewriter.RewriteBlock(*region.body));
    const bool is_asynchronous = how_.asynchronous && !rewriter.has_others();
    if (is_asynchronous) {
      Append(*copy.body, &declared);
      declared.push_back({CommitCopies{}});
    } else {
      declared.push_back(statement);
    }
    copies_.push_back(
        {&statement, region.array, UsedBy(std::move(declared)), is_asynchronous, barriers_});
    Visit(*region.body, {.name = [&](const std::string& name) {
      if (name != region.array && !IsConstant(name)) copies_.back().segment = -1;
    }});
  }

  bool IsConstant(const std::string& name) const {
    const auto base = bases_.find(name);
    return how_.constants.contains(base == bases_.end() ? name : base->second);
  }

  // Nothing uses its array between the barrier before and it, nor is that barrier the one behind.
  bool CanMove(const Copy& copy) const {
    if (copy.segment < 0 || barriers_ < 2) return false;
    const bool is_only = std::ranges::count(copies_, copy.array, &Copy::array) == 1;
    const int own = copy.segment % barriers_;
    const bool is_used = std::ranges::any_of(used_, [&](const auto& segment) {
      return segment.first % barriers_ == own && segment.second.contains(copy.array);
    });
    return is_only && !is_used;
  }

  const CopiesAhead& how_;
  int barriers_ = 0;
  bool has_others_ = false;                    // barriers inside of loops and branches
  std::map<int, std::set<std::string>> used_;  // names, per segment
  std::map<std::string, std::string> bases_;   // of pointers
  std::map<std::string, int> alignments_;      // idem
  std::vector<Copy> copies_;
};

class CopyMover : public Rewriter {
 public:
  CopyMover(const Block& body, const CopiesAhead& how) : how_(how) { ReserveNamesIn(body, names_); }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    const auto* loop = std::get_if<For>(&statement.form);
    if (loop != nullptr && loop->variable == how_.chunk) return MoveCopies(*loop, out);
    const auto* branch = std::get_if<If>(&statement.form);
    const bool is_scope = branch != nullptr && branch->all_of.empty();
    if (segments_ == nullptr || is_scope) return Rewriter::RewriteStatement(statement, out);
    for (const Segments::Copy& copy : segments_->copies()) {
      if (copy.region != &statement) continue;
      if (copy.is_asynchronous) out.push_back({WaitForCopies{0}});
      return;
    }
    out.push_back(statement);
    if (std::holds_alternative<Barrier>(statement.form)) AppendBehind(barrier_++, out);
  }

 private:
  void MoveCopies(const For& loop, Block& out) {
    const Segments segments(loop, how_);
    if (segments.barriers() < 2 || segments.copies().empty()) return out.push_back({loop});
    for (const Segments::Copy& copy : segments.copies()) {
      if (!IsOfNextChunk(copy)) continue;
      Block first = WithChunk(copy.issue, loop.begin);
      out.push_back(When({Less(loop.begin, loop.end)}, std::move(first)));
    }
    segments_ = &segments;
    loop_ = &loop;
    barrier_ = 0;
    For moved = loop;
    moved.body = RewriteInner(loop.body);
    segments_ = nullptr;
    out.push_back({std::move(moved)});
  }

  // Whether its place is behind the last barrier of a chunk: that of the chunk before.
  static bool IsOfNextChunk(const Segments::Copy& copy) { return copy.segment == 0; }

  void AppendBehind(int barrier, Block& out) {
    for (const Segments::Copy& copy : segments_->copies()) {
      if (copy.segment == barrier + 1) {
        out.push_back(When({}, WithChunk(copy.issue, Index::Variable(how_.chunk))));
      } else if (IsOfNextChunk(copy) && barrier + 1 == segments_->barriers()) {
        const Index next = Index::Variable(how_.chunk) + Index(1);
        out.push_back(When({Less(next, loop_->end)}, WithChunk(copy.issue, next)));
      }
    }
  }

  // The copy for that chunk, with names of its own.
  Block WithChunk(const Block& issue, const Index& chunk) {
    std::set<std::string> declared;
    CollectDeclaredNames(issue, declared);
    std::map<std::string, std::string> renamed;
    for (const std::string& name : declared) renamed[name] = names_.Unique(name);
    return ReplaceVariables(RenameAll(issue, renamed), [&](const std::string& name) {
      return name == how_.chunk ? std::optional(chunk) : std::nullopt;
    });
  }

  const CopiesAhead& how_;
  NameAllocator names_;
  const Segments* segments_ = nullptr;  // of the loop at hand
  const For* loop_ = nullptr;
  int barrier_ = 0;  // the next one
};

}  // namespace

Block WithCopiesAhead(const Block& body, const CopiesAhead& how) {
  return CopyMover(body, how).RewriteBlock(body);
}

}  // namespace mdh
