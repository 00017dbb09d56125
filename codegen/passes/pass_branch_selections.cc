#include "codegen/passes/pass_branch_selections.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/passes/weaker_condition.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/operation_cost.h"
#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

using Uses = std::map<std::string, int>;  // how often names are used

// In additions.
int CostOf(const ValueNode& node) {
  if (std::holds_alternative<LoadElements>(node.form)) return 2;
  if (std::holds_alternative<LoadInside>(node.form)) return 8;
  if (std::holds_alternative<TableElement>(node.form)) return 4;
  const auto* operation = std::get_if<LoopOperation>(&node.form);
  return operation == nullptr ? 0 : OperationCost(operation->op);
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
                 !std::holds_alternative<ShuffleUp>(node.form) &&
                 !std::holds_alternative<ShuffleXor>(node.form);
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

// Selections that follow each other, of several results of which all stay as they were where the
// condition says so.
struct KeptResults {
  size_t end;    // in the block
  size_t kept;   // the operand that results were before: 1 or 2
  size_t other;  // what they become otherwise
};

class SelectionBrancher : public Rewriter {
 public:
  SelectionBrancher(const Block& body, const BranchSelectionsOptions& options) : options_(options) {
    Visit(body, {.statement =
                     [&](const Statement& statement) {
                       const auto* array = std::get_if<DeclareArray>(&statement.form);
                       if (array != nullptr && array->space == MemorySpace::kPrivate) {
                         private_arrays_.insert(array->name);
                       }
                     },
                 .name = [&](const std::string& name) { ++uses_[name]; }});
    CollectAssigned(body, assigned_);
    ReserveNamesIn(body, names_);
  }

  Block RewriteBlock(const Block& block) override {
    Block out;
    for (size_t n = 0; n < block.size();) {
      const KeptResults results = FindKeptResults(block, n, out);
      if (results.end > n && CostOfChange(block, n, results, out) >= options_.least_change) {
        BranchKept({block.begin() + static_cast<std::ptrdiff_t>(n),
                    block.begin() + static_cast<std::ptrdiff_t>(results.end)},
                   results, out);
        n = results.end;
      } else {
        RewriteStatement(block[n++], out);
      }
    }
    return out;
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
  // ---- What a branch can take with it ----

  // What only `operands` need: places in `before` of declarations that may move behind all of it.
  struct Needed {
    std::vector<size_t> declarations;  // the last first
    int cost = 0;                      // of the operands, too
  };
  Needed NeededBy(const std::vector<LoopValue>& operands, const Block& before) const {
    Needed needed;
    Uses uses;
    for (const LoopValue& operand : operands) {
      needed.cost += CostOf(operand);
      Count(operand, uses);
    }
    std::set<std::string> assigned;
    for (size_t n = before.size(); n-- > 0;) {
      const Statement& statement = before[n];
      if (const auto* branch = std::get_if<IfAny>(&statement.form)) {
        CollectAssigned(*branch->then_block, assigned);
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

  // The declarations that only `operands` need, in order, which are no longer in `block`.
  Block Taken(const std::vector<LoopValue>& operands, Block& block) const {
    Block taken;
    for (const size_t n : NeededBy(operands, block).declarations) {
      taken.push_back(std::move(block[n]));
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(n));
    }
    std::ranges::reverse(taken);
    return taken;
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

  // ---- Operands that cost much ----

  bool IsWorthABranch(const LoopValue& operand, const Block& before) const {
    return MayBeLeftOut(operand) && NeededBy({operand}, before).cost >= options_.least_cost;
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
    if (first && !second) {
      if (const LoopValue guard = GuardOf(operands[0], out)) return Guarded(selection, guard, out);
    }
    // Declarations that only an operand needs leave the block before anything is added to it.
    Block of_first, of_second;
    if (first) of_first = Taken({operands[1]}, out);
    if (second) of_second = Taken({operands[2]}, out);
    const LoopValue condition = NamedInBlock(operands[0], names_, out);
    uses_[NameOf(condition)] += 2;
    const LoopValue plain = !first    ? operands[1]
                            : !second ? operands[2]
                                      : MakeLiteral(ScalarValue::Zero(type.scalar));
    const LoopValue result = DeclareMutable(names_.Unique("t"), plain, type, out);
    const auto branch = [&](Block block, const LoopValue& when, const LoopValue& operand) {
      block.push_back({Assign{NameOf(result), operand}});
      block = RewriteBlock(block);
      LoopValue& value = std::get<Assign>(block.back().form).value;
      if (type.lanes > 1) {
        value = MakeOperation(ScalarOp::kSelect, type.scalar, {when, value, result});
      }
      out.push_back({IfAny{when, ShareBlock(std::move(block))}});
    };
    if (first) branch(std::move(of_first), condition, operands[1]);
    if (second) branch(std::move(of_second), Not(condition), operands[2]);
    return result;
  }

  static const std::string& NameOf(const LoopValue& value) {
    return std::get<NamedValue>(value->form).name;
  }
  static LoopValue Not(const LoopValue& condition) {
    return MakeOperation(ScalarOp::kNot, ScalarType::kBool, {condition});
  }
  static LoopValue DeclareMutable(const std::string& name, const LoopValue& value,
                                  LoopValueType type, Block& out) {
    out.push_back({DeclareValue{name, MakeSplat(value, value->type.lanes == 1 ? type.lanes : 1),
                                /*is_mutable=*/true}});
    return MakeNamed(name, type);
  }

  // ---- Conditions that cost much ----

  // A weaker condition that is worth a branch around the evaluation of `condition`, once; nullptr
  // if there is none.
  LoopValue GuardOf(const LoopValue& condition, const Block& before) {
    if (std::ranges::find(guarded_, condition) != guarded_.end()) return nullptr;
    const auto value_of = [&](const std::string& name) -> LoopValue {
      for (const Statement& statement : before) {
        const auto* declared = std::get_if<DeclareValue>(&statement.form);
        if (declared == nullptr || declared->name != name || declared->is_mutable) continue;
        return MayBeEvaluatedAgain(declared->value) ? declared->value : nullptr;
      }
      return nullptr;
    };
    LoopValue guard = WeakerCondition(condition, value_of, options_.least_dropped);
    if (guard == nullptr || !MayBeEvaluatedAgain(guard)) return nullptr;
    Count(guard, uses_);  // so that what it needs stays where it is
    guarded_.push_back(condition);
    return guard;
  }

  // Whether it is the same wherever it is evaluated.
  bool MayBeEvaluatedAgain(const LoopValue& value) const {
    bool may = true;
    Visit(value, {.value = [&](const ValueNode& node) {
            may &= std::holds_alternative<Literal>(node.form) ||
                   std::holds_alternative<NamedValue>(node.form) ||
                   std::holds_alternative<LoopOperation>(node.form);
          }});
    return may && !Mentions(value, assigned_);
  }

  // As Branched, where nothing but the guard says that the condition may hold.
  LoopValue Guarded(const LoopValue& selection, const LoopValue& guard, Block& out) {
    const std::vector<LoopValue> operands = std::get<LoopOperation>(selection->form).operands;
    Block block = Taken({operands[0], operands[1]}, out);
    const LoopValue result = DeclareMutable(names_.Unique("t"), operands[2], selection->type, out);
    block.push_back({Assign{NameOf(result), MakeOperation(ScalarOp::kSelect, selection->type.scalar,
                                                          {operands[0], operands[1], result})}});
    out.push_back({IfAny{guard, ShareBlock(RewriteBlock(block))}});
    return result;
  }

  // ---- Results that rarely change ----

  // The results from place n on; `end` is n if there are none.
  KeptResults FindKeptResults(const Block& block, size_t n, const Block& before) const {
    for (const size_t kept : {1, 2}) {
      size_t end = n;
      while (end < block.size() && IsKept(block[end], block[n], kept, before)) ++end;
      if (end > n) return {end, kept, 3 - kept};
    }
    return {n, 0, 0};
  }

  static const std::vector<LoopValue>* SelectionOf(const Statement& statement) {
    const auto* declared = std::get_if<DeclareValue>(&statement.form);
    if (declared == nullptr || declared->is_mutable) return nullptr;
    const auto* operation = std::get_if<LoopOperation>(&declared->value->form);
    return operation != nullptr && operation->op == ScalarOp::kSelect ? &operation->operands
                                                                      : nullptr;
  }

  // Whether the statement selects by the same name as `first`, and operand `kept` is a result.
  bool IsKept(const Statement& statement, const Statement& first, size_t kept,
              const Block& before) const {
    const auto* operands = SelectionOf(statement);
    const auto* firsts = SelectionOf(first);
    if (operands == nullptr || firsts == nullptr) return false;
    const auto* condition = std::get_if<NamedValue>(&(*operands)[0]->form);
    const auto* of_first = std::get_if<NamedValue>(&(*firsts)[0]->form);
    return condition != nullptr && of_first != nullptr && condition->name == of_first->name &&
           MayBeLeftOut((*operands)[3 - kept]) && IsResult((*operands)[kept], before);
  }

  // A value that is carried from one iteration to the next.
  bool IsResult(const LoopValue& value, const Block& before) const {
    const auto* named = std::get_if<NamedValue>(&value->form);
    if (named == nullptr) return false;
    if (assigned_.contains(named->name)) return true;
    for (const Statement& statement : before) {
      const auto* declared = std::get_if<DeclareValue>(&statement.form);
      if (declared == nullptr || declared->name != named->name) continue;
      const auto* copied = std::get_if<NamedValue>(&declared->value->form);
      const auto* load = std::get_if<LoadElements>(&declared->value->form);
      return (copied != nullptr && assigned_.contains(copied->name)) ||
             (load != nullptr && private_arrays_.contains(load->pointer));
    }
    return false;
  }

  std::vector<LoopValue> ChangesOf(const Block& block, size_t begin,
                                   const KeptResults& results) const {
    std::vector<LoopValue> changes;
    for (size_t n = begin; n < results.end; ++n) {
      changes.push_back((*SelectionOf(block[n]))[results.other]);
    }
    return changes;
  }
  int CostOfChange(const Block& block, size_t begin, const KeptResults& results,
                   const Block& before) const {
    return NeededBy(ChangesOf(block, begin, results), before).cost +
           static_cast<int>(results.end - begin);
  }

  // Appends `selections` as a branch where the results change.
  void BranchKept(const Block& selections, const KeptResults& results, Block& out) {
    const LoopValue condition = (*SelectionOf(selections[0]))[0];
    Block block =
        Taken(ChangesOf(selections, 0, {selections.size(), results.kept, results.other}), out);
    for (const Statement& statement : selections) {
      const auto& declared = std::get<DeclareValue>(statement.form);
      const std::vector<LoopValue>& operands = *SelectionOf(statement);
      const LoopValueType type = declared.value->type;
      DeclareMutable(declared.name, operands[results.kept], type, out);
      block.push_back(
          {Assign{declared.name, type.lanes == 1 ? operands[results.other] : declared.value}});
      assigned_.insert(declared.name);
    }
    out.push_back(
        {IfAny{results.kept == 1 ? Not(condition) : condition, ShareBlock(RewriteBlock(block))}});
  }

  const BranchSelectionsOptions options_;
  Uses uses_;
  std::set<std::string> private_arrays_;
  std::set<std::string> assigned_;  // somewhere
  std::vector<LoopValue> guarded_;  // conditions that have a guard
  NameAllocator names_;
};

}  // namespace

LoopProgram BranchSelections(LoopProgram program, const BranchSelectionsOptions& options) {
  return RewriteBodies(std::move(program), [&](const Block& body) {
    return SelectionBrancher(body, options).RewriteBlock(body);
  });
}

}  // namespace mdh
