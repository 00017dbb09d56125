#include "codegen/pass_branch_selections.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/loop_program_walk.h"
#include "codegen/scalar_code.h"

namespace mdh {
namespace {

using Uses = std::map<std::string, int>;  // how often names are used

// In additions.
int CostOf(const ValueNode& node) {
  if (std::holds_alternative<LoadElements>(node.form)) return 2;
  if (std::holds_alternative<LoadInside>(node.form)) return 8;
  if (std::holds_alternative<TableElement>(node.form)) return 4;
  const auto* operation = std::get_if<LoopOperation>(&node.form);
  if (operation == nullptr) return 0;
  switch (operation->op) {
    case ScalarOp::kDiv:
    case ScalarOp::kRem:
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
      return 8;
    case ScalarOp::kExp:
    case ScalarOp::kExp2:
    case ScalarOp::kLog:
    case ScalarOp::kLog2:
      return 12;
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kPow:
      return 24;
    default:
      return 1;
  }
}

int CostOf(const LoopValue& value) {
  int cost = 0;
  Visit(value, {.value = [&](const ValueNode& node) { cost += CostOf(node); }});
  return cost;
}

void Count(const LoopValue& value, Uses& uses) {
  Visit(value, {.name = [&](const std::string& name) { ++uses[name]; }});
}

// Shuffles need all threads.
bool MayBeLeftOut(const LoopValue& value) {
  bool may = true;
  Visit(value, {.value = [&](const ValueNode& node) {
          may &= !std::holds_alternative<ShuffleDown>(node.form) &&
                 !std::holds_alternative<ShuffleUp>(node.form);
        }});
  return may;
}

// The value that a statement computes; nullptr if it computes none, or may not be moved behind what
// stands before it.
LoopValue* ValueOf(Statement& statement) {
  using Value = LoopValue*;
  return std::visit(Overloaded{[](DeclareValue& s) -> Value { return &s.value; },
                               [](Assign& s) -> Value { return &s.value; },
                               [](StoreElements& s) -> Value { return &s.value; },
                               [](AddElements& s) -> Value { return &s.value; },
                               [](CombineElement& s) -> Value { return &s.value; },
                               [](auto&) -> Value { return nullptr; }},
                    statement.form);
}

// Replaces one node of a value, wherever it is.
class NodeReplacer : public Rewriter {
 public:
  NodeReplacer(const LoopValue& node, LoopValue by) : node_(node), by_(std::move(by)) {}
  LoopValue Replace(const LoopValue& value) { return RewriteValue(value); }

 protected:
  LoopValue RewriteValue(const LoopValue& value) override {
    return value == node_ ? by_ : Rewriter::RewriteValue(value);
  }

 private:
  const LoopValue& node_;
  const LoopValue by_;
};

class SelectionBrancher : public Rewriter {
 public:
  SelectionBrancher(const Block& body, const BranchSelectionsOptions& options) : options_(options) {
    Visit(body, {.name = [&](const std::string& name) { ++uses_[name]; }});
    std::set<std::string> names;
    CollectDeclaredNames(body, names);
    CollectUsedNames(body, names);
    for (const std::string& name : names) names_.Reserve(name);
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    Statement rest = statement;
    if (LoopValue* value = ValueOf(rest)) {
      while (const LoopValue selection = Expensive(*value, out)) {
        *value = NodeReplacer(selection, Branched(selection, out)).Replace(*value);
      }
    }
    Rewriter::RewriteStatement(rest, out);
  }

 private:
  // What only `operand` needs: places in `before` of declarations that may move behind all of it.
  struct Needed {
    std::vector<size_t> declarations;  // the last first
    int cost;
  };
  Needed NeededBy(const LoopValue& operand, const Block& before) const {
    Needed needed{{}, CostOf(operand)};
    Uses uses;
    Count(operand, uses);
    std::set<std::string> assigned;
    for (size_t n = before.size(); n-- > 0;) {
      const Statement& statement = before[n];
      if (std::holds_alternative<IfAny>(statement.form)) {
        CollectAssigned(*std::get<IfAny>(statement.form).then_block, assigned);
        continue;
      }
      if (std::holds_alternative<DeclareIndex>(statement.form) ||
          std::holds_alternative<Comment>(statement.form)) {
        continue;
      }
      const auto* declared = std::get_if<DeclareValue>(&statement.form);
      if (declared == nullptr) break;
      const auto used = uses.find(declared->name);
      if (declared->is_mutable || used == uses.end() || used->second != uses_.at(declared->name) ||
          !MayBeLeftOut(declared->value) || Mentions(declared->value, assigned)) {
        continue;
      }
      needed.declarations.push_back(n);
      needed.cost += CostOf(declared->value);
      Count(declared->value, uses);
    }
    return needed;
  }

