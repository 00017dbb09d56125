#include "codegen/program/loop_program_walk.h"

#include <type_traits>
#include <utility>

#include "core/base/status.h"

namespace mdh {
namespace {

template <typename T, typename Node>
concept Is = std::is_same_v<std::remove_const_t<T>, Node>;

// What statements and values consist of, const or not, said once: names that are declared
// (Declared; Variable for those of indices), names that are used, indices, values and inner blocks.
// Parts that are null are left out.
template <typename Visitor>
class Parts {
 public:
  explicit Parts(Visitor& visitor) : v_(visitor) {}

  void Conditions(auto& conditions) const {
    for (auto& condition : conditions) {
      if (condition.flag.empty()) {
        v_.At(condition.a), v_.At(condition.b);
      } else {
        v_.Used(condition.flag);
      }
    }
  }

  // ---- Statements ----
  void operator()(Is<Comment> auto&) const {}
  void operator()(Is<Barrier> auto&) const {}
  void operator()(Is<ClusterBarrier> auto&) const {}
  void operator()(Is<AwaitStages> auto&) const {}
  void operator()(Is<CommitCopies> auto&) const {}
  void operator()(Is<WaitForCopies> auto&) const {}
  void operator()(Is<DeclareIndex> auto& s) const { v_.At(s.value), v_.Variable(s.name); }
  void operator()(Is<HardwareIndex> auto& s) const { v_.Variable(s.name); }
  void operator()(Is<DeclareValue> auto& s) const { v_.Value(s.value), v_.Declared(s.name); }
  void operator()(Is<Assign> auto& s) const { v_.Value(s.value), v_.Used(s.name); }
  void operator()(Is<StoreElements> auto& s) const { Access(s); }
  void operator()(Is<AddElements> auto& s) const { Access(s); }
  void operator()(Is<CombineElement> auto& s) const { Access(s); }
  void operator()(Is<InsertKey> auto& s) const {
    v_.Value(s.first), v_.Value(s.key), v_.Used(s.table);
  }
  void operator()(Is<FindKey> auto& s) const {
    v_.Value(s.first), v_.Value(s.key), v_.Used(s.table), v_.Variable(s.name);
  }
  void operator()(Is<DeclarePointer> auto& s) const {
    v_.Used(s.base), v_.At(s.offset), v_.Declared(s.name);
    if (!s.flag.empty()) v_.Used(s.flag);
  }
  void operator()(Is<AdvancePointer> auto& s) const { v_.At(s.by), v_.Used(s.name); }
  void operator()(Is<DeclareView> auto& s) const { v_.Used(s.base), v_.Declared(s.name); }
  void operator()(Is<DeclareArray> auto& s) const { v_.Declared(s.name); }
  void operator()(Is<DeclareLast> auto& s) const {
    v_.Used(s.counter), v_.At(s.offset), v_.Declared(s.name);
  }
  void operator()(Is<For> auto& s) const {
    v_.At(s.begin), v_.At(s.end), v_.Variable(s.variable), v_.Inner(s.body);
  }
  void operator()(Is<ShareLoop> auto& s) const { v_.Variable(s.variable), v_.Inner(s.body); }
  void operator()(Is<If> auto& s) const {
    Conditions(s.all_of), v_.Inner(s.then_block);
    if (s.else_block != nullptr) v_.Inner(s.else_block);
  }
  void operator()(Is<IfAny> auto& s) const { v_.Value(s.condition), v_.Inner(s.then_block); }
  void operator()(Is<DeclareFlag> auto& s) const { Conditions(s.all_of), v_.Declared(s.name); }
  void operator()(Is<ClearFlag> auto& s) const { v_.Used(s.name); }
  void operator()(Is<KeepInRegister> auto& s) const { v_.Used(s.name); }
  void operator()(Is<PrefetchElement> auto& s) const { v_.At(s.offset), v_.Used(s.pointer); }
  void operator()(Is<AsyncCopy> auto& s) const {
    v_.At(s.to), v_.Used(s.target), v_.At(s.from), v_.Used(s.source), Conditions(s.all_of);
  }
  void operator()(Is<GroupFence> auto&) const {}
  void operator()(Is<CommitMultiplies> auto&) const {}
  void operator()(Is<WaitForMultiplies> auto&) const {}
  void operator()(Is<UnitFence> auto&) const {}
  void operator()(Is<TakeRegisters> auto&) const {}
  void operator()(Is<DeclareTensorMap> auto& s) const { v_.Used(s.base), v_.Declared(s.name); }
  void operator()(Is<StartBarriers> auto& s) const { v_.Used(s.array); }
  void operator()(Is<ArriveAtBarrier> auto& s) const { v_.Used(s.array), v_.At(s.number); }
  void operator()(Is<AwaitBarrier> auto& s) const {
    v_.Used(s.array), v_.At(s.number), v_.At(s.parity);
  }
  void operator()(Is<TensorCopy> auto& s) const {
    v_.Used(s.map), v_.Used(s.array), v_.At(s.to), v_.Used(s.barriers), v_.At(s.barrier);
    v_.At(s.first_block);
    for (auto& coordinate : s.coordinates) v_.At(coordinate);
  }
  void operator()(Is<DeclareOperand> auto& s) const {
    v_.At(s.offset), v_.Used(s.array), v_.Declared(s.name);
  }
  void operator()(Is<GroupMultiply> auto& s) const {
    v_.Used(s.sums), v_.Used(s.a.name), v_.Used(s.b.name), v_.At(s.keeps);
  }
  void operator()(Is<StoreMatrices> auto& s) const {
    v_.At(s.offset), v_.Used(s.array);
    for (auto& value : s.values) v_.Value(value);
  }
  void operator()(Is<LoadMatrices> auto& s) const {
    v_.Used(s.to.array), v_.At(s.to.first), v_.Used(s.array), v_.At(s.offset);
  }
  void operator()(Is<RoundToTf32> auto& s) const { v_.Used(s.values.array), v_.At(s.values.first); }
  void operator()(Is<AwaitSums> auto& s) const { v_.Used(s.sums.array), v_.At(s.sums.first); }
  void operator()(Is<WarpMultiply> auto& s) const {
    for (auto* fragment : {&s.sums, &s.a, &s.b}) v_.Used(fragment->array), v_.At(fragment->first);
  }
  void operator()(Is<ConfigureTiles> auto&) const {}
  void operator()(Is<ReleaseTiles> auto&) const {}
  void operator()(Is<ZeroTile> auto&) const {}
  void operator()(Is<LoadTile> auto& s) const { v_.At(s.offset), v_.Used(s.pointer); }
  void operator()(Is<StoreTile> auto& s) const { v_.At(s.offset), v_.Used(s.pointer); }
  void operator()(Is<MultiplyTiles> auto&) const {}
  void operator()(Is<CopyRegion> auto& s) const { v_.Used(s.array), v_.Inner(s.body); }
  void operator()(Is<Call> auto& s) const {
    for (auto& argument : s.arguments) {
      std::visit(Overloaded{[&](Is<std::string> auto& name) { v_.Used(name); },
                            [&](Is<Index> auto& index) { v_.At(index); }},
                 argument);
    }
  }

