#include "codegen/passes/kept_values.h"

#include <utility>

#include "codegen/passes/copy_ahead.h"
#include "codegen/passes/iterations.h"

namespace mdh {

std::optional<Block> KeptValues::Points(int64_t most_elements) {
  CollectDeclaredNames(*loop_.points.body, declared_);
  CollectDeclaredNames(loop_.passive, declared_);
  Block points = RewriteBlock(*loop_.points.body);
  // Whoever reads an array where it is, could do so when the next copies are on their way.
  std::set<std::string> used;
  CollectUsedNames(points, used);
  has_failed_ |= std::ranges::any_of(
      loop_.arrays, [&](const std::string& array) { return used.contains(array); });
  if (has_failed_ || values_.empty() || elements_ > most_elements) return std::nullopt;
  return points;
}

Block KeptValues::Declare() const {
  Block block;
  for (const Value& value : values_) {
    for (const std::string& name : {value.name, value.next}) {
      block.push_back({DeclareArray{name, value.type, value.elements, MemorySpace::kPrivate}});
    }
  }
  return block;
}

Block KeptValues::Load(bool is_next,
                       const std::function<Index(const Index& offset)>& place_of) const {
  Block block;
  for (const Value& value : values_) {
    const LoopValue load =
        MakeLoad(value.array, place_of(value.offset), {value.type}, /*stride=*/1);
    block.push_back(InLoops(
        value, {StoreElements{is_next ? value.next : value.name, value.at, load, /*stride=*/1}}));
  }
  return block;
}

Block KeptValues::Advance() const {
  Block block;
  for (const Value& value : values_) {
    const LoopValue load = MakeLoad(value.next, value.at, {value.type}, /*stride=*/1);
    block.push_back(InLoops(value, {StoreElements{value.name, value.at, load, /*stride=*/1}}));
  }
  return block;
}

void KeptValues::RewriteStatement(const Statement& statement, Block& out) {
  const For* loop = StatementAs<For>(statement);
  const bool is_constant = loop == nullptr || loop->unroll;
  if (loop != nullptr && is_constant) loops_.push_back(*loop);
  const bool is_plain = is_constant && StatementAs<If>(statement) == nullptr &&
                        StatementAs<IfAny>(statement) == nullptr &&
                        StatementAs<ShareLoop>(statement) == nullptr;
  around_ += is_plain ? 0 : 1;
  Rewriter::RewriteStatement(statement, out);
  around_ -= is_plain ? 0 : 1;
  if (loop != nullptr && is_constant) loops_.pop_back();
}

LoopValue KeptValues::RewriteValue(const LoopValue& value) {
  const auto* load = std::get_if<LoadElements>(&value->form);
  if (load == nullptr || !loop_.arrays.contains(load->pointer)) {
    return Rewriter::RewriteValue(value);
  }
  if (around_ > 0 || value->type.lanes > 1) {
    has_failed_ = true;
    return value;
  }
  const Value& kept = KeptFor(*load, value->type.scalar);
  return MakeLoad(kept.name, kept.at, value->type, /*stride=*/1);
}

const KeptValues::Value& KeptValues::KeptFor(const LoadElements& load, ScalarType type) {
  Value value{load.pointer, load.offset, type, {}, Index(0), 1, "", ""};
  std::set<std::string> own;
  for (size_t n = loops_.size(); n-- > 0;) {
    const For& loop = loops_[n];
    if (!load.offset.Uses(loop.variable)) continue;
    own.insert(loop.variable);
    value.at =
        (Index::Variable(loop.variable) - loop.begin) / loop.step * value.elements + value.at;
    value.elements *= *KnownIterations(loop);
    value.loops.insert(value.loops.begin(), loop);
  }
  for (const Value& other : values_) {
    if (value.IsSame(other)) return other;
  }
  load.offset.VisitVariables([&](const std::string& name) {
    has_failed_ |= declared_.contains(name) && !own.contains(name);
  });
  value.name = names_.Unique(load.pointer + "_value");
  value.next = names_.Unique(load.pointer + "_next");
  elements_ += value.elements;
  values_.push_back(std::move(value));
  return values_.back();
}

Statement KeptValues::InLoops(const Value& value, Statement statement) const {
  for (size_t n = value.loops.size(); n-- > 0;) {
    For loop = value.loops[n];
    loop.body = ShareBlock({std::move(statement)});
    statement = {std::move(loop)};
  }
  return {WithOwnNames({std::move(statement)}, names_)[0]};
}

}  // namespace mdh