  static void CollectAssigned(const Block& block, std::set<std::string>& names) {
    Visit(block, {.statement = [&](const Statement& statement) {
            if (const auto* assign = std::get_if<Assign>(&statement.form)) {
              names.insert(assign->name);
            }
          }});
  }
  static bool Mentions(const LoopValue& value, const std::set<std::string>& names) {
    bool does = false;
    Visit(value, {.name = [&](const std::string& name) { does |= names.contains(name); }});
    return does;
  }

  bool IsWorthABranch(const LoopValue& operand, const Block& before) const {
    return MayBeLeftOut(operand) && NeededBy(operand, before).cost >= options_.least_cost;
  }

  // An outermost selection with an operand that is worth a branch; nullptr if there is none.
  LoopValue Expensive(const LoopValue& value, const Block& before) const {
    const auto* operation = std::get_if<LoopOperation>(&value->form);
    if (operation == nullptr) return nullptr;
    if (operation->op == ScalarOp::kSelect && (IsWorthABranch(operation->operands[1], before) ||
                                               IsWorthABranch(operation->operands[2], before))) {
      return value;
    }
    for (const LoopValue& operand : operation->operands) {
      if (LoopValue found = Expensive(operand, before)) return found;
    }
    return nullptr;
  }

  // Appends what evaluates the selection, and gives its value.
  LoopValue Branched(const LoopValue& selection, Block& out) {
    const std::vector<LoopValue> operands = std::get<LoopOperation>(selection->form).operands;
    const LoopValueType type = selection->type;
    const bool first = IsWorthABranch(operands[1], out), second = IsWorthABranch(operands[2], out);
    // Declarations that only an operand needs leave the block before anything is added to it.
    Block of_first, of_second;
    if (first) of_first = Taken(operands[1], out);
    if (second) of_second = Taken(operands[2], out);
    const LoopValue condition = NamedInBlock(operands[0], names_, out);
    uses_[std::get<NamedValue>(condition->form).name] += 2;
    const LoopValue result = MakeNamed(names_.Unique("t"), type);
    const std::string& name = std::get<NamedValue>(result->form).name;
    const LoopValue plain = !first    ? operands[1]
                            : !second ? operands[2]
                                      : MakeLiteral(ScalarValue::Zero(type.scalar));
    out.push_back({DeclareValue{name, MakeSplat(plain, plain->type.lanes == 1 ? type.lanes : 1),
                                /*is_mutable=*/true}});
    const auto branch = [&](Block block, const LoopValue& when, const LoopValue& operand) {
      block.push_back({Assign{name, operand}});
      block = RewriteBlock(block);
      LoopValue& value = std::get<Assign>(block.back().form).value;
      if (type.lanes > 1) {
        value = MakeOperation(ScalarOp::kSelect, type.scalar, {when, value, result});
      }
      out.push_back({IfAny{when, ShareBlock(std::move(block))}});
    };
    if (first) branch(std::move(of_first), condition, operands[1]);
    if (second) {
      branch(std::move(of_second), MakeOperation(ScalarOp::kNot, ScalarType::kBool, {condition}),
             operands[2]);
    }
    return result;
  }

  // The declarations that only `operand` needs, in order, which are no longer in `block`.
  Block Taken(const LoopValue& operand, Block& block) const {
    Block taken;
    for (const size_t n : NeededBy(operand, block).declarations) {
      taken.push_back(std::move(block[n]));
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(n));
    }
    std::reverse(taken.begin(), taken.end());
    return taken;
  }

  const BranchSelectionsOptions options_;
  Uses uses_;
  NameAllocator names_;
};

}  // namespace

LoopProgram BranchSelections(LoopProgram program, const BranchSelectionsOptions& options) {
  return RewriteBodies(std::move(program), [&](const Block& body) {
    return SelectionBrancher(body, options).RewriteBlock(body);
  });
}

}  // namespace mdh
