#include "codegen/program/loop_program_walk.h"

#include <cctype>

#include "core/base/status.h"

namespace mdh {
namespace {

class Walk {
 public:
  explicit Walk(const BlockVisitor& visitor) : visitor_(visitor) {}

  void Inside(const Block& block) {
    for (const Statement& statement : block) Inside(statement);
  }

  void Inside(const ValueNode& node) {
    if (visitor_.value) visitor_.value(node);
    std::visit(Overloaded{[](const Literal&) {}, [&](const NamedValue& v) { Name(v.name); },
                          [&](const LoadElements& v) {
                            Name(v.pointer);
                            Use(v.offset);
                          },
                          [&](const LoadInside& v) {
                            Name(v.pointer);
                            for (const LoadInside::Dimension& d : v.dimensions) Use(d.index);
                          },
                          [&](const TableElement& v) { Inside(*v.index); },
                          [&](const LoopOperation& v) {
                            for (const LoopValue& operand : v.operands) Inside(*operand);
                          },
                          [&](const Splat& v) { Inside(*v.scalar); },
                          [&](const Lane& v) { Inside(*v.vector); },
                          [&](const GroupHalves& v) {
                            Inside(*v.first);
                            if (v.second != nullptr) Inside(*v.second);
                          },
                          [&](const JoinLanes& v) {
                            for (const LoopValue& scalar : v.scalars) Inside(*scalar);
                          },
                          [&](const AddProducts& v) {
                            Inside(*v.sum);
                            Inside(*v.a);
                            if (v.b != nullptr) Inside(*v.b);
                          },
                          [&](const OrderKeys& v) { Inside(*v.value); },
                          [&](const IndexValue& v) { Use(v.index); },
                          [&](const LoadOfBlock& v) {
                            Name(v.array);
                            Use(v.offset);
                            Use(v.block);
                          },
                          [&](const ShuffleDown& v) { Inside(*v.value); },
                          [&](const ShuffleUp& v) { Inside(*v.value); }},
               node.form);
  }

 private:
  void Name(const std::string& name) {
    if (visitor_.name) visitor_.name(name);
  }
  void Use(const Index& index) {
    if (visitor_.index) visitor_.index(index);
  }
  void Use(const CallArgument& argument) {
    if (const auto* name = std::get_if<std::string>(&argument)) {
      Name(*name);
    } else {
      Use(std::get<Index>(argument));
    }
  }
  void Use(const std::vector<Condition>& conditions) {
    for (const Condition& condition : conditions) {
      if (condition.flag.empty()) {
        Use(condition.a);
        Use(condition.b);
      } else {
        Name(condition.flag);
      }
    }
  }

  void Inside(const Statement& statement) {
    if (visitor_.statement) visitor_.statement(statement);
    std::visit(Overloaded{[](const Comment&) {},
                          [](const DeclareArray&) {},
                          [](const HardwareIndex&) {},
                          [](const Barrier&) {},
                          [](const ClusterBarrier&) {},
                          [](const AwaitStages&) {},
                          [&](const DeclareLast& s) {
                            Name(s.counter);
                            Use(s.offset);
                          },
                          [](const CommitCopies&) {},
                          [](const WaitForCopies&) {},
                          [&](const DeclareIndex& s) { Use(s.value); },
                          [&](const DeclareValue& s) { Inside(*s.value); },
                          [&](const Assign& s) {
                            Name(s.name);
                            Inside(*s.value);
                          },
                          [&](const StoreElements& s) {
                            Name(s.pointer);
                            Use(s.offset);
                            Inside(*s.value);
                          },
                          [&](const AddElements& s) {
                            Name(s.pointer);
                            Use(s.offset);
                            Inside(*s.value);
                          },
                          [&](const CombineElement& s) {
                            Name(s.pointer);
                            Use(s.offset);
                            Inside(*s.value);
                          },
                          [&](const InsertKey& s) {
                            Name(s.table);
                            Inside(*s.first);
                            Inside(*s.key);
                          },
                          [&](const FindKey& s) {
                            Name(s.table);
                            Inside(*s.first);
                            Inside(*s.key);
                          },
                          [&](const DeclarePointer& s) {
                            Name(s.base);
                            Use(s.offset);
                          },
                          [&](const DeclareView& s) { Name(s.base); },
                          [&](const For& s) {
                            Use(s.begin);
                            Use(s.end);
                            Inside(*s.body);
                          },
                          [&](const ShareLoop& s) { Inside(*s.body); },
                          [&](const If& s) {
                            Use(s.all_of);
                            Inside(*s.then_block);
                            if (s.else_block != nullptr) Inside(*s.else_block);
                          },
                          [&](const IfAny& s) {
                            Inside(*s.condition);
                            Inside(*s.then_block);
                          },
                          [&](const DeclareFlag& s) { Use(s.all_of); },
                          [&](const ClearFlag& s) { Name(s.name); },
                          [&](const KeepInRegister& s) { Name(s.name); },
                          [&](const PrefetchElement& s) {
                            Name(s.pointer);
                            Use(s.offset);
                          },
                          [&](const Call& s) {
                            Name(s.function);
                            for (const CallArgument& argument : s.arguments) Use(argument);
                          },
                          [&](const AsyncCopy& s) {
                            Name(s.target);
                            Use(s.to);
                            Name(s.source);
                            Use(s.from);
                          },
                          [&](const CopyRegion& s) {
                            Name(s.array);
                            Inside(*s.body);
                          }},
               statement.form);
  }

