#include "codegen/scalar_code.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace mdh {
namespace {

bool IsAtom(const Value& value) {
  return std::holds_alternative<NamedValue>(value->form) ||
         std::holds_alternative<Literal>(value->form);
}

}  // namespace

std::string NameAllocator::Unique(const std::string& name) {
  if (!taken_.contains(name)) {
    taken_[name] = 0;
    return name;
  }
  std::string candidate;
  do {
    candidate = absl::StrCat(name, "_", ++taken_[name]);
  } while (taken_.contains(candidate));
  taken_[candidate] = 0;
  return candidate;
}

std::vector<Value> EmitFunction(const ScalarFunction& function,
                                const std::function<Value(int)>& argument, NameAllocator& names,
                                Block& block) {
  const std::vector<ScalarInstruction>& instructions = function.instructions();
  std::vector<int> uses(instructions.size(), 0);
  for (const ScalarInstruction& instruction : instructions) {
    for (const int operand : instruction.operands) ++uses[operand];
  }
  for (const int result : function.result_instructions()) ++uses[result];

  std::vector<Value> values;
  for (size_t n = 0; n < instructions.size(); ++n) {
    const ScalarInstruction& instruction = instructions[n];
    Value value;
    if (instruction.op == ScalarOp::kParameter) {
      value = argument(instruction.parameter);
    } else if (instruction.op == ScalarOp::kConstant) {
      value = MakeLiteral(instruction.constant);
    } else {
      std::vector<Value> operands;
      for (const int operand : instruction.operands) operands.push_back(values[operand]);
      value = MakeOperation(instruction.op, instruction.type, std::move(operands));
    }
    if (uses[n] > 1 && !IsAtom(value)) {
      const std::string name = names.Unique("t");
      block.push_back({DeclareValue{name, value}});
      value = MakeNamed(name, value->type);
    }
    values.push_back(std::move(value));
  }
  std::vector<Value> results;
  for (const int result : function.result_instructions()) results.push_back(values[result]);
  return results;
}

std::vector<Value> EmitCombination(const CombineOperator& combine, const std::vector<Value>& left,
                                   const std::vector<Value>& right, NameAllocator& names,
                                   Block& block) {
  const int results = static_cast<int>(left.size());
  return EmitFunction(
      combine.function(), [&](int p) { return p < results ? left[p] : right[p - results]; }, names,
      block);
}

}  // namespace mdh