  // ---- Values ----
  void operator()(Is<Literal> auto&) const {}
  void operator()(Is<NamedValue> auto& v) const { v_.Used(v.name); }
  void operator()(Is<LoadElements> auto& v) const { v_.At(v.offset), v_.Used(v.pointer); }
  void operator()(Is<LoadInside> auto& v) const {
    for (auto& dimension : v.dimensions) v_.At(dimension.index);
    v_.Used(v.pointer);
  }
  void operator()(Is<TableElement> auto& v) const { v_.Value(v.index); }
  void operator()(Is<LoopOperation> auto& v) const {
    for (auto& operand : v.operands) v_.Value(operand);
  }
  void operator()(Is<Splat> auto& v) const { v_.Value(v.scalar); }
  void operator()(Is<Lane> auto& v) const { v_.Value(v.vector); }
  void operator()(Is<GroupHalves> auto& v) const {
    v_.Value(v.first);
    if (v.second != nullptr) v_.Value(v.second);
  }
  void operator()(Is<JoinLanes> auto& v) const {
    for (auto& scalar : v.scalars) v_.Value(scalar);
  }
  void operator()(Is<AddProducts> auto& v) const {
    v_.Value(v.sum), v_.Value(v.a);
    if (v.b != nullptr) v_.Value(v.b);
  }
  void operator()(Is<LoadWords> auto& v) const { v_.At(v.offset), v_.Used(v.pointer); }
  void operator()(Is<AddDots> auto& v) const { v_.Value(v.sum), v_.Value(v.a), v_.Value(v.b); }
  void operator()(Is<OrderKeys> auto& v) const { v_.Value(v.value); }
  void operator()(Is<IndexValue> auto& v) const { v_.At(v.index); }
  void operator()(Is<LoadOfBlock> auto& v) const {
    v_.Used(v.array), v_.At(v.offset), v_.At(v.block);
  }
  void operator()(Is<ShuffleDown> auto& v) const { v_.Value(v.value); }
  void operator()(Is<ShuffleUp> auto& v) const { v_.Value(v.value); }
  void operator()(Is<ShuffleXor> auto& v) const { v_.Value(v.value); }