  const BlockVisitor& visitor_;
};

}  // namespace

void Visit(const Block& block, const BlockVisitor& visitor) { Walk(visitor).Inside(block); }
void Visit(const LoopValue& value, const BlockVisitor& visitor) { Walk(visitor).Inside(*value); }

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

std::vector<Condition> Rewriter::RewriteConditions(const std::vector<Condition>& conditions) {
  std::vector<Condition> result = conditions;
  for (Condition& condition : result) {
    if (condition.flag.empty()) {
      condition.a = RewriteIndex(condition.a);
      condition.b = RewriteIndex(condition.b);
    } else {
      condition.flag = RewriteName(condition.flag);
    }
  }
  return result;
}

void Rewriter::Rewrite(CallArgument& argument) {
  std::visit(Overloaded{[&](std::string& name) { name = RewriteName(name); },
                        [&](Index& index) { index = RewriteIndex(index); }},
             argument);
}

void Rewriter::RewriteStatement(const Statement& statement, Block& out) {
  Statement result = statement;
  std::visit(Overloaded{[](Comment&) {},
                        [](Barrier&) {},
                        [](ClusterBarrier&) {},
                        [](AwaitStages&) {},
                        [&](DeclareLast& s) {
                          s.counter = RewriteName(s.counter);
                          s.offset = RewriteIndex(s.offset);
                          s.name = RewriteName(s.name);
                        },
                        [&](Call& s) {
                          for (CallArgument& argument : s.arguments) Rewrite(argument);
                        },
                        [](CommitCopies&) {},
                        [](WaitForCopies&) {},
                        [&](DeclareIndex& s) { s.value = RewriteIndex(s.value); },
                        [](HardwareIndex&) {},
                        [&](DeclareValue& s) {
                          s.value = RewriteValue(s.value);
                          s.name = RewriteName(s.name);
                        },
                        [&](Assign& s) {
                          s.value = RewriteValue(s.value);
                          s.name = RewriteName(s.name);
                        },
                        [&](StoreElements& s) {
                          s.value = RewriteValue(s.value);
                          s.offset = RewriteIndex(s.offset);
                          s.pointer = RewriteName(s.pointer);
                        },
                        [&](AddElements& s) {
                          s.value = RewriteValue(s.value);
                          s.offset = RewriteIndex(s.offset);
                          s.pointer = RewriteName(s.pointer);
                        },
                        [&](CombineElement& s) {
                          s.value = RewriteValue(s.value);
                          s.offset = RewriteIndex(s.offset);
                          s.pointer = RewriteName(s.pointer);
                        },
                        [&](InsertKey& s) {
                          s.first = RewriteValue(s.first);
                          s.key = RewriteValue(s.key);
                          s.table = RewriteName(s.table);
                        },
                        [&](FindKey& s) {
                          s.first = RewriteValue(s.first);
                          s.key = RewriteValue(s.key);
                          s.table = RewriteName(s.table);
                        },
                        [&](DeclarePointer& s) {
                          s.base = RewriteName(s.base);
                          s.offset = RewriteIndex(s.offset);
                          s.name = RewriteName(s.name);
                        },
                        [&](DeclareView& s) {
                          s.base = RewriteName(s.base);
                          s.name = RewriteName(s.name);
                        },
                        [&](DeclareArray& s) { s.name = RewriteName(s.name); },
                        [&](For& s) {
                          s.begin = RewriteIndex(s.begin);
                          s.end = RewriteIndex(s.end);
                          s.body = RewriteInner(s.body);
                        },
                        [&](ShareLoop& s) { s.body = RewriteInner(s.body); },
                        [&](If& s) {
                          s.all_of = RewriteConditions(s.all_of);
                          s.then_block = RewriteInner(s.then_block);
                          s.else_block = RewriteInner(s.else_block);
                        },
                        [&](IfAny& s) {
                          s.condition = RewriteValue(s.condition);
                          s.then_block = RewriteInner(s.then_block);
                        },
                        [&](DeclareFlag& s) {
                          s.all_of = RewriteConditions(s.all_of);
                          s.name = RewriteName(s.name);
                        },
                        [&](ClearFlag& s) { s.name = RewriteName(s.name); },
                        [&](KeepInRegister& s) { s.name = RewriteName(s.name); },
                        [&](PrefetchElement& s) {
                          s.offset = RewriteIndex(s.offset);
                          s.pointer = RewriteName(s.pointer);
                        },
                        [&](AsyncCopy& s) {
                          s.to = RewriteIndex(s.to);
                          s.target = RewriteName(s.target);
                          s.from = RewriteIndex(s.from);
                          s.source = RewriteName(s.source);
                        },
                        [&](CopyRegion& s) {
                          s.array = RewriteName(s.array);
                          s.body = RewriteInner(s.body);
                        }},
             result.form);
  out.push_back(std::move(result));
}

LoopValue Rewriter::RewriteValue(const LoopValue& value) {
  ValueNode node = *value;
  bool changed = true;
  const auto rewrite = [&](LoopValue& operand) {
    const LoopValue before = operand;
    operand = RewriteValue(operand);
    return before != operand;
  };
  std::visit(Overloaded{[&](Literal&) { changed = false; },
                        [&](NamedValue& v) { v.name = RewriteName(v.name); },
                        [&](LoadElements& v) {
                          v.offset = RewriteIndex(v.offset);
                          v.pointer = RewriteName(v.pointer);
                        },
                        [&](LoadInside& v) {
                          for (LoadInside::Dimension& d : v.dimensions) {
                            d.index = RewriteIndex(d.index);
                          }
                          v.pointer = RewriteName(v.pointer);
                        },
                        [&](TableElement& v) { changed = rewrite(v.index); },
                        [&](LoopOperation& v) {
                          changed = false;
                          for (LoopValue& operand : v.operands) changed |= rewrite(operand);
                        },
                        [&](Splat& v) { changed = rewrite(v.scalar); },
                        [&](Lane& v) { changed = rewrite(v.vector); },
                        [&](GroupHalves& v) {
                          changed = rewrite(v.first);
                          if (v.second != nullptr) changed |= rewrite(v.second);
                        },
                        [&](JoinLanes& v) {
                          changed = false;
                          for (LoopValue& scalar : v.scalars) changed |= rewrite(scalar);
                        },
                        [&](AddProducts& v) {
                          changed = rewrite(v.sum);
                          changed |= rewrite(v.a);
                          if (v.b != nullptr) changed |= rewrite(v.b);
                        },
                        [&](OrderKeys& v) { changed = rewrite(v.value); },
                        [&](IndexValue& v) { v.index = RewriteIndex(v.index); },
                        [&](LoadOfBlock& v) {
                          v.array = RewriteName(v.array);
                          v.offset = RewriteIndex(v.offset);
                          v.block = RewriteIndex(v.block);
                        },
                        [&](ShuffleDown& v) { changed = rewrite(v.value); },
                        [&](ShuffleUp& v) { changed = rewrite(v.value); }},
             node.form);
  return changed ? std::make_shared<const ValueNode>(std::move(node)) : value;
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
  void RewriteStatement(const Statement& statement, Block& out) override {
    Rewriter::RewriteStatement(statement, out);
    std::visit(
        Overloaded{[&](DeclareIndex& s) { s.name = RewriteName(s.name); },
                   [&](HardwareIndex& s) { s.name = RewriteName(s.name); },
                   [&](FindKey& s) { s.name = RewriteName(s.name); },
                   [&](For& s) { s.variable = RewriteName(s.variable); },
                   [&](ShareLoop& s) { s.variable = RewriteName(s.variable); }, [](auto&) {}},
        out.back().form);
  }
  std::string RewriteName(const std::string& name) override {
    const auto found = renamed_.find(name);
    return found == renamed_.end() ? name : found->second;
  }
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