 private:
  void Access(auto& s) const { v_.Value(s.value), v_.At(s.offset), v_.Used(s.pointer); }
  Visitor& v_;
};

class Walk {
 public:
  explicit Walk(const BlockVisitor& visitor) : visitor_(visitor) {}

  void Inside(const Block& block) {
    for (const Statement& statement : block) {
      if (visitor_.statement) visitor_.statement(statement);
      if (const auto* call = std::get_if<Call>(&statement.form)) Used(call->function);
      std::visit(Parts(*this), statement.form);
    }
  }
  void Value(const LoopValue& value) {
    if (visitor_.value) visitor_.value(*value);
    std::visit(Parts(*this), value->form);
  }

  void Declared(const std::string&) {}
  void Variable(const std::string&) {}
  void Used(const std::string& name) {
    if (visitor_.name) visitor_.name(name);
  }
  void At(const Index& index) {
    if (visitor_.index) visitor_.index(index);
  }
  void Inner(const std::shared_ptr<const Block>& block) { Inside(*block); }

 private:
  const BlockVisitor& visitor_;
};

}  // namespace

void Visit(const Block& block, const BlockVisitor& visitor) { Walk(visitor).Inside(block); }
void Visit(const LoopValue& value, const BlockVisitor& visitor) { Walk(visitor).Value(value); }

const std::string* DeclaredName(const Statement& statement) {
  using Name = const std::string*;
  return std::visit(Overloaded{[](const DeclareIndex& s) -> Name { return &s.name; },
                               [](const DeclareValue& s) -> Name { return &s.name; },
                               [](const DeclarePointer& s) -> Name { return &s.name; },
                               [](const DeclareView& s) -> Name { return &s.name; },
                               [](const DeclareArray& s) -> Name { return &s.name; },
                               [](const HardwareIndex& s) -> Name { return &s.name; },
                               [](const FindKey& s) -> Name { return &s.name; },
                               [](const DeclareFlag& s) -> Name { return &s.name; },
                               [](const DeclareOperand& s) -> Name { return &s.name; },
                               [](const DeclareTensorMap& s) -> Name { return &s.name; },
                               [](const auto&) -> Name { return nullptr; }},
                    statement.form);
}

void CollectDeclaredNames(const Block& block, std::set<std::string>& names) {
  Visit(block, {.statement = [&](const Statement& statement) {
          if (const std::string* name = DeclaredName(statement)) names.insert(*name);
          if (const auto* loop = std::get_if<For>(&statement.form)) names.insert(loop->variable);
          if (const auto* loop = std::get_if<ShareLoop>(&statement.form)) {
            names.insert(loop->variable);
          }
        }});
}

void CollectUsedNames(const Block& block, std::set<std::string>& names) {
  const auto insert = [&](const std::string& name) { names.insert(name); };
  Visit(block,
        {.index = [&](const Index& index) { index.VisitVariables(insert); }, .name = insert});
}

Block Rewriter::RewriteBlock(const Block& block) {
  Block out;
  out.reserve(block.size());
  for (const Statement& statement : block) RewriteStatement(statement, out);
  return out;
}

std::shared_ptr<const Block> Rewriter::RewriteInner(const std::shared_ptr<const Block>& block) {
  return block == nullptr ? nullptr : std::make_shared<const Block>(RewriteBlock(*block));
}

// Rewrites the parts of one node in place.
class Rewriter::InPlace {
 public:
  explicit InPlace(Rewriter& rewriter) : rewriter_(rewriter) {}

  bool has_changed() const { return has_changed_; }

  void Declared(std::string& name) { Set(name, rewriter_.RewriteName(name)); }
  void Variable(std::string& name) { Set(name, rewriter_.RewriteVariable(name)); }
  void Used(std::string& name) { Set(name, rewriter_.RewriteName(name)); }
  void At(Index& index) {
    const Index before = index;
    index = rewriter_.RewriteIndex(before);
    has_changed_ |= !index.IsSame(before);
  }
  void Value(LoopValue& value) { Set(value, rewriter_.RewriteValue(value)); }
  void Inner(std::shared_ptr<const Block>& block) { block = rewriter_.RewriteInner(block); }

 private:
  template <typename T>
  void Set(T& part, T now) {
    has_changed_ |= part != now;
    part = std::move(now);
  }

  Rewriter& rewriter_;
  bool has_changed_ = false;
};

std::vector<Condition> Rewriter::RewriteConditions(const std::vector<Condition>& conditions) {
  std::vector<Condition> result = conditions;
  InPlace in_place(*this);
  Parts(in_place).Conditions(result);
  return result;
}

void Rewriter::RewriteStatement(const Statement& statement, Block& out) {
  Statement result = statement;
  InPlace in_place(*this);
  std::visit(Parts(in_place), result.form);
  out.push_back(std::move(result));
}

LoopValue Rewriter::RewriteValue(const LoopValue& value) {
  ValueNode node = *value;
  InPlace in_place(*this);
  std::visit(Parts(in_place), node.form);
  return in_place.has_changed() ? std::make_shared<const ValueNode>(std::move(node)) : value;
}

namespace {

class VariableReplacer : public Rewriter {
 public:
  explicit VariableReplacer(
      const std::function<std::optional<Index>(const std::string&)>& replacement)
      : replacement_(replacement) {}

 protected:
  Index RewriteIndex(const Index& index) override { return index.Replace(replacement_); }

 private:
  const std::function<std::optional<Index>(const std::string&)>& replacement_;
};

class Renamer : public Rewriter {
 public:
  explicit Renamer(const std::map<std::string, std::string>& renamed) : renamed_(renamed) {}

 protected:
  std::string RewriteName(const std::string& name) override {
    const auto found = renamed_.find(name);
    return found == renamed_.end() ? name : found->second;
  }
  std::string RewriteVariable(const std::string& name) override { return RewriteName(name); }
  Index RewriteIndex(const Index& index) override {
    return index.Replace([&](const std::string& variable) -> std::optional<Index> {
      const auto found = renamed_.find(variable);
      if (found == renamed_.end()) return std::nullopt;
      return Index::Variable(found->second);
    });
  }

 private:
  const std::map<std::string, std::string>& renamed_;
};

}  // namespace

Block ReplaceVariables(
    const Block& block,
    const std::function<std::optional<Index>(const std::string& variable)>& replacement) {
  return VariableReplacer(replacement).RewriteBlock(block);
}

Block RenameAll(const Block& block, const std::map<std::string, std::string>& renamed) {
  return renamed.empty() ? block : Renamer(renamed).RewriteBlock(block);
}

LoopProgram RewriteBodies(LoopProgram program, const std::function<Block(const Block&)>& rewrite) {
  for (Function& function : program.functions) function.body = rewrite(function.body);
  for (Stage& stage : program.stages) stage.body = rewrite(stage.body);
  return program;
}

}  // namespace mdh
